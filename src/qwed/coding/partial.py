"""The partial sandbox, for machines that forbid namespaces: what the kernel lets any program give up.

It stops less than the full one, and says so: `NOT_COVERED` is shown before anything is started.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from qwed.coding import confined
from qwed.coding.models import ModelWay
from qwed.coding.sandbox import (
    HOOKS,
    SETTINGS,
    SYSTEM,
    Box,
    CannotSandbox,
    find_readable,
    inherit_environment,
    way_out,
)

NOT_COVERED: Final = (
    "settings in the project that name hooks, .git/config and .git/hooks can be written (named afterwards)",
    "names, sizes and dates of files elsewhere can be seen; rights and dates of your own can be changed",
    "other programs of this machine, and what they were started with, can be seen",
    "shared memory and message queues of other programs of yours can be reached",
    "the home is made for the run and goes with it; the hook settings in it are copies, and can be written",
)
_BEFORE_SCOPES: Final = "abstract sockets of other programs can be reached, and signals sent to them"
_SCOPES_SINCE: Final = 6
_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_MAX_NAMED: Final = 5
_PATH: Final = 7
_NO_MODEL: Final = ModelWay()


def find_version() -> int:
    """Of Landlock. Raises `CannotSandbox` where this machine has none that is enough."""
    if sys.platform != "linux" or platform.machine() not in confined.MACHINES:
        raise CannotSandbox(
            f"the partial sandbox needs Linux on {' or '.join(confined.MACHINES)}; nothing was started"
        )
    version = confined.landlock_version()
    if version < confined.FIRST_VERSION:
        raise CannotSandbox(
            f"the kernel has no Landlock that is enough (version {version} of {confined.FIRST_VERSION}): "
            "Linux 6.2 has it, with landlock in the list lsm= at boot; nothing was started"
        )
    return version


def list_open_ways() -> list[str]:
    """What this sandbox leaves open on this machine."""
    ways = list(NOT_COVERED)
    if find_version() < _SCOPES_SINCE:
        ways.append(_BEFORE_SCOPES)
    found = _find_sockets()
    if found:
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        ways.append(f"Unix sockets of other programs can be reached: {', '.join(found[:_MAX_NAMED])}{more}")
    return ways


def _find_sockets() -> list[str]:
    """Those that have a path, and that this person may write to: Landlock does not ask about them."""
    lines = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()[1:]
    paths = {line.split(None, _PATH)[_PATH] for line in lines if line.count(" /") == 1}
    return sorted(path for path in paths if os.access(path, os.W_OK))


def run(box: Box, command: Sequence[str], model: ModelWay = _NO_MODEL) -> int:
    """The command's own exit code. Raises `CannotSandbox` before anything was started."""
    find_version()
    if model.addresses and model.socket is None:
        raise CannotSandbox(
            f"{command[0]} reaches its model over TCP alone, which the partial sandbox refuses; "
            "nothing was started"
        )
    address = next(iter(model.addresses), None)
    with way_out(box.gateway, model=address) as sockets:
        line, environment = prepare(box, sockets, command)
        if model.socket is not None:
            environment[model.socket] = str(sockets / "model.sock")
        return subprocess.run(line, env=environment, cwd=box.project, check=False).returncode  # noqa: S603


def prepare(box: Box, sockets: Path, command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The whole command line, and the environment."""
    named = str(box.project / command[0]) if "/" in command[0] else command[0]
    program = shutil.which(named)
    if program is None:
        raise CannotSandbox(f"{command[0]} can't be found; nothing was started")
    scratch, home = sockets / "scratch", sockets / "home"
    scratch.mkdir(mode=0o700)
    _make_home(home, box.read)
    first = sockets / "confined.py"
    first.write_bytes(resources.files("qwed.coding").joinpath("confined.py").read_bytes())
    readable = (
        *map(Path, SYSTEM), *(Path("/etc") / name for name in SETTINGS), Path("/proc"), first,
        *find_readable(box, command[0]),
    )  # fmt: skip
    writable = (box.project, scratch, home, *(Path("/dev") / name for name in _DEVICES))
    line = [sys.executable, "-I", "-S", str(first), f"start={program}"]
    line += [f"read={path}" for path in readable] + [f"write={path}" for path in writable]
    own = {"QWED_SANDBOX": "partial", "QWED_HOOK_SOCKET": str(sockets / "gateway.sock")}
    environment = {**inherit_environment(box), **own, "HOME": str(home), "TMPDIR": str(scratch)}
    return [*line, "--", *command], environment


def _make_home(home: Path, given: Iterable[Path]) -> None:
    """What an agent keeps in its home beside its hooks would be read again outside, by the next one."""
    real = Path.home()
    home.mkdir(mode=0o700)
    for place in (*(real / name for name in HOOKS), *(path for path in given if path.is_relative_to(real))):
        copy = home / place.relative_to(real)
        if place.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, copy)
