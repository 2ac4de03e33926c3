"""Tokens to trees, the part that needs no words."""

from abc import ABC, abstractmethod
from typing import Final

from qwed.engines.math.grammar import (
    CURRENCIES,
    DEFAULT,
    MULTIPLICATIVE,
    OVER,
    PLUS_MINUS,
    RELATIONS,
    ROUND_MARK,
    SCALE_MARK,
    SEPARATORS,
    SHIFTED,
    SUPERSCRIPT_DIGITS,
    TIMES,
    UNIT_MARK,
    Chain,
    Reading,
)
from qwed.engines.math.nodes import (
    ONE,
    Call,
    Literal,
    Negation,
    Node,
    Percent,
    PlusMinus,
    Power,
    Product,
    Quantity,
    Rows,
    Scaled,
    Sum,
    Symbol,
    add,
    divide,
    multiply,
    subtract,
)
from qwed.engines.math.problems import MAX_DEPTH, Malformed, MathProblem, Undecided
from qwed.engines.math.tokens import is_number, number

_DOZEN: Final = UNIT_MARK + "dozen"
_AFTER_TERM: Final = frozenset({"", "+", "-", ")", "=", ","})
_AFTER_NUMBER: Final = _AFTER_TERM | {"*", "/", "×", "÷"}
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


class FormulaParser(ABC):
    """Everything but words: relations, sums, products, powers, brackets, signs."""

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
        self, tokens: list[str], readings: frozenset[Reading] = DEFAULT, names: frozenset[str] = frozenset()
    ) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.readings = readings
        self.names = names
        self.ambiguous: set[Reading] = set()
        self.has_scale = False
        self.has_units = False
        self.in_result = False
        self.integrating = 0

    # -- relations ---------------------------------------------------------------------------

    def whole_chain(self) -> Chain:
        chain = self.chain()
        if self.tokens[self.at]:
            raise self.unexpected()
        return chain

    def chain(self) -> Chain:
        start = self.at
        sides = [self.rounded_total()]
        bounds = [(start, self.at)]
        relations: list[str] = []
        while (relation := RELATIONS.get(self.tokens[self.at])) is not None:
            self.at += 1
            # "= ?" and a closing "=" ask for the value.
            if self.tokens[self.at] in ("", "?") and not self.tokens[self.at + 1 : self.at + 2]:
                break
            start = self.at
            self.in_result = True
            sides.append(self.rounded_total())
            bounds.append((start, self.at))
            relations.append(relation)
        return Chain(tuple(sides), tuple(relations), tuple(bounds))

    def rounded_total(self) -> Node:
        """10/3 rounded to 2 decimals: what was said so far is rounded."""
        node = self.total()
        lexeme = self.tokens[self.at]
        if lexeme[:2] != ROUND_MARK:
            return node
        self.at += 1
        places = int(lexeme[2:])
        return Call("round", (node, Literal(places) if places >= 0 else Negation(Literal(-places))))

    def unexpected(self) -> MathProblem:
        lexeme = self.tokens[self.at]
        if lexeme in ("...", "…") or (not lexeme.isascii() and lexeme not in _KNOWN_SIGNS):
            return Undecided(f"the sign {lexeme[:20]!r} is not understood")
        return Malformed(f"unexpected {lexeme[:40]!r}" if lexeme else "the expression ends too early")

    def expect(self, lexeme: str) -> None:
        if self.tokens[self.at] != lexeme:
            raise self.unexpected()
        self.at += 1

    # -- sums --------------------------------------------------------------------------------

    def total(self) -> Node:
        first = self.product()
        lexeme = self.tokens[self.at]
        if lexeme in PLUS_MINUS:
            first = self.more_terms(first)
            lexeme = self.tokens[self.at]
        while lexeme in SHIFTED:
            self.at += 1
            first = self.shifted(lexeme, first)
            lexeme = self.tokens[self.at]
        return first

    def more_terms(self, first: Node) -> Node:
        terms = [first]
        negative = [False]
        tokens = self.tokens
        while (sign := PLUS_MINUS.get(tokens[self.at])) is not None:
            self.at += 1
            term = self.product()
            if type(term) is Percent and type(first) is not Percent:
                term = self.percent_of(Sum(tuple(terms), tuple(negative)) if len(terms) > 1 else first, term)
            terms.append(term)
            negative.append(sign)
        return Sum(tuple(terms), tuple(negative))

    def percent_of(self, base: Node, percent: Percent) -> Node:
        """200 + 10%: a pocket calculator, and most people, take the tenth of 200."""
        self.ambiguous.add(Reading.PERCENT_ALONE)
        if Reading.PERCENT_ALONE in self.readings:
            return percent
        return multiply(base, percent)

    def shifted(self, word: str, left: Node) -> Node:
        self.enter()
        right = self.product() if word in ("incby", "decby") else self.total()
        self.leave()
        change, base = (right, left) if word in ("incby", "decby") else (left, right)
        if type(change) is Percent:
            change = multiply(base, change)
        elif word == "off":
            raise Undecided("'off' needs a percentage")
        if word in ("lessthan", "takenfrom", "off", "decby"):
            return subtract(base, change)
        return add(base, change)

    # -- products ----------------------------------------------------------------------------

    def product(self) -> Node:
        first = self.unary()
        lexeme = self.tokens[self.at]
        if lexeme in _AFTER_TERM or (lexeme not in MULTIPLICATIVE and not self.begins_factor(lexeme)):
            return first
        factors = [first]
        inverse = [False]
        while lexeme not in _AFTER_TERM:
            if lexeme in TIMES:
                self.at += 1
                factors.append(self.unary())
                inverse.append(False)
            elif lexeme in OVER:
                # "= 15 out of the 24" counts, it does not divide.
                if lexeme == "outof" and self.in_result:
                    raise self.unexpected()
                self.at += 1
                factors.append(self.divisor(factors))
                inverse.append(True)
            elif lexeme == "//":
                self.at += 1
                quotient = divide(_product(factors, inverse), self.unary())
                factors, inverse = [Call("floor", (quotient,))], [False]
            elif lexeme == "of":
                factors, inverse = [self.part_of(_product(factors, inverse))], [False]
            elif lexeme in ("mod", "choose"):
                self.at += 1
                name = "mod" if lexeme == "mod" else "binomial"
                factors = [Call(name, (_product(factors, inverse), self.unary()))]
                inverse = [False]
            elif self.begins_factor(lexeme):
                factors.append(self.power())
                inverse.append(False)
            else:
                break
            lexeme = self.tokens[self.at]
        return _product(factors, inverse)

    def divisor(self, dividend: list[Node]) -> Node:
        start = self.at
        divisor = self.unary(takes_of=False)
        if self.tokens[self.at] in _AFTER_NUMBER:
            return divisor
        # 2/3 of 60 is two thirds of it; 100 / half of 10 divides by 5.
        if self.tokens[self.at] == "of" and not (
            len(dividend) == 1 and type(dividend[0]) is Literal and type(divisor) is Literal
        ):
            self.at = start
            divisor = self.unary()
        if not self.begins_factor(self.tokens[self.at]):
            return divisor
        self.ambiguous.add(Reading.TIGHT_PRODUCT)
        if Reading.TIGHT_PRODUCT not in self.readings:
            return divisor
        factors = [divisor]
        while self.begins_factor(self.tokens[self.at]):
            factors.append(self.power())
        return multiply(*factors)

    def begins_factor(self, lexeme: str) -> bool:
        """Whether a product goes on without a sign: 2x, 3(4+5), 2√3."""
        if not lexeme:
            return False
        head = lexeme[0]
        if head in "(√π∛":
            return True
        if not (head.isalpha() or head == "\\") or lexeme in SEPARATORS:
            return False
        return not (self.integrating and len(lexeme) == 2 and head == "d")

    # -- signs, powers, and what follows a value -----------------------------------------------

    def unary(self, takes_of: bool = True) -> Node:
        at = self.at
        lexeme = self.tokens[at]
        # Most factors are a number and nothing else.
        if "0" <= lexeme[:1] <= "9" and self.tokens[at + 1] in _AFTER_NUMBER:
            self.at = at + 1
            return number(lexeme)
        if lexeme in PLUS_MINUS or lexeme == "±":
            return self.signed()
        node = self.power()
        while takes_of and self.tokens[self.at] == "of":
            node = self.part_of(node)
        return node

    def part_of(self, part: Node) -> Node:
        if type(part) not in (Percent, Product, Literal):
            raise self.unexpected()
        self.at += 1
        self.enter()
        start = self.at
        whole = self.unary()
        if self.tokens[self.at] in PLUS_MINUS:
            self.ambiguous.add(Reading.WIDE_OF)
            if Reading.WIDE_OF in self.readings:
                self.at = start
                whole = self.total()
        self.leave()
        return multiply(part, whole)

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
        if isinstance(base, Rows | Symbol) and lexeme in ("T", "⊤"):
            self.at += 1
            return Call("transpose", (base,))
        self.enter()
        exponent = self.unary()
        self.leave()
        # 15%^2 is read by nobody in the same way; $2^3 is 8 dollars.
        if type(base) is Quantity:
            return Quantity(Power(base.operand, exponent), base.unit)
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
                node = Quantity(node, CURRENCIES[lexeme])
                continue
            if lexeme not in _POSTFIX and (lexeme[:1] != UNIT_MARK or lexeme[:2] == ROUND_MARK):
                return node
            if lexeme == "%":
                if self.begins_operand(self.tokens[self.at + 1]):
                    self.at += 1
                    self.enter()
                    node = Call("mod", (node, self.unary()))
                    self.leave()
                else:
                    self.at += 1
                    node = Percent(node)
            elif lexeme == "!":
                self.at += 1
                if self.tokens[self.at] == "!":
                    raise Undecided("the double factorial is not supported")
                node = Call("factorial", (node,))
            elif lexeme == "!=":
                if not self.factorial_equals(node):
                    return node
                node = Call("factorial", (node,))
                # The sign that is left over is the relation.
                self.tokens = [*self.tokens[: self.at], "=", *self.tokens[self.at + 1 :]]
            elif lexeme == "°":
                self.at += 1
                node = Call("radians", (node,))
            elif lexeme == _DOZEN:
                self.at += 1
                node = self.dozens(node)
            elif lexeme[:2] == SCALE_MARK:
                self.at += 1
                node = self.scaled(node, int(lexeme[2:]))
            else:
                self.at += 1
                self.has_units = True
                node = Quantity(node, "cent" if lexeme == "¢" else lexeme[1:])

    def scaled(self, node: Node, scale: int) -> Node:
        """1.2 - 0.9 = 0.3 million may count in millions throughout."""
        if self.in_result and not self.has_scale:
            self.ambiguous.add(Reading.SCALE)
            if Reading.SCALE in self.readings:
                return node
        self.has_scale = True
        return Scaled(node, scale)

    def dozens(self, node: Node) -> Node:
        """84 / 12 = 7 dozen counts in dozens; 2 dozen = 24 does not."""
        self.ambiguous.add(Reading.DOZENS)
        return node if Reading.DOZENS in self.readings else Scaled(node, 12)

    def factorial_equals(self, node: Node) -> bool:
        """`5!=120` may be a factorial or an inequality; `5 != 120` reads the same here, so both are tried."""
        if type(node) is not Literal or node.denominator != 1:
            return False
        self.ambiguous.add(Reading.NOT_EQUAL)
        return Reading.NOT_EQUAL not in self.readings

    def begins_operand(self, lexeme: str) -> bool:
        return is_number(lexeme) or lexeme == "("

    # -- what an expression begins with ----------------------------------------------------------

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Undecided(f"nested deeper than {MAX_DEPTH} levels")

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
            return Call("sqrt" if lexeme == "√" else "cbrt", (self.power(),))
        if lexeme == "π":
            return Symbol("pi")
        if lexeme in _FRACTIONS:
            return _ratio(*_FRACTIONS[lexeme])
        if lexeme == "[":
            return Rows(tuple(self.items("]")))
        if lexeme == "|":
            node = self.total()
            self.expect("|")
            return Call("abs", (node,))
        if lexeme == "∫":
            return self.integral()
        if lexeme in _FLOORS:
            name, closing = _FLOORS[lexeme]
            node = self.total()
            self.expect(closing)
            return Call(name, (node,))
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
        node = Quantity(self.primary(), currency)
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
            raise Malformed("an empty list")
        return found

    @abstractmethod
    def word(self, lexeme: str) -> Node:
        """What begins with a word."""

    @abstractmethod
    def integral(self) -> Node:
        """What follows an integral sign."""


def _product(factors: list[Node], inverse: list[bool]) -> Node:
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(inverse))


def is_natural(lexeme: str) -> bool:
    return lexeme.isascii() and lexeme.isdigit()


def superscript(lexeme: str) -> Node:
    digits = lexeme.translate(_SUPERSCRIPTS)
    if not digits.lstrip("-").isdigit() or "-" in digits[1:]:
        raise Malformed(f"{lexeme[:20]!r} is not an exponent")
    if digits.startswith("-"):
        return Negation(number(digits[1:]))
    return number(digits)


def _ratio(numerator: int, denominator: int) -> Node:
    return divide(Literal(numerator), Literal(denominator))
