"""`qwed tools`: what agents wanted to use and could not."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from qwed.bootstrap import CannotStart, usable_policy
from qwed.cli.groups import CommandGroup
from qwed.cli.serve import DEFAULT_POLICY_FILE
from qwed.cli.shared import Backend, print_json, with_backend
from qwed.domain.json_types import Json
from qwed.policy import PolicyError, load_policy
from qwed.policy.proposals import Learned, fragment, learn, merged

PAGE: Final = 1000
MAX_PAGES: Final = 100


@click.group(cls=CommandGroup)
def tools() -> None:
    """Tools that agents use."""


@tools.command("learn")
@click.argument("agent_ids", nargs=-1, metavar="[AGENT]...")
@click.option("--from", "from_", metavar="TIME", help="Only refusals since then, ISO 8601.")
@click.option("--policy", "policy_file", type=click.Path(path_type=Path), help="The policy [qwed.yaml].")
@click.option("--write", "target", type=click.Path(path_type=Path), help="Write the proposal to a new FILE.")
@click.option("--accept", is_flag=True, help="Put the proposal into the policy file.")
@with_backend
def learn_tools(
    backend: Backend,
    agent_ids: tuple[str, ...],
    from_: str | None,
    policy_file: Path | None,
    target: Path | None,
    accept: bool,
    as_json: bool,
) -> None:
    """Propose a policy for the tools that were refused as unknown, of these agents or of all.

    Nothing is written without --write or --accept. What sounds dangerous is proposed as a comment. A gateway
    reads its policy when it starts.
    """
    file = policy_file or DEFAULT_POLICY_FILE
    try:
        policy = usable_policy(file if file.exists() or policy_file else None)
    except CannotStart as error:
        raise click.ClickException(str(error)) from None
    learned = learn(_refusals(backend, agent_ids, from_), policy)
    if as_json:
        print_json(learned)
    else:
        click.echo(fragment(learned) if learned.proposals else "nothing was refused as unknown", nl=False)
        click.echo()
    if learned.proposals and target is not None:
        _write_new(target, fragment(learned))
    if learned.proposals and accept:
        _accept(file, learned)


def _refusals(backend: Backend, agent_ids: tuple[str, ...], from_: str | None) -> Iterator[dict[str, Json]]:
    for agent_id in agent_ids or _all_agents(backend):
        query: dict[str, str | int] = {"decision": "DENIED", "limit": PAGE}
        if from_ is not None:
            query["from"] = from_
        for _ in range(MAX_PAGES):
            page = backend.get_agent_activity(agent_id, **query)
            yield from page["activities"]
            if page.get("next") is None:
                break
            query["cursor"] = page["next"]


def _all_agents(backend: Backend) -> Iterator[str]:
    after: str | None = None
    while True:
        page = backend.agents(after, PAGE)
        yield from (agent["agent_id"] for agent in page["agents"])
        after = page.get("next")
        if after is None:
            return


def _write_new(target: Path, text: str) -> None:
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise click.ClickException(f"{target} exists already: name a new file") from None
    except OSError as error:
        raise click.ClickException(f"{target} can't be written: {error.strerror}") from None
    click.echo(f"written to {target}: read it, then put it into your policy", err=True)


def _accept(file: Path, learned: Learned) -> None:
    """The file as it will be is checked before it takes the place of the one that is there."""
    try:
        text = merged(file.read_text(encoding="utf-8") if file.exists() else "", learned)
        load_policy(text, str(file))
        _replace(file, text)
    except (PolicyError, ValueError) as error:
        raise click.ClickException(f"{file} was left as it is: {error}") from None
    except OSError as error:
        raise click.ClickException(f"{file} can't be written: {error.strerror}") from None
    click.echo(f"{file} has the new tools: start the gateway again to use them", err=True)


def _replace(file: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(file.stat().st_mode if file.exists() else 0o644)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
