"""`qwed policy`."""

import sys
from pathlib import Path
from typing import Final

import click
import msgspec

from qwed.bootstrap import CannotStart, SystemClock, read_policy, usable_policy
from qwed.cli.groups import CommandGroup
from qwed.cli.ledger_store import JSON_OPTION
from qwed.cli.policy_backtest import backtest
from qwed.cli.policy_changes import apply, history, rollback, show
from qwed.cli.policy_trial import CaseResult, Trial, rules_of, run_case
from qwed.cli.serve import DEFAULT_POLICY_FILE
from qwed.cli.shared import print_json, printable
from qwed.cli.tables import print_table
from qwed.domain.json_text import JsonError, loads
from qwed.domain.json_types import Json
from qwed.domain.policy import Policy
from qwed.gateway.kernel.wire import encode_json
from qwed.policy import PolicyExplanation, explain
from qwed.policy.cases import CaseAgent, CaseFile, load_cases
from qwed.policy.comparison import PolicyDiff, compare
from qwed.policy.mistakes import PolicyError, PolicyMistake
from qwed.policy.starters import STARTERS, read_starter
from qwed.rules.analysis import Direction, PolicyAnalysis, analyse

DEFAULT_TEST_FILE: Final = Path("qwed.test.yaml")


@click.group(cls=CommandGroup)
def policy() -> None:
    """Write, check, try and compare policy files."""


for command in (apply, backtest, history, rollback, show):
    policy.add_command(command)


@policy.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Exit code 1 where anything was found or not analysed.")
@JSON_OPTION
def check(file: Path | None, strict: bool, as_json: bool) -> int:
    """Check FILE [qwed.yaml]: mistakes, doubtful rules, and what differs from the defaults.

    Every mistake is named with its line. Without a file the built-in policy is in force. Exit code 1 where a
    rule cannot be read, and with --strict for every finding.
    """
    if file is None and DEFAULT_POLICY_FILE.exists():
        file = DEFAULT_POLICY_FILE
    if as_json and (mistakes := _mistakes_in(file)):
        print_json({"mistakes": msgspec.to_builtins(mistakes)})
        return 1
    policy = read_file(file)
    explanation, analysis = explain(policy), analyse(policy)
    if as_json:
        print_json({**msgspec.to_builtins(explanation), **msgspec.to_builtins(analysis)})
    else:
        _print_check(str(file or "the built-in policy"), explanation, analysis)
    is_doubtful = bool(analysis.findings or analysis.not_analysed)
    return 1 if strict and is_doubtful else 0


def _mistakes_in(file: Path | None) -> list[PolicyMistake]:
    """For programs, what keeps the file from being put in force."""
    try:
        read_policy(file)
    except PolicyError as error:
        return error.mistakes
    except (OSError, UnicodeError):
        # `read_file` says so.
        return []
    return []


def read_file(file: Path | None) -> Policy:
    try:
        return usable_policy(file)
    except CannotStart as error:
        raise click.ClickException(str(error)) from None


def _print_check(source: str, explanation: PolicyExplanation, analysis: PolicyAnalysis) -> None:
    for finding in analysis.findings:
        click.echo(f"{source}:{finding.line}: {finding.rule}: warning: {finding.message}")
        if finding.example is not None:
            click.echo(f"    example: {encode_json(finding.example).decode()}")
    for missing in analysis.not_analysed:
        click.echo(
            f"{source}:{missing.line}: {missing.rule}: not analysed ({missing.question}): {missing.why}"
        )
    click.echo(f"{source} is valid: {explanation.version}")
    if explanation.is_default:
        click.echo("nothing differs from the defaults")
        return
    rows = [[c.path, _short(c.default), _short(c.in_force)] for c in explanation.changes]
    print_table("What differs from the defaults", ["key", "default", "in force"], rows)


@policy.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@JSON_OPTION
def diff(old: Path, new: Path, as_json: bool) -> int:
    """Say what NEW lets through that OLD does not, and the other way round.

    Every rule, action type and key is tighter, looser, both, same or not analysed, with an action on which
    they differ. Exit code 3 where anything got looser or could not be analysed.
    """
    found = compare(read_file(old), read_file(new))
    if as_json:
        print_json(found)
    else:
        _print_diff(found)
    return 3 if found.needs_review else 0


def _print_diff(found: PolicyDiff) -> None:
    changed = [each for each in found.differences if each.direction is not Direction.SAME]
    for each in changed:
        click.echo(f"{each.direction.value}: {each.subject}" + (f" ({each.why})" if each.why else ""))
        for name, example in (("stopped now", each.tighter), ("let through now", each.looser)):
            if example is not None:
                click.echo(f"    {name}: {encode_json(example).decode()}")
    if not changed:
        click.echo("both say the same")


@policy.command("test")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@JSON_OPTION
def test_policy(file: Path | None, as_json: bool) -> int:
    """Run the tests in FILE [qwed.test.yaml] against its policy, in memory. Exit code 1 where one fails."""
    file = file or DEFAULT_TEST_FILE
    cases = _read_cases(file)
    policy = read_file(file.parent / cases.policy)
    is_quiet = as_json or not sys.stderr.isatty()
    with click.progressbar(cases.tests, label="trying", hidden=is_quiet, file=sys.stderr) as tests:
        results = [run_case(policy, cases, case) for case in tests]
    silent = sorted({rule.id for rule in policy.rules} - {name for each in results for name in each.rules})
    if as_json:
        print_json({"tests": results, "rules": len(policy.rules), "rules_without_a_test": silent})
    else:
        _print_results(file, results, len(policy.rules), silent)
        _say_profile(policy)
    return 1 if any(each.problems for each in results) else 0


def _say_profile(policy: Policy) -> None:
    if policy.profile is not None:
        click.echo(f"what the profile '{policy.profile.value}' asks of tokens is no part of a trial")


def _read_cases(file: Path) -> CaseFile:
    try:
        return load_cases(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise click.ClickException(f"{file} can't be read: {error.strerror}") from None
    except ValueError as error:
        raise click.ClickException(f"{file} has mistakes:\n{error}") from None


def _print_results(file: Path, results: list[CaseResult], rules: int, silent: list[str]) -> None:
    for each in results:
        click.echo(f"{'FAIL' if each.problems else 'PASS'}  {each.name}")
        for problem in each.problems:
            click.echo(f"      {file}:{each.line}: {printable(problem)}")
    failed = sum(1 for each in results if each.problems)
    covered = f"{rules - len(silent)} of {rules} rules have one"
    click.echo(f"{len(results) - failed} of {len(results)} tests pass; {covered}")
    if silent:
        click.echo(f"no test is about {', '.join(silent)}")


@policy.command("explain")
@click.argument("action", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--config", "file", type=click.Path(path_type=Path), help="The policy file [qwed.yaml].")
@click.option("--trust", type=click.IntRange(0, 3), help="The agent's trust level [2].")
@click.option("--allow-tool", "tools", multiple=True, help="A tool the agent may use; may be repeated.")
@JSON_OPTION
def explain_action(
    action: Path, file: Path | None, trust: int | None, tools: tuple[str, ...], as_json: bool
) -> int:
    """Show every check that the action in ACTION.json would go through. Nothing is recorded.

    The agent is autonomous, unless --trust says otherwise; it has every engine and the tools of --allow-tool.
    """
    if file is None and DEFAULT_POLICY_FILE.exists():
        file = DEFAULT_POLICY_FILE
    policy = read_file(file)
    trial = Trial(policy, CaseAgent(trust=trust, allowed_tools=tools), SystemClock().now_ms())
    try:
        answer = trial.propose(_read_action(action), "explain", 1)
        checks = trial.account(answer)
    finally:
        trial.close()
    if as_json:
        named = {"decision": answer["decision"], "error": answer.get("error"), "rules": rules_of(answer)}
        print_json({**named, "checks": checks})
    else:
        _print_checks(answer, checks)
        _say_profile(policy)
    return 0


def _read_action(file: Path) -> dict[str, object]:
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        value = loads(text)
    except OSError as error:
        raise click.ClickException(f"{file} can't be read: {error.strerror}") from None
    except JsonError as error:
        raise click.ClickException(f"{file} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.ClickException(f"{file} holds no action: expected a JSON object")
    return value


def _print_checks(answer: dict[str, Json], checks: list[dict[str, Json]]) -> None:
    rows = [
        [str(each["number"] or ""), each["check"], each["state"], printable(str(each.get("message") or ""))]
        for each in checks
    ]
    print_table(f"{answer['decision']}", ["", "check", "answer", "says"], rows)


@policy.command("init")
@click.argument("kind", type=click.Choice(STARTERS), default="minimal")
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@JSON_OPTION
def init_policy(kind: str, force: bool, as_json: bool) -> int:
    """Write a policy to start from, qwed.yaml, and its tests, qwed.test.yaml."""
    files = dict(zip((DEFAULT_POLICY_FILE, DEFAULT_TEST_FILE), read_starter(kind), strict=True))
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise click.ClickException(f"{' and '.join(there)} would be overwritten; say --force to do so")
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"written": [str(file) for file in files]})
    else:
        click.echo(f"wrote {' and '.join(map(str, files))}: read them, then run qwed policy test")
    return 0


def _short(value: object) -> str:
    return "-" if value is None else encode_json(value).decode()[:100]
