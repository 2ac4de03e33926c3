"""The SQL engine's front: light to import, because the parser is not."""

import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status, uncertain
from qwed.domain.registry import SQL
from qwed.domain.risk import Risk
from qwed.domain.texts import Text
from qwed.engines.candidates import FoundEffect, add_found, find_in_candidates, join_findings, too_many_texts
from qwed.engines.effort import is_small
from qwed.engines.slots import SlotUse, sort_texts
from qwed.engines.sql.completeness import find_beyond_tables
from qwed.engines.sql.request import find_bound_slots, read_request
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.verdict import SqlVerdict

if TYPE_CHECKING:
    from qwed.engines.sql.sql_answer import SqlDecision

_QUICK_TOKENS: Final = 90
_CACHED_LENGTH: Final = 16_000
_CACHE_SIZE: Final = 1_024


class SqlEngine:
    """Parses, classifies and inspects SQL; see `docs/engines/sql.md` for what VERIFIED means."""

    def __init__(self, rules: SqlRules | None = None) -> None:
        self._rules = rules or SqlRules()
        self._remembered = functools.lru_cache(_CACHE_SIZE)(self._decide)

    @property
    def name(self) -> str:
        return SQL

    def is_quick(self, action: Action) -> bool:
        return is_small(action, _QUICK_TOKENS)

    def verify(self, action: Action) -> Finding:
        parameters = _encode(action.parameters) if action.parameters else b""
        if parameters is None:
            return uncertain(SQL, Risk.CRITICAL, "the parameters are not JSON")
        texts = (action.type, action.query, action.code, action.target)
        length = len(parameters) + sum(len(text) for text in texts if text)
        decide = self._remembered if length <= _CACHED_LENGTH else self._decide
        try:
            decision = decide(*texts, parameters)
        except ModuleNotFoundError as error:
            return uncertain(
                SQL, Risk.CRITICAL, f"the SQL engine needs {error.name!r}, which is not installed"
            )
        # An engine never raises: whatever the parser or a rule trips over, nothing was proven.
        except Exception as error:  # noqa: BLE001
            return uncertain(SQL, Risk.CRITICAL, f"the engine gave up ({type(error).__name__})")
        if decision.corrected_text is None:
            return decision.finding
        corrected = msgspec.structs.replace(action, query=decision.corrected_text)
        return msgspec.structs.replace(decision.finding, corrected=corrected)

    def _decide(
        self, kind: str, query: str | None, code: str | None, target: str | None, parameters: bytes
    ) -> "SqlDecision":
        decoded = msgspec.json.decode(parameters) if parameters else {}
        action = Action(kind, query, code, target, decoded)
        use = sort_texts(SQL, action, self._rules.slots.get(kind, {}), own=_OWN_MEMBERS)
        texts = [text.value for text, _ in use.runs if isinstance(text, Text)]
        decision: SqlDecision = _load("sql_answer").decide(read_request(texts, target, decoded), self._rules)
        finding = add_found(decision.finding, _find_beside(use, texts, decoded))
        if not use.is_complete:
            finding = join_findings((finding, too_many_texts(SQL)))
        is_corrected = finding.status is Status.CORRECTED
        return msgspec.structs.replace(
            decision, finding=finding, corrected_text=decision.corrected_text if is_corrected else None
        )


def _find_beside(use: SlotUse, texts: list[str], parameters: Mapping[str, Any]) -> tuple[FoundEffect, ...]:
    """What the texts hold that are not meant to run. What a driver binds is data."""
    bound = find_bound_slots(texts, parameters)
    candidates = [text for text in use.candidates if not _is_within(text.slot, bound)]
    joined = [each for each in use.joined if not _is_within(each.slot, bound)]
    dialect = parameters.get("dialect")
    found = find_in_candidates(
        candidates, joined, dialect if isinstance(dialect, str) else None, in_database=True
    )
    return (*found, *_find_in_schema(parameters.get("schema")))


def _is_within(slot: str, slots: frozenset[str]) -> bool:
    return slot in slots or any(slot.startswith(f"{each}.") for each in slots)


# `schema` is the engine's own parameter: tables, written as the statements that make them.
_OWN_MEMBERS: Final = frozenset({"schema", "dialect"})
_MAX_SCHEMA_DEPTH: Final = 12


def _find_in_schema(schema: Any) -> tuple[FoundEffect, ...]:
    verb = next(filter(None, map(find_beyond_tables, _schema_texts(schema))), None)
    if verb is None:
        return ()
    reason = f"a statement that does not describe tables: {verb}"
    return (FoundEffect("sql", "statement", reason, Status.VERIFIED, where="parameters.schema"),)


def _schema_texts(schema: Any, depth: int = 0) -> Iterator[str]:
    """The statements themselves, or the texts among names and types."""
    if isinstance(schema, str):
        yield schema
        if depth == 0 and schema.lstrip()[:1] in ("{", "["):
            yield from _schema_texts(_json_in(schema), 1)
    elif isinstance(schema, Mapping) and depth < _MAX_SCHEMA_DEPTH:
        for key, value in schema.items():
            yield str(key)
            yield from _schema_texts(value, depth + 1)
    elif isinstance(schema, list | tuple) and depth < _MAX_SCHEMA_DEPTH:
        for value in schema:
            yield from _schema_texts(value, depth + 1)


def _json_in(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


def inspect_sql(text: str, dialect: str | None = None, rules: SqlRules | None = None) -> SqlVerdict:
    """What a SQL text does and which rules it breaks; for guards that judge SQL in other places.

    `dialect` is a name of `qwed.engines.sql.dialects`; None takes the first dialect that parses.
    """
    verdict: SqlVerdict = _load("inspection").inspect_named(text, dialect, rules or _DEFAULT_RULES)
    return verdict


_DEFAULT_RULES: Final = SqlRules()


def warm_up() -> None:
    """Load the parser now, so that the first decision does not pay for it."""
    inspect_sql("SELECT 1")


@functools.cache
def _load(module: str) -> Any:
    return importlib.import_module(f"qwed.engines.sql.{module}")


def _encode(parameters: Any) -> bytes | None:
    try:
        return msgspec.json.encode(parameters, enc_hook=str)
    except (TypeError, ValueError, RecursionError):
        return None
