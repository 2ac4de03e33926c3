"""A compliance report on paper, in a spreadsheet, or as JSON. Nothing is counted or judged here."""

from qwed.reports.formats import Rendered, RendererMissing, ReportFormat, render

__all__ = ["Rendered", "RendererMissing", "ReportFormat", "render"]
