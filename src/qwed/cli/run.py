"""`qwed run -- COMMAND`: start a coding agent in a sandbox whose only way out is the gateway."""

import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import click
import httpx2
import msgspec

from qwed.cli.shared import print_json, printable
from qwed.coding import partial as partial_sandbox
from qwed.coding import sandbox
from qwed.coding.hook_install import read_hooks
from qwed.coding.models import ModelWay, find_model
from qwed.coding.reconcile import AllowedCall, find_undecided, read_calls
from qwed.coding.sandbox import Box, CannotSandbox
from qwed.coding.surroundings import inherit_without
from qwed.domain.json_types import Json
from qwed.engines.code.shell.project import is_project_root
from qwed.engines.code.shell.reach import holds_agent_settings
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
@click.option(
    "--broker",
    metavar="FOLDER",
    help="That of `qwed broker serve --folder FOLDER --socket FOLDER/broker.sock`, the way to everything else"
    " [one of its own, to the agent's model alone].",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Where there can be no full sandbox: a lesser one, which says what it does not cover.",
)
@click.option("--rollback", is_flag=True, help="Bring the project back as it was before the last run.")
@click.option(
    "--gateway", metavar="URL", help="The gateway that can be reached [QWED_BASE_URL, else this machine's]."
)
@click.option("--json", "as_json", is_flag=True, help="Plain JSON about the run, for programs, at its end.")
def run(
    command: tuple[str, ...],
    read: tuple[str, ...],
    broker: str | None,
    partial: bool,
    rollback: bool,
    gateway: str | None,
    as_json: bool,
) -> int:
    """Start COMMAND in a sandbox: the project can be written, the gateway and the agent's model reached.

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
    before = _run_guarded(guard.snapshot)
    settings = read_settings()
    scheme = "https" if settings.tls_cert else "http"
    address = gateway or settings.base_url or f"{scheme}://{settings.host}:{settings.port}"
    model = find_model(command[0], inherit_without(), Path.home())
    reached = [address, *model.addresses]
    click.echo(f"sandbox: {project} can be written, snapshot {before[:12]}", err=True)
    click.echo(
        f"sandbox: reached are {', '.join(reached if broker is None else [address, broker])}", err=True
    )
    started = time.time()
    box = Box(project, address, (*map(Path, read), *model.logins), environment=model.environment)
    try:
        code = _start(box, command, model, broker, partial=partial)
    except CannotSandbox as problem:
        raise click.ClickException(str(problem)) from None
    changed = [change.path for change in _run_guarded(lambda: guard.diff(before))]
    undecided = find_undecided(
        project,
        changed,
        _read_allowed_calls(started),
        lambda path: _run_guarded(lambda: guard.read_saved(before, path)),
    )
    if as_json:
        print_json({"exit_code": code, "snapshot": before, "changed": changed, "undecided": undecided})
    else:
        _tell(changed, undecided)
    return code


def _start(box: Box, command: Sequence[str], model: ModelWay, broker: str | None, *, partial: bool) -> int:
    """In the full sandbox wherever there can be one; a lesser one is asked for by name."""
    try:
        with _open_proxy(broker, model, box.gateway) as (socket, ways):
            readable = (*box.read, *([socket.parent] if socket else []))
            environment = {**box.environment, **ways}
            whole = msgspec.structs.replace(
                box, read=readable, broker=socket, environment=environment, ports=model.ports
            )
            return sandbox.run(whole, command)
    except CannotSandbox as problem:
        if not partial:
            raise
        click.echo(f"sandbox: partial, because {problem}", err=True)
    return _start_partial(box, command, model, broker)


def _start_partial(box: Box, command: Sequence[str], model: ModelWay, broker: str | None) -> int:
    if broker is not None:
        raise CannotSandbox("the partial sandbox has no way to a broker: leave --broker out")
    for way in partial_sandbox.list_open_ways():
        click.echo(f"sandbox: not covered: {printable(way)}", err=True)
    return partial_sandbox.run(box, command, model)


@contextmanager
def _open_proxy(
    folder: str | None, model: ModelWay, gateway: str
) -> Iterator[tuple[Path | None, Mapping[str, str]]]:
    """The socket of a broker, and the variables that lead to it: of the one that was named, or of our own."""
    if folder is not None:
        yield Path(folder) / "broker.sock", _read_ways(Path(folder))
    elif not model.hosts:
        yield None, {}
    else:
        from qwed.broker.broker_runs import passing  # noqa: PLC0415 - what it is made of is an extra

        inside = f"127.0.0.1:{sandbox.PROXY_PORT}"
        with passing(model.hosts, gateway, inside) as found:
            yield found


def _read_ways(folder: Path) -> dict[str, str]:
    """What `qwed broker serve` wrote for programs, with the address that its socket has inside."""
    try:
        lines = (folder / "environment").read_text(encoding="ascii").splitlines()
    except OSError as problem:
        raise click.ClickException(f"no broker answers for {folder} ({problem.strerror})") from None
    ways = dict(shlex.split(line)[1].split("=", 1) for line in lines)
    inside = f"127.0.0.1:{sandbox.PROXY_PORT}"
    return {name: re.sub(r"127\.0\.0\.1:\d+", inside, value) for name, value in ways.items()}


def _tell(changed: Sequence[str], undecided: Sequence[str]) -> None:
    click.echo(f"{len(changed)} files changed; qwed run --rollback brings them back", err=True)
    for path in filter(holds_agent_settings, changed):
        click.echo(f"settings that name hooks were changed: {printable(path)}", err=True)
    for path in undecided[:_MAX_SHOWN]:
        click.echo(f"effect without a decision: {printable(path)}", err=True)
    if len(undecided) > _MAX_SHOWN:
        click.echo(f"... and {len(undecided) - _MAX_SHOWN} more files without a decision", err=True)


def _read_allowed_calls(started: float) -> list[AllowedCall]:
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
    return _run_guarded(lambda: WorkspaceGuard(project))


def _roll_back(guard: WorkspaceGuard, *, as_json: bool) -> int:
    taken = guard.snapshots()
    if not taken:
        raise click.ClickException("there is no snapshot of this project: nothing was run here")
    done = _run_guarded(lambda: guard.rollback(taken[-1]))
    if as_json:
        print_json({"snapshot": taken[-1]})
    else:
        click.echo(f"the project is as it was at {taken[-1][:12]}: {done}")
    return 0


def _run_guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except WorkspaceError as problem:
        raise click.ClickException(str(problem)) from None
