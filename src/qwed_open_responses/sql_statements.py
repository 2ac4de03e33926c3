"""Statements by their beginning: told from sentences with the same verb."""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

_STATEMENT = lazy_pattern(
    r"""(?isx)
    \s* (?:
      drop \s+ (?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence
          |column|tablespace)
        \s+ (?:if \s+ exists \s+)? [\w."`\[\]$-]+ (?:\s*,\s*[\w."`\[\]$-]+)*
        \s* (?:cascade|restrict|purge)? \s* (?:;|--|/\*|\#|$)
    | truncate \s+ (?:table \s+)? (?:only \s+)? [\w."`\[\]$-]+
        \s* (?:cascade|restart \s+ identity)? \s* (?:;|--|/\*|\#|$)
    | delete \s+ from \s+ [\w."`\[\]$-]+ \s* (?:;|--|/\*|\#|$|where\b|using\b|limit\b|as\b)
    | update \s+ [\w."`\[\]$-]+ \s+ set \s+ [\w."`\[\]$-]+ \s* =
    | alter \s+ (?:table|user|role|database|system|login) \s+ \S+ \s+ \w+
    | (?:grant|revoke) \s+ [\w\s,*]+? \s+ on \s+ \S+ \s+ (?:to|from) \s
    | (?:grant|revoke) \s+ \w+ \s+ (?:to|from) \s+ [\w'"@%.`]+ \s* (?:;|$|with\b|identified\b)
    | exec(?:ute)? \s* (?:master\.|dbo\.|xp_|sp_|immediate\b|\() | shutdown \s* (?:;|--|\#|/\*|\x00|$|with\b)
    | begin \s+ \w+\. | waitfor \s+ (?:delay|time) \b
    | copy \s+ [\w."(]+ .* \s (?:program|to|from) \s+ '
    | create \s+ (?:or \s+ replace \s+)? (?:temp \w* \s+ | unlogged \s+)?
        table \s+ (?:if \s+ not \s+ exists \s+)? [\w."`\[\]$-]+ \s* (?:\(|as\b|like\b)
    | create \s+ (?:user|role|login) \s+ [\w."'`@%-]+
        \s* (?:;|--|$|identified\b|with\b|password\b|login\b|superuser\b|createdb\b)
    | create \s+ (?:database|schema) \s+ (?:if \s+ not \s+ exists \s+)? [\w."`\[\]$-]+
        \s* (?:;|--|/\*|$|with\b|authorization\b|character\b|owner\b)
    | create \s+ (?:or \s+ replace \s+)? (?:materialized \s+)? view \s+ [\w."`\[\]$-]+ .* \b as \b
    | create \s+ (?:or \s+ replace \s+)? (?:function|procedure) \s+ [\w."`\[\]$-]+ \s* \(
    | create \s+ (?:or \s+ replace \s+)? trigger \s+ [\w."`\[\]$-]+ \s+ (?:before|after|instead|for|on) \b
    | create \s+ (?:unique \s+)? index \s+ .* \b on \s+ [\w."`\[\]$-]+
    | (?:insert|replace|merge) \s+ into \b | with \s+ \w+ \s+ as \s* \(
    | explain \s+ \w+ | declare \s+ @?\w+ \s+ \w+ | attach \s+ (?:database\b|') | load \s+ data \b
    | call \s+ [\w.]+ \s* \( | set \s+ @?@?[\w.]+ \s* (?:=|to\b) | do \s+ \$
    )"""
)  # fmt: skip
# The shape of a statement is told by its beginning.
_HEAD: Final = 400


def is_statement_shaped(text: str) -> bool:
    """Whether a text begins as a statement does, rather than as a sentence with the same verb."""
    return _STATEMENT.match(text[:_HEAD]) is not None
