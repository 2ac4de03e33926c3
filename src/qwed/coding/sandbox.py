"""The full sandbox: bubblewrap with its own users, files, processes and network.

The project can be written; programs and libraries can be read; everything else is not there. The only way
out is one Unix socket to the gateway (and one to a broker, where there is one).
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from qwed.coding.inside import pass_on
from qwed.coding.surroundings import inherit

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/opt")
SETTINGS: Final = (
    *("hosts", "passwd", "group", "nsswitch.conf", "localtime", "timezone", "ld.so.cache", "ld.so.conf"),
    *(
        "ld.so.conf.d",
        "ssl/certs",
        "ssl/openssl.cnf",
        "ca-certificates",
        "alternatives",
        "mime.types",
        "os-release",
        "protocols",
    ),
    *("services", "terminfo"),
)
#: Of the home: which hooks an agent has, and what the hook needs. To be read, never to be written.
HOOKS: Final = (
    *(".config/qwed/hooks", ".claude/settings.json", ".codex/hooks.json", ".codex/config.toml"),
    *(".gemini/settings.json", ".cursor/hooks.json", ".copilot/hooks", ".gitconfig"),
)
#: Of the project, by folder.
_OWN_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    ".claude": ("settings.json", "settings.local.json"),
    ".codex": ("hooks.json", "config.toml"),
    ".gemini": ("settings.json",),
    ".cursor": ("hooks.json", "cli.json"),
    ".github": ("hooks",),
    ".git": ("hooks", "config"),
}
_VARIABLES: Final = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "COLORTERM",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "EDITOR",
)
GATEWAY_SOCKET: Final = "/run/qwed/gateway.sock"
BROKER_SOCKET: Final = "/run/qwed/broker.sock"
PROXY_PORT: Final = 3128
_INSIDE: Final = "/run/qwed/inside.py"
_FIRST_FREE_PORT: Final = 1024


class CannotSandbox(Exception):
    """There is no full sandbox here; the message says what would make one."""


class Box(msgspec.Struct, frozen=True):
    """`read` are more places that can be read; `environment` is what the command is given besides: also the
    address of the broker, where there is one."""

    project: Path
    gateway: str
    read: tuple[Path, ...] = ()
    broker: Path | None = None
    environment: Mapping[str, str] = {}
    #: Of this machine: what answers there is reached at the same port inside.
    ports: tuple[int, ...] = ()


def find_bubblewrap() -> str:
    """Raises `CannotSandbox` where it is missing, or the machine forbids namespaces."""
    if sys.platform != "linux":
        raise CannotSandbox("the full sandbox needs Linux; nothing was started")
    program = shutil.which("bwrap")
    if program is None:
        raise CannotSandbox(
            "bubblewrap is not installed: apt-get install bubblewrap (dnf, pacman: the same name)"
        )
    tried = subprocess.run(  # noqa: S603
        [program, "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        raise CannotSandbox(
            f"namespaces are forbidden here ({tried.stderr.strip()[:200]}): "
            "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000, and on Ubuntu "
            "kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return program


def arguments(program: str, box: Box, sockets: Path, command: Sequence[str]) -> list[str]:
    """The whole command line: later binds lie over earlier ones."""
    home = Path.home()
    line = [program, "--unshare-all", "--die-with-parent", "--clearenv", "--hostname", "sandbox"]
    if not _is_terminal_safe():
        line.append("--new-session")
    for place in SYSTEM:
        line += _bind_read(Path(place))
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", str(home)]  # noqa: S108
    for name in SETTINGS:
        line += _bind_read(Path("/etc") / name)
    for readable in find_readable(box, command[0]):
        line += _bind_read(readable)
    line += ["--bind", str(box.project), str(box.project), *_protect_hooks(box.project)]
    line += ["--ro-bind", str(sockets / "gateway.sock"), GATEWAY_SOCKET]
    line += ["--ro-bind", str(sockets / "inside.py"), _INSIDE]
    forwards = [f"{port}={GATEWAY_SOCKET}" for port in _own_port(box.gateway)]
    for port in box.ports:
        line += ["--ro-bind", str(sockets / f"{port}.sock"), f"/run/qwed/{port}.sock"]
        forwards.append(f"{port}=/run/qwed/{port}.sock")
    if box.broker is not None:
        line += ["--ro-bind", str(box.broker), BROKER_SOCKET]
        forwards.append(f"{PROXY_PORT}={BROKER_SOCKET}")
    own = {"QWED_SANDBOX": "full", "QWED_HOOK_SOCKET": GATEWAY_SOCKET}
    for name, value in {**inherit_environment(box), **own}.items():
        line += ["--setenv", name, value]
    inside = [sys.executable, "-I", "-S", _INSIDE, *forwards, "--", *command]
    return [*line, "--chdir", str(box.project), "--", *inside]


def _own_port(gateway: str) -> list[int]:
    """Nobody but root may listen at the lower ones; the hook asks at the socket in any case."""
    port = urlsplit(gateway).port
    return [port] if port is not None and port >= _FIRST_FREE_PORT else []


def _bind_read(place: Path) -> list[str]:
    if place.is_symlink() and len(place.parts) == 2:
        return ["--symlink", str(place.readlink()), str(place)]
    return ["--ro-bind-try", str(place), str(place)] if place.exists() else []


def _protect_hooks(project: Path) -> list[str]:
    """The project's own hook settings can be read and not be written, whatever the agent is told.

    The folder is bound as well: one that is a place of its own can't be put aside for another.
    """
    line = list[str]()
    for name, files in _OWN_SETTINGS.items():
        folder = project / name
        if folder.is_dir() and not folder.is_symlink():
            line += ["--bind", str(folder), str(folder)]
            found = [folder / file for file in files if (folder / file).exists()]
            line += [word for place in found for word in ("--ro-bind", str(place), str(place))]
    return line


def find_readable(box: Box, program: str) -> list[Path]:
    """Besides the machine's own: Python (which may lie in a home), the agent, its hooks, what was named."""
    hooks = [Path.home() / name for name in HOOKS]
    return [Path(sys.base_prefix), Path(sys.prefix), *_program_of(program), *box.read, *hooks]


def _program_of(name: str) -> list[Path]:
    """The folder of the program, and of what it is a link to; nothing that would show a whole home."""
    found = shutil.which(name)
    if found is None:
        return []
    folders = {Path(found).parent, Path(found).resolve().parent}
    package = next(
        (parent for parent in Path(found).resolve().parents if parent.name == "node_modules"), None
    )
    wanted = [*folders, *([package] if package is not None else [])]
    home = Path.home()
    return [folder for folder in wanted if folder not in (home, Path("/")) and folder not in home.parents]


def inherit_environment(box: Box) -> dict[str, str]:
    """Nothing that holds a secret, but what the agent was given for its own model."""
    return {**inherit(_VARIABLES), **box.environment, "HOME": str(Path.home())}


def _is_terminal_safe() -> bool:
    """Whether a program can't push text into the terminal that started it."""
    try:
        return Path("/proc/sys/dev/tty/legacy_tiocsti").read_text(encoding="ascii").strip() == "0"
    except OSError:
        return False


@contextmanager
def way_out(gateway: str, ports: Sequence[int] = (), model: str | None = None) -> Iterator[Path]:
    """A folder with a socket to the gateway, one to each of these ports, and one to a model, as long as the
    block lasts."""
    parts = urlsplit(gateway)
    default = 443 if parts.scheme == "https" else 80
    targets = {"gateway": (parts.hostname or "127.0.0.1", parts.port or default)}
    targets |= {str(port): ("127.0.0.1", port) for port in ports}
    if model is not None:
        host, _, port_of_model = model.rpartition(":")
        targets["model"] = (host, int(port_of_model))
    with tempfile.TemporaryDirectory(prefix="qwed-run-") as folder, ExitStack() as open_sockets:
        path = Path(folder)
        (path / "inside.py").write_bytes(resources.files("qwed.coding").joinpath("inside.py").read_bytes())
        for name, target in targets.items():
            listener = open_sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(path / f"{name}.sock"))
            listener.listen(64)
            threading.Thread(target=_serve, args=(listener, target), daemon=True).start()
        yield path


def _serve(listener: socket.socket, target: tuple[str, int]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_join, args=(client, target), daemon=True).start()


def _join(client: socket.socket, target: tuple[str, int]) -> None:
    with client:
        try:
            gateway = socket.create_connection(target, timeout=10)
        except OSError:
            return
        with gateway:
            gateway.settimeout(None)
            back = threading.Thread(target=pass_on, args=(gateway, client), daemon=True)
            back.start()
            pass_on(client, gateway)
            back.join()


def run(box: Box, command: Sequence[str]) -> int:
    """The command's own exit code. Raises `CannotSandbox` before anything was started."""
    program = find_bubblewrap()
    with way_out(box.gateway, box.ports) as sockets:
        line = arguments(program, box, sockets, command)
        return subprocess.run(line, check=False).returncode  # noqa: S603
