"""What the rules write down while they walk through one text."""

from typing import Final

import msgspec
from sqlglot import exp

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk
from qwed.engines.sql.nodes import text_of
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.schema import Schema
from qwed.engines.sql.verdict import SqlProblem, SqlStatement, StatementKind

_MAX_PROBLEMS: Final = 20
# Repetitions of one problem are not listed again, but printing them to find that out costs time.
_MAX_PRINTED: Final = 60
_MAX_TABLES: Final = 100
_MAX_STATEMENTS: Final = 50


class Context(msgspec.Struct, frozen=True):
    """What is known before the text is read."""

    text: str
    rules: SqlRules
    dialect: str | None = None
    """As declared; None where the first dialect that parses is taken."""
    schema: Schema | None = None


class Notes:
    """Mutable while one text is read; bounded, since a hostile text breaks each rule a thousand times."""

    def __init__(self, context: "Context", dialect: str) -> None:
        self.context = context
        self.dialect = dialect
        self.rules = context.rules
        self.statements: list[SqlStatement] = []
        self.problems: dict[tuple[str, str], SqlProblem] = {}
        self.warnings: dict[tuple[str, str], SqlProblem] = {}
        self.tables: dict[str, None] = {}
        self.may_have_ctes = "with" in context.text.lower()
        self.may_reach_servers = "@" in context.text or context.text.count(".") > 2
        self.tables_read = 0
        self._printed = 0
        self.risk = Risk.LOW
        self.kind = StatementKind.READ
        """Of the statement that is being read."""

    @property
    def is_saturated(self) -> bool:
        """So many problems were met that one more would not be looked at."""
        return self._printed >= _MAX_PRINTED

    def statement(self, kind: StatementKind, risk: Risk, node: exp.Expr | str, *, nested: bool) -> None:
        self.raise_risk(risk)
        self.kind = kind
        if len(self.statements) < _MAX_STATEMENTS:
            self.statements.append(SqlStatement(kind, risk, self._text(node), nested))

    def raise_risk(self, risk: Risk) -> None:
        if risk > self.risk:
            self.risk = risk

    def forbidden(self, rule: str, message: str, node: exp.Expr | str, risk: Risk = Risk.CRITICAL) -> None:
        self._problem(rule, message, node, Failure.FORBIDDEN, risk)

    def malformed(self, rule: str, message: str, node: exp.Expr | str) -> None:
        self._problem(rule, message, node, Failure.MALFORMED, Risk.CRITICAL)

    def incorrect(self, rule: str, message: str, node: exp.Expr | str) -> None:
        self._problem(rule, message, node, Failure.INCORRECT, Risk.LOW)

    def forbidden_column(self, name: str, node: exp.Expr) -> None:
        self.forbidden("forbidden_column", f"the column {name[:80]!r} may not be used", node, Risk.HIGH)

    def undecided(self, rule: str, message: str, node: exp.Expr | str, risk: Risk = Risk.CRITICAL) -> None:
        self._problem(rule, message, node, None, risk)

    def warn(self, rule: str, message: str, node: exp.Expr | str) -> None:
        if len(self.warnings) < _MAX_PROBLEMS and self._may_print():
            text = self._text(node)
            self.warnings.setdefault((rule, text), SqlProblem(rule, message, text))

    def table(self, name: str) -> None:
        if len(self.tables) < _MAX_TABLES:
            self.tables[name] = None

    def _problem(
        self, rule: str, message: str, node: exp.Expr | str, failure: Failure | None, risk: Risk
    ) -> None:
        self.raise_risk(risk)
        if not self.problems or (len(self.problems) < _MAX_PROBLEMS and self._may_print()):
            text = self._text(node)
            self.problems.setdefault((rule, text), SqlProblem(rule, message, text, failure, risk))

    def _may_print(self) -> bool:
        self._printed += 1
        return self._printed <= _MAX_PRINTED

    def _text(self, node: exp.Expr | str) -> str:
        return node[:200] if isinstance(node, str) else text_of(node, self.dialect)
