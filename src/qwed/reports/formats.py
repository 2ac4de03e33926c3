"""A report in the format that was asked for."""

import enum
from typing import Final

import msgspec

from qwed.gateway.kernel.wire import encode_json
from qwed.gateway.reporting.compliance import Report
from qwed.reports.as_csv import csv_of


class ReportFormat(enum.StrEnum):
    JSON = "json"
    CSV = "csv"
    PDF = "pdf"


class Rendered(msgspec.Struct, frozen=True):
    content: bytes
    media_type: str
    suffix: str


class RendererMissing(Exception):
    """The part of the installation that draws PDF is not there; the message says how to get it."""


MEDIA: Final = {
    ReportFormat.JSON: "application/json",
    ReportFormat.CSV: "text/csv; charset=utf-8; header=present",
    ReportFormat.PDF: "application/pdf",
}


def render(report: Report, form: ReportFormat) -> Rendered:
    """The same bytes for the same report. Raises `RendererMissing`."""
    match form:
        case ReportFormat.JSON:
            content = encode_json(report.to_wire())
        case ReportFormat.CSV:
            content = csv_of(report)
        case ReportFormat.PDF:
            content = _pdf(report)
    return Rendered(content, MEDIA[form], form.value)


def _pdf(report: Report) -> bytes:
    try:
        from qwed.reports.as_pdf import pdf_of  # noqa: PLC0415 - its library is an extra, and slow to load
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("reportlab", "PIL"):
            raise
        raise RendererMissing(
            f"a PDF needs {error.name}: pip install 'qwed-gateway[reports]', or ask for json or csv"
        ) from None
    return pdf_of(report)
