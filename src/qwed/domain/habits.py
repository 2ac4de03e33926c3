"""What is unusual about an action, beside what its agent was allowed to do before. Pure comparison, no
judgement: a person who is asked sees at a glance what has never been there."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed.domain.risk import Risk
from qwed.domain.times import HOUR_MS

#: With fewer earlier actions nothing is usual yet.
MIN_PAST: Final = 5
#: With fewer, the time of day says nothing.
MIN_PAST_FOR_HOURS: Final = 50
MAX_DIFFERENCES: Final = 12
MAX_QUOTED: Final = 120
_RARE_SHARE: Final = 0.02


class ComparedAction(msgspec.Struct, frozen=True):
    """An action with what can be compared of it."""

    action_type: str
    at_ms: int
    target: str | None = None
    parameters: Mapping[str, Json] = msgspec.field(default_factory=dict)
    risk: Risk | None = None
    query: str | None = None
    code: str | None = None


class UnusualField(msgspec.Struct, frozen=True):
    """`field` of the action is `now`; `usual` says what it was before."""

    field: str
    now: str
    usual: str


def differences(deed: ComparedAction, past: Sequence[ComparedAction]) -> list[UnusualField]:
    if len(past) < MIN_PAST:
        return [
            UnusualField("history", deed.action_type, f"only {len(past)} earlier actions to compare with")
        ]
    alike = [one for one in past if one.action_type == deed.action_type]
    found = [
        *_type(deed, past, alike),
        *_risk(deed, past),
        *_texts(deed, alike),
        *_parameters(deed, alike),
        *_hour(deed, past),
    ]
    return found[:MAX_DIFFERENCES]


def _type(
    deed: ComparedAction, past: Sequence[ComparedAction], alike: Sequence[ComparedAction]
) -> list[UnusualField]:
    if not alike:
        return [UnusualField("action type", deed.action_type, f"never among its last {len(past)} actions")]
    if len(alike) <= max(1, len(past) * _RARE_SHARE):
        return [
            UnusualField("action type", deed.action_type, f"{len(alike)} of its last {len(past)} actions")
        ]
    return []


def _risk(deed: ComparedAction, past: Sequence[ComparedAction]) -> list[UnusualField]:
    highest = max((one.risk for one in past if one.risk is not None), default=None)
    if deed.risk is None or highest is None or deed.risk <= highest:
        return []
    return [UnusualField("risk", deed.risk.wire, f"at most {highest.wire} before")]


def _texts(deed: ComparedAction, alike: Sequence[ComparedAction]) -> list[UnusualField]:
    found: list[UnusualField] = []
    for field in ("target", "query", "code"):
        now, seen = getattr(deed, field), [getattr(one, field) for one in alike]
        found += _new_text(field, now, [text for text in seen if text]) if now else []
    return found


def _parameters(deed: ComparedAction, alike: Sequence[ComparedAction]) -> list[UnusualField]:
    found: list[UnusualField] = []
    for name, value in deed.parameters.items():
        seen = [one.parameters[name] for one in alike if name in one.parameters]
        if len(alike) >= MIN_PAST and not seen:
            found.append(UnusualField(_quote(name), _quote(value), f"not given in {len(alike)} earlier ones"))
        elif _is_number(value):
            found += _new_number(name, value, [number for number in seen if _is_number(number)])
        elif isinstance(value, str):
            found += _new_text(_quote(name), value, [text for text in seen if isinstance(text, str)])
    return found


def _new_text(field: str, now: str, seen: Sequence[str]) -> list[UnusualField]:
    """Reported only where there is a habit: something that is different every time has none."""
    if len(seen) < MIN_PAST or now in seen:
        return []
    (usual, times), *_ = Counter(seen).most_common(1)
    if times * 4 < len(seen):
        return []
    return [UnusualField(field, _quote(now), f"mostly {_quote(usual)} ({times} of {len(seen)})")]


def _new_number(name: str, now: Any, seen: Sequence[Any]) -> list[UnusualField]:
    if len(seen) < MIN_PAST:
        return []
    for is_beyond, end, word in _ENDS:
        if is_beyond(now, end(seen)):
            usual = f"{word} {end(seen)} in {len(seen)} earlier ones"
            return [UnusualField(_quote(name), str(now)[:MAX_QUOTED], usual)]
    return []


_ENDS: Final[tuple[tuple[Callable[[Any, Any], bool], Callable[[Sequence[Any]], Any], str], ...]] = (
    (lambda now, end: now > end, max, "at most"),
    (lambda now, end: now < end, min, "at least"),
)


def _hour(deed: ComparedAction, past: Sequence[ComparedAction]) -> list[UnusualField]:
    if len(past) < MIN_PAST_FOR_HOURS:
        return []
    hour = _hour_of(deed)
    near = sum(1 for one in past if (_hour_of(one) - hour + 1) % 24 <= 2)
    if near > len(past) * _RARE_SHARE:
        return []
    return [
        UnusualField(
            "time of day", f"{hour:02d}:00 UTC", f"{near} of its last {len(past)} within an hour of it"
        )
    ]


def _hour_of(deed: ComparedAction) -> int:
    return deed.at_ms // HOUR_MS % 24


def _is_number(value: Any) -> bool:
    # A NaN compares with nothing, itself included.
    return not isinstance(value, bool | str) and hasattr(value, "__lt__") and _is_real(value)


def _is_real(value: Any) -> bool:
    try:
        return bool(value == value and value - value == 0)
    except (TypeError, ArithmeticError):
        return False


def _quote(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
