"""Refuses personal data, secrets, injections, named words, and spending past the budget."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.domain.secrets import find_secrets, preview
from qwed_open_responses import (
    injections,
    local_model,
    orders,
    personal_data,
    settings,
    spelled_orders,
    sql_fragments,
    url_secrets,
)
from qwed_open_responses.example_secrets import is_example
from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.libraries import library
from qwed_open_responses.personal_checks import TextPlace
from qwed_open_responses.personal_data import DETECTORS, WINDOW, Detector, pattern_of
from qwed_open_responses.personal_slots import Places
from qwed_open_responses.phone_checks import is_called_a_phone, may_be_phone
from qwed_open_responses.results import GuardResult
from qwed_open_responses.spent_budget import NotACharge, ToolSpending, amount, charge_of
from qwed_open_responses.text_scan import SECRET_SIGNALS, ScannedLine, TextScan, scan

_MAX_FINDINGS: Final = 100
_MAX_OF_ONE_KIND: Final = 20


class SafetyFinding(msgspec.Struct, frozen=True):
    kind: str
    path: str
    masked: str
    category: str


# An output of more characters is searched for one sort of finding after the other, until there is one.
_LONG: Final = 30_000


class SafetyGuard(BaseGuard):
    """`pii_allow` names what is let through: a kind (`phone`), an argument (`customer_email`), an address or
    `@domain`. Data in the slot that is for it (`shipping_address`, `participants`) always is, and what
    `context["given"]` says that the agent was given. `harmful_patterns` are words, or RE2
    expressions written `re:…`.

    `model` is the path of a classifier of your own (`local_model`); it only adds findings.

    Costs, tokens and calls add up over the life of the guard. `max_budget=None` takes QWED_OR_MAX_BUDGET.
    """

    def __init__(
        self,
        block_pii: bool = True,
        block_injection: bool = True,
        block_secrets: bool = True,
        max_budget: float | Decimal | None = None,
        harmful_patterns: Iterable[str] | None = None,
        pii_allow: Iterable[str] = (),
        *,
        cost_per_call: float | Decimal = 0.0,
        max_calls: int | None = 1000,
        max_tokens: int | None = None,
        model: str | Path | None = None,
    ) -> None:
        budget = (
            settings.from_environment().max_budget if max_budget is None else amount("max_budget", max_budget)
        )
        self._spending = ToolSpending(budget, max_tokens, max_calls)
        self._cost_per_call = amount("cost_per_call", cost_per_call)
        self._allowed = frozenset(entry.lower() for entry in pii_allow)
        self._harmful = tuple(map(_harmful_pattern, harmful_patterns or ()))
        self._model = None if model is None else local_model.load(model)
        searches: list[tuple[bool, Callable[[TextScan, Places], Iterator[SafetyFinding]]]] = [
            (block_secrets, secrets_in),
            (block_pii, self._personal_data_in),
            (block_injection, injections_in),
            (self._model is not None, self._ask_model),
            (bool(self._harmful), self._harmful_words_in),
        ]
        self._searches = tuple(search for is_wanted, search in searches if is_wanted)

    @property
    def spent(self) -> Decimal:
        return self._spending.cost

    @property
    def tokens(self) -> int:
        return self._spending.tokens

    @property
    def calls(self) -> int:
        return self._spending.calls

    def reset_budget(self) -> None:
        self._spending.reset()

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        view = viewed(response)
        try:
            refusal = self._spending.reserve(charge_of(context or {}, view.usage, self._cost_per_call))
        except NotACharge as problem:
            refusal = str(problem)
        if refusal is not None:
            return self.fail_result(f"budget: {refusal}", {"budget": refusal})
        scanned = view.once(scan) if self._searches else None
        places = Places(view.tool_calls, context)
        findings = [] if scanned is None else self._findings(scanned, places)
        if not findings:
            return self.pass_result()
        shown = ", ".join(
            dict.fromkeys(f"{finding.kind} in {finding.path or 'the text'}" for finding in findings)
        )
        details = {"findings": [msgspec.structs.asdict(finding) for finding in findings]}
        return self.fail_result(f"found {shown[:400]}", details)

    def _findings(self, scanned: TextScan, places: Places) -> list[SafetyFinding]:
        found: dict[tuple[str, str, str], SafetyFinding] = {}
        for search in self._searches:
            for finding in search(scanned, places):
                found.setdefault((finding.kind, finding.path, finding.masked), finding)
                if len(found) == _MAX_FINDINGS:
                    return list(found.values())
            if found and len(scanned.blob) > _LONG:
                # Refused already: what else a long output holds is not looked for.
                break
        return list(found.values())

    def _personal_data_in(self, scanned: TextScan, places: Places) -> Iterator[SafetyFinding]:
        return personal_data_in(scanned, places, self._allowed)

    def _ask_model(self, scanned: TextScan, places: Places) -> Iterator[SafetyFinding]:
        if self._model is None:
            return
        for line in scanned.lines:
            if self._model.flags(line.value):
                yield SafetyFinding("prompt_injection", line.text.path, "by the local model", "injection")

    def _harmful_words_in(self, scanned: TextScan, places: Places) -> Iterator[SafetyFinding]:
        for shown, pattern in self._harmful:
            for match in pattern.finditer(scanned.blob):
                line, start = scanned.line_at(match.start())
                if match.end() > start + _name_length(line):
                    yield SafetyFinding("harmful_pattern", line.text.path, shown, "harmful")


def secrets_in(scanned: TextScan, places: Places) -> Iterator[SafetyFinding]:
    if url_secrets.SIGNAL in scanned.signals:
        for kind, start in url_secrets.find_hidden_secrets(scanned.blob):
            yield SafetyFinding(kind, scanned.line_at(start)[0].text.path, "in an address", "secret")
    if scanned.signals.isdisjoint(SECRET_SIGNALS):
        return
    for secret in find_secrets(scanned.blob):
        value = scanned.blob[secret.start : secret.end]
        if is_example(secret.kind, value):
            continue
        line, _ = scanned.line_at(secret.start)
        yield SafetyFinding(secret.kind, line.text.path, preview(value), "secret")


def personal_data_in(
    scanned: TextScan, places: Places, allowed: frozenset[str] = frozenset()
) -> Iterator[SafetyFinding]:
    for finding, _, _ in locate_personal_data_in(scanned, places, allowed):
        yield finding


def locate_personal_data_in(
    scanned: TextScan,
    places: Places,
    allowed: frozenset[str] = frozenset(),
    *,
    most_of_one_kind: int = _MAX_OF_ONE_KIND,
    most_phones: int = personal_data.MAX_PHONES,
) -> Iterator[tuple[SafetyFinding, int, int]]:
    """Each finding with the place of the blob where it begins and ends."""
    if scanned.signals.isdisjoint(personal_data.SIGNALS):
        return
    left = most_phones
    for detector in DETECTORS:
        if detector.kind in allowed or not _may_occur(detector, scanned):
            continue
        found = 0
        for line, start, match in scanned.find(
            personal_data.signal(detector.signal), detector.shape, pattern_of(detector)
        ):
            if detector.may_be is not None and not detector.may_be(match.group()):
                continue
            place = _place(scanned.blob, line, start, match)
            if detector.kind == "phone" and detector.accept is not is_called_a_phone:
                if not may_be_phone(place):
                    continue
                left -= 1
                if left < 0:
                    many = f"more than {most_phones} candidates"
                    yield SafetyFinding("phone", line.text.path, many, "pii"), match.start(), match.end()
                    break
            if (
                detector.accept(place)
                and not _is_allowed(line, place.match, allowed)
                and not places.are_for(detector.kind, line.text, place.match)
            ):
                shown = personal_data.masked(detector.kind, place.match)
                yield SafetyFinding(detector.kind, line.text.path, shown, "pii"), match.start(), match.end()
                found += 1
                if found == most_of_one_kind:
                    break


def _may_occur(detector: Detector, scanned: TextScan) -> bool:
    return not detector.also or personal_data.signal(detector.also) in scanned.signals


def injections_in(scanned: TextScan, places: Places) -> Iterator[SafetyFinding]:
    if scanned.signals.isdisjoint(_INJECTION_SIGNALS):
        return
    found_in: set[int] = set()
    mentioned: dict[int, list[tuple[int, int]]] = {}
    for index, injection in enumerate(injections.INJECTIONS):
        found = 0
        for line, start, match in scanned.find(injections.signal(index), injection.shape):
            if injection.accept(scanned.blob, match.start(), match.end()):
                found_in.add(start)
                yield SafetyFinding(injection.kind, line.text.path, "", "injection")
                found += 1
                if found == _MAX_OF_ONE_KIND:
                    break
            else:
                mentioned.setdefault(start, []).append((match.start(), match.end()))
    for line, start in scanned.lines_with(spelled_orders.SPELLED):
        value = _leave_out(line, start, mentioned.get(start, ()))
        if start not in found_in and spelled_orders.hides_an_order(value):
            yield SafetyFinding("prompt_injection", line.text.path, "", "injection")
    for line, start in scanned.lines_with(orders.SIGNAL):
        if start in found_in:
            continue
        order = _find_order(scanned.blob, line, start, mentioned.get(start, ()))
        if order is not None:
            yield SafetyFinding("prompt_injection", line.text.path, ", ".join(order.cues), "injection")
    for line, start in scanned.lines_with(sql_fragments.SIGNAL):
        if start not in found_in and sql_fragments.breaks_out(line.value):
            yield SafetyFinding("sql_injection", line.text.path, "", "injection")


def _find_order(
    blob: str, line: ScannedLine, start: int, mentions: Sequence[tuple[int, int]]
) -> orders.WrittenOrder | None:
    """What is quoted is left out, and the rest is read: a mention must not excuse what stands beside it."""
    if not mentions:
        return orders.find_order(line.value)
    quoted = [span for span in mentions if not _QUOTES.isdisjoint(blob[max(span[0] - 1, 0) : span[0] + 1])]
    return orders.find_order(_leave_out(line, start, quoted), _SURE)


def _leave_out(line: ScannedLine, start: int, spans: Sequence[tuple[int, int]]) -> str:
    value, begin = line.value, start + _name_length(line)
    for first, last in spans:
        value = value[: first - begin] + " " * (last - first) + value[last - begin :]
    return value


# In words that read like an order and are none, something has to be ordered besides.
_SURE: Final = 7
_QUOTES: Final = frozenset("\"'`“”‘’«»„")
_INJECTION_SIGNALS: Final = frozenset((*injections.SIGNALS, *orders.signals(), *sql_fragments.SIGNALS))


def _name_length(line: ScannedLine) -> int:
    return len(line.text.key) + 2 if line.text.key else 0


def _place(blob: str, line: ScannedLine, start: int, match: Any) -> TextPlace:
    begin = max(start, match.start() - WINDOW)
    end = min(start + _name_length(line) + len(line.value), match.end() + WINDOW)
    return TextPlace(match.group(), blob[begin : match.start()], blob[match.end() : end])


def _is_allowed(line: ScannedLine, value: str, allowed: frozenset[str]) -> bool:
    key, lowered = line.text.key.lower(), value.lower()
    return key in allowed or lowered in allowed or "@" + lowered.rpartition("@")[2] in allowed


def _harmful_pattern(text: str) -> tuple[str, Any]:
    re2: Any = library("re2")
    if not isinstance(text, str) or not text.removeprefix("re:"):
        raise ValueError(f"a harmful pattern is a word or re:…, not {text!r}")
    is_expression = text.startswith("re:")
    expression = text.removeprefix("re:") if is_expression else rf"(?i)(?:\b|_){re2.escape(text)}(?:\b|_|s\b)"
    try:
        return text, re2.compile(expression)
    except re2.error as error:
        raise ValueError(f"{text!r} is not an RE2 expression: {error}") from None
