"""The one pattern for all hints finds what looking for each of them would."""

import random

import pytest

from qwed.domain import plain_texts
from qwed.domain.plain_texts import _HINT, _HINTS, is_plain


@pytest.mark.parametrize("hint", _HINTS)
def test_every_hint_is_found_wherever_it_stands(hint: str) -> None:
    for text in (hint, f"x{hint}", f"{hint}x", f"some {hint} text", f"--{hint}--", hint * 2):
        assert _HINT.search(text) is not None, text


def test_in_texts_made_of_pieces_of_hints_the_pattern_agrees_with_the_list() -> None:
    drawn = random.Random(17)
    pieces = [hint[at : at + 3] for hint in _HINTS for at in range(len(hint))]
    for _ in range(5_000):
        text = "".join(drawn.choices(pieces, k=drawn.randint(1, 5)))
        assert (_HINT.search(text) is not None) is any(hint in text for hint in _HINTS), text


@pytest.mark.parametrize("length", [15, 16, 17, 40])
@pytest.mark.parametrize("before", [0, 1, 15, 16])
def test_a_long_run_is_found_behind_any_shorter_one(
    monkeypatch: pytest.MonkeyPatch, length: int, before: int
) -> None:
    looked_at: list[str] = []
    monkeypatch.setattr(plain_texts, "may_hold_a_key", looked_at.append)

    is_plain("y" * before + " " + "z" * length + " end")

    runs = [letter * count for letter, count in (("y", before), ("z", length)) if count >= 16]
    assert looked_at == runs
