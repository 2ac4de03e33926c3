"""The section `rules`: one entry per rule, each with the line it stands in."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from qwed.domain.rules import (
    MAX_COUNT,
    MAX_EXPRESSION_BYTES,
    MAX_MESSAGE,
    MAX_RULES,
    MAX_TEAM_RULES,
    MAX_TEAMS,
    Cooldown,
    Limit,
    Measure,
    Mode,
    NeverAfter,
    Per,
    PolicyRule,
    Requires,
    Team,
    Then,
    duration_ms,
)
from qwed.policy import readers
from qwed.policy.readers import INVALID, PolicyReading, Reader, flag, whole
from qwed.policy.yaml_text import YamlNode
from qwed.rules.expressions import NotAnExpression, read_expression

_ID: Final = readers.matching(
    r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "an id of letters, digits and _ . - (at most 64)"
)
_TEAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PATH: Final = re.compile(r"(action|asked|context|agent|charge)(\.[A-Za-z_][A-Za-z0-9_]{0,63}){1,8}")
_TIMES: Final = ("limit", "requires", "never_after", "cooldown")
_PER: Final = readers.member("scope", Per)


def _expression(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    text = node.value
    if not isinstance(text, str) or not text.strip() or len(text.encode()) > MAX_EXPRESSION_BYTES:
        return reading.expected(node, path, f"an expression (CEL) of at most {MAX_EXPRESSION_BYTES} bytes")
    try:
        read_expression(text)
    except NotAnExpression as error:
        for mistake in error.mistakes:
            reading.fail(node.line, path, str(mistake))
        return INVALID
    return text


def _path(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    if not isinstance(node.value, str) or not _PATH.fullmatch(node.value):
        return reading.expected(node, path, "a path such as action.parameters.amount")
    return node.value


def _within(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    found = duration_ms(node.value) if isinstance(node.value, str) else None
    if found is None:
        return reading.expected(node, path, "a duration such as 90s, 15m, 24h or 7d, up to 366d")
    return found


def _message(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    if not isinstance(node.value, str) or not 0 < len(node.value.strip()) <= len(node.value) <= MAX_MESSAGE:
        return reading.expected(node, path, f"text of 1 to {MAX_MESSAGE} characters")
    return node.value


_LIMIT: Final[Mapping[str, Reader]] = {
    "count": flag,
    "sum": _path,
    "distinct": _path,
    "by": _path,
    "at_most": readers.amount_in("units"),
    "per": _PER,
    "within": _within,
}
_REQUIRES: Final[Mapping[str, Reader]] = {
    "before": _expression,
    "within": _within,
    "outcome": readers.one_of("outcome", ("success",)),
    "confirmed": flag,
    "same": _PER,
}
_NEVER_AFTER: Final[Mapping[str, Reader]] = {"after": _expression, "within": _within, "same": _PER}
_COOLDOWN: Final[Mapping[str, Reader]] = {"within": _within, "per": _PER}


def _limit(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = _read_given(reading, node, path, _LIMIT, ("at_most", "within"))
    if given is None:
        return INVALID
    named = [name for name in ("sum", "distinct") if name in given]
    if given.pop("count", None) is False or len(named) + ("count" in node.value) > 1:
        return reading.fail(node.line, path, "a limit has one of count: true, sum and distinct")
    measure = Measure(named[0]) if named else Measure.COUNT
    at_most = given["at_most"]
    if measure is not Measure.SUM and not _is_count(at_most):
        what = f"a whole number from 0 to {MAX_COUNT} where actions or different values are counted"
        return reading.expected(node.value["at_most"], f"{path}.at_most", what)
    of = given.get(named[0]) if named else None
    per = given.get("per", Per.AGENT)
    return Limit(at_most, given["within"], measure, of, given.get("by"), per)


def _is_count(amount: Decimal) -> bool:
    return amount <= MAX_COUNT and amount == amount.to_integral_value()


def _requires(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = _read_given(reading, node, path, _REQUIRES, ("before", "within"))
    if given is None:
        return INVALID
    succeeded, confirmed = "outcome" in given, given.get("confirmed", False)
    if confirmed and not succeeded:
        return reading.fail(node.line, path, "confirmed says whose report counts: it needs outcome: success")
    return Requires(given["before"], given["within"], succeeded, confirmed, given.get("same", Per.AGENT))


def _never_after(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = _read_given(reading, node, path, _NEVER_AFTER, ("after", "within"))
    return (
        INVALID
        if given is None
        else NeverAfter(given["after"], given["within"], given.get("same", Per.AGENT))
    )


def _cooldown(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = _read_given(reading, node, path, _COOLDOWN, ("within",))
    return INVALID if given is None else Cooldown(given["within"], given.get("per", Per.AGENT))


def _read_given(
    reading: PolicyReading, node: YamlNode, path: str, keys: Mapping[str, Reader], needed: tuple[str, ...]
) -> dict[str, Any] | None:
    """What was written; None where a key that is needed is missing or wrong, which was said then."""
    given: dict[str, Any] = readers.fields(keys)(reading, node, path)
    written = node.value if isinstance(node.value, dict) else {}
    for key in needed:
        if key not in written:
            reading.fail(node.line, path, f"needs {key}")
    return given if given.keys() >= set(needed) and given.keys() == written.keys() else None


RULE: Final[Mapping[str, Reader]] = {
    "id": _ID,
    "when": _expression,
    "then": readers.member("effect", Then),
    "message": _message,
    "role": readers.text,
    "approvers": whole(1, 10),
    "mode": readers.member("mode", Mode),
    "limit": _limit,
    "requires": _requires,
    "never_after": _never_after,
    "cooldown": _cooldown,
}


def rule(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = _read_given(reading, node, path, RULE, ("id", "when", "then"))
    if given is None:
        return INVALID
    times = [name for name in _TIMES if name in given]
    if len(times) > 1:
        return reading.fail(node.line, path, f"a rule has one of {', '.join(_TIMES)}; write a rule for each")
    if given["then"] is not Then.ASK and ("role" in given or "approvers" in given):
        return reading.fail(node.line, path, "role and approvers say who is asked: they need then: ask")
    return PolicyRule(**given, line=node.line)


def rules(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    if node.value is None:
        return ()
    found = readers.list_of(rule, MAX_RULES)(reading, node, path)
    if found is INVALID:
        return found
    first: dict[str, int] = {}
    for each in found:
        if first.setdefault(each.id, each.line) != each.line:
            reading.fail(each.line, f"{path}.{each.id}", f"is given twice, first in line {first[each.id]}")
    return found


TEAM: Final[Mapping[str, Reader]] = {"principals": readers.list_of(readers.text, 1_000), "rules": rules}


def teams(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """By name; a principal is in one team."""
    found: dict[str, Team] = {}
    seen: dict[str, str] = {}
    for name, item in readers.members_of(reading, node, path).items():
        inner = f"{path}.{name[:80]}"
        given = _read_given(reading, item, inner, TEAM, ("principals",))
        if not _TEAM_NAME.fullmatch(name):
            reading.fail(item.key_line, inner, "a team's name has letters, digits and _ . - (at most 64)")
        if given is None:
            continue
        for principal in given["principals"]:
            if seen.setdefault(principal, name) != name:
                reading.fail(item.line, inner, f"{principal!r} is in the team {seen[principal]} already")
        found[name] = Team(given["principals"], given.get("rules", ()))
    if len(found) > MAX_TEAMS or sum(len(team.rules) for team in found.values()) > MAX_TEAM_RULES:
        reading.fail(node.line, path, f"at most {MAX_TEAMS} teams, with {MAX_TEAM_RULES} rules in all")
    return found
