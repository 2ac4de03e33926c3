"""One kind of injection: where to look for it, its shape, and whether it is meant."""

from collections.abc import Callable
from typing import Final

import msgspec

from qwed_open_responses.mentions import is_order

# Whether what matched line[start:end] is meant.
Accept = Callable[[str, int, int], bool]


class Injection(msgspec.Struct, frozen=True):
    """`signal` is what the common scan looks for; where it occurs, `shape` is tried."""

    kind: str
    signal: str
    shape: str
    accept: Accept = is_order


PROMPT: Final = "prompt_injection"
TEMPLATE: Final = "template_injection"
MARKUP: Final = "markup_injection"
