"""Statements that do more than read and are complete as they stand.

Where nobody said that a text is SQL, parsing proves little: `drop me a line` and `call mom` parse. A
statement is complete only with the parts that its verb can't do without, in their order.
"""

import re
from collections.abc import Iterator
from typing import Final

from qwed.engines.sql.shape_words import ABOUT_A_STATEMENT, COMPOUNDS, MAINTAINED, ROLES, TRUNCATED
from qwed.engines.sql.shapes import SETTINGS_FOR_OTHERS, SHAPES, is_complete, kind_of
from qwed.engines.words import words

# MySQL runs what stands in `/*! … */`: of such a comment only the signs go.
_COMMENT: Final = re.compile(r"/\*(?!M?!)(?:[^*]|\*(?!/))*+(?:\*/)?|/\*M?!\d{0,6}|\*/|--[^\n]*|#[^\n]*")
# A name in quotation marks is one token, whatever it holds; so are the parts of a name between dots.
_NAME_PART: Final = r"""(?:"[^"]*+"|`[^`]*+`|\[[^\]]*+\]|[\w$@#\-:]+)"""
_TOKEN: Final = re.compile(rf"""\$\w*\$|{_NAME_PART}(?:\.{_NAME_PART})*+\.?|'[^']*'?|[^\s\w]""")
# A fence in a text that is written for people ends what stands in it, as it begins it.
_END: Final = re.compile(r";|^[ \t]*go[ \t\r]*$|^[ \t]*```[ \t]*\w{0,20}[ \t\r]*$", re.I | re.M)
_MAX_TOKENS: Final = 400


def complete_statements(text: str) -> tuple[str, ...]:
    """The verbs of the statements in a text that do more than read and are complete, in order."""
    return tuple(tokens[0] for tokens in _complete(text))


def find_beyond_tables(text: str) -> str | None:
    """The verb of the first complete statement that does not describe tables."""
    return next((tokens[0] for tokens in _complete(text) if not _describes_tables(tokens)), None)


def _describes_tables(tokens: list[str]) -> bool:
    if tokens[0] == "set":
        return tokens[1] not in SETTINGS_FOR_OTHERS and not tokens[1].startswith("@@")
    return tokens[0] in ("create", "alter") and kind_of(tokens[1:]) in _TABLE_KINDS


_TABLE_KINDS: Final = words("table view index type domain sequence schema extension materialized database")


def _complete(text: str) -> list[list[str]]:
    found, is_ended = [], ";" in text
    for whole in _pieces(text):
        for piece in (whole, *_find_introduced(whole, is_ended=is_ended)):
            tokens = _statement_in(piece, is_ended=is_ended)
            if tokens is not None:
                found.append(tokens)
                break
    return found


def _statement_in(piece: str, *, is_ended: bool) -> list[str] | None:
    tokens = [token.lower() for token in _TOKEN.findall(piece, 0, 8_192)[:_MAX_TOKENS]]
    while tokens and tokens[0] in _OPENERS:
        tokens.pop(0)
    is_call = is_complete(tokens) and (tokens[0] != "call" or _CALL.search(piece) is not None)
    if is_call and not is_ended and _speaks_of_it(tokens, piece):
        return None
    return tokens if is_call or _grants_a_role(tokens, piece) or _IN_CAPITALS.fullmatch(piece) else None


def _speaks_of_it(tokens: list[str], piece: str) -> bool:
    """`truncate text`, `optimize table mysql`, `create user story`: letters and blanks alone, not in
    capitals, and the last word is none that a thing of this kind is called by."""
    verb, name = tokens[0], tokens[-1]
    if len(tokens) > 6 or _LETTERS.fullmatch(piece) is None or piece.lstrip()[1:2].isupper():
        return False
    if verb == "truncate" and len(tokens) == 2:
        return name in TRUNCATED
    if verb == "create" and len(tokens) == 3:
        return name in COMPOUNDS.get(tokens[1], ()) or name in ABOUT_A_STATEMENT
    return name in (MAINTAINED if verb == "optimize" else ABOUT_A_STATEMENT) and verb in _ASKED_ABOUT


_LETTERS: Final = re.compile(r"[A-Za-z\s]{1,80}")
_ASKED_ABOUT: Final = words("optimize drop truncate alter create")


def _find_introduced(piece: str, *, is_ended: bool) -> Iterator[str]:
    """`please run: DROP TABLE users;`: what follows a colon, where its end or capitals show a statement."""
    places = {piece.find(": "), piece.find(":\n"), piece.rfind(": "), piece.rfind(":\n")} - {-1}
    for place in sorted(places):
        said = piece[place + 1 :].lstrip()
        if is_ended or said[:3].isupper():
            yield said


def _pieces(text: str) -> Iterator[str]:
    delimiter = _DELIMITER.search(text)
    if delimiter is not None:
        text = _DELIMITER.sub(";", text).replace(delimiter[1], ";")
    yield from _END.split(_COMMENT.sub(" ", text))
    if any(_COMMENT_SIGN.search(found.group()) for found in _STRING.finditer(text)):
        # `'s3://bucket/*'` holds no comment; what stands after it is a part of the statement.
        yield from _END.split(_STRING.sub("'x'", text))


_DELIMITER: Final = re.compile(r"^[ \t]*delimiter[ \t]+([^\s;]{1,10})[ \t]*$", re.I | re.M)
_STRING: Final = re.compile(r"'(?:[^']|'')*+'")
_COMMENT_SIGN: Final = re.compile(r"/\*|--|#")
# Words of English that are statements as well: capitals tell them apart.
_IN_CAPITALS: Final = re.compile(
    r"\s*(?:SHUTDOWN|CHECKPOINT|DISCARD\s+\w+|(?:ANALYZE|REPAIR)\s+TABLE\s+[\w.`\"]+|SYSTEM\s+[A-Z]+(?:\s.*)?"
    r"|CLUSTER\s+[\w.\"]+(?:\s+USING\s+\S+)?)\s*",
    re.S,
)


def _grants_a_role(tokens: list[str], piece: str) -> bool:
    """`grant access to finance` is a sentence: a role shows itself by its name or by capitals around it."""
    if tokens[:1] not in (["grant"], ["revoke"]) or tokens[2:3] not in (["to"], ["from"]):
        return False
    if len(tokens) > 4 and tokens[4] not in ("with", ","):
        return False
    is_role = tokens[1] in ROLES or "_" in tokens[1] or tokens[1][0] in '`"['
    return len(tokens) > 3 and (is_role or tokens[-1] == "option" or _CAPITALS.match(piece) is not None)


_CAPITALS: Final = re.compile(r"\s*(?:GRANT|REVOKE)\s+(?=\S*[a-z])\S+\s+(?:TO|FROM)\s")


# `call me (after five)`: only a bracket that follows the name directly holds arguments.
_CALL: Final = re.compile(rf"\bcall\s+{_NAME_PART}(?:\.{_NAME_PART})*+\(", re.I)


_OPENERS: Final = frozenset({"\\", "(", "{", "*", "!", "/", "'", '"', "`", ")", "''"}) | words(
    "begin declare go transaction tran work atomic"
)


# All that a statement found here can begin with.
FIRST_WORDS: Final = frozenset(
    {
        *SHAPES,
        *filter(str.isalpha, _OPENERS),
        *words("delimiter checkpoint discard analyze repair system cluster"),
    }
)
