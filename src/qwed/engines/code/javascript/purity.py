"""Whether a JavaScript program does nothing but compute, and ends: every node of its tree is on the list."""

from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code.bounds import (
    ANYTHING,
    NOTHING,
    Bound,
    BoundedValue,
    BoundedVariable,
    NotPure,
    held,
    join,
    real,
    string,
)
from qwed.engines.code.javascript import harmless_literals
from qwed.engines.code.javascript.counters import Writes
from qwed.engines.code.javascript.proof_calls import ScriptProofCalls
from qwed.engines.code.javascript.proof_values import FLAG_REAL, ScriptProofCall
from qwed.engines.code.javascript.readers import find_measured_places, find_walked_place
from qwed.engines.code.javascript.scopes import FUNCTIONS, ScriptNames

_MAX_COUNT: Final = 10**9


def judge_purity(root: Any, source: bytes, names: ScriptNames) -> tuple[bool, str]:
    try:
        ScriptPurity(source, names).prove(root)
    except NotPure as obstacle:
        return False, str(obstacle)
    except OverflowError:
        return False, "a number that is not known to be small"
    return True, "no input or output but the console, no dynamic execution, every loop bounded, no recursion"


class ScriptPurity(ScriptProofCalls):
    """Runs a program over bounds."""

    def prove(self, root: Any) -> None:
        self.root = root
        self.run(root)
        done = 0
        while done < len(self.functions):
            function = list(self.functions.values())[done]
            done += 1
            if not function.called and function.node.type in FUNCTIONS:
                self.put(function.this, ANYTHING)
                self.call_function(function, ScriptProofCall(function.node, ANYTHING, [ANYTHING] * 8, 8))

    def run(self, node: Any) -> BoundedValue:
        self.step()
        self.line = node.start_point[0] + 1
        handler = _NODES.get(node.type)
        if handler is None:
            raise self.refuse(f"{node.type.replace('_', ' ')} is on no list of harmless things")
        return handler(self, node)

    def _nothing(self, node: Any) -> BoundedValue:
        return NOTHING

    def _export(self, node: Any) -> BoundedValue:
        if node.child_by_field_name("source") is not None:
            raise self.refuse("loads another module")
        return self._children(node)

    def _declaration(self, node: Any) -> BoundedValue:
        for child in node.named_children:
            if child.type == "variable_declarator":
                self.bind(child.child_by_field_name("name"), self.field(child, "value"))
        return NOTHING

    def _return(self, node: Any) -> BoundedValue:
        value = self._children(node)
        if self.current is not None:
            self.put(self.current.returned, value)
        return NOTHING

    def _for(self, node: Any) -> BoundedValue:
        start = node.child_by_field_name("initializer")
        if start is not None and start.type != "empty_statement":
            self.run(start)
        rounds, limit, end = self._count(node)
        body = node.child_by_field_name("body")

        def once() -> None:
            self.field(node, "condition")
            self.run(body)

        self.walk_over(self.places(find_measured_places(limit)), lambda: self.repeat(rounds, once))
        if self.run(limit).size > end:
            raise self.refuse("a loop moves its own end")
        return NOTHING

    def _count(self, node: Any) -> tuple[Bound, Any, Bound]:
        """`for (let i = a; i < b; i += c)` ends: how often it runs at most, its end, and how far that is."""
        condition, increment = (node.child_by_field_name(name) for name in ("condition", "increment"))
        if condition is not None and condition.type == "expression_statement":
            condition = condition.named_children[0]
        if condition is None or increment is None or condition.type != "binary_expression":
            raise self.refuse("a loop without a plain counter")
        left, limit = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        squared, left = left, self._square_root(left)
        variable = self.names.variables.get(left.id) if left.type == "identifier" else None
        operator = self.text(condition.child_by_field_name("operator"))
        stride = self._stride(increment, variable)
        upward = operator in ("<", "<=") and stride > 0
        # A square never falls below zero, however far the counter does.
        downward = operator in (">", ">=") and stride < 0 and squared is left
        if variable is None or not (upward or downward):
            raise self.refuse("a loop without a plain counter")
        if (node.id, id(variable)) not in self.counters:
            self.counters.add((node.id, id(variable)))
            self._refuse_other_writes(variable, node)
        end = self.run(limit)
        furthest = max(end.size, variable.value.size)
        if furthest > _MAX_COUNT or end.has("text", "cell") or variable.value.has("text", "cell"):
            raise self.refuse("a loop whose length is not known")
        self.put(variable, real(furthest + abs(stride)))
        span = self._span(node, furthest) if upward else 2 * furthest
        return span / abs(stride) + 1, limit, end.size

    def _square_root(self, left: Any) -> Any:
        """`i * i <= n` ends no later than `i <= n`."""
        if left.type != "binary_expression" or self.text(left.child_by_field_name("operator")) != "*":
            return left
        first, second = left.child_by_field_name("left"), left.child_by_field_name("right")
        return first if self.text(first) == self.text(second) else left

    def _span(self, node: Any, furthest: Bound) -> Bound:
        """Counting up from zero or more takes at most as many rounds as the end says."""
        started = self.text(node.child_by_field_name("initializer"))
        return furthest if "-" not in started else 2 * furthest

    def _stride(self, increment: Any, variable: BoundedVariable | None) -> float:
        match increment.type:
            case "update_expression":
                target, amount = increment.child_by_field_name("argument"), 1.0
            case "augmented_assignment_expression":
                target = increment.child_by_field_name("left")
                right = increment.child_by_field_name("right")
                amount = harmless_literals.literal_number(self.text(right)) if right.type == "number" else 0.0
            case _:
                return 0.0
        if (
            variable is None
            or self.names.variables.get(target.id) is not variable
            or not 1e-3 <= amount <= 1e9
        ):
            return 0.0
        operator = self.text(increment.child_by_field_name("operator"))
        return amount if operator in ("++", "+=") else -amount if operator in ("--", "-=") else 0.0

    def _refuse_other_writes(self, variable: BoundedVariable, loop: Any) -> None:
        """Nothing but the loop's own step may set its counter."""
        if self.writes is None:
            self.writes = Writes(self.root, self.names.variables)
        if self.writes.may_happen_during(loop, variable, self.step):
            raise self.refuse("a loop that sets its own counter")

    def _for_in(self, node: Any) -> BoundedValue:
        if any(child.type == "await" for child in node.children):
            raise self.refuse("asynchronous code")
        walked = self.field(node, "right")
        keys = self.text(node.child_by_field_name("operator")) == "in"
        rounds, member = self.members(walked)
        names = join(
            string(max([24, *(len(n) for cell in walked.cells for n in cell.fields)])), string(walked.length)
        )
        self.bind(node.child_by_field_name("left"), join(names, string(NOMINAL_NAME)) if keys else member)
        body = node.child_by_field_name("body")
        reading = self.sources(walked) | self.places([find_walked_place(node.child_by_field_name("right"))])
        self.walk_over(reading, lambda: self.repeat(rounds, lambda: self.run(body)))
        if self.members(self.field(node, "right"))[0] > rounds:
            raise self.refuse("a loop changes what it walks over")
        return NOTHING

    def _catch(self, node: Any) -> BoundedValue:
        parameter = node.child_by_field_name("parameter")
        if parameter is not None:
            self.bind(parameter, held(self.error(node)))
        return self.field(node, "body")


NOMINAL_NAME: Final = 24
_NODES: Final[dict[str, Callable[[ScriptPurity, Any], BoundedValue]]] = {
    **dict.fromkeys(
        [
            "program",
            "expression_statement",
            "statement_block",
            "if_statement",
            "else_clause",
            "parenthesized_expression",
            "sequence_expression",
            "try_statement",
            "finally_clause",
            "throw_statement",
            "switch_statement",
            "switch_body",
            "switch_case",
            "switch_default",
            "labeled_statement",
            "spread_element",
        ],
        ScriptPurity._children,
    ),
    **dict.fromkeys(
        [
            "comment",
            "empty_statement",
            "break_statement",
            "continue_statement",
            "null",
            "undefined",
            "statement_identifier",
        ],
        ScriptPurity._nothing,
    ),
    **dict.fromkeys(("true", "false"), lambda proof, node: FLAG_REAL),
    "export_statement": ScriptPurity._export,
    "lexical_declaration": ScriptPurity._declaration,
    "variable_declaration": ScriptPurity._declaration,
    "return_statement": ScriptPurity._return,
    "for_statement": ScriptPurity._for,
    "for_in_statement": ScriptPurity._for_in,
    "catch_clause": ScriptPurity._catch,
    "identifier": ScriptPurity._identifier,
    "this": ScriptPurity._this,
    "number": ScriptPurity._number,
    "string": ScriptPurity._string,
    "template_string": ScriptPurity._template,
    "regex": ScriptPurity._regex,
    "array": ScriptPurity._array,
    "object": ScriptPurity._object,
    "binary_expression": ScriptPurity._binary,
    "unary_expression": ScriptPurity._unary,
    "update_expression": ScriptPurity._update,
    "ternary_expression": ScriptPurity._ternary,
    "assignment_expression": ScriptPurity._assignment,
    "augmented_assignment_expression": ScriptPurity._augmented,
    "member_expression": ScriptPurity._member,
    "subscript_expression": ScriptPurity._subscript,
    "function_declaration": ScriptPurity._function,
    "function_expression": ScriptPurity._function,
    "arrow_function": ScriptPurity._function,
    "class_declaration": ScriptPurity._class,
    "class": ScriptPurity._class,
    "call_expression": ScriptPurity._call,
    "new_expression": ScriptPurity._new,
}
