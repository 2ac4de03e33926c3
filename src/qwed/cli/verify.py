"""`qwed verify`: one action, or one engine."""

import difflib
from typing import Final

import click

from qwed.cli.backend import open_backend
from qwed.cli.shared import DECISION_COLOURS, print_json, printable, shown
from qwed.domain.json_text import JsonError, loads
from qwed.domain.json_types import Json
from qwed.domain.registry import ACTION_ENGINES, CODE, ENGINE_NAMES, TOOL_RISK_LEVELS
from qwed.settings import read_settings

KNOWN_KINDS: Final = (*ENGINE_NAMES, *ACTION_ENGINES, *TOOL_RISK_LEVELS)
STATUS_COLOURS = {"VERIFIED": "green", "CORRECTED": "cyan", "UNCERTAIN": "yellow", "FAILED": "red"}


@click.command()
@click.argument("kind")
@click.argument("text", required=False)
@click.option("--parameters", metavar="JSON", help="Parameters of the action, as a JSON object.")
@click.option("--agent", "agent_id", metavar="ID", help="Decide for this agent, and record it.")
@click.option("--conversation", default="command-line", show_default=True, help="With --agent.")
@click.option("--step", type=int, help="With --agent: the step number.")
@click.option("--database", metavar="PATH", help="The store to open when no gateway runs.")
@click.option("--url", "base_url", metavar="URL", help="The gateway to ask (QWED_BASE_URL).")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def verify(
    kind: str,
    text: str | None,
    parameters: str | None,
    agent_id: str | None,
    conversation: str,
    step: int | None,
    database: str | None,
    base_url: str | None,
    as_json: bool,
) -> int:
    """Verify KIND TEXT: an engine (math, logic, sql, code, fact, tool_control) or an action type.

    \b
    qwed verify math "15% of 200 is 30"
    qwed verify sql "DELETE FROM users"
    qwed verify execute_sql "SELECT 1" --agent agent_… --step 1

    Without --agent one engine is asked here, nothing is decided and nothing recorded. Exit codes: 0
    for VERIFIED, CORRECTED, APPROVED; 1 otherwise.
    """
    action = _action(kind, text, _parameters(parameters))
    if agent_id is None:
        return _ask_engine(kind, action, as_json=as_json)
    if step is None:
        raise click.UsageError("a decision needs a step: --step 1 for the first of the conversation")
    settings = read_settings(options={"database": database, "base_url": base_url})
    with open_backend(settings) as backend:
        context = {"conversation_id": conversation, "step_number": step}
        answer = backend.verify_action(agent_id, action, context)
    if as_json:
        print_json(answer)
    else:
        _print_decision(answer)
    return 0 if answer["decision"] in ("APPROVED", "CORRECTED") else 1


def _parameters(text: str | None) -> dict[str, Json]:
    try:
        value = {} if text is None else loads(text.encode("utf-8", "surrogateescape"))
    except JsonError as error:
        raise click.BadParameter(str(error), param_hint="--parameters") from None
    if not isinstance(value, dict):
        raise click.BadParameter("expected a JSON object", param_hint="--parameters")
    return value


def _action(kind: str, text: str | None, parameters: dict[str, Json]) -> dict[str, Json]:
    field = "code" if CODE in (kind, ACTION_ENGINES.get(kind)) else "query"
    action: dict[str, Json] = {"type": kind}
    if text is not None:
        action[field] = text
    if parameters:
        action["parameters"] = parameters
    return action


def _ask_engine(kind: str, action: dict[str, Json], *, as_json: bool) -> int:
    from qwed.engines import Engines  # noqa: PLC0415 - only where an engine is asked
    from qwed.gateway.policy.registries import finding_wire  # noqa: PLC0415

    if kind not in KNOWN_KINDS:
        raise click.UsageError(_unknown_kind(kind))
    engines = Engines()
    try:
        finding = engines.verify(action, engine=kind if kind in ENGINE_NAMES else None)
    finally:
        engines.close()
    wire = finding_wire(finding)
    if as_json:
        print_json(wire)
    else:
        _print_finding(wire)
    return 0 if finding.status in ("VERIFIED", "CORRECTED") else 1


def _unknown_kind(kind: str) -> str:
    near = difflib.get_close_matches(kind, KNOWN_KINDS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"the engines are {', '.join(ENGINE_NAMES)}"
    return f"{kind!r} is no engine and no action type; {meant}"


def _print_finding(wire: dict[str, Json]) -> None:
    status = click.style(wire["status"], fg=STATUS_COLOURS[wire["status"]], bold=True)
    click.echo(f"{status}  {wire['engine']}, {wire['risk_level']} risk")
    if wire["reason"]:
        click.echo(f"  {printable(wire['reason'])}")
    if wire["corrected_action"]:
        click.echo(f"  corrected: {_say(wire['corrected_action'])}")
    for name, value in wire["evidence"].items():
        click.echo(f"  {name}: {shown(value)}")


def _say(action: dict[str, Json]) -> str:
    """What is asked for; an action of more than one field is shown whole."""
    fields = [value for name, value in action.items() if name != "type"]
    return shown(fields[0] if len(fields) == 1 else action)


def _print_decision(answer: dict[str, Json]) -> None:
    decision = answer["decision"]
    click.echo(click.style(decision, fg=DECISION_COLOURS.get(decision), bold=True))
    if answer.get("observed"):
        click.echo(f"  only observed: it would be {answer['would']['decision']}")
    if (error := answer.get("would", answer).get("error")) is not None:
        click.echo(f"  {printable(error['message'])} ({error['code']})")
    if "verification" in answer:
        verification = answer["verification"]
        click.echo(
            f"  {verification['status']} by {verification['engine']}, {verification['risk_level']} risk"
        )
    if "corrected_action" in answer:
        click.echo(f"  corrected: {_say(answer['corrected_action'])}")
    if "approval" in answer:
        click.echo(f"  waits for {answer['approval']['id']} until {answer['approval']['expires_at']}")
