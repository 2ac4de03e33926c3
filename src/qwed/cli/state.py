"""`qwed state`: check an agent's state, and commit it."""

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.domain.json_text import JsonError, loads
from qwed.guards.agent_state import AgentStateGuard, StateResult

_encoder = msgspec.json.Encoder(decimal_format="number", order="sorted")
_SCHEMA_HELP = "File with the required schema."
_RULES_HELP = "File with the transition rules."
_JSON_HELP = "The whole result as JSON, for programs."


@click.group(cls=CommandGroup)
def state() -> None:
    """Check and commit an agent's state file.

    Exit codes: 0 verified, 1 blocked, 2 the command could not be carried out.
    """


@state.command()
@click.argument("proposed")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help=_SCHEMA_HELP)
@click.option("--rules", "rules_file", metavar="FILE", help=_RULES_HELP)
@click.option("--current", "current", metavar="FILE", help="The state before: checks the transition too.")
@click.option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def check(
    proposed: str, schema_file: str, rules_file: str | None, current: str | None, as_json: bool
) -> None:
    """Check the state in the file PROPOSED (- is standard input).

    \b
    qwed state check state.json --schema schema.json
    qwed state check next.json --schema schema.json --rules rules.json --current state.json
    """
    guard = _guard(schema_file, rules_file)
    if current is None:
        result = guard.verify_state_payload(_text(proposed))
    else:
        result = guard.verify_state_transition(_text(current), _text(proposed))
    _finish(result, as_json=as_json)


@state.command()
@click.argument("proposed")
@click.argument("target")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help=_SCHEMA_HELP)
@click.option("--rules", "rules_file", required=True, metavar="FILE", help=_RULES_HELP)
@click.option(
    "--current",
    "current",
    metavar="FILE",
    help="The state the agent started from. Default: TARGET itself, or PROPOSED where there is none yet.",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIRECTORY",
    help="Where a state may be written; may be repeated. Default: the directory of TARGET.",
)
@click.option("--json", "as_json", is_flag=True, help=_JSON_HELP)
def commit(
    proposed: str,
    target: str,
    schema_file: str,
    rules_file: str,
    current: str | None,
    roots: tuple[str, ...],
    as_json: bool,
) -> None:
    """Verify the step to the state in PROPOSED (- is standard input) and write it to TARGET, atomically.

    \b
    qwed state commit next.json /var/agent-state/a1.json --schema schema.json --rules rules.json
    """
    path = Path(target).absolute()
    proposed_text = _text(proposed)
    guard = _guard(schema_file, rules_file, [str(Path(root).absolute()) for root in roots or (path.parent,)])
    if current is None:
        current_text = _text(str(path)) if path.is_file() else proposed_text
    else:
        current_text = _text(current)
    result = guard.verify_transition_and_commit_state(current_text, proposed_text, str(path))
    _finish(result, as_json=as_json)


def _guard(schema_file: str, rules_file: str | None, roots: list[str] | None = None) -> AgentStateGuard:
    schema = _configuration(schema_file)
    rules = None if rules_file is None else _configuration(rules_file)
    try:
        return AgentStateGuard(schema, rules, roots)
    except ValueError as error:
        raise CannotRun(str(error)) from None


def _configuration(file: str) -> Any:
    try:
        return loads(_bytes(file))
    except JsonError as error:
        raise CannotRun(f"{file}: {error}") from None


def _text(file: str) -> str:
    # A byte that is not UTF-8 becomes a lone surrogate, which the guard refuses as what it is.
    return _bytes(file).decode("utf-8", "surrogateescape")


def _bytes(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise CannotRun(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _finish(result: StateResult, *, as_json: bool) -> NoReturn:
    if as_json:
        click.echo(_encoder.encode(result))
    elif result["verified"]:
        click.echo(f"{click.style('VERIFIED', fg='green')} {result['proof']}")
        click.echo(f"  proof  {result['proof_ref']}")
        if "committed_path" in result:
            path = json.dumps(result["committed_path"])
            click.echo(f"  wrote  {path} ({result['committed_bytes']} bytes)")
    else:
        click.echo(f"{click.style('BLOCKED', fg='red')} {result['error_code']} {result['message']}", err=True)
    click.get_current_context().exit(0 if result["verified"] else 1)
