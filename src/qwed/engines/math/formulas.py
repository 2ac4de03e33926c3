"""Tokens to trees, the part that needs no words: relations, sums and products."""

from qwed.engines.math.factors import AFTER_NUMBER, AFTER_TERM, FactorParser, is_natural, superscript
from qwed.engines.math.grammar import (
    MULTIPLICATIVE,
    OVER,
    PLUS_MINUS,
    RELATIONS,
    ROUND_MARK,
    SEPARATORS,
    SHIFTED,
    TIMES,
    Chain,
    LessUsual,
)
from qwed.engines.math.nodes import (
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    Product,
    Sum,
    add,
    divide,
    multiply,
    subtract,
)
from qwed.engines.math.problems import UndecidedMath

__all__ = ["FormulaParser", "is_natural", "superscript"]


class FormulaParser(FactorParser):
    """Everything but words: relations, sums, products, powers, brackets, signs."""

    __slots__ = ()

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
        return FunctionCall("round", (node, Literal(places) if places >= 0 else Negation(Literal(-places))))

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
        self.ambiguous.add(LessUsual.PERCENT_ALONE)
        if LessUsual.PERCENT_ALONE in self.readings:
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
            raise UndecidedMath("'off' needs a percentage")
        if word in ("lessthan", "takenfrom", "off", "decby"):
            return subtract(base, change)
        return add(base, change)

    # -- products ----------------------------------------------------------------------------

    def product(self) -> Node:
        first = self.unary()
        lexeme = self.tokens[self.at]
        if lexeme in AFTER_TERM or (lexeme not in MULTIPLICATIVE and not self.begins_factor(lexeme)):
            return first
        factors = [first]
        inverse = [False]
        while lexeme not in AFTER_TERM:
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
                factors, inverse = [FunctionCall("floor", (quotient,))], [False]
            elif lexeme == "of":
                factors, inverse = [self.part_of(_product(factors, inverse))], [False]
            elif lexeme in ("mod", "choose"):
                self.at += 1
                name = "mod" if lexeme == "mod" else "binomial"
                factors = [FunctionCall(name, (_product(factors, inverse), self.unary()))]
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
        if self.tokens[self.at] in AFTER_NUMBER:
            return divisor
        # 2/3 of 60 is two thirds of it; 100 / half of 10 divides by 5.
        if self.tokens[self.at] == "of" and not (
            len(dividend) == 1 and type(dividend[0]) is Literal and type(divisor) is Literal
        ):
            self.at = start
            divisor = self.unary()
        if not self.begins_factor(self.tokens[self.at]):
            return divisor
        self.ambiguous.add(LessUsual.TIGHT_PRODUCT)
        if LessUsual.TIGHT_PRODUCT not in self.readings:
            return divisor
        factors = [divisor]
        while self.begins_factor(self.tokens[self.at]):
            factors.append(self.power())
        return multiply(*factors)

    def part_of(self, part: Node) -> Node:
        if type(part) not in (Percent, Product, Literal):
            raise self.unexpected()
        self.at += 1
        self.enter()
        start = self.at
        whole = self.unary()
        if self.tokens[self.at] in PLUS_MINUS:
            self.ambiguous.add(LessUsual.WIDE_OF)
            if LessUsual.WIDE_OF in self.readings:
                self.at = start
                whole = self.total()
        self.leave()
        return multiply(part, whole)

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


def _product(factors: list[Node], inverse: list[bool]) -> Node:
    return factors[0] if len(factors) == 1 else Product(tuple(factors), tuple(inverse))
