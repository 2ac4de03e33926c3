"""Texts that are tables or lists of members and nothing else, as the objects that they stand for."""

import csv
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.origins.atoms import MAX_NAME

#: Longer texts are prose, whatever they look like.
MAX_LINES: Final = 2_000
_HEADER = lazy_pattern(r"[A-Za-z_][\w .-]{0,40}")
_MEMBER = lazy_pattern(
    r"[ ]{0,40}(?P<item>- )?[ ]{0,40}(?P<key>[A-Za-z_][\w .-]{0,40}?)[ ]?:(?:[ ]+(?P<value>.*))?"
)
_QUOTES: Final = "'\""


def read_members(text: str) -> list[dict[str, str]]:
    """The records of a comma-separated table with a header, or of `key: value` lines; none where the text is
    anything else. Only whoever wrote the whole text can vouch for such records."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not 2 <= len(lines) <= MAX_LINES:
        return []
    return _read_rows(lines) or _read_list(lines)


def _read_rows(lines: list[str]) -> list[dict[str, str]]:
    for separator in (",", ";"):
        if separator not in lines[0]:
            continue
        try:
            rows = [
                [cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator, strict=True)
            ]
        except csv.Error:
            return []
        header = rows[0]
        is_header = len(set(header)) == len(header) and all(map(_HEADER.fullmatch, header))
        is_even = all(len(row) == len(header) and max(map(len, row)) <= MAX_NAME for row in rows)
        if is_header and is_even and len(rows) > 1:
            return [dict(zip(header, row, strict=True)) for row in rows[1:]]
    return []


def _read_list(lines: list[str]) -> list[dict[str, str]]:
    records: list[dict[str, str]] = [{}]
    for line in lines:
        match = _MEMBER.fullmatch(line)
        value = (match["value"] or "").strip().strip(_QUOTES) if match is not None else ""
        if match is None or len(value) > MAX_NAME:
            return []
        # A member that comes again belongs to the next record, whether or not a dash says so.
        if match["item"] or match["key"] in records[-1]:
            records.append({})
        if value:
            records[-1][match["key"]] = value
    return [record for record in records if record]
