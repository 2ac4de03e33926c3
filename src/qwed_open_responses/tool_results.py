"""What a tool answered, looked at before a model reads it: personal data, secrets, orders to the model.

A result is any JSON object. Every text in it is looked at, wherever it stands; pictures and sounds are not.
What was found can be masked in a copy: a value by its span, an order (or whatever stood behind an encoding or
a disguise) with the whole text it stands in, because half an order is still one.
"""

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed.domain.secrets import find_secrets
from qwed_open_responses.guards.safety import injections_in, locate_personal_data_in
from qwed_open_responses.output_reader import OutputReader
from qwed_open_responses.outputs import Output
from qwed_open_responses.parts import OutputText
from qwed_open_responses.personal_slots import Places
from qwed_open_responses.text_scan import SECRET_SIGNALS, TextScan, scan

MAX_CHARACTERS: Final = 8_000_000
MAX_NODES: Final = 400_000
MAX_DEPTH: Final = 64
MAX_FINDINGS: Final = 50_000

PERSONAL: Final = "personal"
SECRETS: Final = "secrets"
ORDERS: Final = "orders"
CATEGORIES: Final = (PERSONAL, SECRETS, ORDERS)

#: The one kind of injection that speaks to a model; the others are aimed at programs, which read no results.
_ORDER_KIND: Final = "prompt_injection"
_LONG_INTEGER: Final = 10**8
_MEDIA: Final = frozenset({"image", "audio"})

Path = tuple[str | int, ...]


class TooMuch(Exception):
    """A result that cannot be looked at whole."""


class Spot(msgspec.Struct, frozen=True):
    """Part of the text at `path`; the whole of it where `span` is None."""

    category: str
    kind: str
    path: Path
    span: tuple[int, int] | None


class ResultFindings(msgspec.Struct, frozen=True):
    """`problem` says why not everything could be looked at, or is None."""

    result: Mapping[str, Json]
    spots: tuple[Spot, ...]
    problem: str | None = None

    def kinds(self, category: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(spot.kind for spot in self.spots if spot.category == category))

    def masked(self, categories: Collection[str]) -> dict[str, Json]:
        """A copy without what was found of these categories. Look at it again: of many, some may be left."""
        wanted: dict[Path, list[Spot]] = {}
        for spot in self.spots:
            if spot.category in categories:
                wanted.setdefault(spot.path, []).append(spot)
        copy: dict[str, Json] = _copy(self.result, (), wanted)
        return copy


def look(result: Mapping[str, Json]) -> ResultFindings:
    """Never raises: what cannot be looked at is a problem."""
    try:
        places = list(_places(result))
        reader = OutputReader()
        reader.texts = [
            OutputText(str(number), name, value, False) for number, (_, name, value) in enumerate(places)
        ]
        scanned = scan(Output(None, reader))
        spots = tuple(dict.fromkeys(_spots(scanned, [path for path, _, _ in places])))
    except TooMuch as problem:
        return ResultFindings(result, (), str(problem))
    except RecursionError:
        return ResultFindings(result, (), "it is nested too deeply")
    return ResultFindings(result, spots)


# --- the texts of a result -----------------------------------------------------------------------


def _places(result: Mapping[str, Json]) -> Iterator[tuple[Path, str, str]]:
    """Each text: where it stands, its name, itself."""
    characters = 0
    stack: list[tuple[Path, str, Any]] = [((), "", result)]
    for _ in range(MAX_NODES):
        if not stack:
            return
        path, name, value = stack.pop()
        if len(path) > MAX_DEPTH:
            raise TooMuch("it is nested too deeply")
        if isinstance(value, Mapping):
            # A key is a text too; what is found in one is masked with the object that has it. The names of
            # the result's own fields are the protocol's.
            stack += ((path, "", key) for key in value if path)
            stack += (((*path, key), _name_of(key), item) for key, item in _list_seen(value))
        elif isinstance(value, list):
            stack += (((*path, index), name, item) for index, item in enumerate(value))
        elif (text := _text_of(value)) is not None:
            characters += len(text)
            if characters > MAX_CHARACTERS:
                raise TooMuch(f"it holds more than {MAX_CHARACTERS} characters")
            yield path, name, text
    raise TooMuch(f"it holds more than {MAX_NODES} values")


def _list_seen(value: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if key == "data" and value.get("type") in _MEDIA:
            continue
        yield key, _open_blob(item) if key == "blob" and isinstance(item, str) else item


def _open_blob(blob: str) -> str:
    """What a blob holds, where that is text."""
    try:
        return base64.b64decode(blob, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _name_of(key: str) -> str:
    return "" if key in ("text", "blob") else key


def _text_of(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LONG_INTEGER:
        return str(value) if abs(value) < 10**40 else None
    return None


# --- what is found in them -----------------------------------------------------------------------


def _spots(scanned: TextScan, paths: list[Path]) -> Iterator[Spot]:
    for count, spot in enumerate(_all_spots(scanned, paths)):
        if count == MAX_FINDINGS:
            raise TooMuch(f"more than {MAX_FINDINGS} things are found in it")
        yield spot


def _all_spots(scanned: TextScan, paths: list[Path]) -> Iterator[Spot]:
    if not scanned.signals.isdisjoint(SECRET_SIGNALS):
        for secret in find_secrets(scanned.blob):
            yield _spot(SECRETS, secret.kind, scanned, paths, secret.start, secret.end)
    places = Places((), None)
    personal = locate_personal_data_in(
        scanned, places, most_of_one_kind=MAX_FINDINGS, most_phones=MAX_FINDINGS
    )
    for finding, start, end in personal:
        yield _spot(PERSONAL, finding.kind, scanned, paths, start, end)
    for finding in injections_in(scanned, places):
        if finding.kind == _ORDER_KIND:
            yield Spot(ORDERS, "instructions to the model", paths[int(finding.path)], None)


def _spot(category: str, kind: str, scanned: TextScan, paths: list[Path], start: int, end: int) -> Spot:
    line, begin = scanned.line_at(start)
    begin += len(line.text.key) + 2 if line.text.key else 0
    span = (max(start - begin, 0), end - begin)
    is_as_it_came = line.value is line.text.value and span[0] < span[1] <= len(line.value)
    return Spot(category, kind, paths[int(line.text.path)], span if is_as_it_came else None)


# --- the masked copy -----------------------------------------------------------------------------


def _copy(value: Any, path: Path, wanted: Mapping[Path, list[Spot]]) -> Any:
    spots = wanted.get(path)
    if isinstance(value, Mapping):
        if spots is not None:
            return _label(spots[0])
        return {key: _copy(item, (*path, key), wanted) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item, (*path, index), wanted) for index, item in enumerate(value)]
    if spots is None:
        return value
    whole = next((spot for spot in spots if spot.span is None), None)
    if whole is not None or not isinstance(value, str) or path[-1] == "blob":
        return _mask_whole(spots[0] if whole is None else whole, is_blob=path[-1] == "blob")
    return _without_spans(value, spots)


def _mask_whole(spot: Spot, *, is_blob: bool) -> str:
    label = _label(spot)
    return base64.b64encode(label.encode()).decode() if is_blob else label


def _without_spans(text: str, spots: list[Spot]) -> str:
    parts: list[str] = []
    position = 0
    for spot in sorted(spots, key=lambda each: each.span or (0, 0)):
        assert spot.span is not None
        start, end = spot.span
        if end <= position:
            continue
        parts += (text[position : max(start, position)], _label(spot))
        position = end
    return "".join(parts) + text[position:]


def _label(spot: Spot) -> str:
    return f"[masked {spot.kind}]"
