"""Whether a JavaScript program does nothing but compute, and ends: every node of its tree is on the list."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from qwed.engines.code.bounds import (
    ANYTHING,
    EMPTY,
    FLAG,
    INFINITE,
    NOTHING,
    Bound,
    Cell,
    NotPure,
    Proof,
    Value,
    Variable,
    callables,
    held,
    join,
    join_all,
    real,
    string,
)
from qwed.engines.code.javascript import harmless, harmless_literals
from qwed.engines.code.javascript.counters import Writes
from qwed.engines.code.javascript.readers import GROWING, measured_places, root_and_path, walked_place
from qwed.engines.code.javascript.scopes import FUNCTIONS, Names

_MAX_INDEX: Final = 1_000_000
_MAX_COUNT: Final = 10**9
_UNSIGNED: Final = 2**32
# Names that the language itself reads or calls, or that lead to constructors of code.
RESERVED: Final = frozenset(
    [
        "__proto__",
        "constructor",
        "prototype",
        "toString",
        "valueOf",
        "toJSON",
        "toLocaleString",
        "then",
        "caller",
        "callee",
        "arguments",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ]
)


class Function:
    """One function or class of the program; `owner` is the function whose `this` its arrows share."""

    __slots__ = ("called", "instance", "node", "owner", "parent", "plain", "returned", "this")

    def __init__(self, node: Any, owner: "Function | None") -> None:
        self.node = node
        self.owner = self if node.type not in ("arrow_function",) else owner
        self.this = Variable()
        self.returned = Variable()
        self.plain = False
        self.called = False
        self.instance: Cell | None = None
        self.parent: Function | None = None


class Call:
    """One call: `count` bounds the number of arguments, which a spread makes larger than the list."""

    __slots__ = ("args", "count", "node", "receiver")

    def __init__(self, node: Any, receiver: Value, args: list[Value], count: Bound) -> None:
        self.node = node
        self.receiver = receiver
        self.args = args
        self.count = count

    def arg(self, index: int) -> Value:
        return self.args[index] if index < len(self.args) else EMPTY


def judge_purity(root: Any, source: bytes, names: Names) -> tuple[bool, str]:
    try:
        Prover(source, names).prove(root)
    except NotPure as obstacle:
        return False, str(obstacle)
    except OverflowError:
        return False, "a number that is not known to be small"
    return True, "no input or output but the console, no dynamic execution, every loop bounded, no recursion"


class Prover(Proof):
    """Runs a program over bounds."""

    def __init__(self, source: bytes, names: Names) -> None:
        super().__init__()
        self.source = source
        self.names = names
        self.owner: Function | None = None
        self.current: Function | None = None
        self.functions: dict[int, Function] = {}
        self.counters: set[tuple[int, int]] = set()
        self.root: Any = None
        self.writes: Writes | None = None

    def prove(self, root: Any) -> None:
        self.root = root
        self.run(root)
        done = 0
        while done < len(self.functions):
            function = list(self.functions.values())[done]
            done += 1
            if not function.called and function.node.type in FUNCTIONS:
                self.put(function.this, ANYTHING)
                self.call_function(function, Call(function.node, ANYTHING, [ANYTHING] * 8, 8))

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def run(self, node: Any) -> Value:
        self.step()
        self.line = node.start_point[0] + 1
        handler = _NODES.get(node.type)
        if handler is None:
            raise self.refuse(f"{node.type.replace('_', ' ')} is on no list of harmless things")
        return handler(self, node)

    def field(self, node: Any, name: str) -> Value:
        child = node.child_by_field_name(name)
        return NOTHING if child is None else self.run(child)

    # -- statements ------------------------------------------------------------------------------------

    def _children(self, node: Any) -> Value:
        children = [child for child in node.named_children if child.type != "comment"]
        for child in children:
            if child.type == "function_declaration":
                self._function(child)
        value = NOTHING
        for child in children:
            value = self.run(child)
        return value

    def _nothing(self, node: Any) -> Value:
        return NOTHING

    def _export(self, node: Any) -> Value:
        if node.child_by_field_name("source") is not None:
            raise self.refuse("loads another module")
        return self._children(node)

    def _declaration(self, node: Any) -> Value:
        for child in node.named_children:
            if child.type == "variable_declarator":
                self.bind(child.child_by_field_name("name"), self.field(child, "value"))
        return NOTHING

    def _return(self, node: Any) -> Value:
        value = self._children(node)
        if self.current is not None:
            self.put(self.current.returned, value)
        return NOTHING

    def _for(self, node: Any) -> Value:
        start = node.child_by_field_name("initializer")
        if start is not None and start.type != "empty_statement":
            self.run(start)
        rounds, limit, end = self._count(node)
        body = node.child_by_field_name("body")

        def once() -> None:
            self.field(node, "condition")
            self.run(body)

        self.walk_over(self.places(measured_places(limit)), lambda: self.repeat(rounds, once))
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

    def _stride(self, increment: Any, variable: Variable | None) -> float:
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

    def _refuse_other_writes(self, variable: Variable, loop: Any) -> None:
        """Nothing but the loop's own step may set its counter."""
        if self.writes is None:
            self.writes = Writes(self.root, self.names.variables)
        if self.writes.may_happen_during(loop, variable, self.step):
            raise self.refuse("a loop that sets its own counter")

    def _for_in(self, node: Any) -> Value:
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
        reading = self.sources(walked) | self.places([walked_place(node.child_by_field_name("right"))])
        self.walk_over(reading, lambda: self.repeat(rounds, lambda: self.run(body)))
        if self.members(self.field(node, "right"))[0] > rounds:
            raise self.refuse("a loop changes what it walks over")
        return NOTHING

    def _catch(self, node: Any) -> Value:
        parameter = node.child_by_field_name("parameter")
        if parameter is not None:
            self.bind(parameter, held(self.error(node)))
        return self.field(node, "body")

    def error(self, node: Any) -> Cell:
        cell = self.cell(node.id, "object")
        for name in ("message", "name", "stack"):
            self.put_field(cell, name, string(10_000))
        return cell

    # -- names and targets -----------------------------------------------------------------------------

    def _identifier(self, node: Any) -> Value:
        variable = self.names.variables.get(node.id)
        name = self.text(node)
        if name == "arguments":
            raise self.refuse("arguments, which are the parameters under another name")
        if variable is not None:
            return variable.value
        if name in harmless.VALUES:
            return harmless.VALUES[name]
        if name in harmless.NAMESPACES or name in harmless.CALLS:
            return callables(name)
        raise self.refuse(f"{name} is on no list of harmless things")

    def _this(self, node: Any) -> Value:
        owner = self.owner
        if owner is None or owner.plain or not owner.this.value.kinds:
            raise self.refuse("this, which may be the global object")
        return owner.this.value

    def bind(self, target: Any, value: Value) -> None:
        self.step()
        match target.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                variable = self.names.variables.get(target.id)
                if variable is None:
                    raise self.refuse(f"sets the global {self.text(target)}")
                self.put(variable, value)
            case "object_pattern" | "array_pattern":
                self._bind_members(target, value)
            case "assignment_pattern" | "object_assignment_pattern":
                self.bind(target.child_by_field_name("left"), join(value, self.field(target, "right")))
            case "rest_pattern":
                self.bind(target.named_children[0], self.listed(target, *self.members(value)))
            case "member_expression" | "subscript_expression":
                self._store(target, value)
            case "parenthesized_expression":
                self.bind(target.named_children[0], value)
            case _:
                raise self.refuse("sets something that is not known")

    def _bind_members(self, target: Any, value: Value) -> None:
        for child in target.named_children:
            if child.type == "comment":
                continue
            if child.type == "pair_pattern":
                key = child.child_by_field_name("key")
                self.bind(child.child_by_field_name("value"), self.member(value, self.key(key)))
            elif child.type == "rest_pattern" and target.type == "object_pattern":
                self.bind(child.named_children[0], value)
            elif child.type == "rest_pattern":
                self.bind(child, value)
            elif target.type == "object_pattern":
                left = child.child_by_field_name("left") or child
                self.bind(child, self.member(value, self.text(left)))
            else:
                self.bind(child, self.members(value)[1])

    def key(self, node: Any) -> str:
        if node.type == "computed_property_name":
            value = self._children(node)
            if value.text is None:
                raise self.refuse("a member whose name is not known")
            name = value.text
        elif node.type == "string":
            name = harmless_literals.unquoted(self.text(node))
        else:
            name = self.text(node)
        if name in RESERVED:
            raise self.refuse(f"{name}, which the language itself uses")
        return name

    def _store(self, target: Any, value: Value) -> None:
        owner = self.field(target, "object")
        field = target.child_by_field_name("property")
        if owner.calls:
            raise self.refuse("changes a function or a global object")
        if field is not None:
            self._store_field(owner, self.text(field), value)
            return
        index = self.field(target, "index")
        if index.text is not None and not index.has("float", "any"):
            self._store_field(owner, index.text, value)
            return
        if value.calls:
            raise self.refuse("a function is stored under a name that is not known")
        for cell in owner.cells:
            self.put_member(cell, value)
            if cell.kind == "array":
                if index.size > _MAX_INDEX or index.has("text", "any", "cell"):
                    raise self.refuse("an index that is not known to be small")
                self._reach(cell, index.size + 1)
            else:
                self.grow(cell, 1, target.id)

    def _store_field(self, owner: Value, name: str, value: Value) -> None:
        if name in RESERVED or name == "length" or (value.calls and name in harmless.METHOD_NAMES):
            raise self.refuse(f"sets {name}, which the language itself uses")
        if name.isdigit() and int(name[:9]) > _MAX_INDEX:
            raise self.refuse("an index that is not known to be small")
        for cell in owner.cells:
            if cell.kind == "array" and name.isdigit():
                self.put_member(cell, value)
                self._reach(cell, int(name) + 1)
            else:
                self.put_field(cell, name, value)

    def _reach(self, cell: Cell, length: Bound) -> None:
        """Setting a member beyond the end of an array makes it longer."""
        if length > cell.length:
            self.refuse_walked(cell)
            self.stretch(cell, length)

    # -- members ---------------------------------------------------------------------------------------

    def members(self, value: Value) -> tuple[Bound, Value]:
        """How many members walking over a value yields, and what they are."""
        rounds: Bound = 0
        made = EMPTY
        if value.has("any"):
            rounds, made = value.length, value
        if value.has("text"):
            rounds, made = max(rounds, value.length), join(made, string(2))
        for cell in value.cells:
            length, member = cell.again() if cell.again else (cell.length + len(cell.fields), cell.member)
            rounds = max(rounds, length)
            made = join(made, member)
        return rounds, made

    def member(self, owner: Value, name: str) -> Value:
        if name in RESERVED:
            raise self.refuse(f"{name}, which leads to the language's own objects")
        made = NOTHING
        if owner.has("any"):
            made = join(made, owner)
        if owner.has("text") and name == "length":
            made = join(made, real(owner.length))
        elif owner.has("text"):
            made = join(made, string(2))
        for cell in owner.cells:
            made = join(made, join(cell.fields.get(name, EMPTY), cell.member))
            if name in ("length", "size"):
                made = join(made, real(cell.length))
        for each in owner.calls:
            made = join(made, self._member_of_call(each, name))
        return made

    def _member_of_call(self, owner: Any, name: str) -> Value:
        if isinstance(owner, Function):
            static = owner.instance and self.cell(owner.node.id, "static").fields.get(name)
            if static:
                return static
            raise self.refuse(f"{name} of a function is on no list of harmless things")
        path = f"{owner}.{name}"
        if path in harmless.VALUES:
            return harmless.VALUES[path]
        if path in harmless.CALLS:
            return callables(path)
        raise self.refuse(f"{path} is on no list of harmless things")

    def _member(self, node: Any) -> Value:
        owner = self.field(node, "object")
        field = node.child_by_field_name("property")
        return self.member(owner, self.text(field))

    def _subscript(self, node: Any) -> Value:
        owner = self.field(node, "object")
        index = self.field(node, "index")
        if index.text is not None and index.kinds == {"text"}:
            return self.member(owner, index.text)
        if owner.calls or (owner.has("text") and index.has("text", "any", "cell")):
            raise self.refuse("a member whose name is not known")
        made = join(self.members(owner)[1], NOTHING)
        for cell in owner.cells:
            made = join(made, join_all(cell.fields.values()))
        if made.calls and index.has("text", "any", "cell"):
            raise self.refuse("a function that is picked by a name that is not known")
        return made

    # -- literals and operators ------------------------------------------------------------------------

    def _number(self, node: Any) -> Value:
        spelled = self.text(node)
        if spelled.endswith("n") and not spelled.startswith(("0x", "0X")):
            raise self.refuse("a number of any size")
        return real(harmless_literals.literal_number(spelled))

    def _string(self, node: Any) -> Value:
        known = harmless_literals.unquoted(self.text(node))
        return string(len(known), known)

    def _template(self, node: Any) -> Value:
        length: Bound = node.end_byte - node.start_byte
        for child in node.named_children:
            if child.type == "template_substitution":
                length += self.spelled(self._children(child))
        self.spend(length)
        return string(length)

    def _regex(self, node: Any) -> Value:
        weight = harmless_literals.weigh_pattern(self.text(node.child_by_field_name("pattern")))
        if weight is None:
            raise self.refuse("a pattern whose work is not known to be small")
        return Value(frozenset({"regex"}), size=weight)

    def listed(self, node: Any, length: Bound, member: Value) -> Value:
        cell = self.cell(node.id, "array")
        self.put_member(cell, member)
        self.stretch(cell, length)
        return held(cell)

    def _array(self, node: Any) -> Value:
        values, count = self.arguments(node)
        return self.listed(node, count, join_all(values))

    def _object(self, node: Any) -> Value:
        cell = self.cell(node.id, "object")
        for child in node.named_children:
            self._property(cell, child)
        return held(cell)

    def _property(self, cell: Cell, child: Any) -> None:
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

    def _method(self, cell: Cell, node: Any) -> None:
        if any(child.type in ("get", "set", "async", "*", "decorator") for child in node.children):
            raise self.refuse("a member that runs when it is read, or later")
        function = self.make(node)
        self.put_field(cell, self.key(node.child_by_field_name("name")), callables(function))
        self.put(function.this, held(cell))

    def _binary(self, node: Any) -> Value:
        left, right = self.field(node, "left"), self.field(node, "right")
        return self.operate(self.text(node.child_by_field_name("operator")), left, right)

    def operate(self, operator: str, left: Value, right: Value) -> Value:
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

    def add(self, left: Value, right: Value) -> Value:
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

    def _unary(self, node: Any) -> Value:
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

    def _update(self, node: Any) -> Value:
        target = node.child_by_field_name("argument")
        value = real(self.run(target).size + self.accumulate(node.id, 1))
        self.bind(target, value)
        return value

    def _ternary(self, node: Any) -> Value:
        self.field(node, "condition")
        return join(self.field(node, "consequence"), self.field(node, "alternative"))

    def _assignment(self, node: Any) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right.type == "binary_expression" and left.type == "identifier":
            first = right.child_by_field_name("left")
            same = first.type == "identifier" and self.text(first) == self.text(left)
            if same and self.text(right.child_by_field_name("operator")) == "+":
                return self._sum(node, left, self.field(right, "right"))
        value = self.run(right)
        self.bind(left, value)
        return value

    def _augmented(self, node: Any) -> Value:
        left = node.child_by_field_name("left")
        operator = self.text(node.child_by_field_name("operator"))
        right = self.field(node, "right")
        if operator == "+=" and left.type == "identifier":
            return self._sum(node, left, right)
        value = self.operate(operator.removesuffix("="), self.run(left), right)
        self.bind(left, value)
        return value

    def _sum(self, node: Any, target: Any, right: Value) -> Value:
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
            made = Value(made.kinds, made.size, base + more, made.text if not self.rounds else None)
            self.spend(base + more)
        self.bind(target, made)
        return made

    # -- functions and calls ---------------------------------------------------------------------------

    def make(self, node: Any) -> Function:
        known = self.functions.get(node.id)
        if known is None:
            if any(child.type in ("async", "*") for child in node.children):
                raise self.refuse("asynchronous code or a generator")
            known = self.functions[node.id] = Function(node, self.owner)
        return known

    def _function(self, node: Any) -> Value:
        value = callables(self.make(node))
        name = node.child_by_field_name("name")
        if name is not None:
            self.bind(name, value)
        return value

    def arguments(self, node: Any) -> tuple[list[Value], Bound]:
        values: list[Value] = []
        count: Bound = 0
        for child in node.named_children:
            if child.type == "comment":
                continue
            if child.type == "spread_element":
                length, member = self.members(self._children(child))
                values.append(member)
                count += length
            else:
                values.append(self.run(child))
                count += 1
        self.spend(count)
        return values, count

    def _call(self, node: Any) -> Value:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if given is None or given.type != "arguments":
            raise self.refuse("a tagged template")
        receiver, target = EMPTY, EMPTY
        if function.type == "member_expression":
            receiver = self.field(function, "object")
            name = self.text(function.child_by_field_name("property"))
            if name in GROWING and receiver.has("any"):
                self._refuse_unknown_growth(function, name)
        elif function.type == "super":
            return self._call_super(node, given)
        else:
            target = self.run(function)
            name = ""
        call = Call(node, receiver, *self.arguments(given))
        spread = any(child.type == "spread_element" for child in given.named_children)
        if spread:
            call.args = [join_all(call.args)] * max(len(call.args), 8)
        return self.call_method(name, call) if name else self.call_value(target, call)

    def places(self, nodes: Iterable[Any], kind: str = "") -> frozenset[Hashable]:
        """Each place as the variable and the members that lead to it."""
        paths = [root_and_path(node) for node in nodes]
        return frozenset((id(self.names.variables.get(root.id)), path, kind) for root, path in paths if path)

    def _refuse_unknown_growth(self, function: Any, name: str) -> None:
        """An argument that nobody has given yet has no container: the place that holds it stands for one."""
        kinds = ("", "entries") if name in ("add", "set") else ("",)
        for kind in kinds:
            for place in self.places([function.child_by_field_name("object")], kind):
                self.refuse_walked(place)

    def call_method(self, name: str, call: Call) -> Value:
        receiver = call.receiver
        made, known = EMPTY, False
        for each in receiver.calls:
            made, known = join(made, self.call_value(self._member_of_call(each, name), call)), True
        for cell in receiver.cells:
            own = join(cell.fields.get(name, EMPTY), cell.member if cell.kind == "object" else EMPTY)
            if own.calls:
                made, known = join(made, self.call_value(own, call)), True
        for kind in harmless.method_kinds(receiver):
            handler = harmless.METHODS.get((kind, name))
            if handler is not None:
                made, known = join(made, handler(self, call)), True
        if not known:
            raise self.refuse(f"calls {name}, of which nothing is known")
        return made

    def call_value(self, target: Value, call: Call) -> Value:
        made = EMPTY
        if not target.calls:
            raise self.refuse("calls something that is not known to be a harmless function")
        for each in target.calls:
            if isinstance(each, Function):
                made = join(made, self.call_function(each, call))
            elif each in harmless.CALLS:
                made = join(made, harmless.CALLS[each](self, call))
            else:
                raise self.refuse(f"calls {each}")
        return made

    def call_function(self, function: Function, call: Call) -> Value:
        if function.node.type not in FUNCTIONS:
            raise self.refuse("calls a class without new")
        function.called = True
        if call.receiver.cells or call.receiver.has("any"):
            self.put(function.this, call.receiver)
        elif function.node.type != "method_definition":
            function.plain = True
        return self.enter(function, call.node.id, lambda: self._run_body(function, call))

    def _run_body(self, function: Function, call: Call) -> Value:
        node = function.node
        owner, current = self.owner, self.current
        self.owner, self.current = function.owner, function
        try:
            single = node.child_by_field_name("parameter")
            given = node.child_by_field_name("parameters")
            targets = [single] if single is not None else [] if given is None else given.named_children
            self._bind_parameters([each for each in targets if each.type != "comment"], call)
            body = node.child_by_field_name("body")
            value = self.run(body)
            return value if body.type != "statement_block" else join(function.returned.value, NOTHING)
        finally:
            self.owner, self.current = owner, current

    def _bind_parameters(self, targets: list[Any], call: Call) -> None:
        for index, target in enumerate(targets):
            if target.type == "rest_pattern":
                rest = self.listed(target, call.count, join_all(call.args[index:]))
                self.bind(target.named_children[0], rest)
            else:
                self.bind(target, call.args[index] if index < len(call.args) else NOTHING)

    def run_callback(
        self,
        call: Call,
        function: Value,
        args: list[Value],
        rounds: Bound,
        walked: frozenset[Hashable] = frozenset(),
    ) -> Value:
        """A function that a method calls once for each member."""
        made = Variable()
        inner = Call(call.node, EMPTY, args, len(args))

        def once() -> None:
            self.put(made, self.call_value(function, inner))

        self.walk_over(walked, lambda: self.repeat(rounds, once))
        return made.value

    # -- classes ---------------------------------------------------------------------------------------

    def _class(self, node: Any) -> Value:
        known = self.functions.get(node.id)
        cls = known or Function(node, self.owner)
        self.functions[node.id] = cls
        cls.instance = self.cell(node.id, "object")
        if any(child.type == "decorator" for child in node.named_children):
            raise self.refuse("a decorator, which is called with the class")
        heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
        if heritage is not None:
            self._inherit(cls, self._children(heritage))
        for child in node.child_by_field_name("body").named_children:
            self._class_member(cls, child)
        name = node.child_by_field_name("name")
        if name is not None:
            self.bind(name, callables(cls))
        return callables(cls)

    def _inherit(self, cls: Function, parents: Value) -> None:
        instance = cls.instance or Cell("object")
        for parent in parents.calls:
            if isinstance(parent, Function) and parent.instance is not None and parent is not cls:
                cls.parent = parent
                for name, value in parent.instance.fields.items():
                    self.put_field(instance, name, value)
            elif parent == "Error":
                for name in ("message", "name", "stack"):
                    self.put_field(instance, name, string(10_000))
            else:
                raise self.refuse("a parent class that is not known")

    def _class_member(self, cls: Function, child: Any) -> None:
        static = any(each.type == "static" for each in child.children)
        cell = self.cell(cls.node.id, "static") if static else cls.instance or Cell("object")
        match child.type:
            case "comment":
                return
            case "method_definition" if self.text(child.child_by_field_name("name")) == "constructor":
                self.put(self.make(child).this, held(cell))
                self.cell(cls.node.id, "made").fields["constructor"] = callables(self.make(child))
            case "method_definition":
                self._method(cell, child)
            case "field_definition":
                name = child.child_by_field_name("property")
                self.put_field(cell, self.key(name), self.field(child, "value"))
            case _:
                raise self.refuse("a member of a class that is on no list of harmless things")

    def _new(self, node: Any) -> Value:
        target = self.field(node, "constructor")
        given = node.child_by_field_name("arguments")
        call = Call(node, EMPTY, *(self.arguments(given) if given is not None else ([], 0)))
        made = EMPTY
        for each in target.calls:
            if isinstance(each, Function) and each.instance is not None:
                made = join(made, self._construct(each, call))
            elif each in harmless.CONSTRUCTORS:
                made = join(made, harmless.CALLS[each](self, call))
            else:
                raise self.refuse("makes an object of which nothing is known")
        if not target.calls:
            raise self.refuse("makes an object of which nothing is known")
        return made

    def _construct(self, cls: Function, call: Call) -> Value:
        cls.called = True
        instance = held(cls.instance or Cell("object"))
        constructor = self.cell(cls.node.id, "made").fields.get("constructor", EMPTY)
        if not constructor.calls and cls.parent is not None:
            constructor = self.cell(cls.parent.node.id, "made").fields.get("constructor", EMPTY)
        for each in constructor.calls:
            self.call_function(each, Call(call.node, instance, call.args, call.count))
        return instance

    def _call_super(self, node: Any, given: Any) -> Value:
        this = self._this(node)
        call = Call(node, this, *self.arguments(given))
        for cls in list(self.functions.values()):
            parent = cls.parent
            if parent is not None and cls.instance in this.cells:
                for each in self.cell(parent.node.id, "made").fields.get("constructor", EMPTY).calls:
                    self.call_function(each, call)
                for name, value in (parent.instance or Cell("object")).fields.items():
                    self.put_field(cls.instance or Cell("object"), name, value)
        return NOTHING


NOMINAL_NAME: Final = 24
FLAG_REAL: Final = real(FLAG.size)


def _plain(value: Value) -> bool:
    """A number, or nothing that could be turned into a larger one."""
    return value.kinds <= {"float", "number", "none", "any"}


_NODES: Final[dict[str, Callable[[Prover, Any], Value]]] = {
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
        Prover._children,
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
        Prover._nothing,
    ),
    **dict.fromkeys(("true", "false"), lambda proof, node: FLAG_REAL),
    "export_statement": Prover._export,
    "lexical_declaration": Prover._declaration,
    "variable_declaration": Prover._declaration,
    "return_statement": Prover._return,
    "for_statement": Prover._for,
    "for_in_statement": Prover._for_in,
    "catch_clause": Prover._catch,
    "identifier": Prover._identifier,
    "this": Prover._this,
    "number": Prover._number,
    "string": Prover._string,
    "template_string": Prover._template,
    "regex": Prover._regex,
    "array": Prover._array,
    "object": Prover._object,
    "binary_expression": Prover._binary,
    "unary_expression": Prover._unary,
    "update_expression": Prover._update,
    "ternary_expression": Prover._ternary,
    "assignment_expression": Prover._assignment,
    "augmented_assignment_expression": Prover._augmented,
    "member_expression": Prover._member,
    "subscript_expression": Prover._subscript,
    "function_declaration": Prover._function,
    "function_expression": Prover._function,
    "arrow_function": Prover._function,
    "class_declaration": Prover._class,
    "class": Prover._class,
    "call_expression": Prover._call,
    "new_expression": Prover._new,
}
