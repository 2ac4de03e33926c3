"""`qwed run -- COMMAND`: start a coding agent in a sandbox whose only way out is the gateway."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import click
import httpx2

from qwed.cli.shared import print_json, printable
from qwed.coding import sandbox
from qwed.coding.hook_install import read_hooks
from qwed.coding.reconcile import AllowedCall, find_undecided, read_calls
from qwed.coding.sandbox import Box, CannotSandbox
from qwed.domain.json_types import Json
from qwed.engines.code.shell.project import is_project_root
from qwed.guards.workspace import WorkspaceError, WorkspaceGuard
from qwed.settings import read_settings

T = TypeVar("T")
_PAGE: Final = 100
_MAX_SHOWN: Final = 20


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--read", "read", multiple=True, metavar="PATH", help="One more place that can be read; repeatable."
)
@click.option("--broker", metavar="SOCKET", help="The Unix socket of a broker: the way to everything else.")
@click.option("--rollback", is_flag=True, help="Bring the project back as it was before the last run.")
@click.option(
    "--gateway", metavar="URL", help="The gateway that can be reached [QWED_BASE_URL, else this machine's]."
)
@click.option("--json", "as_json", is_flag=True, help="Plain JSON about the run, for programs, at its end.")
def run(
    command: tuple[str, ...],
    read: tuple[str, ...],
    broker: str | None,
    rollback: bool,
    gateway: str | None,
    as_json: bool,
) -> int:
    """Start COMMAND in a sandbox: the project can be written, the gateway reached, and nothing else.

    A snapshot of the project is taken first; --rollback brings it back. Afterwards every file that changed
    without a decision is named.
    """
    project = Path.cwd()
    guard = _guard(project)
    if rollback:
        return _roll_back(guard, as_json=as_json)
    if not command:
        raise click.UsageError("name the command after --, for example: qwed run -- claude")
    if not is_project_root(str(project)):
        raise click.ClickException(f"{project} is no project: change into the folder that the agent works in")
    before = _guarded(guard.snapshot)
    settings = read_settings()
    scheme = "https" if settings.tls_cert else "http"
    address = gateway or settings.base_url or f"{scheme}://{settings.host}:{settings.port}"
    box = Box(project, address, tuple(map(Path, read)), None if broker is None else Path(broker))
    click.echo(f"sandbox: {project} can be written, {address} reached; snapshot {before[:12]}", err=True)
    started = time.time()
    try:
        code = sandbox.run(box, command)
    except CannotSandbox as problem:
        raise click.ClickException(str(problem)) from None
    changed = [change.path for change in _guarded(lambda: guard.diff(before))]
    undecided = find_undecided(project, changed, _allowed_calls(started))
    if as_json:
        print_json({"exit_code": code, "snapshot": before, "changed": changed, "undecided": undecided})
    else:
        _tell(changed, undecided)
    return code


def _tell(changed: Sequence[str], undecided: Sequence[str]) -> None:
    click.echo(f"{len(changed)} files changed; qwed run --rollback brings them back", err=True)
    for path in undecided[:_MAX_SHOWN]:
        click.echo(f"effect without a decision: {printable(path)}", err=True)
    if len(undecided) > _MAX_SHOWN:
        click.echo(f"... and {len(undecided) - _MAX_SHOWN} more files without a decision", err=True)


def _allowed_calls(started: float) -> list[AllowedCall]:
    """Of every hook that is installed here; a record that can't be read explains nothing."""
    found: list[AllowedCall] = []
    for hook in read_hooks(Path.home()):
        try:
            found += read_calls(_read_record(hook, started), time.time())
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as problem:
            click.echo(f"the record of {hook.get('agent_id', 'a hook')} can't be read: {problem}", err=True)
    return found


def _read_record(hook: Mapping[str, str], started: float) -> list[Mapping[str, Json]]:
    scheme = "https" if hook["tls"] == "yes" else "http"
    address = f"{scheme}://{hook['host']}:{hook['port']}/agents/{hook['agent_id']}/activity"
    since = datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    query: dict[str, str | int] = {"from": since, "limit": _PAGE}
    entries: list[Mapping[str, Json]] = []
    while True:
        headers = {"Authorization": f"Bearer {hook['token']}"}
        answer = httpx2.get(address, params=query, headers=headers, timeout=30).raise_for_status().json()
        entries += answer["activities"]
        if "next" not in answer:
            return entries
        query["cursor"] = answer["next"]


def _guard(project: Path) -> WorkspaceGuard:
    return _guarded(lambda: WorkspaceGuard(project))


def _roll_back(guard: WorkspaceGuard, *, as_json: bool) -> int:
    taken = guard.snapshots()
    if not taken:
        raise click.ClickException("there is no snapshot of this project: nothing was run here")
    done = _guarded(lambda: guard.rollback(taken[-1]))
    if as_json:
        print_json({"snapshot": taken[-1]})
    else:
        click.echo(f"the project is as it was at {taken[-1][:12]}: {done}")
    return 0


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except WorkspaceError as problem:
        raise click.ClickException(str(problem)) from None
