"""What a JavaScript program writes down and calculates, over bounds."""

from typing import Any, Final

from qwed.engines.code.bounds import (
    EMPTY,
    INFINITE,
    NOTHING,
    Bound,
    BoundedValue,
    ObjectCell,
    callables,
    held,
    join,
    join_all,
    real,
    string,
)
from qwed.engines.code.javascript import harmless_literals
from qwed.engines.code.javascript.proof_targets import ScriptProofTargets
from qwed.engines.code.javascript.proof_values import FLAG_REAL, ScriptProofFunction

_UNSIGNED: Final = 2**32


def _plain(value: BoundedValue) -> bool:
    """A number, or nothing that could be turned into a larger one."""
    return value.kinds <= {"float", "number", "none", "any"}


class Operations(ScriptProofTargets):
    """Literals, operators and assignments."""

    def make(self, node: Any) -> ScriptProofFunction:
        raise NotImplementedError

    def arguments(self, node: Any) -> tuple[list[BoundedValue], Bound]:
        raise NotImplementedError

    def _number(self, node: Any) -> BoundedValue:
        spelled = self.text(node)
        if spelled.endswith("n") and not spelled.startswith(("0x", "0X")):
            raise self.refuse("a number of any size")
        return real(harmless_literals.literal_number(spelled))

    def _string(self, node: Any) -> BoundedValue:
        known = harmless_literals.unquote(self.text(node))
        return string(len(known), known)

    def _template(self, node: Any) -> BoundedValue:
        length: Bound = node.end_byte - node.start_byte
        for child in node.named_children:
            if child.type == "template_substitution":
                length += self.spelled(self._children(child))
        self.spend(length)
        return string(length)

    def _regex(self, node: Any) -> BoundedValue:
        weight = harmless_literals.weigh_pattern(self.text(node.child_by_field_name("pattern")))
        if weight is None:
            raise self.refuse("a pattern whose work is not known to be small")
        return BoundedValue(frozenset({"regex"}), size=weight)

    def _array(self, node: Any) -> BoundedValue:
        values, count = self.arguments(node)
        return self.listed(node, count, join_all(values))

    def _object(self, node: Any) -> BoundedValue:
        cell = self.cell(node.id, "object")
        for child in node.named_children:
            self._property(cell, child)
        return held(cell)

    def _property(self, cell: ObjectCell, child: Any) -> None:
        match child.type:
            case "comment":
                return
            case "pair":
                name = self.key(child.child_by_field_name("key"))
                self.put_field(cell, name, self.field(child, "value"))
            case "shorthand_property_identifier":
                self.put_field(cell, self.text(child), self._identifier(child))
            case "spread_element":
                given = self._children(child)
                for each in given.cells:
                    for name, value in each.fields.items():
                        self.put_field(cell, name, value)
                    self.put_member(cell, each.member)
                    self.stretch(cell, max(cell.length, each.length))
            case "method_definition":
                self._method(cell, child)
            case _:
                raise self.refuse("a member that is on no list of harmless things")

    def _method(self, cell: ObjectCell, node: Any) -> None:
        if any(child.type in ("get", "set", "async", "*", "decorator") for child in node.children):
            raise self.refuse("a member that runs when it is read, or later")
        function = self.make(node)
        self.put_field(cell, self.key(node.child_by_field_name("name")), callables(function))
        self.put(function.this, held(cell))

    def _binary(self, node: Any) -> BoundedValue:
        left, right = self.field(node, "left"), self.field(node, "right")
        return self.operate(self.text(node.child_by_field_name("operator")), left, right)

    def operate(self, operator: str, left: BoundedValue, right: BoundedValue) -> BoundedValue:
        if operator == "+":
            return self.add(left, right)
        if operator in ("&&", "||", "??"):
            return join(left, right)
        if operator in ("-", "*", "/", "%", "**"):
            return real(
                harmless_literals.arithmetic(
                    operator, left.size, right.size, plain=_plain(left) and _plain(right)
                )
            )
        if operator in ("&", "|", "^", "<<", ">>", ">>>"):
            return real(_UNSIGNED)
        if operator in ("==", "!=", "===", "!==", "<", ">", "<=", ">=", "in", "instanceof"):
            self.spend(min(left.length, right.length))
            return FLAG_REAL
        raise self.refuse(f"{operator} is on no list of harmless things")

    def add(self, left: BoundedValue, right: BoundedValue) -> BoundedValue:
        made = EMPTY
        numeric = ("float", "none", "any", "number")
        if left.has(*numeric) and right.has(*numeric):
            made = real(left.size + right.size)
        if left.has("text", "cell", "any", "call") or right.has("text", "cell", "any", "call"):
            length = self.spelled(left) + self.spelled(right)
            self.spend(length)
            whole = left.kinds == right.kinds == {"text"} and None not in (left.text, right.text)
            exact = left.length + right.length if left.kinds == right.kinds == {"text"} else length
            made = join(made, string(exact, f"{left.text}{right.text}" if whole else None))
        return made

    def _unary(self, node: Any) -> BoundedValue:
        operator = self.text(node.child_by_field_name("operator"))
        value = self.field(node, "argument")
        match operator:
            case "typeof":
                return string(10)
            case "!" | "delete":
                return FLAG_REAL
            case "-" | "+":
                return real(value.size if _plain(value) else INFINITE)
            case "~":
                return real(_UNSIGNED)
        return NOTHING

    def _update(self, node: Any) -> BoundedValue:
        target = node.child_by_field_name("argument")
        value = real(self.run(target).size + self.accumulate(node.id, 1))
        self.bind(target, value)
        return value

    def _ternary(self, node: Any) -> BoundedValue:
        self.field(node, "condition")
        return join(self.field(node, "consequence"), self.field(node, "alternative"))

    def _assignment(self, node: Any) -> BoundedValue:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right.type == "binary_expression" and left.type == "identifier":
            first = right.child_by_field_name("left")
            same = first.type == "identifier" and self.text(first) == self.text(left)
            if same and self.text(right.child_by_field_name("operator")) == "+":
                return self._sum(node, left, self.field(right, "right"))
        value = self.run(right)
        self.bind(left, value)
        return value

    def _augmented(self, node: Any) -> BoundedValue:
        left = node.child_by_field_name("left")
        operator = self.text(node.child_by_field_name("operator"))
        right = self.field(node, "right")
        if operator == "+=" and left.type == "identifier":
            return self._sum(node, left, right)
        value = self.operate(operator.removesuffix("="), self.run(left), right)
        self.bind(left, value)
        return value

    def _sum(self, node: Any, target: Any, right: BoundedValue) -> BoundedValue:
        """`total += n`, `line += 'x'`: what all rounds of the loops around it add, added once."""
        known = self.run(target)
        made = self.add(known, right)
        if made.has("float"):
            made = join(made.without("float"), real(known.size + self.accumulate((node.id, 0), right.size)))
        if made.has("text"):
            more = self.accumulate(
                (node.id, 1), self.spelled(right) if right.kinds != {"text"} else right.length
            )
            base = known.length if known.kinds <= {"text"} else self.spelled(known)
            made = BoundedValue(made.kinds, made.size, base + more, made.text if not self.rounds else None)
            self.spend(base + more)
        self.bind(target, made)
        return made
