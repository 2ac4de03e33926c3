"""Line charts as SVG, written by hand: nothing to install, and the same bytes everywhere."""

from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 130, 40, 44
_COLOURS: Final = ("#2b6cb0", "#2f855a", "#c05621", "#b83280", "#6b46c1", "#4a5568")


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, Sequence[float]]) -> str:
    """One line per name, x from 1; y from 0 to the greatest value, or to 1."""
    count = max(map(len, lines.values()))
    top = _nice(max(max(values, default=0.0) for values in lines.values()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>',
        *_axes(count, top, x_label, y_label),
    ]
    for number, (name, values) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{_x(index, count)},{_y(value, top)}" for index, value in enumerate(values))
        place = _TOP + 10 + 20 * number
        parts += [
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<line x1="{_WIDTH - _RIGHT + 12}" y1="{place}" x2="{_WIDTH - _RIGHT + 32}" y2="{place}" '
            f'stroke="{colour}" stroke-width="3"/>',
            f'<text x="{_WIDTH - _RIGHT + 38}" y="{place + 4}">{escape(name)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _axes(count: int, top: float, x_label: str, y_label: str) -> list[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for step in range(6):
        value = top * step / 5
        y = _y(value, top)
        parts.append(f'<line x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y}" dy="4" text-anchor="end">{value:g}</text>')
    for index in range(0, count, 7):
        parts.append(
            f'<text x="{_x(index, count)}" y="{bottom + 18}" text-anchor="middle">{index + 1}</text>'
        )
    middle = (_LEFT + right) // 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    parts.append(
        f'<text x="14" y="{(_TOP + bottom) // 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {(_TOP + bottom) // 2})">{escape(y_label)}</text>'
    )
    return parts


def _x(index: int, count: int) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * index / max(1, count - 1), 1)


def _y(value: float, top: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / top, 1)


def _nice(greatest: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 …"""
    top = 1.0
    while True:
        for factor in (1, 2, 5):
            if greatest <= top * factor:
                return top * factor
        top *= 10
