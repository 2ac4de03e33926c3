"""Mistakes that can be seen without proof: what the author probably did not mean."""

import re
from collections.abc import Iterator
from typing import Final

from qwed.domain.rules import Per, PolicyRule, Then
from qwed.engines.tools.arguments import ArgumentFamily, Role, family_of, role_of
from qwed.rules.expressions import Expression, path_of
from qwed.rules.tree import CelCall, CelLiteral, CelNode, walk

_COMPARISONS: Final = frozenset({"_==_", "_!=_", "@in", "startsWith", "endsWith", "contains", "matches"})
_ORDERS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_FUNCTIONS: Final = {Role.RECIPIENT: "recipients", Role.URL: "hosts", Role.HOST: "hosts", Role.PATH: "paths"}
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
#: Where nothing says what a tool is for, these names still do.
_UNMISTAKABLE: Final = {
    "to": "recipients",
    "cc": "recipients",
    "bcc": "recipients",
    "recipient": "recipients",
}

Look = tuple[str, str]


def look_at(rule: PolicyRule, when: Expression, trigger: Expression | None) -> Iterator[Look]:
    for expression in (when, trigger):
        if expression is not None:
            yield from _raw_comparisons(expression)
            yield from _find_quoted_numbers(expression)
    yield from _escapable(rule)
    yield from _pointless_limit(rule)


def _raw_comparisons(expression: Expression) -> Iterator[Look]:
    seen = set()
    for node in walk(expression.tree):
        if not isinstance(node, CelCall) or node.function not in _COMPARISONS:
            continue
        for argument in node.arguments:
            path = path_of(argument, frozenset())
            function = None if path is None else _function_for(path, expression.types)
            if path is not None and function is not None and path not in seen:
                seen.add(path)
                shown = ".".join(path)
                yield (
                    "raw-comparison",
                    f"compares {shown} as it was written, which misses lists, other parameters and other "
                    f"spellings; use {function}(action)",
                )


def _function_for(path: tuple[str, ...], types: frozenset[str] | None) -> str | None:
    if path[0] not in ("action", "asked") or len(path) != (3 if path[1:2] == ("parameters",) else 2):
        return None
    name = path[-1]
    if path[1] not in ("parameters", "target"):
        return None
    families = {family_of(each) for each in types or ()} or {ArgumentFamily.OTHER}
    roles = {role_of(name, family) for family in families}
    found = next((_FUNCTIONS[role] for role in roles if role in _FUNCTIONS), None)
    return found or (_UNMISTAKABLE.get(name) if types is None else None)


def _find_quoted_numbers(expression: Expression) -> Iterator[Look]:
    for node in walk(expression.tree):
        if isinstance(node, CelCall) and node.function in _ORDERS:
            for text in map(_number_text, node.arguments):
                if text is not None:
                    yield "quoted-number", f'compares with the text "{text}"; write the number without quotes'


def _number_text(node: CelNode) -> str | None:
    if isinstance(node, CelLiteral) and isinstance(node.value, str) and _NUMBER.fullmatch(node.value):
        return node.value
    return None


def _escapable(rule: PolicyRule) -> Iterator[Look]:
    scopes = {
        "never_after": rule.never_after and rule.never_after.same,
        "limit": rule.limit and rule.limit.per,
        "cooldown": rule.cooldown and rule.cooldown.per,
    }
    for form, scope in scopes.items():
        if scope is Per.CONVERSATION:
            yield (
                "escapable",
                f"{form} looks at one conversation, and an agent can start a new one; say agent",
            )


def _pointless_limit(rule: PolicyRule) -> Iterator[Look]:
    limit = rule.limit
    if limit is None:
        return
    if limit.at_most == 0 and rule.then is not Then.NOTE:
        yield "zero-limit", "at_most: 0 is always reached; leave the limit out"
    if limit.by is not None and limit.by == limit.path:
        yield "by-itself", f"counts {limit.path} apart by itself, so each window holds one value"
