"""`qwed mcp import`: take over what an MCP client starts, after showing the difference; and give it back."""

import difflib
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import click
import msgspec

from qwed.domain.secrets import mask
from qwed_sdk.mcp.client_files import ClientFile, UnreadableConfig, open_file, put_proxy_before

#: Beside the file: as it was, and what it was written as.
BACKUP: Final = ".before-qwed"
WRITTEN: Final = ".qwed-import"

_HOME_FILES: Final = {
    "claude": (
        "Library/Application Support/Claude/claude_desktop_config.json",
        "AppData/Roaming/Claude/claude_desktop_config.json",
        ".config/Claude/claude_desktop_config.json",
    ),
    "cursor": (".cursor/mcp.json",),
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "codex": (".codex/config.toml",),
}
CLIENTS: Final = tuple(_HOME_FILES)


class Written(msgspec.Struct, frozen=True):
    sha256: str


def file_of(client: str | None, file: str | None) -> Path:
    if (client is None) == (file is None):
        raise click.UsageError(f"name a client ({', '.join(CLIENTS)}), or its file with --file")
    if file is not None:
        return Path(file)
    assert client is not None
    found = [path for name in _HOME_FILES[client] if (path := Path.home() / name).is_file()]
    if not found:
        raise click.ClickException(f"{client} has no configuration in its usual place; name it with --file")
    return found[0]


def take_over(path: Path, options: tuple[str, ...], env: dict[str, str], *, write: bool) -> int:
    """Show what would change, and change it where asked to."""
    try:
        file = open_file(path)
        text = file.rewritten(lambda entry: put_proxy_before(entry, _program(), options, env))
    except UnreadableConfig as problem:
        raise click.ClickException(str(problem)) from None
    if text == file.text or all(entry.is_proxied for entry in file.entries()):
        click.echo(f"{path}: every server is behind the proxy already")
        return 0
    click.echo(_difference(file, text), nl=False)
    if not write:
        click.echo("nothing was changed: --write changes it, --undo gives it back", err=True)
        return 0
    if _beside(path, BACKUP).exists():
        raise click.ClickException(f"{path}: was taken over before; --undo gives it back first")
    shutil.copy2(path, _beside(path, BACKUP))
    _write(path, text)
    note = Written(hashlib.sha256(text.encode()).hexdigest())
    _beside(path, WRITTEN).write_bytes(msgspec.json.encode(note))
    click.echo(f"{path}: written; start the client anew", err=True)
    return 0


def give_back(path: Path) -> int:
    """The file as it was. What a person changed since is not thrown away."""
    backup, written = _beside(path, BACKUP), _beside(path, WRITTEN)
    if not backup.exists() or not written.exists():
        raise click.ClickException(f"{path}: was not taken over")
    expected = msgspec.json.decode(written.read_bytes(), type=Written).sha256
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        raise click.ClickException(f"{path}: changed since it was taken over; the old one is {backup}")
    backup.replace(path)
    written.unlink()
    click.echo(f"{path}: as it was", err=True)
    return 0


def _program() -> tuple[str, ...]:
    found = shutil.which("qwed")
    return (found,) if found is not None else (sys.executable, "-m", "qwed")


def _difference(file: ClientFile, text: str) -> str:
    """For a person to read: secrets are not shown."""
    lines = difflib.unified_diff(
        mask(file.text).splitlines(keepends=True),
        mask(text).splitlines(keepends=True),
        str(file.path),
        f"{file.path} (behind the proxy)",
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and for the same readers as before; it may hold a token now."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
