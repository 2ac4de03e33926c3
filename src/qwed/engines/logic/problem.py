"""What is asked of a solver, free of the notation it was written in."""

from collections.abc import Mapping

import msgspec

from qwed.engines.logic.sexpr import Sexpr, write


class LogicProblem(msgspec.Struct, frozen=True):
    """The setting of one question: what its formulas may mention, and what always holds.

    `axioms` hold by the meaning of the declarations. `definedness` is what must hold for every
    division to mean something: an answer counts only where it does not hang on it.
    """

    declarations: tuple[Sexpr, ...] = ()
    axioms: tuple[Sexpr, ...] = ()
    definedness: tuple[Sexpr, ...] = ()
    sorts: Mapping[str, Sexpr] = {}
    is_first_order: bool = False
    logic: str | None = None

    def script(self, assertions: tuple[Sexpr, ...]) -> str:
        """SMT-LIB that any solver can read again."""
        commands: list[Sexpr] = [] if self.logic is None else [("set-logic", self.logic)]
        commands.extend(self.declarations)
        commands.extend(("assert", term) for term in (*self.axioms, *assertions))
        return "\n".join(map(write, commands))
