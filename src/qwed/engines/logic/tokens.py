"""The signs and words of infix formulas: every spelling of an operator becomes one name."""

import re
from typing import Final

import msgspec

from qwed.engines.logic.refusals import NotLogic, UndecidedLogic

MAX_TOKENS: Final = 20_000

_TOKEN: Final = re.compile(
    r"""
    (?P<newline>\n)
  | (?P<space>[^\S\n]+)
  | (?P<number>0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
  | (?P<name>[^\W\d]\w*'*)
  | (?P<text>"[^"\n]*"|'[^'\n]*')
  | (?P<sign><==>|<=>|<->|==>|-->|->|=>|\|-|\|=|\|\||&&|/\\|\\/|\*\*|//|<<|>>|<=|>=|=<|==|!=|<>|:=
      |[-+*/%^<>=!~&|()\[\]{},;:.?¬∧∨→⇒⊃↔⇔⟺≡⊕⊻↑↓∀∃⊤⊥≤≥≠×·÷−∈∉⊢⊨∴⟹∖])
    """,
    re.VERBOSE,
)
_SUPERSCRIPT: Final = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_SUPERSCRIPT_DIGITS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

# Every spelling of an operator, by the one used from here on.
_SPELLINGS: Final = {
    "and": ("and", "&&", "∧", "/\\"),
    "or": ("or", "||", "∨", "\\/"),
    "not": ("not", "!", "¬"),
    "xor": ("xor", "⊕", "⊻"),
    "nand": ("nand", "↑"),
    "nor": ("nor", "↓"),
    "implies": ("implies", "->", "=>", "==>", "-->", "→", "⇒", "⊃", "⟹"),
    "iff": ("iff", "<->", "<=>", "<==>", "↔", "⇔", "⟺", "≡"),
    "=": ("=", "==", ":="),
    "!=": ("!=", "<>", "≠"),
    "<=": ("<=", "=<", "≤"),
    ">=": (">=", "≥"),
    "*": ("*", "×", "·"),
    "/": ("/", "÷"),
    "-": ("-", "−"),
    "**": ("**", "^"),
    "floordiv": ("//", "div"),
    "floormod": ("%", "mod"),
    "in": ("in", "∈"),
    "not in": ("∉",),
    "forall": ("forall", "∀"),
    "exists": ("exists", "∃"),
    "true": ("true", "⊤"),
    "false": ("false", "⊥"),
    "turnstile": ("⊢", "⊨", "|-", "|=", "∴", "therefore"),
    "if": ("if",),
    "then": ("then",),
    "else": ("else",),
}
_WORDS: Final = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings}

_ONE_CASE: Final = frozenset({"in", "mod", "div"})
_LOGICAL: Final = {"&": "and", "|": "or", "~": "not"}
_BITWISE: Final = {"^": "bitxor", "|": "bitor", "&": "bitand"}


class LogicToken(msgspec.Struct, frozen=True):
    """`kind` is `newline`, `number`, `name`, `text`, `end`, or the operator itself."""

    kind: str
    text: str
    start: int
    after_space: bool


def _as_power(match: re.Match[str]) -> str:
    return "^" + match.group().translate(_SUPERSCRIPT_DIGITS)


def tokenise(text: str, *, bitwise: bool) -> list[LogicToken]:
    """Ends with a token of kind `end`. Raises `Refusal`."""
    text = _SUPERSCRIPT.sub(_as_power, text)
    spelled = _WORDS | (_BITWISE if bitwise else _LOGICAL)
    tokens: list[LogicToken] = []
    position, after_space = 0, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise NotLogic(f"{text[position]!r} at character {position} is not part of a formula")
        kind, token = str(match.lastgroup), match.group()
        position = match.end()
        if kind == "space":
            after_space = True
            continue
        if kind == "sign":
            kind = spelled.get(token, token)
        elif kind == "name":
            # `In(x, y)` and `Mod(x)` are predicates: these words are operators in one case only.
            word = token if token.lower() in _ONE_CASE and not token.isupper() else token.lower()
            kind = spelled.get(word, "name")
        tokens.append(LogicToken(kind, token, match.start(), after_space))
        after_space = False
        if len(tokens) > MAX_TOKENS:
            raise UndecidedLogic("size", f"more than {MAX_TOKENS} symbols")
    tokens.append(LogicToken("end", "the end", len(text), after_space))
    return tokens
