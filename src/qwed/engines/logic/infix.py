"""Formulas as people and programs write them: `x > 1 and x < 0`, `∀x (Dog(x) → Animal(x))`.

One text may hold several statements, separated by `;`, a comma or a new line, declarations
(`x, y: real`) and a turnstile (`p → q, p ⊢ q`). How far `∀x` reaches: with a dot, colon or comma
to the end; without one over the next formula in brackets, unless that would leave `x` free.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from qwed.engines.logic.refusals import NotLogic, UndecidedLogic
from qwed.engines.logic.sorts import is_sort_name
from qwed.engines.logic.syntax import (
    Formulas,
    FunctionTerm,
    Name,
    Node,
    NumberTerm,
    OperatorTerm,
    Quantified,
    TextTerm,
    VariableTerm,
    children,
)
from qwed.engines.logic.tokens import LogicToken, tokenise

MAX_NESTING: Final = 80

_IMPLIES: Final = 20
_UNARY_FORMULA: Final = 50
_COMPARISON: Final = 60
_UNARY_MINUS: Final = 110
_BINDING: Final = {
    "iff": 10,
    "implies": _IMPLIES,
    "or": 30,
    "nor": 30,
    "xor": 35,
    "and": 40,
    "nand": 40,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "in", "not in"), _COMPARISON),
    "bitor": 70,
    "bitxor": 75,
    "bitand": 80,
    "<<": 85,
    ">>": 85,
    "+": 90,
    "-": 90,
    **dict.fromkeys(("*", "/", "floordiv", "floormod"), 100),
    "**": 120,
}
_RIGHT_ASSOCIATIVE: Final = frozenset({"implies", "**"})
_FLATTENED: Final = frozenset({"and", "or", "+", "*"})
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
# A sign that could also begin the next statement does not continue the one before a line break.
_CONTINUING: Final = frozenset(_BINDING) - {"-", "+"}

# Written as functions. A capital letter makes `Store(x)` a predicate.
_FUNCTIONS: Final = {
    "ite": "ite",
    "distinct": "distinct",
    "Distinct": "distinct",
    "AllDifferent": "distinct",
    "abs": "abs",
    "min": "min",
    "max": "max",
    "select": "select",
    "store": "store",
}


def parse(text: str, *, bitwise: bool = False) -> Formulas:
    """The statements of a text. With `bitwise`, `& | ^ ~` bind as in C. Raises `Refusal`."""
    tokens = tokenise(text, bitwise=bitwise)
    statements = _Parser(tokens, wide=False).statements()
    if any(_leaks(node) for node in (*statements.premises, *statements.goals)):
        return _Parser(tokens, wide=True).statements()
    return statements


class _Parser:
    def __init__(self, tokens: list[LogicToken], *, wide: bool) -> None:
        self._tokens = tokens
        self._position = 0
        self._nesting = 0
        # How far a quantifier without a separator reaches: to the end, or over one formula.
        self._reach = 0 if wide else _UNARY_FORMULA

    # Statements

    def statements(self) -> Formulas:
        before: list[Node] = []
        after: list[Node] = []
        declared: list[VariableTerm] = []
        current = before
        has_turnstile = False
        while not self._skip_separators():
            if self._take("turnstile"):
                if has_turnstile:
                    raise NotLogic("a second turnstile")
                has_turnstile, current = True, after
                continue
            declaration = self._declaration()
            if declaration is not None:
                declared.extend(declaration)
                continue
            current.append(self._formula(0))
            if self._peek().kind not in (*_SEPARATORS, "end", "turnstile"):
                raise self._refuse("an operator")
        if has_turnstile:
            return Formulas(tuple(before), tuple(after), tuple(declared), True)
        return Formulas((), tuple(before), tuple(declared))

    def _skip_separators(self) -> bool:
        """Whether the text ends here."""
        while self._peek().kind in _SEPARATORS:
            self._position += 1
        return self._peek().kind == "end"

    def _declaration(self) -> list[VariableTerm] | None:
        """`x, y: real`, where it stands alone."""
        start = self._position
        names: list[str] = []
        while self._peek().kind == "name":
            names.append(self._next().text)
            if not self._take(","):
                break
        if names and (self._take(":") or self._take("in")):
            sort = self._sort()
            if sort is not None and self._peek().kind in (*_SEPARATORS, "end", "turnstile"):
                return [VariableTerm(name, sort) for name in names]
        self._position = start
        return None

    # Formulas

    def _formula(self, least_binding: int) -> Node:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise UndecidedLogic("depth", f"nested deeper than {MAX_NESTING} levels")
        left = self._operand()
        while True:
            operator = self._operator()
            binding = _BINDING.get(operator, -1)
            if binding < least_binding or binding < 0:
                break
            left = self._continue(left, operator, binding)
        self._nesting -= 1
        return left

    def _operator(self) -> str:
        """The operator that comes next, if need be after a line break."""
        ahead = self._position
        while self._tokens[ahead].kind == "newline":
            ahead += 1
        kind = self._tokens[ahead].kind
        if ahead != self._position:
            if kind not in _CONTINUING:
                return "newline"
            self._position = ahead
        if kind == "not" and self._tokens[ahead + 1].kind == "in":
            return "not in"
        return kind

    def _continue(self, left: Node, operator: str, binding: int) -> Node:
        self._next()
        if operator == "not in" and self._peek().kind == "in":
            self._next()
        if operator in ("in", "not in"):
            membership = self._membership(left)
            return OperatorTerm("not", (membership,)) if operator == "not in" else membership
        if operator in _COMPARISONS:
            return self._chain(left, operator)
        right = self._formula(binding if operator in _RIGHT_ASSOCIATIVE else binding + 1)
        if operator == "-":
            operator, right = "+", OperatorTerm("neg", (right,))
        if operator in _FLATTENED and isinstance(left, OperatorTerm) and left.operator == operator:
            # Only what this loop has joined: what was bracketed is a "group".
            return OperatorTerm(operator, (*left.operands, right))
        return OperatorTerm(operator, (left, right))

    def _chain(self, left: Node, operator: str) -> Node:
        """`a < b <= c` is `a < b and b <= c`."""
        links: list[Node] = []
        while True:
            right = self._formula(_COMPARISON + 1)
            links.append(OperatorTerm(operator, (left, right)))
            left, operator = right, self._operator()
            if operator not in _COMPARISONS:
                return links[0] if len(links) == 1 else OperatorTerm("and", tuple(links))
            self._next()

    def _membership(self, element: Node) -> Node:
        opening = self._next()
        if opening.kind == "[":
            raise NotLogic("'in [a, b]' can mean two things: write {a, b}, or a <= x <= b")
        if opening.kind not in ("{", "("):
            raise NotLogic(f"'in' is followed by a set {{a, b}}, not {opening.text!r}")
        members = self._list_until("}" if opening.kind == "{" else ")")
        return OperatorTerm("or", tuple(OperatorTerm("=", (element, member)) for member in members))

    # Operands

    def _operand(self) -> Node:
        while self._peek().kind == "newline":
            self._position += 1
        token = self._next()
        read = _OPERANDS.get(token.kind)
        if read is None:
            self._position -= 1
            raise self._refuse("a formula")
        return self._read_index(read(self, token))

    def _read_index(self, node: Node) -> Node:
        while self._peek().kind == "[" and not self._peek().after_space:
            self._next()
            indices = self._list_until("]")
            if len(indices) != 1:
                raise NotLogic("an array has one index")
            node = OperatorTerm("select", (node, indices[0]))
        return node

    def _number(self, token: LogicToken) -> Node:
        number = _number(token.text)
        if self._peek().kind == "name" and not self._peek().after_space:
            return OperatorTerm("*", (number, self._formula(_UNARY_MINUS)))
        return number

    def _name(self, token: LogicToken) -> Node:
        if not self._take("("):
            return Name(token.text)
        arguments = self._list_until(")")
        operator = _FUNCTIONS.get(token.text)
        return FunctionTerm(token.text, arguments) if operator is None else OperatorTerm(operator, arguments)

    def _word_function(self, token: LogicToken) -> Node:
        """`And(p, q)`: a connective before a bracket."""
        if not token.text.isalpha() or not self._take("("):
            self._position -= 1
            raise self._refuse("a formula")
        return OperatorTerm(token.kind, self._list_until(")"))

    def _read_in(self, token: LogicToken) -> Node:
        """`in(x, y)`: a predicate with an operator's name."""
        self._expect("(")
        return FunctionTerm(token.text, self._list_until(")"))

    def _bracket(self, token: LogicToken) -> Node:
        inner = self._formula(0)
        self._expect(")")
        return OperatorTerm("group", (inner,))

    def _negation(self, token: LogicToken) -> Node:
        if token.text == "!" and self._peek().kind == "[":
            return self._quantified(token, "forall")
        return OperatorTerm("not", (self._formula(_UNARY_FORMULA),))

    def _existential_mark(self, token: LogicToken) -> Node:
        if self._peek().kind != "[":
            raise self._refuse("a formula")
        return self._quantified(token, "exists")

    def _minus(self, token: LogicToken) -> Node:
        return OperatorTerm("neg", (self._formula(_UNARY_MINUS),))

    def _plus(self, token: LogicToken) -> Node:
        return self._formula(_UNARY_MINUS)

    def _complement(self, token: LogicToken) -> Node:
        return OperatorTerm("~", (self._formula(_UNARY_MINUS),))

    def _conditional(self, token: LogicToken) -> Node:
        start = self._position
        if self._take("("):
            first = self._formula(0)
            if self._take(","):
                return OperatorTerm("ite", (first, *self._list_until(")")))
            self._position = start
        condition = self._formula(0)
        if not self._take("then"):
            raise self._refuse("'then'")
        consequence = self._formula(_IMPLIES)
        if self._take("else"):
            return OperatorTerm("ite", (condition, consequence, self._formula(_IMPLIES)))
        return OperatorTerm("implies", (condition, consequence))

    def _list_until(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        if self._take(closing):
            return ()
        while True:
            items.append(self._formula(0))
            if self._take(closing):
                return tuple(items)
            self._expect(",")

    # Quantifiers

    def _universal(self, token: LogicToken) -> Node:
        return self._quantified(token, "forall")

    def _existential(self, token: LogicToken) -> Node:
        if self._peek().text == "!":
            self._next()
            return self._quantified(token, "unique")
        return self._quantified(token, "exists")

    def _quantified(self, token: LogicToken, quantifier: str) -> Node:
        if self._peek().kind == "(" and token.kind in ("forall", "exists") and token.text[0].isalpha():
            called = self._try_called(quantifier)
            if called is not None:
                return called
        bracketed = self._take("[")
        variables = self._variables()
        if bracketed:
            self._expect("]")
        sort, members = self._domain()
        separated = self._take(".") or self._take(":") or self._take(",")
        separated = self._take_words("such", "that") or separated
        body = self._formula(0 if separated else self._reach)
        if sort is not None:
            variables = tuple(VariableTerm(each.name, sort) for each in variables)
        return Quantified(quantifier, variables, body, members)

    def _variables(self) -> tuple[VariableTerm, ...]:
        variables = [self._variable()]
        while True:
            start = self._position
            self._take(",")
            if self._peek().kind == "name" and not self._begins_body():
                variables.append(self._variable())
            else:
                self._position = start
                return tuple(variables)

    def _variable(self) -> VariableTerm:
        token = self._next()
        if token.kind != "name":
            raise NotLogic(f"a quantifier is followed by a variable, not {token.text!r}")
        return VariableTerm(token.text)

    def _begins_body(self) -> bool:
        """Whether the name ahead is no variable any more: `∀x P(x)`, `∀x y > x`, `∃x such that`."""
        if self._peek().text.lower() == "such":
            return True
        following = self._tokens[self._position + 1]
        if following.kind == "(":
            return not following.after_space or self._peek().text[0].isupper()
        return following.kind in _BINDING and following.kind != "in"

    def _domain(self) -> tuple[str | None, tuple[Node, ...] | None]:
        """`: Int`, `∈ ℤ` or `∈ {1, 2}` after the variables."""
        start = self._position
        if self._take("in"):
            if self._take("{"):
                return None, self._list_until("}")
            sort = self._sort()
            if sort is None:
                raise self._refuse("a sort or a set {a, b}")
            return sort, None
        if self._take(":"):
            sort = self._sort()
            if sort is not None and self._peek().kind not in _BINDING:
                return sort, None
        self._position = start
        return None, None

    def _sort(self) -> str | None:
        if self._peek().kind == "name" and is_sort_name(self._peek().text):
            return self._next().text
        return None

    def _try_called(self, quantifier: str) -> Node | None:
        """`ForAll(x, P(x))` and `Exists([x, y], R(x, y))`."""
        start = self._position
        self._next()
        bracketed = self._take("[")
        if self._peek().kind == "name":
            names = [self._next().text]
            while bracketed and self._take(","):
                names.append(self._next().text)
            if (not bracketed or self._take("]")) and self._take(","):
                body = self._formula(0)
                self._expect(")")
                return Quantified(quantifier, tuple(map(VariableTerm, names)), body)
        self._position = start
        return None

    def _word(self, token: LogicToken) -> Node:
        """Words that are quantifiers only where a variable follows: `all x`, `for all x`."""
        word = token.text.lower()
        if word == "for" and self._take_words("all"):
            return self._quantified(token, "forall")
        if word == "there" and self._take("exists"):
            return self._quantified(token, "exists")
        if word in ("all", "some") and self._peek().kind == "name":
            return self._quantified(token, "forall" if word == "all" else "exists")
        return self._name(token)

    # Tokens

    def _peek(self) -> LogicToken:
        return self._tokens[self._position]

    def _next(self) -> LogicToken:
        token = self._tokens[self._position]
        if token.kind == "end":
            raise NotLogic("the formula ends too early")
        self._position += 1
        return token

    def _take(self, kind: str) -> bool:
        if self._peek().kind != kind:
            return False
        self._position += 1
        return True

    def _take_words(self, *words: str) -> bool:
        ahead = self._tokens[self._position : self._position + len(words)]
        if [token.text.lower() for token in ahead] != list(words):
            return False
        self._position += len(words)
        return True

    def _expect(self, kind: str) -> None:
        while self._peek().kind == "newline":
            self._position += 1
        if not self._take(kind):
            raise self._refuse(repr(kind))

    def _refuse(self, wanted: str) -> NotLogic:
        token = self._peek()
        return NotLogic(f"expected {wanted} at character {token.start}, not {token.text[:40]!r}")


_SEPARATORS: Final = ("newline", ";", ",", ".")
_OPERANDS: Final[dict[str, Callable[[_Parser, LogicToken], Node]]] = {
    "number": _Parser._number,
    "name": _Parser._word,
    "text": lambda _, token: TextTerm(token.text[1:-1]),
    "true": lambda *_: OperatorTerm("true", ()),
    "false": lambda *_: OperatorTerm("false", ()),
    "(": _Parser._bracket,
    "not": _Parser._negation,
    "?": _Parser._existential_mark,
    "-": _Parser._minus,
    "+": _Parser._plus,
    "~": _Parser._complement,
    "if": _Parser._conditional,
    "in": _Parser._read_in,
    "forall": _Parser._universal,
    "exists": _Parser._existential,
    **dict.fromkeys(
        ("and", "or", "xor", "implies", "iff", "nand", "nor", "floordiv", "floormod"), _Parser._word_function
    ),
}


def _number(literal: str) -> NumberTerm:
    if len(literal) > 400:
        raise UndecidedLogic("size", f"a number of {len(literal)} characters")
    if literal[:2] in ("0x", "0X"):
        return NumberTerm(Fraction(int(literal, 16)))
    _, _, exponent = literal.lower().partition("e")
    if len(exponent) > 5 or (exponent and abs(int(exponent)) > 400):
        raise UndecidedLogic("size", f"the number {literal[:40]}")
    return NumberTerm(Fraction(literal), is_decimal=not literal.isdigit())


def _leaks(formula: Node) -> bool:
    """Whether a name is bound in one place and free in another: then a quantifier meant more."""
    bound: set[str] = set()
    free: set[str] = set()
    _collect(formula, frozenset(), bound, free)
    return bool(bound & free)


def _collect(node: Node, scope: frozenset[str], bound: set[str], free: set[str]) -> None:
    if isinstance(node, Name):
        if node.text not in scope:
            free.add(node.text)
        return
    if isinstance(node, Quantified):
        names = {variable.name for variable in node.variables}
        bound |= names
        scope = scope | names
    for child in children(node):
        _collect(child, scope, bound, free)
