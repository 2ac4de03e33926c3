"""`qwed guard`: the in-process guards on the command line."""

import json
import sys
from pathlib import Path
from typing import NoReturn

import click

from qwed.cli.groups import CommandGroup
from qwed.domain import json_text
from qwed.domain.json_text import JsonError
from qwed.domain.json_types import Json
from qwed_open_responses import ResponseVerifier, VerificationResult
from qwed_open_responses.guards import MathGuard, SafetyGuard, ToolGuard
from qwed_open_responses.policy import PolicyError

MAX_INPUT = 8_000_000


@click.group(cls=CommandGroup)
def guard() -> None:
    """Verify an agent's output without a gateway."""


@guard.command()
@click.option(
    "--policy",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A policy file with a guards section; without it: tool, math and safety guards.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON.")
@click.option("--text", "is_text", is_flag=True, help="The input is a text, not JSON.")
def check(policy: Path | None, as_json: bool, is_text: bool) -> None:
    """Read a JSON output on standard input, print the verdict, exit with 0 (verified) or 1 (blocked)."""
    raw = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(raw) > MAX_INPUT:
        _block(f"the input is larger than {MAX_INPUT} bytes")
    try:
        output = raw.decode("utf-8") if is_text else json_text.loads(raw)
        verifier = _verifier(policy)
    except (PolicyError, JsonError, UnicodeDecodeError) as error:
        _block(str(error))
    result = verifier.verify(output)
    click.echo(json.dumps(_verdict(result), indent=2) if as_json else _sentence(result))
    raise SystemExit(0 if result.verified else 1)


def _block(reason: str) -> NoReturn:
    click.echo(f"blocked: {reason}")
    raise SystemExit(1)


def _verifier(policy: Path | None) -> ResponseVerifier:
    if policy is not None:
        return ResponseVerifier.from_policy(policy)
    return ResponseVerifier([ToolGuard(), MathGuard(), SafetyGuard()])


def _sentence(result: VerificationResult) -> str:
    subject = result.tool_name or "the output"
    if result.verified:
        return f"verified: {subject} ({', '.join(result.guards_passed)})"
    return f"blocked: {subject}: {result.block_reason} ({result.failed_guard or 'no guards'})"


def _verdict(result: VerificationResult) -> dict[str, Json]:
    """The verdict alone: what was given is not repeated, it may hold what was found in it."""
    told = result.to_dict()
    return {key: told[key] for key in told if key not in ("arguments", "response")}
