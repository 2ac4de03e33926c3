"""Comments that cut off what came after them, and comments that stand for blanks."""

import re
from typing import Final

from qwed.engines.sql.lexemes import Comment, comments_in
from qwed.engines.sql.notes import Notes

# What is left of `'…'` or `(…)` when a comment was put inside it.
_LEFTOVER: Final = re.compile(r"[\s\-+%*/]*([\'\"`)\]])")
_ADJACENT_LEFTOVER: Final = re.compile(r"[\-+%*/]*[\'\"]")
# Glued to the code before it, and followed by what reads like the rest of the statement.
_REST: Final = re.compile(r"[\s\-+]*(?:AND|OR|ORDER\s+BY|GROUP\s+BY|LIMIT|WHERE|HAVING)\b", re.IGNORECASE)
_NOTHING_SAID: Final = re.compile(r"[\W_]*\d?[\W_]*")


def check_comments(text: str, notes: Notes) -> None:
    for comment in comments_in(text, notes.dialect):
        if comment.is_line and _cuts_off(text, comment):
            notes.forbidden(
                "comment_truncation", "a comment cuts off the rest of the statement", _show(text, comment)
            )
        elif not comment.is_line and _stands_for_blank(text, comment):
            notes.forbidden(
                "comment_as_blank", "an empty comment stands between two words", _show(text, comment)
            )


def _cuts_off(text: str, comment: Comment) -> bool:
    body = comment.body
    # A comment on a line of its own is a note, unless it begins with what it cut off.
    if not comment.follows_code and not _ADJACENT_LEFTOVER.match(body):
        return False
    leftover = _LEFTOVER.match(body)
    if leftover:
        sign = leftover.group(1)
        if sign in "'\"`":
            return body.count(sign) % 2 == 1
        return body.count(sign) > body.count("(" if sign == ")" else "[")
    if _REST.match(body) and not text[comment.start - 1 : comment.start].isspace():
        return True
    # A comment that says nothing, at the very end, was not written to be read.
    return not text[comment.end :].strip() and _NOTHING_SAID.fullmatch(body) is not None


def _stands_for_blank(text: str, comment: Comment) -> bool:
    before, after = text[comment.start - 1 : comment.start], text[comment.end : comment.end + 1]
    return not comment.body.strip() and _is_word(before) and _is_word(after)


def _is_word(sign: str) -> bool:
    return sign.isalnum() or (bool(sign) and sign in "_'\")(*=")


def _show(text: str, comment: Comment) -> str:
    return text[max(0, comment.start - 30) : comment.end][:120]
