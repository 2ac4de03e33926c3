"""Tokens to trees: one recursive descent for formulas and for sentences already put into tokens.

Some notations are read in two ways by careful people (`6/2(1+2)`, `200 + 10%`, `log 100`). The parser
follows the readings it is given and notes in `ambiguous` where another would have made a difference.
"""

import enum
from collections.abc import Callable
from typing import Final

import msgspec

from qwed.engines.math.functions import ALIASES, ARITY, CONSTANTS, OF_LIST, PREFIX
from qwed.engines.math.nodes import (
    ONE,
    TWO,
    Call,
    Derivative,
    Integral,
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
    symbols,
)
from qwed.engines.math.problems import MAX_DEPTH, Malformed, Undecided
from qwed.engines.math.tokens import is_number, number


class Reading(enum.StrEnum):
    """The less usual of two readings of one notation."""

    PERCENT_ALONE = "a percentage added to a number is a number of its own"
    TIGHT_PRODUCT = "a product written without a sign binds more tightly than a division"
    NOT_EQUAL = "!= after a digit means 'is not equal to', not a factorial"
    NATURAL_LOG = "log is the natural logarithm"
    SAMPLE = "the spread is that of a sample (divisor n - 1)"
    WIDE_OF = "'of' takes the whole sum after it"
    SHORT_LIST = "an operator after a list applies to the result"
    DOZENS = "a dozen is the unit the numbers count"
    NARROW_SCOPE = "the operator takes the next term alone"


DEFAULT: Final[frozenset[Reading]] = frozenset()

RELATIONS: Final = {
    "=": "=",
    "==": "=",
    "is": "=",
    "≈": "≈",
    "≅": "≈",
    "≃": "≈",
    "<": "<",
    ">": ">",
    "<=": "<=",
    "≤": "<=",
    "=<": "<=",
    ">=": ">=",
    "≥": ">=",
    "!=": "!=",
    " !=": "!=",
    "≠": "!=",
    "<>": "!=",
}

CURRENCIES: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
UNIT_MARK: Final = "\x00"
SCALE_MARK: Final = UNIT_MARK + "*"
ROUND_MARK: Final = UNIT_MARK + "~"
_DOZEN: Final = UNIT_MARK + "dozen"

_PLUS_MINUS: Final = {"+": False, "-": True, "−": True, "–": True}
_TIMES: Final = frozenset({"*", "×", "·", "⋅", "∙", "✕", "✖"})
_OVER: Final = frozenset({"/", "÷", "∕", "⁄", "outof"})
_MULTIPLICATIVE: Final = _TIMES | _OVER | {"mod", "choose", "of", "//"}
_AFTER_TERM: Final = frozenset({"", "+", "-", ")", "=", ","})
_AFTER_NUMBER: Final = _AFTER_TERM | {"*", "/", "×", "÷"}
_POSTFIX: Final = frozenset({"%", "!", "!=", "¢", "°"})
_OPENING: Final = {"(": ")", "{": "}"}
_SUPERSCRIPT_DIGITS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_SUPERSCRIPTS: Final = str.maketrans(_SUPERSCRIPT_DIGITS, "0123456789-")
_FRACTIONS: Final = {
    "½": (1, 2),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅕": (1, 5),
    "⅛": (1, 8),
}
# "second derivative" as the sentence reader writes it; a text cannot hold such a token.
_ORDERS: Final = {"#2": 2, "#3": 3}
_LETTER_SIGNS: Final = frozenset("π")
_SHIFTED: Final = frozenset({"lessthan", "morethan", "takenfrom", "addedto", "off", "incby", "decby"})
# Words that stand between expressions; none of them begins a factor.
SEPARATORS: Final = (
    frozenset({"of", "and", "or", "by", "from", "to", "is", "wrt", "mod", "choose", "for", "as", "at", "on"})
    | _SHIFTED
)
_LETTERS: Final = frozenset("abcdkmnpqrstuvwxyz")
_SHORT_WORDS: Final = frozenset(
    {"as", "at", "am", "an", "us", "my", "by", "dx", "dy", "dt", "cm", "km", "mm", "kg", "ms"}
)


class Chain(msgspec.Struct, frozen=True):
    """`sides[0] relations[0] sides[1] …`; one side and no relation is a bare expression."""

    sides: tuple[Node, ...]
    relations: tuple[str, ...]
    # The tokens each side was read from, first and past the last.
    bounds: tuple[tuple[int, int], ...]


class Parser:
    __slots__ = (
        "ambiguous",
        "at",
        "depth",
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

    def unexpected(self) -> Malformed:
        lexeme = self.tokens[self.at]
        return Malformed(f"unexpected {lexeme[:40]!r}" if lexeme else "the expression ends too early")

    def expect(self, lexeme: str) -> None:
        if self.tokens[self.at] != lexeme:
            raise self.unexpected()
        self.at += 1

    # -- sums --------------------------------------------------------------------------------

    def total(self) -> Node:
        first = self.product()
        lexeme = self.tokens[self.at]
        if lexeme in _PLUS_MINUS:
            first = self.more_terms(first)
            lexeme = self.tokens[self.at]
        while lexeme in _SHIFTED:
            self.at += 1
            first = self.shifted(lexeme, first)
            lexeme = self.tokens[self.at]
        return first

    def more_terms(self, first: Node) -> Node:
        terms = [first]
        negative = [False]
        tokens = self.tokens
        while (sign := _PLUS_MINUS.get(tokens[self.at])) is not None:
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
        if lexeme in _AFTER_TERM or (lexeme not in _MULTIPLICATIVE and not self.begins_factor(lexeme)):
            return first
        factors = [first]
        inverse = [False]
        while True:
            if lexeme in _TIMES:
                self.at += 1
                factors.append(self.unary())
                inverse.append(False)
            elif lexeme in _OVER:
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
                return _product(factors, inverse)
            lexeme = self.tokens[self.at]

    def divisor(self, dividend: list[Node]) -> Node:
        start = self.at
        divisor = self.unary(takes_of=False)
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
        if lexeme in _PLUS_MINUS or lexeme == "±":
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
        if self.tokens[self.at] in _PLUS_MINUS:
            self.ambiguous.add(Reading.WIDE_OF)
            if Reading.WIDE_OF in self.readings:
                self.at = start
                whole = self.total()
        self.leave()
        return multiply(part, whole)

    def signed(self) -> Node:
        negative = False
        while (sign := _PLUS_MINUS.get(self.tokens[self.at])) is not None:
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
        if lexeme and lexeme[0] in _SUPERSCRIPT_DIGITS:
            self.at += 1
            return self.postfix(Power(base, _superscript(lexeme)))
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
                node = Scaled(node, int(lexeme[2:]))
            else:
                self.at += 1
                self.has_units = True
                node = Quantity(node, "cent" if lexeme == "¢" else lexeme[1:])

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
            and _is_natural(following[0])
            and _is_natural(following[2])
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
        self.at -= 1
        raise self.unexpected()

    def money(self, currency: str) -> Node:
        self.has_units = True
        sign = _PLUS_MINUS.get(self.tokens[self.at])
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

    # -- words ---------------------------------------------------------------------------------

    def word(self, lexeme: str) -> Node:
        self.at += 1
        name = lexeme.lower()
        if lexeme in self.names:
            return Symbol(lexeme)
        if lexeme == "math" and self.tokens[self.at] == ".":
            self.at += 1
            return self.word(self.tokens[self.at])
        if name in ALIASES and (len(name) > 2 or self.tokens[self.at] == "("):
            return self.call(ALIASES[name])
        if name == "ln":
            return self.call("ln")
        if name in CONSTANTS:
            return Symbol(name)
        rule = WORD_RULES.get(name)
        if rule is not None:
            return rule(self)
        if name == "d" and self.tokens[self.at] in ("/", "^"):
            return self.leibniz()
        return self.symbol(lexeme)

    def symbol(self, lexeme: str) -> Node:
        if lexeme in ("f", "g", "h") and self.tokens[self.at] == "(":
            raise Undecided(f"the function {lexeme!r} is not defined")
        if len(lexeme) == 1:
            return self.subscripted(lexeme)
        if is_letter_product(lexeme):
            return self.letters(lexeme)
        raise Undecided(f"the word {lexeme[:40]!r} is not understood")

    def letters(self, word: str) -> Node:
        """xy^2: the exponent belongs to the last letter alone."""
        *others, last = map(Symbol, word)
        lexeme = self.tokens[self.at]
        if lexeme == "^" or lexeme == "**":
            self.at += 1
            return multiply(*others, self.raised(last))
        if lexeme and lexeme[0] in _SUPERSCRIPT_DIGITS:
            self.at += 1
            return multiply(*others, Power(last, _superscript(lexeme)))
        return multiply(*others, last)

    def subscripted(self, name: str) -> Node:
        if self.tokens[self.at] == "_" and self.tokens[self.at + 1].isalnum():
            name = f"{name}_{self.tokens[self.at + 1]}"
            self.at += 2
        if is_number(self.tokens[self.at]):
            raise self.unexpected()
        return Symbol(name)

    def call(self, name: str) -> Node:
        if name == "sqrt" and self.tokens[self.at] == "[":
            self.at += 1
            (index,) = self.items("]")
            return Call("root", (self.argument(), index))
        exponent = self.power_of_function(name)
        arguments = self.arguments(name)
        if len(arguments) == 1 and isinstance(arguments[0], Rows) and name in OF_LIST:
            arguments = arguments[0].items
        fewest, most = ARITY[name]
        if not fewest <= len(arguments) <= most:
            raise Malformed(f"{name} does not take {len(arguments)} arguments")
        node = self.resolved(name, arguments)
        return node if exponent is None else Power(node, exponent)

    def power_of_function(self, name: str) -> Node | None:
        """sin^2(x), and the refused sin^-1, which may be the inverse or the reciprocal."""
        lexeme = self.tokens[self.at]
        if name in PREFIX and lexeme and (lexeme == "^" or lexeme[0] in "²³⁴"):
            self.at += 1
            if lexeme != "^":
                return _superscript(lexeme)
            if not _is_natural(self.tokens[self.at]):
                raise Undecided(f"{name}^-1 may be the inverse or the reciprocal")
            self.at += 1
            return number(self.tokens[self.at - 1])
        return None

    def arguments(self, name: str) -> tuple[Node, ...]:
        lexeme = self.tokens[self.at]
        if name == "log" and (base := self.log_base()) is not None:
            return (self.argument(), base)
        if lexeme == "(":
            self.at += 1
            return tuple(self.call_items())
        if name in OF_LIST:
            if lexeme == "of":
                self.at += 1
            return tuple(self.spoken_list(name))
        if name == "ratio" or name == "percent_change":
            return self.spoken_pair()
        if lexeme == "of":
            self.at += 1
            return (self.spoken_argument(),)
        if name in PREFIX:
            return (self.argument(),)
        raise self.unexpected()

    def call_items(self) -> list[Node]:
        found = [self.total()]
        while self.tokens[self.at] in (",", ";"):
            self.at += 1
            found.append(self.total())
        self.expect(")")
        return found

    def log_base(self) -> Node | None:
        lexeme = self.tokens[self.at]
        if lexeme == "_":
            self.at += 1
            return self.primary()
        if _is_natural(lexeme) and self.tokens[self.at + 1] == "(":
            self.at += 1
            return number(lexeme)
        if lexeme == "base":
            self.at += 1
            base = self.primary()
            self.expect("of")
            return base
        return None

    def argument(self) -> Node:
        """The factors right after a function's name: sin 2x is sin(2x), sin x cos x is a product."""
        if self.tokens[self.at] in ("(", "{"):
            return self.primary()
        factors = [self.unary()]
        while self.continues_argument(self.tokens[self.at]):
            factors.append(self.power())
        return factors[0] if len(factors) == 1 else multiply(*factors)

    def continues_argument(self, lexeme: str) -> bool:
        return self.begins_factor(lexeme) and lexeme != "(" and lexeme.lower() not in ALIASES

    def spoken_argument(self) -> Node:
        node = self.unary()
        if self.tokens[self.at] in _PLUS_MINUS or self.tokens[self.at] in _MULTIPLICATIVE:
            raise Undecided("how far 'of' reaches is not clear")
        return node

    def spoken_list(self, name: str) -> list[Node]:
        found = [self.list_item()]
        while True:
            lexeme = self.tokens[self.at]
            if lexeme == "," and self.tokens[self.at + 1] == "and":
                self.at += 2
            elif lexeme == "," or lexeme == "and":
                self.at += 1
            elif (
                len(found) > 1
                or isinstance(found[0], Rows)
                or (name == "sum" and type(found[0]) is not Literal)
            ):
                return found
            else:
                # "five hundred and forty-three" may have been two numbers.
                raise Undecided("a list of one number")
            found.append(self.list_item())

    def list_item(self) -> Node:
        if self.tokens[self.at].count(",") > 1:
            raise Undecided("a comma between digits may separate or group")
        start = self.at
        item = self.total()
        # "the sum of 2 and 3 times 4"
        if type(item) in (Sum, Product) and self.tokens[self.at] not in (",", "and"):
            self.ambiguous.add(Reading.SHORT_LIST)
            if Reading.SHORT_LIST in self.readings:
                self.at = start
                return self.power()
        return item

    def spoken_pair(self) -> tuple[Node, ...]:
        if self.tokens[self.at] in ("of", "from"):
            self.at += 1
        first = self.total()
        self.expect("to")
        return (first, self.total())

    def resolved(self, name: str, arguments: tuple[Node, ...]) -> Node:
        """The call, with what its name leaves open settled by the reading."""
        if name == "log":
            return self.logarithm(arguments)
        if name in ("variance", "stdev"):
            self.ambiguous.add(Reading.SAMPLE)
            if Reading.SAMPLE in self.readings:
                name = f"sample_{name}"
        return Call(name, arguments)

    def logarithm(self, arguments: tuple[Node, ...]) -> Node:
        if len(arguments) == 2:
            return Call("log", arguments)
        self.ambiguous.add(Reading.NATURAL_LOG)
        return Call("ln" if Reading.NATURAL_LOG in self.readings else "log10", arguments)

    def increased(self) -> Node:
        return self.changed(add)

    def decreased(self) -> Node:
        return self.changed(subtract)

    def changed(self, combine: Callable[[Node, Node], Node]) -> Node:
        """increasing 200 by 15%"""
        base = self.product()
        self.expect("by")
        change = self.product()
        return combine(base, multiply(base, change) if type(change) is Percent else change)

    def pair(self, *links: str) -> tuple[Node, Node]:
        first = self.product()
        if self.tokens[self.at] not in links:
            raise self.unexpected()
        self.at += 1
        return first, self.product()

    def added(self) -> Node:
        return add(*self.pair("to", "and"))

    def taken(self) -> Node:
        first, second = self.pair("from")
        return subtract(second, first)

    def multiplied(self) -> Node:
        return multiply(*self.pair("by", "and"))

    def divided(self) -> Node:
        return divide(*self.pair("by", "and"))

    def difference(self) -> Node:
        return Call("abs", (subtract(*self.pair("and")),))

    def squared(self) -> Node:
        self.expect("of")
        return Power(self.spoken_argument(), TWO)

    def cubed(self) -> Node:
        self.expect("of")
        return Power(self.spoken_argument(), Literal(3))

    def population_variance(self) -> Node:
        return Call("variance", self.arguments("variance"))

    def population_stdev(self) -> Node:
        return Call("stdev", self.arguments("stdev"))

    def dot_product(self) -> Node:
        return Call("dot", self.pair("and"))

    def cross_product(self) -> Node:
        return Call("cross", self.pair("and"))

    def fraction(self) -> Node:
        """\\frac{a}{b}"""
        return divide(self.braced(), self.braced())

    def braced(self) -> Node:
        self.expect("{")
        node = self.total()
        self.expect("}")
        return node

    def remainder(self) -> Node:
        quotient = self.product()
        if type(quotient) is Product and quotient.inverse == (False, True):
            return Call("mod", quotient.factors)
        raise self.unexpected()

    # -- calculus --------------------------------------------------------------------------------

    def leibniz(self) -> Node:
        """d/dx f and d^2/dx^2 f."""
        order = 1
        if self.tokens[self.at] == "^":
            order = self.small_order(self.tokens[self.at + 1])
            self.at += 2
        self.expect("/")
        variable = self.differential()
        if order > 1:
            self.expect("^")
            self.expect(str(order))
        return Derivative(self.scope(), variable, order)

    def small_order(self, lexeme: str) -> int:
        if lexeme not in ("2", "3", "4"):
            raise self.unexpected()
        return int(lexeme)

    def differential(self) -> str:
        lexeme = self.tokens[self.at]
        if len(lexeme) != 2 or lexeme[0] != "d" or not lexeme[1].isalpha():
            raise self.unexpected()
        self.at += 1
        return lexeme[1]

    def scope(self) -> Node:
        """What d/dx applies to: the whole sum as people write it, or the next term alone."""
        start = self.at
        node = self.bracket_or_product()
        if self.tokens[self.at] in _PLUS_MINUS:
            self.ambiguous.add(Reading.NARROW_SCOPE)
            if Reading.NARROW_SCOPE not in self.readings:
                self.at = start
                return self.total()
        return node

    def bracket_or_product(self) -> Node:
        if self.tokens[self.at] == "[":
            self.at += 1
            (node,) = self.items("]")
            return node
        return self.product()

    def derivative_of(self) -> Node:
        order = 1
        if self.tokens[self.at] in _ORDERS:
            order = _ORDERS[self.tokens[self.at]]
            self.at += 1
        operand = self.total()
        variable = self.respect_to() or _only_variable(operand)
        return Derivative(operand, variable, order)

    def respect_to(self) -> str | None:
        if self.tokens[self.at] != "wrt":
            return None
        self.at += 2
        return self.tokens[self.at - 1]

    def integral(self) -> Node:
        lower, upper = self.limits()
        if self.tokens[self.at] == "of":
            self.at += 1
        self.integrating += 1
        operand = self.total()
        self.integrating -= 1
        lexeme = self.tokens[self.at]
        if len(lexeme) == 2 and lexeme[0] == "d":
            variable: str | None = self.differential()
        else:
            variable = None
        if lower is None:
            lower, upper = self.limits()
        variable = variable or self.respect_to() or _only_variable(operand)
        return Integral(operand, variable, lower, upper)

    def limits(self) -> tuple[Node | None, Node | None]:
        lexeme = self.tokens[self.at]
        if lexeme == "_":
            self.at += 1
            lower = self.limit()
            self.expect("^")
            return lower, self.limit()
        if lexeme == "from":
            self.at += 1
            lower = self.total()
            self.expect("to")
            return lower, self.limit()
        return None, None

    def limit(self) -> Node:
        negative = self.tokens[self.at] in ("-", "−")
        if negative:
            self.at += 1
        node = self.primary()
        return Negation(node) if negative else node


def is_letter_product(word: str) -> bool:
    """ab and xyz are products of variables; longer words are words."""
    return 1 < len(word) <= 3 and _LETTERS.issuperset(word) and word not in _SHORT_WORDS


def _only_variable(node: Node) -> str:
    found = symbols(node) - CONSTANTS
    if len(found) > 1:
        raise Undecided("the variable is not named")
    return next(iter(found), "x")


def _product(factors: list[Node], inverse: list[bool]) -> Node:
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(inverse))


def _is_natural(lexeme: str) -> bool:
    return lexeme.isascii() and lexeme.isdigit()


def _superscript(lexeme: str) -> Node:
    digits = lexeme.translate(_SUPERSCRIPTS)
    if not digits.lstrip("-").isdigit() or "-" in digits[1:]:
        raise Malformed(f"{lexeme[:20]!r} is not an exponent")
    if digits.startswith("-"):
        return Negation(number(digits[1:]))
    return number(digits)


def _ratio(numerator: int, denominator: int) -> Node:
    return divide(Literal(numerator), Literal(denominator))


WORD_RULES: Final[dict[str, Callable[[Parser], Node]]] = {
    "increasing": Parser.increased,
    "decreasing": Parser.decreased,
    "adding": Parser.added,
    "subtracting": Parser.taken,
    "multiplying": Parser.multiplied,
    "dividing": Parser.divided,
    "difference": Parser.difference,
    "quotient": Parser.divided,
    "square": Parser.squared,
    "cube": Parser.cubed,
    "population_variance": Parser.population_variance,
    "population_stdev": Parser.population_stdev,
    "dot_product": Parser.dot_product,
    "cross_product": Parser.cross_product,
    "derivative": Parser.derivative_of,
    "integral": Parser.integral,
    "remainder": Parser.remainder,
    "\\frac": Parser.fraction,
}
