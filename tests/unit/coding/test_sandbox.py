"""The full sandbox: nothing outside the project, and no address but the gateway, from any kind of program."""

import os
import shutil
import socket
import subprocess
import threading

import pytest

from qwed.broker.running import passing
from qwed.coding import sandbox
from qwed.coding.models import find_model
from qwed.coding.sandbox import Box, CannotSandbox

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and "CI" not in os.environ, reason="bubblewrap is not installed"
)


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


@pytest.fixture
def gateway():
    gateway = Gateway()
    yield gateway
    gateway.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("SECRET")
    (home / "other").mkdir()
    (home / "other" / "notes.txt").write_text("SECRET")
    (home / "project").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    return home


def run(home, gateway, command):
    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}")
    with sandbox.way_out(box.gateway) as sockets:
        line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


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


@needs_bubblewrap
def test_no_program_reads_writes_or_connects_outside(home, gateway):
    listener = socket.create_server(("0.0.0.0", 0))
    elsewhere = str(listener.getsockname()[1])
    outside = home / "other" / "made.txt"
    places = [(home / ".ssh" / "id_rsa", "127.0.0.1"), (home / "other" / "notes.txt", "1.1.1.1")]

    for kind, command in commands(home / "project").items():
        for secret, address in places:
            done = run(home, gateway, [*command, str(secret), str(outside), elsewhere, address])
            # What is written to a home that is not there goes with the sandbox; nothing arrives outside.
            said = set(done.stdout.split()) - {"WROTE", "OPENED", str(outside)}
            assert said == {"END"}, (kind, done.stdout, done.stderr)
            assert not outside.exists()
    listener.close()


@needs_bubblewrap
def test_the_gateway_answers_at_its_usual_address(home, gateway):
    done = run(home, gateway, ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{gateway.port}; head -c 7 <&3"])

    assert done.stdout == "gateway", done.stderr


@needs_bubblewrap
def test_the_project_is_written_and_the_environment_holds_no_secrets(home, gateway):
    done = run(home, gateway, ["bash", "-c", "echo made > made.txt; env; ls -A ~; ls -A ~/.. | wc -l"])

    assert (home / "project" / "made.txt").read_text() == "made\n"
    assert "SECRET" not in done.stdout
    assert ".ssh" not in done.stdout


@needs_bubblewrap
def test_the_settings_that_name_the_hooks_can_not_be_written(home, gateway):
    settings = home / "project" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")

    attempts = "echo gone > .claude/settings.json; rm -rf .claude; mv .claude x; mkdir .claude"
    run(home, gateway, ["bash", "-c", f"{attempts}; echo gone > .claude/settings.json; ls -A"])

    assert settings.read_text() == "{}"
    assert not (home / "project" / "x").exists()


@needs_bubblewrap
def test_a_model_of_this_machine_is_reached_at_its_port_and_no_other_port_is(home, gateway):
    model, other = Gateway(), Gateway()
    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}", ports=(model.port,))
    ask = "exec 3<>/dev/tcp/127.0.0.1/{}; head -c 7 <&3; "

    with sandbox.way_out(box.gateway, box.ports) as sockets:
        command = ["bash", "-c", ask.format(model.port) + ask.format(other.port)]
        line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == "gateway", done.stderr
    model.close()
    other.close()


@pytest.mark.parametrize(
    ("program", "environment", "hosts", "ports"),
    [
        ("/usr/bin/claude", {}, ("api.anthropic.com:443",), ()),
        ("claude", {"ANTHROPIC_BASE_URL": "http://localhost:11434"}, (), (11434,)),
        ("claude", {"ANTHROPIC_BASE_URL": "https://llm.example/v1"}, ("llm.example:443",), ()),
        ("bash", {"ANTHROPIC_BASE_URL": "https://llm.example/v1"}, (), ()),
    ],
)
def test_an_agent_is_given_the_way_to_its_own_model(program, environment, hosts, ports, tmp_path):
    given = {**environment, "ANTHROPIC_API_KEY": "key", "AWS_SECRET_ACCESS_KEY": "SECRET"}

    way = find_model(program, given, tmp_path)

    assert (way.hosts, way.ports) == (hosts, ports)
    assert "AWS_SECRET_ACCESS_KEY" not in way.environment
    assert ("ANTHROPIC_API_KEY" in way.environment) == (program != "bash")


@needs_bubblewrap
def test_the_broker_of_a_run_tunnels_to_the_model_alone(home, gateway):
    model, inside = Gateway(), f"127.0.0.1:{sandbox.PROXY_PORT}"
    with passing((f"127.0.0.1:{model.port}",), f"http://127.0.0.1:{gateway.port}", inside) as (broker, ways):
        box = Box(home / "project", f"http://127.0.0.1:{gateway.port}", (broker.parent,), broker, ways)

        def connect(address, *more):
            curl = ["curl", "-s", "-p", "--max-time", "5", "--noproxy", "", *more, "-x", ways["HTTPS_PROXY"]]
            with sandbox.way_out(box.gateway) as sockets:
                command = [*curl, "--http0.9", f"http://{address}/"]
                line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
                return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False).stdout

        assert "gateway" in connect(f"127.0.0.1:{model.port}")
        assert "gateway" not in connect(f"127.0.0.1:{gateway.port}")
    model.close()


@needs_bubblewrap
def test_the_exit_code_is_that_of_the_command(home, gateway):
    assert run(home, gateway, ["bash", "-c", "exit 7"]).returncode == 7
    assert run(home, gateway, ["no-such-program"]).returncode != 0


def test_without_bubblewrap_nothing_is_started_and_the_command_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)

    with pytest.raises(CannotSandbox, match="apt-get install bubblewrap"):
        sandbox.find_bubblewrap()


def test_where_namespaces_are_forbidden_the_setting_is_named(monkeypatch, tmp_path):
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(refusing))

    with pytest.raises(CannotSandbox, match="unprivileged_userns"):
        sandbox.find_bubblewrap()
