"""From what was written to what is meant: sorts are inferred, and everything becomes SMT-LIB.

Rules a reader can predict:

* A name used as a formula is a proposition, one compared with numbers a number, one given to a
  predicate alone an individual.
* Numbers nobody declared are integers, unless the text has a decimal point or a division: then
  they are reals (not those under `div`, `mod` or `%`). The engine asks again with reals, and an answer
  that hangs on which of the two is meant is none.
* Dividing is only meant where it is defined: the divisor is assumed not to be zero, and the
  evidence says so.
"""

from collections.abc import Iterable, Mapping, Sequence

from qwed.engines.logic.inference import BOOL_SORT, Inference
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.sexpr import Sexpr
from qwed.engines.logic.smt_text import Writer
from qwed.engines.logic.sorts import Sort
from qwed.engines.logic.syntax import Node, NumberTerm, OperatorTerm, walk


def elaborate(
    premises: Sequence[Node], goals: Sequence[Node], variables: Mapping[str, Sort], *, in_reals: bool = False
) -> tuple[LogicProblem, tuple[Sexpr, ...], tuple[Sexpr, ...]]:
    """The setting, and the terms of premises and goals. Raises `Refusal`."""
    inference = Inference(variables)
    for node in (*premises, *goals):
        inference.expect(node, BOOL_SORT, {})
    writer = Writer(inference, numbers_are_real=in_reals or _has_reals((*premises, *goals)))
    premise_terms = tuple(writer.formula(node) for node in premises)
    goal_terms = tuple(writer.formula(node) for node in goals)
    return writer.problem(), premise_terms, goal_terms


def _has_reals(nodes: Iterable[Node]) -> bool:
    return any(
        (isinstance(part, NumberTerm) and part.is_decimal)
        or (isinstance(part, OperatorTerm) and part.operator == "/")
        for node in nodes
        for part in walk(node)
    )
