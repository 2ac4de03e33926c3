"""The tables of docs/agentdojo.md, written between its markers."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ANSWERS = ("through", "asks a person", "refused")


def write_page(results: Mapping[str, Any], page: Path) -> str:
    """What was written, for whoever watches."""
    blocks = {name: table(outcomes) for name, outcomes in results["policies"].items()}
    blocks["suites"] = suites_table(results)
    text = page.read_text(encoding="utf-8")
    for name, block in blocks.items():
        marked = f"<!-- {name} -->\n{block}\n<!-- end -->"
        text = re.sub(rf"<!-- {name} -->\n.*?<!-- end -->", lambda _, new=marked: new, text, flags=re.S)
    page.write_text(text, encoding="utf-8")
    return "\n\n".join(f"{name}\n{block}" for name, block in blocks.items())


def suites_table(results: Mapping[str, Any]) -> str:
    lines = [
        f"AgentDojo {results['package']}, benchmark {results['benchmark']}.",
        "",
        "| suite | user tasks | injection tasks | of these with calls to replay | pairs |",
        "|---|---|---|---|---|",
    ]
    for name, counts in results["suites"].items():
        pairs = counts["user_tasks"] * counts["attacks"]
        lines.append(
            f"| {name} | {counts['user_tasks']} | {counts['injection_tasks']} "
            f"| {counts['attacks']} | {pairs} |"
        )
    return "\n".join(lines)


def table(outcomes: list[Mapping[str, Any]]) -> str:
    lines = [
        "| suite | user tasks kept | ask a person | refused "
        "| attacks stopped | refused | ask a person | through |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(outcome["suite"], outcome["user"], outcome["attacks"]) for outcome in outcomes]
    if len(outcomes) > 1:
        user, attacks = (
            {a: sum(o[k].get(a, 0) for o in outcomes) for a in _ANSWERS} for k in ("user", "attacks")
        )
        lines.append(_row("**all**", user, attacks))
    return "\n".join(lines)


def _row(name: str, user: Mapping[str, int], attacks: Mapping[str, int]) -> str:
    kept, asked, refused = (user.get(answer, 0) for answer in _ANSWERS)
    through, held, stopped = (attacks.get(answer, 0) for answer in _ANSWERS)
    return (
        f"| {name} | {_share(kept, kept + asked + refused)} | {asked} | {refused} "
        f"| {_share(held + stopped, through + held + stopped)} | {stopped} | {held} | {through} |"
    )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "–"
