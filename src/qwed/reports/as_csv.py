"""One table for everything, a value in each line, in the format of RFC 4180.

Agents choose some of these words, and a spreadsheet computes what begins like a formula: such a text gets
an apostrophe in front, and characters that steer a terminal or the direction of writing are spelled out.
"""

import csv
import io
import unicodedata
from typing import Final

from qwed.gateway.reporting.compliance import Report
from qwed.reports.tables import ReportTable, Value, cover, sections, text_of

COLUMNS: Final = ("section", "table", "row", "field", "value")
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", "|", "%")


def csv_of(report: Report) -> bytes:
    text = io.StringIO(newline="")
    # Each value is written as it is; quotes around everything keep a comma or a line break inside it.
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for name, value in cover(report).rows:
        writer.writerow(("report", "", 1, name, cell_of(value)))
    for section in sections(report):
        for table in section.tables:
            writer.writerows(_lines(section.name, table))
    return text.getvalue().encode("utf-8")


def _lines(section: str, table: ReportTable) -> list[tuple[str | int, ...]]:
    if not table.rows:
        return [(section, table.title or "", 0, "", "none in this period")]
    return [
        (section, table.title or "", number, column, cell_of(value))
        for number, row in enumerate(table.rows, start=1)
        for column, value in zip(table.columns, row, strict=True)
    ]


def cell_of(value: Value) -> str:
    """Only a text can be a formula: a number that is less than nothing stays a number."""
    if not isinstance(value, str):
        return text_of(value)
    text = "".join(_spell(character) for character in value)
    # Leading spaces do not stop a spreadsheet from looking further.
    return f"'{text}" if text.lstrip(" \u00a0").startswith(_FORMULA) else text


def _spell(character: str) -> str:
    if character in "\t\n\r":
        return character
    return f"<U+{ord(character):04X}>" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
