"""What the bounds on JavaScript's calls share."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from qwed.engines.code.bounds import Bound, BoundedValue, real

if TYPE_CHECKING:
    from qwed.engines.code.javascript.proof_calls import ScriptProofCalls
    from qwed.engines.code.javascript.proof_values import ScriptProofCall

Handler = Callable[["ScriptProofCalls", "ScriptProofCall"], BoundedValue]
FLAG_NUMBER: Final = real(1)
MAX_WIDTH: Final = 100_000


def count_of(proof: "ScriptProofCalls", value: BoundedValue) -> Bound:
    if value.size > MAX_WIDTH or value.has("text", "cell"):
        raise proof.refuse("a size that is not known to be small")
    return math.ceil(value.size)


def length_of(call: "ScriptProofCall") -> Bound:
    cells = max([cell.length for cell in call.receiver.cells], default=0)
    return max(cells, call.receiver.length) if call.receiver.has("any") else cells
