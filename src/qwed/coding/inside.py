"""The first program in the sandbox: it gives the gateway its usual address, then becomes the command.

    python -I -S inside.py PORT=SOCKET... -- COMMAND...

A network of its own has no way out. What connects to PORT on loopback is handed to the Unix socket, which
leads to the gateway and nowhere else.
"""

import os
import socket
import sys
import threading


def pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(65536):
            target.sendall(part)
    except OSError:
        return
    finally:
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            target.close()


def join(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way_out:
        way_out.connect(path)
        back = threading.Thread(target=pass_on, args=(way_out, client), daemon=True)
        back.start()
        pass_on(client, way_out)
        back.join()


def serve(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        threading.Thread(target=join, args=(client, path), daemon=True).start()


def main() -> None:
    split = sys.argv.index("--")
    listeners = []
    for forward in sys.argv[1:split]:
        port, _, path = forward.partition("=")
        listeners.append((socket.create_server(("127.0.0.1", int(port))), path))
    if os.fork() == 0:
        for listener, path in listeners:
            threading.Thread(target=serve, args=(listener, path), daemon=True).start()
        threading.Event().wait()
    for listener, _ in listeners:
        listener.close()
    command = sys.argv[split + 1 :]
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command that the person named
    except OSError as problem:
        sys.exit(f"{command[0]} could not be started: {problem.strerror}")


if __name__ == "__main__":
    main()
