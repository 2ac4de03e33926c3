"""What a deployment may set about SQL."""

from collections.abc import Mapping

import msgspec


class SqlRules(msgspec.Struct, frozen=True):
    default_dialect: str | None = None
    """Read every text in this dialect unless the action declares one; otherwise the first that parses."""
    correct_missing_limit: int | None = None
    """A read without LIMIT is answered CORRECTED with this one."""
    forbidden_columns: tuple[str, ...] = ()
    no_sensitive_columns: bool = False
    """Refuse columns that by their name hold credentials or personal identifiers."""
    allow_system_catalogs: bool = False
    """Metadata catalogs only; catalogs that hold credentials are never allowed."""
    reject_cartesian_joins: bool = False
    known_functions: tuple[str, ...] = ()
    """User-defined functions that are known to have no side effect."""
    slots: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """By action type: what the operator says of its members (`sql`, `text`)."""
