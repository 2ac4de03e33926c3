"""What a reader finds: statements, and the lines of tokens they are taken from."""

from collections.abc import Sequence

import msgspec

from qwed.engines.math.grammar import Chain
from qwed.engines.math.parser import Parser
from qwed.engines.math.problems import MathProblem

Span = tuple[int, int]


class MathStatement(msgspec.Struct, frozen=True):
    """`spans` is None where the tokens are exactly those of the text."""

    tokens: list[str]
    spans: Sequence[Span] | None = None
    # Words around or inside it were left out.
    dropped_words: bool = False


class TokenLine(msgspec.Struct, frozen=True):
    """Tokens with their places, closed by an empty one; `counted[i]`: words after it were left out."""

    tokens: list[str]
    spans: list[Span]
    counted: list[bool]

    def part(self, start: int, end: int) -> "TokenLine":
        return TokenLine(
            [*self.tokens[start:end], ""],
            [*self.spans[start:end], self.spans[-1]],
            [*self.counted[start:end], False],
        )

    def statement(self, *, dropped_words: bool) -> MathStatement:
        return MathStatement(self.tokens, self.spans, dropped_words)


class MathSentence(msgspec.Struct, frozen=True):
    """The statements of a sentence. `is_open`: it holds a claim that was not understood."""

    statements: list[MathStatement]
    is_open: bool = False
    # "Total = 15": a name gets this number, and nothing is worked out.
    named: list[str] = []


def first_chain(tokens: list[str]) -> tuple[Chain | None, int]:
    """The chain that the tokens begin with, and where it ends."""
    parser = Parser(tokens)
    try:
        chain = parser.chain()
    except MathProblem:
        return None, 0
    return chain, parser.at
