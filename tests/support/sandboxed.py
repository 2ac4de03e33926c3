"""Programs that try to get out of a sandbox, in four languages, and the gateway that they may reach."""

import shutil
import socket
import subprocess
import threading


class Gateway:
    """Says one word to whoever connects."""

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                client.sendall(b"gateway")

    def close(self):
        self._server.close()


C_PROGRAM = r"""
#include <stdio.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
int main(int count, char **words) {
  FILE *file = fopen(words[1], "r");
  if (file) { puts("READ"); return 0; }
  file = fopen(words[2], "w");
  if (file) puts("WROTE");
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[3]))};
  inet_pton(AF_INET, words[4], &to.sin_addr);
  if (!connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof to)) puts("CONNECTED");
  puts("END");
}
"""
PYTHON = """
import socket, sys
secret, target, port, address = sys.argv[1:]
for path, mode in ((secret, "r"), (target, "w")):
    try: open(path, mode); print("OPENED", path)
    except OSError: pass
try: socket.create_connection((address, int(port)), timeout=2); print("CONNECTED")
except OSError: pass
print("END")
"""
NODE = """
const fs = require('fs'), net = require('net');
const [secret, target, port, address] = process.argv.slice(2);
try { fs.readFileSync(secret); console.log('READ'); } catch {}
try { fs.writeFileSync(target, 'x'); console.log('WROTE'); } catch {}
const s = net.connect(+port, address, () => { console.log('CONNECTED'); process.exit(); });
s.on('error', () => console.log('END')); setTimeout(() => { console.log('END'); process.exit(); }, 2000);
"""
SHELL = """
cat "$1" && echo READ; echo x > "$2" && echo WROTE
(exec 3<>"/dev/tcp/$4/$3") && echo CONNECTED
echo END
"""


def commands(project):
    """The same attempt in a shell, in Python, in Node and compiled; those that this machine can run."""
    (project / "try.sh").write_text(SHELL)
    (project / "try.py").write_text(PYTHON)
    (project / "try.js").write_text(NODE)
    (project / "try.c").write_text("#include <stdlib.h>\n" + C_PROGRAM)
    found = {"shell": ["bash", "try.sh"], "python": ["/usr/bin/env", "python3", "try.py"]}
    if shutil.which("node"):
        found["node"] = ["node", "try.js"]
    if shutil.which("cc"):
        subprocess.run(["cc", "-o", "try", "try.c"], cwd=project, check=True)
        found["compiled"] = ["./try"]
    return found
