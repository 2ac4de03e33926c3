"""`qwed workspace`: snapshot, diff, roll back."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.guards.workspace import FileChange, WorkspaceError, WorkspaceGuard

_COLOURS = {"added": "green", "removed": "red", "modified": "yellow", "mode": "cyan", "type": "magenta"}
_SHORTEST_PREFIX = 6


@click.group(cls=CommandGroup)
def workspace() -> None:
    """Snapshot, diff and roll back a workspace.

    Exit codes: 0 done (diff: nothing changed), 1 there are changes (diff), or something could not be
    brought back (rollback), 2 the command could not be carried out.
    """


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs."),
        click.option(
            "--store", metavar="DIRECTORY", help="Where snapshots are kept; by default in your home."
        ),
        click.argument("path", default="."),
    ):
        command = decorate(command)
    return command


@workspace.command()
@_common
@click.option("--include-ignored", is_flag=True, help="Save what .gitignore leaves out, too.")
@click.option("--include-git", is_flag=True, help="Save .git itself, so that a rollback restores it.")
def snapshot(path: str, store: str | None, as_json: bool, include_ignored: bool, include_git: bool) -> None:
    """Take a snapshot of PATH (default: here), and print its id."""
    guard = _open(path, store)
    with _Errors():
        snapshot_id = guard.snapshot(include_ignored=include_ignored, include_git=include_git)
    click.echo(msgspec.json.encode({"snapshot": snapshot_id}) if as_json else snapshot_id)


@workspace.command()
@click.argument("snapshot_id", metavar="SNAPSHOT")
@_common
def diff(snapshot_id: str, path: str, store: str | None, as_json: bool) -> None:
    """List what changed in PATH (default: here) since SNAPSHOT, an id or the beginning of one."""
    guard = _open(path, store)
    with _Errors():
        changes = guard.diff(_full_id(guard, snapshot_id))
    if as_json:
        click.echo(msgspec.json.encode({"changes": _plain(changes)}))
    else:
        _print(changes)
    _exit(1 if changes else 0)


@workspace.command()
@click.argument("snapshot_id", metavar="SNAPSHOT")
@_common
def rollback(snapshot_id: str, path: str, store: str | None, as_json: bool) -> None:
    """Bring PATH (default: here) back to SNAPSHOT. What was added since then is deleted."""
    guard = _open(path, store)
    with _Errors():
        result = guard.rollback(_full_id(guard, snapshot_id))
    if as_json:
        lost = [_printable(name) for name in result.lost]
        click.echo(msgspec.json.encode({"undone": _plain(result.undone), "lost": lost}))
    else:
        _print(result.undone)
        click.echo(f"{len(result.undone)} changes undone")
        for name in result.lost:
            click.echo(f"lost: {_printable(name)} was not part of the snapshot and is gone", err=True)
    _exit(1 if result.lost else 0)


class _Errors:
    """The guard's one error, as a sentence and exit code 2."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, WorkspaceError):
            raise CannotRun(str(error)) from None


def _open(path: str, store: str | None) -> WorkspaceGuard:
    try:
        return WorkspaceGuard(Path(path), store=store)
    except (ValueError, OSError) as error:
        raise CannotRun(str(error)) from None


def _full_id(guard: WorkspaceGuard, beginning: str) -> str:
    """A beginning that only one snapshot has; anything else is left to the guard to refuse."""
    matches = [known for known in guard.snapshots() if known.startswith(beginning)]
    return matches[0] if len(matches) == 1 and len(beginning) >= _SHORTEST_PREFIX else beginning


def _plain(changes: Sequence[FileChange]) -> list[dict[str, str]]:
    return [{"kind": change.kind, "path": _printable(change.path)} for change in changes]


def _printable(path: str) -> str:
    """Any file name as text: bytes that are not UTF-8 appear as \\xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _print(changes: Sequence[FileChange]) -> None:
    for change in changes:
        # Agents choose file names: a name must not steer the terminal.
        name = _printable(change.path)
        shown = name if name.isprintable() else ascii(name)
        click.echo(f"{click.style(f'{change.kind:9}', fg=_COLOURS[change.kind])} {shown}")


def _exit(code: int) -> NoReturn:
    click.get_current_context().exit(code)
