"""The SQL engine's front: light to import, because the parser is not."""

import functools
import importlib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, uncertain
from qwed.domain.registry import SQL
from qwed.domain.risk import Risk
from qwed.engines.sql.request import read_request
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.verdict import SqlVerdict

if TYPE_CHECKING:
    from qwed.engines.sql.deciding import Decision

_QUICK_LENGTH: Final = 2_000
_QUICK_SCHEMA_LENGTH: Final = 8_000
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
        parameters = action.parameters
        length = len(action.query or "") + len(action.code or "") + len(action.target or "")
        if not parameters:
            return length <= _QUICK_LENGTH
        schema = parameters.get("schema")
        encoded = len(_encoded(parameters) or b" " * _CACHED_LENGTH)
        allowed = _QUICK_LENGTH + (_QUICK_SCHEMA_LENGTH if schema is not None else 0)
        return length <= _QUICK_LENGTH and length + encoded <= allowed

    def verify(self, action: Action) -> Finding:
        parameters = _encoded(action.parameters) if action.parameters else b""
        if parameters is None:
            return uncertain(SQL, Risk.CRITICAL, "the parameters are not JSON")
        texts = (action.query, action.code, action.target)
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
        self, query: str | None, code: str | None, target: str | None, parameters: bytes
    ) -> "Decision":
        decoded = msgspec.json.decode(parameters) if parameters else {}
        request = read_request(query, code, target, decoded)
        decision: Decision = _loaded("deciding").decide(request, self._rules)
        return decision


def inspect_sql(text: str, dialect: str | None = None, rules: SqlRules | None = None) -> SqlVerdict:
    """What a SQL text does and which rules it breaks; for guards that judge SQL in other places.

    `dialect` is a name of `qwed.engines.sql.dialects`; None takes the first dialect that parses.
    """
    verdict: SqlVerdict = _loaded("inspection").inspect_named(text, dialect, rules or _DEFAULT_RULES)
    return verdict


_DEFAULT_RULES: Final = SqlRules()


def warm_up() -> None:
    """Load the parser now, so that the first decision does not pay for it."""
    inspect_sql("SELECT 1")


@functools.cache
def _loaded(module: str) -> Any:
    return importlib.import_module(f"qwed.engines.sql.{module}")


def _encoded(parameters: Any) -> bytes | None:
    try:
        return msgspec.json.encode(parameters, enc_hook=str)
    except (TypeError, ValueError, RecursionError):
        return None
