"""Orders to a model inside data, found by what sentences do: whom they address, what they set aside, what
they put first, whose authority they claim, what they want done and hidden. No model and no network.

`lexicon/` gives words of 28 languages their meaning; `cues` says what a sentence with these meanings does;
`judging` weighs the cues of neighbouring sentences.
"""

from qwed_open_responses.orders.hints import SIGNAL, signals
from qwed_open_responses.orders.verdicts import WrittenOrder, find_order

__all__ = ["SIGNAL", "WrittenOrder", "find_order", "signals"]
