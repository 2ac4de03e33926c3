"""SQL text to syntax trees, in one dialect; what does not parse is a value, not an exception."""

import contextvars
import logging
import threading

import msgspec
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token
from sqlglot.tokens import Tokenizer

from qwed.engines.sql.grammar import find_misplaced_token, find_unbalanced
from qwed.engines.sql.lexemes import too_hostile


class Unparsed(msgspec.Struct, frozen=True):
    why: str
    where: str
    beyond_bounds: bool = False


_parsing = contextvars.ContextVar("_parsing", default=False)


class _Quiet(logging.Filter):
    """Drops what the parser logs about an agent's text, and nothing that others log by the same name."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _parsing.get()


logging.getLogger("sqlglot").addFilter(_Quiet())


def parse(text: str, dialect: str) -> list[exp.Expr] | Unparsed:
    """The statements of the text, empty ones left out."""
    reason = too_hostile(text)
    if reason:
        return Unparsed(reason, text[:80].encode(errors="replace").decode(), beyond_bounds=True)
    if "\x00" in text:
        return Unparsed("it holds a NUL character", "\\x00")
    if not _is_text(text):
        return Unparsed("it holds a lone surrogate", "\\ud800")
    token = _parsing.set(True)
    try:
        reader, parser = _readers.of(dialect)
        tokens = reader.tokenize(text)
        stray = find_misplaced_token(tokens, dialect)
        if stray is not None:
            return Unparsed(
                f"nothing can stand between {stray.text!r} and what is beside it", _around(text, stray)
            )
        reason = find_unbalanced(tokens)
        if reason:
            return Unparsed(reason, text[:80])
        found = parser.parse(tokens, text)
    except ParseError as error:
        return _parse_error(error, text)
    except SqlglotError:
        return Unparsed("a string, name or comment does not end", text[-80:])
    except RecursionError:
        return Unparsed("nested too deeply", text[:80], beyond_bounds=True)
    except Exception as error:  # noqa: BLE001 - the parser's own mistakes must not become ours
        return Unparsed(f"the parser gave up ({type(error).__name__})", text[:80])
    finally:
        _parsing.reset(token)
    return [
        statement for statement in found if statement is not None and type(statement) is not exp.Semicolon
    ]


def _is_text(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


class _Readers(threading.local):
    """Tokenizer and parser hold the text they read, so no two threads share them; making them takes time."""

    def __init__(self) -> None:
        self._by_dialect: dict[str, tuple[Tokenizer, Parser]] = {}

    def of(self, dialect: str) -> tuple[Tokenizer, Parser]:
        known = self._by_dialect.get(dialect)
        if known is None:
            named = Dialect.get_or_raise(dialect)
            known = self._by_dialect[dialect] = named.tokenizer(), named.parser()
        return known


_readers = _Readers()


def _around(text: str, token: Token) -> str:
    return text[max(0, token.start - 30) : token.end + 30]


def _parse_error(error: ParseError, text: str) -> Unparsed:
    if not error.errors:
        return Unparsed("it does not follow the grammar", text[:80])
    first = error.errors[0]
    where = f"line {first.get('line')}, column {first.get('col')}"
    near = str(first.get("highlight") or "")[:40]
    return Unparsed(f"it does not follow the grammar at {where}", near or text[-80:])
