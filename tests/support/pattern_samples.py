"""Texts that a regular expression describes, drawn at random; what it only looks around at is left out."""

import random
import string
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_LETTERS = string.ascii_letters + string.digits


def draw(pattern: str, chance: random.Random) -> str:
    return _draw(_parser.parse(pattern), chance)


def _draw(parts: Iterable[tuple[Any, Any]], chance: random.Random) -> str:
    return "".join(_one(str(kind), of, chance) for kind, of in parts)


def _one(kind: str, of: Any, chance: random.Random) -> str:
    match kind:
        case "LITERAL":
            return chr(of)
        case "IN":
            return _one(*_named(chance.choice(of)), chance)
        case "RANGE":
            return chr(chance.randint(*of))
        case "CATEGORY":
            return chance.choice(_LETTERS)
        case "MAX_REPEAT":
            least, most, parts = of
            return "".join(_draw(parts, chance) for _ in range(chance.randint(least, min(most, least + 2))))
        case "SUBPATTERN":
            return _draw(of[-1], chance)
        case "BRANCH":
            return _draw(chance.choice(of[1]), chance)
        case "ASSERT" | "ASSERT_NOT":
            return ""
    raise NotImplementedError(kind)


def _named(part: tuple[Any, Any]) -> tuple[str, Any]:
    return str(part[0]), part[1]
