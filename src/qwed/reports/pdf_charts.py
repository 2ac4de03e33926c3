"""Bars for a report: each with its name, its number and its share of the widest one."""

from collections.abc import Sequence
from typing import Final

import msgspec
from reportlab.lib.colors import HexColor
from reportlab.platypus import Flowable

_INK, _TRACK = HexColor("#16202b"), HexColor("#eef2f5")
_HEIGHT: Final = 15.0
_THICKNESS: Final = 8.0
_SIZE: Final = 8.0


class Bar(msgspec.Struct, frozen=True):
    label: str
    value: float
    text: str
    colour: str = "#0a4f8f"


class Bars(Flowable):  # type: ignore[misc]
    """Horizontal bars below each other. Labels are drawn as they are: their maker has made them drawable."""

    def __init__(self, bars: Sequence[Bar], width: float, font: str, label_share: float = 0.42) -> None:
        super().__init__()
        self.width, self.height = width, _HEIGHT * len(bars)
        self._bars, self._font, self._label = bars, font, width * label_share

    def draw(self) -> None:
        room = self.width - self._label - 60
        most = max((bar.value for bar in self._bars), default=0) or 1
        for number, bar in enumerate(self._bars):
            y = self.height - (number + 1) * _HEIGHT + (_HEIGHT - _THICKNESS) / 2
            self._row(bar, y, room, most)

    def _row(self, bar: Bar, y: float, room: float, most: float) -> None:
        canvas = self.canv
        canvas.setFont(self._font, _SIZE)
        canvas.setFillColor(_INK)
        canvas.drawString(0, y + 1.2, self._fitting(bar.label))
        canvas.setFillColor(_TRACK)
        canvas.rect(self._label, y, room, _THICKNESS, stroke=0, fill=1)
        canvas.setFillColor(HexColor(bar.colour))
        canvas.rect(self._label, y, room * bar.value / most, _THICKNESS, stroke=0, fill=1)
        canvas.setFillColor(_INK)
        canvas.drawRightString(self.width, y + 1.2, bar.text)

    def _fitting(self, text: str) -> str:
        shown = text
        while len(shown) > 1 and self.canv.stringWidth(shown, self._font, _SIZE) > self._label - 6:
            shown = shown[:-2] + "…"
        return shown
