"""Why a text has no answer, and the bounds that keep every answer cheap.

MathProblem
├── Malformed    it does not follow the grammar
├── Undefined    it has no value at all (1/0)
└── Undecided    it may be right or wrong: nothing was proven
    ├── NotRational   no rational value; a certified interval may still decide
    └── Symbolic      it holds a variable; algebra may still decide
"""

from typing import Final

MAX_TEXT: Final = 20_000
MAX_TOKENS: Final = 4_000
MAX_DEPTH: Final = 50
MAX_STATEMENTS: Final = 200
MAX_LITERAL_LENGTH: Final = 1_000
MAX_LITERAL_EXPONENT: Final = 2_000
# Numbers on the way to a result may be this large; what is printed is at most MAX_DIGITS long.
MAX_BITS: Final = 65_536
MAX_DIGITS: Final = 4_000


class MathProblem(Exception):
    """The message is a sentence for a person."""


class MalformedMath(MathProblem):
    pass


class Undefined(MathProblem):
    pass


class UndecidedMath(MathProblem):
    pass


class NotRational(UndecidedMath):
    pass


class Symbolic(UndecidedMath):
    pass


def too_large() -> UndecidedMath:
    return UndecidedMath(f"a number grows beyond {MAX_BITS} bits")
