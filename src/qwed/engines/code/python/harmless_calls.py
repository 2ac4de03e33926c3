"""What the bounds on Python's calls share."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from qwed.engines.code.bounds import Bound, BoundedValue, join_all

if TYPE_CHECKING:
    from qwed.engines.code.python.proof_calls import ProofCalls
    from qwed.engines.code.python.proof_values import ProofCall

Handler = Callable[["ProofCalls", "ProofCall"], BoundedValue]
MAX_WIDTH: Final = 100_000
MAX_DIGITS: Final = 4_300
MAX_COUNT: Final = 1_000_000
# The digits of a decimal that nobody minds to calculate with.
MAX_PRECISION: Final = 100


def given_first(call: "ProofCall") -> BoundedValue:
    return call.receiver if call.receiver.kinds else call.arg(0)


def small(proof: "ProofCalls", value: BoundedValue, limit: Bound = MAX_WIDTH) -> Bound:
    if value.size > limit:
        raise proof.refuse("a size that is not known to be small")
    return math.ceil(value.size)


def make_tuple(proof: "ProofCalls", node: object, values: list[BoundedValue]) -> BoundedValue:
    made = proof.listed(node, "tuple", len(values), join_all(values))
    for cell in made.cells:
        for index, value in enumerate(values):
            proof.put_field(cell, str(index), value)
    return made
