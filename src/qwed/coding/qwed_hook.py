"""The hook that a coding agent runs before and after each tool: it asks the gateway, and repeats its answer.

    python -I -S qwed_hook.py AGENT SETTINGS

One file on the standard library, and little of that: `json`, `http.client` and even `socket` cost more than
everything below, so that the plain socket of `_socket` has to do. It reads nothing of what the agent says and
nothing of what the gateway answers. SETTINGS has one `name=value` a line: host, port, tls, token, agent_id,
seconds. Whatever goes wrong ends with exit code 2, which blocks.
"""

import _socket
import os
import sys

#: In front of the gateway's answer. The command that runs this takes it away, and blocks what has none.
ANSWERED = "QWED "
MAX_INPUT = 4 * 1024 * 1024
MAX_ANSWER = 1024 * 1024
MAX_FILES = 2000


def read_settings(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8") as file:
        return {name: value for name, _, value in (line.rstrip("\n").partition("=") for line in file)}


def find_root() -> str:
    """The project: what the agent says it is, or the nearest folder above that is a repository."""
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"):
        if os.environ.get(name):
            return os.path.realpath(os.environ[name])
    folder = os.getcwd()
    while folder != "/" and folder != os.path.expanduser("~"):
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        folder = os.path.dirname(folder)
    return os.getcwd()


def state_of(root: str) -> str:
    """A hash that changes when a file of the project does; of a large project, of its first files."""
    from hashlib import sha256

    digest, waiting, left = sha256(), [root], MAX_FILES
    while waiting and left > 0:
        try:
            entries = sorted(os.scandir(waiting.pop(0)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if entry.name in (".git", "node_modules", ".venv", "__pycache__"):
                continue
            try:
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                digest.update(
                    f"{entry.path}\0{stat.st_mtime_ns}\0{stat.st_size}\n".encode("utf-8", "surrogateescape")
                )
    return digest.hexdigest()


def connect(settings: dict[str, str], seconds: float) -> _socket.socket:
    if "QWED_HOOK_SOCKET" in os.environ:
        # The sandbox has no other way to the gateway.
        connection = _reach(_socket.AF_UNIX, os.environ["QWED_HOOK_SOCKET"], seconds)
    else:
        connection = _reach_first(settings["host"], int(settings["port"]), seconds)
    if settings.get("tls") == "yes":
        import socket
        import ssl

        whole = socket.socket(fileno=connection.detach())
        whole.settimeout(seconds)
        return ssl.create_default_context().wrap_socket(whole, server_hostname=settings["host"])
    return connection


def _reach(family: int, address: str | tuple[object, ...], seconds: float) -> _socket.socket:
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    connection.settimeout(seconds)
    connection.connect(address)
    return connection


def _reach_first(host: str, port: int, seconds: float) -> _socket.socket:
    """A host may have several addresses, of which the first that answers will do."""
    problem = OSError("the gateway's host has no address")
    for family, _, _, _, address in _socket.getaddrinfo(host, port, type=_socket.SOCK_STREAM):
        try:
            return _reach(family, address, seconds)
        except OSError as error:
            problem = error
    raise problem


def ask(settings: dict[str, str], agent: str, body: bytes, root: str) -> tuple[int, bytes]:
    """The status, and the gateway's words."""
    seconds = float(settings.get("seconds", "10"))
    head = (
        f"POST /hooks/{agent} HTTP/1.1\r\nHost: {settings.get('host', 'localhost')}\r\n"
        f"Authorization: Bearer {settings['token']}\r\nContent-Type: application/json\r\n"
        f"QWED-Project: {quote(root)}\r\nQWED-State: {state_of(root)}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection = connect(settings, seconds)
    try:
        connection.sendall(head.encode("ascii") + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
            if len(answer) > MAX_ANSWER:
                raise ValueError("the answer is too long")
    finally:
        connection.close()
    first, _, text = answer.partition(b"\r\n\r\n")
    words = first.split(None, 2)
    length = [
        line.split(b":", 1)[1] for line in first.lower().split(b"\r\n") if line.startswith(b"content-length:")
    ]
    if not length or int(length[0]) != len(text):
        raise ValueError("the answer was cut off")
    return int(words[1]), text


def quote(text: str) -> str:
    plain = "/-_.~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return "".join(
        chr(byte) if chr(byte) in plain else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )


def main() -> None:
    try:
        agent, path = sys.argv[1], sys.argv[2]
        body = sys.stdin.buffer.read(MAX_INPUT + 1)
        if len(body) > MAX_INPUT:
            raise ValueError("the tool call is too large")
        status, text = ask(read_settings(path), agent, body, find_root())
        if status != 200:
            raise ValueError(f"the gateway answered {status}: {text[:300].decode('utf-8', 'replace')}")
    except BaseException as problem:  # Whatever it is, the tool must not run.
        sys.stderr.write(f"QWED: not allowed, because the gateway could not be asked: {problem}\n")
        sys.stderr.flush()
        os._exit(2)
    sys.stdout.buffer.write(ANSWERED.encode("ascii") + text)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
