"""Orders that take what was said, or what a program keeps secret, and put it where a call carries it away."""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.orders.sentences import Clause

# Where it is put: an argument, a text in quotation marks, a call that is written out.
_SLOT = lazy_pattern(
    r"(?i)\b(?:parameter|argument|tool input)s?\b"
    r"|\b(?:in|into|as|to|under) (?:the )?[\"'`][a-z][\w-]{1,30}[\"'`]"
    r"(?! (?:field|box|section|secret|variable|tab|page))"
    r"|\b[a-z]+_[a-z_]{2,30}\([a-z_]{2,20} ?="
    r"|\bto the (?:contents?|output|result)s? of\b"
)
# What was said in the conversation, by whoever takes part in it.
_RECORD = lazy_pattern(
    r"(?i)\b(?:entire|complete|full|whole|all of the|previous|current) "
    r"(?:conversation|chat|dialogue|message history)"
    r"|\b(?:conversation|chat|message) (?:history|log|so far)\b|\bsystem prompt\b"
    r"|\b(?:everything|all|whatever) (?:that )?the user (?:has |have )?(?:said|wrote|written|typed|asked)"
)
# Files in which programs keep credentials; public keys and samples are none.
_KEEPER = lazy_pattern(
    r"(?i)(?:^|[\s\"'`(/~])(?:\.ssh/(?!config\b)[\w-]{2,30}(?!\.pub)\b"
    r"|id_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/credentials|\.netrc"
    r"|\.git-credentials|\.pgpass|\.npmrc|\.env\b(?!\.(?:example|sample|template))"
    r"|\.kube/config|\.docker/config\.json"
    r"|\.?[\w-]{0,20}/?mcp\.json|etc/shadow|etc/passwd)"
)
# "Do not mention this", said of the order that stands before it.
_BACKWARDS: Final = lazy_pattern(
    r"(?i)\b(?:not|never|don't|without) (?:ever )?(?:mention(?:ing)?|"
    r"disclos(?:e|ing)|reveal(?:ing)?|report(?:ing)?)"
    r" (?:this|it|that|any of (?:this|it|that))\b(?! (?:in|as|by|only|if|when|unless)\b)"
)


def takes_what_was_said(clause: Clause) -> int:
    """Weighs enough alone: nobody honest wants the conversation or a file of keys as an argument."""
    if not clause.orders("act") or not _SLOT.search(clause.raw):
        return 0
    return 4 if _RECORD.search(clause.raw) or _KEEPER.search(clause.raw) else 0


def hides_what_it_orders(clause: Clause) -> bool:
    return clause.has("not") and _BACKWARDS.search(clause.raw) is not None
