"""The report on paper: a cover, a summary with charts, then every figure in an appendix.

The same report gives the same bytes. Agents choose some of these words, so none of them is markup, none
steers the page, and none is longer than its cell: a character that the embedded font lacks, or that is not
meant to be seen, is spelled out by its number.
"""

import functools
import io
import re
import threading
import time
import unicodedata
from collections.abc import Iterable
from importlib import resources
from typing import Any, Final
from xml.sax.saxutils import escape

from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    LongTable,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    TableStyle,
)

from qwed.domain.compliance import CONTROLS, Figure
from qwed.domain.json_types import Json
from qwed.domain.times import parse_iso
from qwed.gateway.reporting.compliance import Report
from qwed.reports.pdf_charts import Bar, Bars
from qwed.reports.tables import ReportTable, Section, Value, cover, sections, text_of

_REGULAR, _BOLD = "QwedSans", "QwedSans-Bold"
_FILES: Final = {_REGULAR: "DejaVuSansCondensed.ttf", _BOLD: "DejaVuSansCondensed-Bold.ttf"}
_INK, _QUIET, _LINE, _SHADE, _ACCENT = (
    HexColor(colour) for colour in ("#16202b", "#5b6875", "#cfd6dd", "#f3f6f9", "#0a4f8f")
)
_MARGIN: Final = 18 * mm
_WIDTH: Final = A4[0] - 2 * _MARGIN
#: A row must fit on a page, so no cell may be longer than this.
MAX_CELL: Final = 300
MAX_OWN_CELL: Final = 3_000
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
# Fonts keep their state in the library, one document at a time.
_drawing = threading.Lock()

_CLAIM: Final = (
    "This document reports what the gateway recorded in the period. It states no conformity with any law or"
    " standard: for each figure it says which controls the figure can support, and what it does not show."
)


def pdf_of(report: Report) -> bytes:
    with _drawing:
        _register_fonts()
        output = io.BytesIO()
        document = _Document(output, report)
        document.build(list(_story(report)), canvasmaker=_make_numbered(report))
        return output.getvalue()


@functools.cache
def _register_fonts() -> None:
    folder = resources.files("qwed.reports") / "fonts"
    for name, file in _FILES.items():
        pdfmetrics.registerFont(TTFont(name, io.BytesIO((folder / file).read_bytes())))
    pdfmetrics.registerFontFamily(_REGULAR, normal=_REGULAR, bold=_BOLD, italic=_REGULAR, boldItalic=_BOLD)


@functools.cache
def _drawable() -> frozenset[int]:
    _register_fonts()
    return frozenset(pdfmetrics.getFont(_REGULAR).face.charToGlyph) & frozenset(
        pdfmetrics.getFont(_BOLD).face.charToGlyph
    )


def visible(text: str, limit: int = MAX_CELL) -> str:
    """The text as one line of characters that the font can draw, cut to fit a cell."""
    shown = "".join(map(_spell, text[: limit + 1]))
    if len(text) <= limit and len(shown) <= limit:
        return shown
    return f"{shown[:limit]}… [{len(text)} characters in all]"


def _spell(character: str) -> str:
    if character.isspace():
        return " "
    is_seen = unicodedata.category(character)[0] not in "CZ" and ord(character) in _drawable()
    return character if is_seen else f"‹U+{ord(character):04X}›"


# --- styles ------------------------------------------------------------------------------------------


def _style(name: str, size: float, **more: Any) -> ParagraphStyle:
    values = {"fontName": _REGULAR, "textColor": _INK, "leading": size * 1.32, **more}
    # Words of any length break: an agent's name may be one word.
    return ParagraphStyle(name, fontSize=size, splitLongWords=1, allowWidows=0, allowOrphans=0, **values)


_TITLE: Final = _style("title", 30, fontName=_BOLD, textColor=_ACCENT, spaceAfter=4 * mm)
_KICKER: Final = _style("kicker", 10, fontName=_BOLD, textColor=_QUIET)
_HEADING: Final = _style(
    "heading", 15, fontName=_BOLD, textColor=_ACCENT, spaceBefore=7 * mm, spaceAfter=2.5 * mm
)
_SUBHEADING: Final = _style("subheading", 9.5, fontName=_BOLD, spaceBefore=3 * mm, spaceAfter=1.5 * mm)
_BODY: Final = _style("body", 9.5, spaceAfter=3 * mm)
_NOTE: Final = _style("note", 7.8, textColor=_QUIET, spaceAfter=0.8 * mm)
_CELL: Final = _style("cell", 7.6)
_NUMBER: Final = _style("number", 7.6, alignment=TA_RIGHT)
_HEAD: Final = _style("head", 7.4, fontName=_BOLD, textColor=_QUIET)
_HEAD_NUMBER: Final = _style("head-number", 7.4, fontName=_BOLD, textColor=_QUIET, alignment=TA_RIGHT)
_COVER_NAME: Final = _style("cover-name", 10, fontName=_BOLD, textColor=_QUIET)
_COVER_VALUE: Final = _style("cover-value", 8.8)

_GRID: Final = TableStyle(
    [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, _ACCENT),
        ("LINEBELOW", (0, 1), (-1, -1), 0.3, _LINE),
        ("ROWBACKGROUNDS", (0, 1), (-1, -1), (None, _SHADE)),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 3),
        ("TOPPADDING", (0, 0), (-1, -1), 2.2),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.6),
    ]
)
_PLAIN: Final = TableStyle(
    [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.3, _LINE),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("TOPPADDING", (0, 0), (-1, -1), 4),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
    ]
)


# --- pages -------------------------------------------------------------------------------------------


class _Document(BaseDocTemplate):  # type: ignore[misc]
    def __init__(self, output: io.BytesIO, report: Report) -> None:
        super().__init__(
            output,
            pagesize=A4,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            topMargin=_MARGIN,
            bottomMargin=_MARGIN,
            title="Compliance report",
            author=visible(report.software),
            subject=_running_title(report),
            creator="QWED",
            lang="en",
            invariant=1,
        )
        frame = Frame(_MARGIN, _MARGIN + 4 * mm, _WIDTH, A4[1] - 2 * _MARGIN - 6 * mm, 0, 0, 0, 0)
        self.addPageTemplates([PageTemplate("cover", [frame]), PageTemplate("inside", [frame])])

    def afterFlowable(self, flowable: Flowable) -> None:
        """Headings are also the outline that a reader shows beside the pages."""
        name = getattr(flowable, "outline", None)
        if name is not None:
            key = f"section-{self.seq.nextf('outline')}"
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(name, key, 0)


def _make_numbered(report: Report) -> type[Canvas]:
    """A canvas that knows how many pages there are before it draws any of their feet."""
    title = _running_title(report)
    made = parse_iso(report.generated_at) // 1000

    class NumberedCanvas(Canvas):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._pages: list[dict[str, Json]] = []
            # Invariant documents are all dated 2000: this one is dated by its report.
            stamp = self._doc._timeStamp
            stamp.t, stamp.lt = made, time.gmtime(made)
            stamp.YMDhms = tuple(stamp.lt)[:6]

        def showPage(self) -> None:
            self._pages.append(dict(self.__dict__))
            self._startPage()

        def save(self) -> None:
            for page in self._pages:
                self.__dict__.update(page)
                self._draw_foot(len(self._pages))
                super().showPage()
            super().save()

        def _draw_foot(self, total: int) -> None:
            self.saveState()
            self.setStrokeColor(_LINE)
            self.setLineWidth(0.4)
            self.line(_MARGIN, 14 * mm, A4[0] - _MARGIN, 14 * mm)
            self.setFont(_REGULAR, 7.4)
            self.setFillColor(_QUIET)
            self.drawString(_MARGIN, 10 * mm, title)
            self.drawRightString(A4[0] - _MARGIN, 10 * mm, f"Page {self._pageNumber} of {total}")
            self.restoreState()

    return NumberedCanvas


def _running_title(report: Report) -> str:
    scope = report.scope
    whose = str(scope.get("agent_id") or scope.get("principal_id") or "deployment")
    began = _instant(report.period["from"] or "the first record")
    return f"Compliance report · {visible(whose)[:48]} · {began} to {_instant(report.period['to'])}"


# --- content -----------------------------------------------------------------------------------------


def _story(report: Report) -> Iterable[Flowable]:
    yield Spacer(1, 46 * mm)
    yield Paragraph("QWED GATEWAY", _KICKER)
    yield Paragraph("Compliance report", _TITLE)
    yield Paragraph(_CLAIM, _BODY)
    yield Spacer(1, 6 * mm)
    yield _cover_table(cover(report))
    yield NextPageTemplate("inside")
    yield PageBreak()
    yield from _summary(report)
    yield PageBreak()
    yield _outline("Appendix: every figure")
    for number, section in enumerate(sections(report), start=1):
        yield from _section(number, section)


_OUTCOMES: Final = (
    ("approved", "approved", "#2f9e64"),
    ("corrected", "approved with a correction", "#3b82c4"),
    ("pending", "put to a person", "#d9a021"),
    ("denied", "denied", "#cf3f4a"),
    ("budget_exceeded", "refused: over the budget", "#8a5cc7"),
)
_SHOWN: Final = 8


def _summary(report: Report) -> Iterable[Flowable]:
    """One page for whoever reads one page."""
    figures = report.figures
    decisions, approvals = figures[Figure.DECISIONS], figures[Figure.APPROVALS]
    yield _outline("Summary")
    for sentence in _sentences(report):
        yield Paragraph(escape(sentence), _BODY)
    yield Paragraph("Decisions", _SUBHEADING)
    yield _bars([(label, decisions[name], colour) for name, label, colour in _OUTCOMES])
    refusals = sorted(figures[Figure.REFUSALS], key=lambda row: -row["count"])[:_SHOWN]
    if refusals:
        yield Paragraph("Why actions were refused", _SUBHEADING)
        yield _bars([(visible(row["meaning"] or row["code"]), row["count"], "#cf3f4a") for row in refusals])
    agents = sorted(decisions["by_agent"], key=lambda row: -row["total"])[:_SHOWN]
    if len(agents) > 1:
        yield Paragraph("The busiest agents", _SUBHEADING)
        yield _bars([(visible(row["name"] or row["agent_id"]), row["total"], "#0a4f8f") for row in agents])
    if approvals["total"]:
        yield Paragraph("What people answered", _SUBHEADING)
        yield _bars([(visible(name), number, "#d9a021") for name, number in approvals["by_status"].items()])


def _sentences(report: Report) -> Iterable[str]:
    figures = report.figures
    decisions, approvals = figures[Figure.DECISIONS], figures[Figure.APPROVALS]
    refused = decisions["denied"] + decisions["budget_exceeded"]
    share = f" ({round(100 * refused / decisions['total'])} %)" if decisions["total"] else ""
    yield f"The gateway made {decisions['total']} decisions in this period and refused {refused}{share}."
    median = (approvals["response_seconds"] or {}).get("median")
    answered = "" if median is None else f" Half of the answers came within {text_of(median)} seconds."
    expired = approvals["expired_unanswered"]
    yield f"It put {approvals['total']} actions to a person; {expired} expired without an answer.{answered}"
    cost, trust = figures[Figure.COSTS]["total_usd"], figures[Figure.TRUST]["total"]
    suspended = figures[Figure.SUSPENSIONS]["total"]
    yield (
        f"Agents spent {text_of(cost)} USD. How far they are trusted changed {trust} times;"
        f" suspensions began or ended {suspended} times."
    )
    entries = figures[Figure.LEDGER]["entries"]
    yield f"The record has {entries} signed entries. The appendix says how to verify them."
    if report.not_measured:
        what = "; ".join(item["what"] for item in report.not_measured)
        yield f"Not measured: {visible(what)}. The appendix says why."


def _outline(title: str) -> Paragraph:
    heading = Paragraph(title, _HEADING)
    heading.outline = title
    return heading


def _bars(rows: Iterable[tuple[str, int, str]]) -> Flowable:
    return Bars([Bar(label, value, str(value), colour) for label, value, colour in rows], _WIDTH, _REGULAR)


def _cover_table(table: ReportTable) -> Flowable:
    rows = [
        [Paragraph(name, _COVER_NAME), Paragraph(escape(visible(text_of(value))), _COVER_VALUE)]
        for name, value in table.rows
    ]
    return LongTable(rows, colWidths=_widths(table), style=_PLAIN, hAlign="LEFT")


def _section(number: int, section: Section) -> Iterable[Flowable]:
    heading = Paragraph(f"{number}  {section.title}", _HEADING)
    heading.outline = f"{number} {section.title}"
    # Never alone at the foot of a page.
    yield CondPageBreak(60 * mm)
    yield heading
    yield from _supports(section.figure)
    for table in section.tables:
        yield from _table(table)


def _supports(figure: Figure | None) -> list[Flowable]:
    rows = [row for row in CONTROLS if row.figure is figure]
    if not rows:
        return []
    named = "; ".join(f"{row.framework} {row.control}" for row in rows)
    return [Paragraph(f"Can support: {escape(named)}. The last section says how, and how far.", _NOTE)]


def _table(table: ReportTable) -> Iterable[Flowable]:
    if table.title is not None:
        yield CondPageBreak(35 * mm)
        yield Paragraph(table.title, _SUBHEADING)
    if not table.rows:
        yield Paragraph("None in this period.", _BODY)
        return
    numeric = [_is_numeric(table, column) for column in range(len(table.columns))]
    head = [
        Paragraph(escape(name), _HEAD_NUMBER if right else _HEAD)
        for name, right in zip(table.columns, numeric, strict=True)
    ]
    limit = MAX_OWN_CELL if table.is_ours else MAX_CELL
    body = [
        [_cell(value, right, limit) for value, right in zip(row, numeric, strict=True)] for row in table.rows
    ]
    yield LongTable([head, *body], colWidths=_widths(table), repeatRows=1, style=_GRID, hAlign="LEFT")
    yield Spacer(1, 2 * mm)


def _is_numeric(table: ReportTable, column: int) -> bool:
    values = [row[column] for row in table.rows if row[column] is not None]
    return bool(values) and not any(isinstance(value, str) for value in values)


def _cell(value: Value, right: bool, limit: int) -> Paragraph:
    text = visible(_instant(value), limit) if isinstance(value, str) else text_of(value)
    return Paragraph(escape(text), _NUMBER if right else _CELL)


def _instant(text: str) -> str:
    """A time as people read it; everything here is in UTC."""
    return f"{text[:10]} {text[11:19]}Z" if _INSTANT.fullmatch(text) else text


def _widths(table: ReportTable) -> list[float]:
    return [_WIDTH * weight / 100 for weight in table.weights]
