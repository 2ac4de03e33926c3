"""Who a server is, apart from what it is pointed at: the program and what it runs, not the data it is given.

Two starts of one program with different folders are one server; two scripts of one interpreter are two. A
guess that takes one server for two withholds tools of the same name, and one that takes two for one does not
look for names that shadow each other: so only arguments that name existing files and folders are left out.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

_ENDING: Final = re.compile(r"(?:\.exe|\.cmd|\.bat)$", re.IGNORECASE)
_VERSION: Final = re.compile(r"[\d.]+$")
#: Programs whose first file is the program to run.
_INTERPRETERS: Final = frozenset(
    {"python", "pypy", "uv", "uvx", "node", "npx", "bun", "deno", "tsx", "ts-node", "ruby", "perl", "php"}
    | {"java", "dotnet", "sh", "bash", "zsh", "dash", "env"}
)
MAX_ARGUMENT: Final = 4096


def identity_of(command: Sequence[str]) -> str:
    program = _ENDING.sub("", PurePath(command[0]).name)
    runs_files = _VERSION.sub("", program) in _INTERPRETERS
    kept = [program]
    for argument in command[1:]:
        name, separator, value = argument.partition("=")
        path = _existing(value if separator and name.startswith("-") else argument)
        if path is None:
            kept.append(argument)
        elif runs_files and path.is_file():
            kept.append(str(path))
            runs_files = False
        elif separator and name.startswith("-"):
            kept.append(name)
    digest = hashlib.sha256("\0".join(kept).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{program}-{digest[:12]}"


def _existing(argument: str) -> Path | None:
    """The file or folder that an argument names."""
    if not argument or len(argument) > MAX_ARGUMENT or "\0" in argument:
        return None
    try:
        path = Path(argument).expanduser()
        return path.resolve() if path.exists() else None
    except (OSError, RuntimeError):
        return None
