"""Tokens to trees: one recursive descent for formulas and for sentences already put into tokens.

Some notations are read in two ways by careful people (`6/2(1+2)`, `200 + 10%`, `log 100`). The parser
follows the readings it is given and notes in `ambiguous` where another would have made a difference.
"""

from collections.abc import Callable
from typing import Final

from qwed.engines.math.formulas import FormulaParser, is_natural, superscript
from qwed.engines.math.functions import ALIASES, ARITY, CONSTANTS, OF_LIST, PREFIX, TRIGONOMETRIC
from qwed.engines.math.grammar import MULTIPLICATIVE, PLUS_MINUS, RELATIONS, SUPERSCRIPT_DIGITS, LessUsual
from qwed.engines.math.nodes import (
    TWO,
    Brackets,
    Derivative,
    FunctionCall,
    Integral,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Sum,
    Symbol,
    add,
    divide,
    multiply,
    subtract,
    symbols,
)
from qwed.engines.math.problems import MalformedMath, UndecidedMath
from qwed.engines.math.tokens import is_number, number

# "second derivative" as the sentence reader writes it; a text cannot hold such a token.
_ORDERS: Final = {"#2": 2, "#3": 3}
# C(10, 2) and P(5, 2)
# Angles of fewer degrees are seldom written: sin 1 is one of radians.
_LEAST_DEGREES: Final = 10
_COUNTING: Final = {"C": "binomial", "P": "permutations"}
_LETTERS: Final = frozenset("abcdkmnpqrstuvwxyz")
_SHORT_WORDS: Final = frozenset(
    {"as", "at", "am", "an", "us", "my", "by", "dx", "dy", "dt", "cm", "km", "mm", "kg", "ms"}
)


class Parser(FormulaParser):
    __slots__ = ()

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
        if lexeme in _COUNTING and self.tokens[self.at] == "(" and self.tokens[self.at + 2] == ",":
            return self.call(_COUNTING[lexeme])
        if lexeme in ("f", "g", "h") and self.tokens[self.at] == "(":
            raise UndecidedMath(f"the function {lexeme!r} is not defined")
        if len(lexeme) == 1:
            return self.subscripted(lexeme)
        if is_letter_product(lexeme):
            return self.letters(lexeme)
        raise UndecidedMath(f"the word {lexeme[:40]!r} is not understood")

    def letters(self, word: str) -> Node:
        """xy^2: the exponent belongs to the last letter alone."""
        *others, last = map(Symbol, word)
        lexeme = self.tokens[self.at]
        if lexeme == "^" or lexeme == "**":
            self.at += 1
            return multiply(*others, self.raised(last))
        if lexeme and lexeme[0] in SUPERSCRIPT_DIGITS:
            self.at += 1
            return multiply(*others, Power(last, superscript(lexeme)))
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
            return FunctionCall("root", (self.argument(), index))
        exponent = self.power_of_function(name)
        arguments = self.arguments(name)
        if len(arguments) == 1 and isinstance(arguments[0], Brackets) and name in OF_LIST:
            arguments = arguments[0].items
        fewest, most = ARITY[name]
        if not fewest <= len(arguments) <= most:
            raise MalformedMath(f"{name} does not take {len(arguments)} arguments")
        node = self.resolved(name, arguments)
        return node if exponent is None else Power(node, exponent)

    def power_of_function(self, name: str) -> Node | None:
        """sin^2(x), and the refused sin^-1, which may be the inverse or the reciprocal."""
        lexeme = self.tokens[self.at]
        if name in PREFIX and lexeme and (lexeme == "^" or lexeme[0] in "²³⁴"):
            self.at += 1
            if lexeme != "^":
                return superscript(lexeme)
            if not is_natural(self.tokens[self.at]):
                raise UndecidedMath(f"{name}^-1 may be the inverse or the reciprocal")
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
        if is_natural(lexeme) and self.tokens[self.at + 1] == "(":
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
        if self.tokens[self.at] in PLUS_MINUS or self.tokens[self.at] in MULTIPLICATIVE:
            raise UndecidedMath("how far 'of' reaches is not clear")
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
                or isinstance(found[0], Brackets)
                or (name == "sum" and type(found[0]) is not Literal)
            ):
                return found
            else:
                # "five hundred and forty-three" may have been two numbers.
                raise UndecidedMath("a list of one number")
            found.append(self.list_item())

    def list_item(self) -> Node:
        if self.tokens[self.at].count(",") > 1:
            raise UndecidedMath("a comma between digits may separate or group")
        start = self.at
        item = self.total()
        # "the sum of 2 and 3 times 4"
        if type(item) in (Sum, Product) and self.tokens[self.at] not in (",", "and"):
            self.ambiguous.add(LessUsual.SHORT_LIST)
            if LessUsual.SHORT_LIST in self.readings:
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
            self.ambiguous.add(LessUsual.SAMPLE)
            if LessUsual.SAMPLE in self.readings:
                name = f"sample_{name}"
        if name in TRIGONOMETRIC and len(arguments) == 1:
            arguments = (self.angle(arguments[0]),)
        return FunctionCall(name, arguments)

    def angle(self, node: Node) -> Node:
        """sin 30 = 0.5 may be meant in degrees; a value that is asked for is one of radians."""
        is_whole = type(node) is Literal and node.denominator == 1 and node.numerator >= _LEAST_DEGREES
        if not is_whole or RELATIONS.keys().isdisjoint(self.tokens):
            return node
        self.ambiguous.add(LessUsual.DEGREES)
        return FunctionCall("radians", (node,)) if LessUsual.DEGREES in self.readings else node

    def logarithm(self, arguments: tuple[Node, ...]) -> Node:
        if len(arguments) == 2:
            return FunctionCall("log", arguments)
        self.ambiguous.add(LessUsual.NATURAL_LOG)
        return FunctionCall("ln" if LessUsual.NATURAL_LOG in self.readings else "log10", arguments)

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
        return FunctionCall("abs", (subtract(*self.pair("and")),))

    def squared(self) -> Node:
        self.expect("of")
        return Power(self.spoken_argument(), TWO)

    def cubed(self) -> Node:
        self.expect("of")
        return Power(self.spoken_argument(), Literal(3))

    def population_variance(self) -> Node:
        return FunctionCall("variance", self.arguments("variance"))

    def population_stdev(self) -> Node:
        return FunctionCall("stdev", self.arguments("stdev"))

    def dot_product(self) -> Node:
        return FunctionCall("dot", self.pair("and"))

    def cross_product(self) -> Node:
        return FunctionCall("cross", self.pair("and"))

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
            return FunctionCall("mod", quotient.factors)
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
        if self.tokens[self.at] in PLUS_MINUS:
            self.ambiguous.add(LessUsual.NARROW_SCOPE)
            if LessUsual.NARROW_SCOPE not in self.readings:
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
        raise UndecidedMath("the variable is not named")
    return next(iter(found), "x")


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
