"""Tokens to trees: signs, powers, brackets, and what follows a value."""

from abc import ABC, abstractmethod
from typing import Final

from qwed.engines.math.grammar import (
    CURRENCIES,
    DEFAULT,
    OVER,
    PLUS_MINUS,
    RELATIONS,
    ROUND_MARK,
    SCALE_MARK,
    SUPERSCRIPT_DIGITS,
    TIMES,
    UNIT_MARK,
    LessUsual,
)
from qwed.engines.math.nodes import (
    ONE,
    Brackets,
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    PlusMinus,
    Power,
    Product,
    Scaled,
    Sum,
    Symbol,
    UnitQuantity,
    add,
    divide,
    multiply,
)
from qwed.engines.math.problems import MAX_DEPTH, MalformedMath, MathProblem, UndecidedMath
from qwed.engines.math.tokens import is_number, number

_DOZEN: Final = UNIT_MARK + "dozen"
# Clocks, ratios, decimal commas, what goes on: right elsewhere, and not read here.
_OTHER_NOTATIONS: Final = frozenset({"...", "…", ":", ","})
_GROUP: Final = 3
AFTER_TERM: Final = frozenset({"", "+", "-", ")", "=", ","})
AFTER_NUMBER: Final = AFTER_TERM | {"*", "/", "×", "÷"}
_POSTFIX: Final = frozenset({"%", "!", "!=", "¢", "°"})
_FLOORS: Final = {"⌊": ("floor", "⌋"), "⌈": ("ceil", "⌉")}
_KNOWN_SIGNS: Final = (
    TIMES | OVER | frozenset(PLUS_MINUS) | frozenset(RELATIONS) | frozenset("√∛π∫±⌊⌋⌈⌉€£¥₹¢°")
)
_OPENING: Final = {"(": ")", "{": "}"}
_SUPERSCRIPTS: Final = str.maketrans(SUPERSCRIPT_DIGITS, "0123456789-")
_FRACTIONS: Final = {
    "½": (1, 2),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅕": (1, 5),
    "⅛": (1, 8),
}
_LETTER_SIGNS: Final = frozenset("π")


class FactorParser(ABC):
    """One factor of a product, and where the reading stands."""

    __slots__ = (
        "ambiguous",
        "at",
        "depth",
        "has_scale",
        "has_units",
        "in_result",
        "integrating",
        "names",
        "readings",
        "tokens",
    )

    def __init__(
        self, tokens: list[str], readings: frozenset[LessUsual] = DEFAULT, names: frozenset[str] = frozenset()
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.readings = readings
        self.names = names
        self.ambiguous: set[LessUsual] = set()
        self.has_scale = False
        self.has_units = False
        self.in_result = False
        self.integrating = 0

    def unexpected(self) -> MathProblem:
        lexeme = self.tokens[self.at]
        if lexeme in _OTHER_NOTATIONS or (not lexeme.isascii() and lexeme not in _KNOWN_SIGNS):
            return UndecidedMath(f"the sign {lexeme[:20]!r} is not understood")
        if self.at and len(lexeme) == _GROUP and lexeme.isdecimal() and is_number(self.tokens[self.at - 1]):
            return UndecidedMath("a blank between digits may group them")
        return MalformedMath(f"unexpected {lexeme[:40]!r}" if lexeme else "the expression ends too early")

    def expect(self, lexeme: str) -> None:
        if self.tokens[self.at] != lexeme:
            raise self.unexpected()
        self.at += 1

    # -- signs, powers, and what follows a value -----------------------------------------------

    def unary(self, takes_of: bool = True) -> Node:
        at = self.at
        lexeme = self.tokens[at]
        # Most factors are a number and nothing else.
        if "0" <= lexeme[:1] <= "9" and self.tokens[at + 1] in AFTER_NUMBER:
            self.at = at + 1
            return number(lexeme)
        if lexeme in PLUS_MINUS or lexeme == "±":
            return self.signed()
        node = self.power()
        while takes_of and self.tokens[self.at] == "of":
            node = self.part_of(node)
        return node

    def signed(self) -> Node:
        negative = False
        while (sign := PLUS_MINUS.get(self.tokens[self.at])) is not None:
            negative ^= sign
            self.at += 1
        if self.tokens[self.at] == "±":
            self.at += 1
            return PlusMinus(self.unary())
        operand = self.unary()
        if not negative:
            return operand
        if type(operand) is Percent:
            return Percent(Negation(operand.operand))
        return Negation(operand)

    def power(self) -> Node:
        base = self.postfix(self.primary())
        lexeme = self.tokens[self.at]
        if lexeme == "^" or lexeme == "**":
            self.at += 1
            return self.raised(base)
        if lexeme and lexeme[0] in SUPERSCRIPT_DIGITS:
            self.at += 1
            return self.postfix(Power(base, superscript(lexeme)))
        return base

    def raised(self, base: Node) -> Node:
        lexeme = self.tokens[self.at]
        if isinstance(base, Brackets | Symbol) and lexeme in ("T", "⊤"):
            self.at += 1
            return FunctionCall("transpose", (base,))
        self.enter()
        exponent = self.unary()
        self.leave()
        # 15%^2 is read by nobody in the same way; $2^3 is 8 dollars.
        if type(base) is UnitQuantity:
            return UnitQuantity(Power(base.operand, exponent), base.unit)
        return Power(base, exponent)

    def postfix(self, node: Node) -> Node:
        while True:
            lexeme = self.tokens[self.at]
            if (
                lexeme in CURRENCIES
                and type(node) is Literal
                and not self.begins_operand(self.tokens[self.at + 1])
            ):
                # 200€, as most of Europe writes it.
                self.at += 1
                self.has_units = True
                node = UnitQuantity(node, CURRENCIES[lexeme])
                continue
            if lexeme not in _POSTFIX and (lexeme[:1] != UNIT_MARK or lexeme[:2] == ROUND_MARK):
                return node
            if lexeme == "%":
                if self.begins_operand(self.tokens[self.at + 1]):
                    self.at += 1
                    self.enter()
                    node = FunctionCall("mod", (node, self.unary()))
                    self.leave()
                else:
                    self.at += 1
                    node = Percent(node)
            elif lexeme == "!":
                self.at += 1
                if self.tokens[self.at] == "!":
                    raise UndecidedMath("the double factorial is not supported")
                node = FunctionCall("factorial", (node,))
            elif lexeme == "!=":
                if not self.factorial_equals(node):
                    return node
                node = FunctionCall("factorial", (node,))
                # The sign that is left over is the relation.
                self.tokens = [*self.tokens[: self.at], "=", *self.tokens[self.at + 1 :]]
            elif lexeme == "°":
                self.at += 1
                node = FunctionCall("radians", (node,))
            elif lexeme == _DOZEN:
                self.at += 1
                node = self.dozens(node)
            elif lexeme[:2] == SCALE_MARK:
                self.at += 1
                node = self.scaled(node, int(lexeme[2:]))
            else:
                self.at += 1
                self.has_units = True
                node = UnitQuantity(node, "cent" if lexeme == "¢" else lexeme[1:])

    def scaled(self, node: Node, scale: int) -> Node:
        """1.2 - 0.9 = 0.3 million may count in millions throughout."""
        if self.in_result and not self.has_scale:
            self.ambiguous.add(LessUsual.SCALE)
            if LessUsual.SCALE in self.readings:
                return node
        self.has_scale = True
        return Scaled(node, scale)

    def dozens(self, node: Node) -> Node:
        """84 / 12 = 7 dozen counts in dozens; 2 dozen = 24 does not, and 3 dozen + 2 = 5 may."""
        reading = LessUsual.DOZENS if self.in_result else LessUsual.DOZEN_TERMS
        self.ambiguous.add(reading)
        return node if reading in self.readings else Scaled(node, 12)

    def factorial_equals(self, node: Node) -> bool:
        """`5!=120` may be a factorial or an inequality; `5 != 120` reads the same here, so both are tried."""
        if type(node) is not Literal or node.denominator != 1:
            return False
        self.ambiguous.add(LessUsual.NOT_EQUAL)
        return LessUsual.NOT_EQUAL not in self.readings

    def begins_operand(self, lexeme: str) -> bool:
        return is_number(lexeme) or lexeme == "("

    # -- what an expression begins with ----------------------------------------------------------

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UndecidedMath(f"nested deeper than {MAX_DEPTH} levels")

    def leave(self) -> None:
        self.depth -= 1

    def primary(self) -> Node:
        lexeme = self.tokens[self.at]
        if not lexeme:
            raise self.unexpected()
        head = lexeme[0]
        if "0" <= head <= "9" or (head == "." and lexeme != "." and lexeme != "..."):
            self.at += 1
            return self.number_or_mixed(lexeme)
        self.enter()
        if head in "({":
            self.at += 1
            node = self.bracketed(_OPENING[head])
        elif (head.isalpha() and head not in _LETTER_SIGNS) or head == "\\":
            node = self.word(lexeme)
        else:
            node = self.sign(lexeme)
        self.leave()
        return node

    def number_or_mixed(self, lexeme: str) -> Node:
        literal = number(lexeme)
        following = self.tokens[self.at : self.at + 3]
        if following[0] in _FRACTIONS:
            self.at += 1
            return add(literal, _ratio(*_FRACTIONS[following[0]]))
        if (
            len(following) == 3
            and following[1] == "/"
            and is_natural(following[0])
            and is_natural(following[2])
        ):
            top, bottom = int(following[0][:9]), int(following[2][:9])
            if literal.denominator == 1 and top < bottom:
                self.at += 3
                return add(literal, _ratio(top, bottom))
        return literal

    def bracketed(self, closing: str) -> Node:
        node = self.total()
        self.expect(closing)
        # A bracket closes the percentage: 200 + (10%) adds a tenth.
        return multiply(node, ONE) if type(node) is Percent else node

    def sign(self, lexeme: str) -> Node:
        self.at += 1
        if lexeme in CURRENCIES:
            return self.money(CURRENCIES[lexeme])
        if lexeme == "√" or lexeme == "∛":
            return FunctionCall("sqrt" if lexeme == "√" else "cbrt", (self.power(),))
        if lexeme == "π":
            return Symbol("pi")
        if lexeme in _FRACTIONS:
            return _ratio(*_FRACTIONS[lexeme])
        if lexeme == "[":
            items = self.items("]")
            # [5 + 3] / 2: one number in square brackets is no vector.
            is_sum = (
                len(items) == 1 and type(items[0]) in (Sum, Product) and self.tokens[self.at] in AFTER_NUMBER
            )
            return items[0] if is_sum else Brackets(tuple(items))
        if lexeme == "|":
            node = self.total()
            self.expect("|")
            return FunctionCall("abs", (node,))
        if lexeme == "∫":
            return self.integral()
        if lexeme in _FLOORS:
            name, closing = _FLOORS[lexeme]
            node = self.total()
            self.expect(closing)
            return FunctionCall(name, (node,))
        self.at -= 1
        raise self.unexpected()

    def money(self, currency: str) -> Node:
        self.has_units = True
        sign = PLUS_MINUS.get(self.tokens[self.at])
        if sign is not None:
            self.at += 1
        lexeme = self.tokens[self.at]
        if not is_number(lexeme) and lexeme != "(":
            raise self.unexpected()
        node = UnitQuantity(self.primary(), currency)
        return Negation(node) if sign else node

    def items(self, closing: str) -> list[Node]:
        found: list[Node] = []
        while self.tokens[self.at] != closing:
            found.append(self.total())
            if self.tokens[self.at] not in (",", ";"):
                break
            self.at += 1
        self.expect(closing)
        if not found:
            raise MalformedMath("an empty list")
        return found

    @abstractmethod
    def word(self, lexeme: str) -> Node:
        """What begins with a word."""

    @abstractmethod
    def integral(self) -> Node:
        """What follows an integral sign."""

    @abstractmethod
    def total(self) -> Node:
        """A sum, inside brackets."""

    @abstractmethod
    def part_of(self, part: Node) -> Node:
        """What follows "of"."""


def is_natural(lexeme: str) -> bool:
    return lexeme.isascii() and lexeme.isdigit()


def superscript(lexeme: str) -> Node:
    digits = lexeme.translate(_SUPERSCRIPTS)
    if not digits.lstrip("-").isdigit() or "-" in digits[1:]:
        raise MalformedMath(f"{lexeme[:20]!r} is not an exponent")
    if digits.startswith("-"):
        return Negation(number(digits[1:]))
    return number(digits)


def _ratio(numerator: int, denominator: int) -> Node:
    return divide(Literal(numerator), Literal(denominator))
