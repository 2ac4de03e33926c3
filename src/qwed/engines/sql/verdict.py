"""What was found in one SQL text, as plain values."""

import enum

import msgspec

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk


class StatementKind(enum.StrEnum):
    """What a statement does, whatever its dialect calls it."""

    READ = "read"
    EXPLAIN = "explain"
    LOCKING_READ = "locking read"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"
    DDL = "ddl"
    TRUNCATE = "truncate"
    GRANT = "grant"
    COPY = "copy"
    PROCEDURE = "procedure"
    SESSION = "session"
    TRANSACTION = "transaction"
    ADMINISTRATION = "administration"


READS = frozenset({StatementKind.READ, StatementKind.EXPLAIN})


class SqlStatement(msgspec.Struct, frozen=True):
    """One classified statement; nested ones (in a CTE, an EXPLAIN, a DO block) count like any other."""

    kind: StatementKind
    risk: Risk
    text: str
    nested: bool = False


class SqlProblem(msgspec.Struct, frozen=True):
    """A rule that the text breaks, with the piece of SQL that breaks it.

    No `failure` means that the engine cannot decide.
    """

    rule: str
    message: str
    node: str
    failure: Failure | None = None
    risk: Risk = Risk.LOW


class SqlVerdict(msgspec.Struct, frozen=True):
    dialect: str
    statements: tuple[SqlStatement, ...]
    risk: Risk
    problems: tuple[SqlProblem, ...] = ()
    warnings: tuple[SqlProblem, ...] = ()
    tables: tuple[str, ...] = ()
    is_read: bool = False
    """One parsed statement that only reads, with no problem at all."""

    @property
    def kinds(self) -> tuple[StatementKind, ...]:
        return tuple(statement.kind for statement in self.statements)

    @property
    def failure(self) -> Failure | None:
        """The gravest kind of failure: harm before nonsense before mistake."""
        found = {problem.failure for problem in self.problems}
        for failure in (Failure.FORBIDDEN, Failure.MALFORMED, Failure.INCORRECT):
            if failure in found:
                return failure
        return None
