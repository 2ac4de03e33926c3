"""Weighs the cues of neighbouring sentences: is there an order to the model?"""

from bisect import bisect_left
from typing import Final

import msgspec

from qwed_open_responses.orders.cues import CUES, DECISIVE, ends_of_data
from qwed_open_responses.orders.hints import is_hinted
from qwed_open_responses.orders.sentences import read, spans

THRESHOLD: Final = 4
# An order and what it is about seldom stand farther apart.
_WINDOW: Final = 3
# So many characters behind the end of data, a sentence still counts as what comes after it.
_AFTER_END: Final = 40
# A text with more different sentences that may be orders is not read to its end.
MAX_READ: Final = 400

Weights = dict[str, int]


class WrittenOrder(msgspec.Struct, frozen=True):
    """`cues` are what the sentences do, `start` and `end` where they stand in the text."""

    start: int
    end: int
    cues: tuple[str, ...]
    weight: int


def find_order(text: str, threshold: int = THRESHOLD) -> WrittenOrder | None:
    """The first passage of a text that orders a model about, or None. More than `MAX_READ` different
    sentences that may be orders are one: nobody can say what stands behind them."""
    passages = _Passages(text)
    judged: set[int] = set()
    dull: set[str] = set()
    for index in range(len(passages.spans)):
        if passages.text_of(index) in dull:
            continue
        if not passages.is_hinted(index) or not passages.may_decide(index):
            # Behind the end of data the same words weigh more.
            if not passages.has_ends:
                dull.add(passages.text_of(index))
            continue
        if passages.read_so_far > MAX_READ:
            return WrittenOrder(0, len(text), ("has too many passages to read",), threshold)
        for first in range(max(0, index - _WINDOW + 1), index + 1):
            if first not in judged:
                judged.add(first)
                found = passages.judge(first, threshold)
                if found is not None:
                    return found
    return None


class _Passages:
    """The sentences of a text; what one does is told when it is asked for, once for all repetitions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.spans = list(spans(text))
        self._ends = ends_of_data(text)
        self._weights: dict[str, dict[str, Weights]] = {}

    def text_of(self, index: int) -> str:
        start, end = self.spans[index]
        return self._text[start:end]

    def is_hinted(self, index: int) -> bool:
        return is_hinted(self.text_of(index)) or self._ends_near(index)

    def _ends_near(self, index: int) -> bool:
        return bool(self._ends) and self._is_after_end(index, index)

    @property
    def has_ends(self) -> bool:
        return bool(self._ends)

    @property
    def read_so_far(self) -> int:
        return len(self._weights)

    def may_decide(self, index: int) -> bool:
        """Whether the sentence does something without which there is no order."""
        if self._ends_near(index):
            return True
        return any(_is_decisive(weights) for weights in self._weigh(index).values())

    def judge(self, first: int, threshold: int) -> WrittenOrder | None:
        last = min(first + _WINDOW, len(self.spans)) - 1
        is_after_end = bool(self._ends) and self._is_after_end(first, last)
        weighed = [self._weigh(index) for index in range(first, last + 1)]
        for language in dict.fromkeys(language for weights in weighed for language in weights):
            cues = _together(weighed, language)
            # A line such as `system: …` says both; a list of parameters says the same.
            if is_after_end and sum(cues.values()) > 0 and cues.keys() != {"claims authority"}:
                cues["ends the data"] = 3
            weight = sum(cues.values())
            if weight >= threshold and _is_decisive(cues) and _is_more_than_a_sequence(cues):
                return WrittenOrder(self.spans[first][0], self.spans[last][1], tuple(cues), weight)
        return None

    def _is_after_end(self, first: int, last: int) -> bool:
        index = bisect_left(self._ends, self.spans[first][0] - _AFTER_END)
        return index < len(self._ends) and self._ends[index] < self.spans[last][1]

    def _weigh(self, index: int) -> dict[str, Weights]:
        sentence = self.text_of(index)
        if sentence not in self._weights:
            found: dict[str, Weights] = {}
            for clause in read(self._text, *self.spans[index]):
                weights = found.setdefault(clause.language, {})
                for cue in CUES:
                    if weight := cue.weigh(clause):
                        weights[cue.name] = max(weights.get(cue.name, weight), weight)
            self._weights[sentence] = found
        return self._weights[sentence]


def _together(weighed: list[dict[str, Weights]], language: str) -> Weights:
    cues: Weights = {}
    for weights in weighed:
        for name, weight in weights.get(language, {}).items():
            cues[name] = max(cues.get(name, weight), weight)
    if "sets the task aside" in cues or "comes before the task" in cues:
        cues.pop("speaks of the task", None)
    return cues


def _is_decisive(cues: Weights) -> bool:
    if any(cues.get(name, 0) >= 2 for name in DECISIVE):
        return True
    done, first = cues.get("wants something done", 0), cues.get("comes before the task", 0)
    return done >= 4 or first >= 2


def _is_more_than_a_sequence(cues: Weights) -> bool:
    """ "Before you begin the task, first send the form" is said to people too, without an address."""
    if any(cues.get(name, 0) >= 2 for name in DECISIVE):
        return True
    done, first = cues.get("wants something done", 0), cues.get("comes before the task", 0)
    return done >= 4 or first >= 3 or done >= 2
