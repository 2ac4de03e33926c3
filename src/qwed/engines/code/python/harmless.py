"""The names and methods of Python that only compute, each with a bound on what it makes.

What is not in these tables is not harmless.
"""

import ast
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from qwed.engines.code.bounds import (
    EMPTY,
    FLAG,
    INFINITE,
    MAX_BITS,
    NOTHING,
    Bound,
    Value,
    Variable,
    bits,
    held,
    join,
    join_all,
    number,
    real,
    string,
)

if TYPE_CHECKING:
    from qwed.engines.code.python.purity import Call, Prover

Handler = Callable[["Prover", "Call"], Value]
_MAX_WIDTH: Final = 100_000
_MAX_DIGITS: Final = 4_300
_MAX_COUNT: Final = 1_000_000
# The digits of a decimal that nobody minds to calculate with.
_MAX_PRECISION: Final = 100

ANNOTATIONS: Final = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)


def _first(call: "Call") -> Value:
    return call.receiver if call.receiver.kinds else call.arg(0)


def small(proof: "Prover", value: Value, limit: Bound = _MAX_WIDTH) -> Bound:
    if value.size > limit:
        raise proof.refuse("a size that is not known to be small")
    return math.ceil(value.size)


# -- numbers -------------------------------------------------------------------------------------------


def _flag(proof: "Prover", call: "Call") -> Value:
    proof.spend(sum(proof.weight(each) for each in call.args))
    return FLAG


def _all_any(proof: "Prover", call: "Call") -> Value:
    proof.spend(proof.members(call.arg(0))[0])
    return FLAG


def _same_number(proof: "Prover", call: "Call") -> Value:
    value = _first(call)
    proof.spend(bits(value.size) / 64 if value.has("number") else 1)
    return Value(value.kinds & {"number", "float", "any", "decimal", "fraction"}, value.size)


def _length(proof: "Prover", call: "Call") -> Value:
    return number(max([call.arg(0).length, *(cell.length for cell in call.arg(0).cells)]))


def _integer(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    size = value.size if value.has("number", "any", "float") else 0
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    if value.has("float") and size == INFINITE:
        size = 2**1024
    if value.has("text", "any"):
        digits = value.length
        plain = len(call.args) < 2 and not call.kwargs
        if digits > (_MAX_COUNT if plain else _MAX_DIGITS):
            raise proof.refuse("a number that is not known to be small")
        proof.spend(min(digits, _MAX_DIGITS) ** 2 / 64)
        size = max(size, (10 if plain else 36) ** math.ceil(min(digits, _MAX_DIGITS)))
    return number(size)


def _float(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    proof.spend(value.length)
    return real(value.size if value.kinds <= {"number", "float"} else INFINITE)


def _round(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    if len(call.args) < 2:
        return number(min(value.size, 2**1024) + 1 if value.has("float") else value.size)
    small(proof, call.arg(1))
    return Value(value.kinds & {"number", "float", "any"}, value.size + 1)


def _unbounded(proof: "Prover", call: "Call") -> Value:
    return real()


def _floor(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    if value.has("decimal", "fraction"):
        raise proof.refuse("a whole number of a decimal or fraction, whose size is not known")
    return number(min(value.size, 2**1024) + 1 if value.has("float", "any") else value.size)


def _root(proof: "Prover", call: "Call") -> Value:
    return real(max(call.arg(0).size, 1))


def _whole_root(proof: "Prover", call: "Call") -> Value:
    proof.spend((bits(call.arg(0).size) / 64 + 1) ** 2)
    return number(call.arg(0).size)


def _divisor(proof: "Prover", call: "Call") -> Value:
    size = join_all(call.args).size
    proof.spend((bits(size) / 64 + 1) ** 2 * (call.count + 1))
    return number(size)


def _multiple(proof: "Prover", call: "Call") -> Value:
    each = int(small(proof, join_all(call.args), 2**256)) + 1
    if call.count * bits(each) > MAX_BITS:
        raise proof.refuse("a number that is not known to be small")
    return number(each ** math.ceil(call.count))


def _factorial(proof: "Prover", call: "Call") -> Value:
    count = int(small(proof, call.arg(0), 1_000))
    proof.spend(count * count)
    return number(math.factorial(count))


def _choose(proof: "Prover", call: "Call") -> Value:
    count, taken = (
        int(small(proof, each, 1_000))
        for each in (call.arg(0), call.arg(1) if len(call.args) > 1 else call.arg(0))
    )
    proof.spend(count * count)
    return number(max(count, 2) ** max(taken, 1))


def _power(proof: "Prover", call: "Call") -> Value:
    base, exponent, modulus = call.arg(0, "base"), call.arg(1, "exp"), call.arg(2, "mod")
    if modulus.kinds and not modulus.has("none"):
        proof.spend((bits(modulus.size) / 64 + 1) ** 2 * (bits(exponent.size) + 1))
        return number(modulus.size)
    return proof.operate(ast.Pow(), base, exponent, call.node)


def _divmod(proof: "Prover", call: "Call") -> Value:
    first = proof.operate(ast.FloorDiv(), call.arg(0), call.arg(1), call.node)
    second = proof.operate(ast.Mod(), call.arg(0), call.arg(1), call.node)
    return _tuple(proof, call.node, [first, second])


def _tuple(proof: "Prover", node: object, values: list[Value]) -> Value:
    made = proof.listed(node, "tuple", len(values), join_all(values))
    for cell in made.cells:
        for index, value in enumerate(values):
            proof.put_field(cell, str(index), value)
    return made


def _decimal(proof: "Prover", call: "Call") -> Value:
    value = call.everything
    if (
        value.cells
        or value.length > _MAX_PRECISION
        or (value.has("number") and value.size > 10**_MAX_PRECISION)
    ):
        raise proof.refuse("a decimal whose precision is not known to be small")
    return Value(frozenset({"decimal"}), INFINITE)


def _fraction(proof: "Prover", call: "Call") -> Value:
    for each in (*call.args, *call.kwargs.values()):
        if not each.kinds <= {"number", "fraction", "any"}:
            raise proof.refuse("a fraction whose size is not known")
    if call.everything.has("fraction"):
        return proof.operate(ast.Div(), call.arg(0, "numerator"), call.everything, call.node)
    return Value(frozenset({"fraction"}), call.everything.size)


def _numbers_in(proof: "Prover", value: Value) -> tuple[Bound, Value]:
    rounds, member = proof.members(value)
    proof.spend(rounds * (bits(member.size) / 64 + 1 if member.has("number") else 1))
    return rounds, member


def _sum(proof: "Prover", call: "Call") -> Value:
    rounds, member = _numbers_in(proof, call.arg(0))
    start = call.arg(1, "start")
    if member.cells or start.cells:
        inner, deeper = proof.members(join(member, start))
        proof.spend(rounds * rounds * inner)
        kinds = sorted({cell.kind for cell in member.cells | start.cells} - {"object", "iterator"})
        return join_all(proof.listed(call.node, kind, inner * (rounds + 1), deeper) for kind in kinds)
    made = join(member, start)
    return Value(made.kinds | {"number"}, _total(proof, rounds + 1, made))


def _total(proof: "Prover", rounds: Bound, member: Value) -> Bound:
    """How large a sum can be: one of fractions multiplies their denominators."""
    if not member.has("fraction"):
        return member.size * rounds
    width = rounds * (bits(member.size) + 2)
    if width > MAX_BITS:
        raise proof.refuse("a fraction that is not known to be small")
    proof.spend(rounds * (width / 64 + 1) ** 2)
    return 1 << math.ceil(width)


def _product(proof: "Prover", call: "Call") -> Value:
    rounds, member = _numbers_in(proof, call.arg(0))
    rounds, member = rounds + 1, join(member, call.kwargs.get("start", EMPTY))
    if not member.has("number", "any", "fraction"):
        return real()
    if rounds * bits(member.size) > MAX_BITS:
        raise proof.refuse("a number that is not known to be small")
    return Value(member.kinds | {"number"}, max(int(member.size), 1) ** math.ceil(rounds))


def _statistics(proof: "Prover", call: "Call") -> Value:
    rounds, member = _numbers_in(proof, call.arg(0))
    proof.spend(rounds * 200)
    size = _total(proof, 2 * rounds + 2, member) if member.has("fraction") else member.size
    return Value(
        frozenset(member.kinds | {"float"}) - {"text", "cell", "call"},
        size**2 if member.size < 1e100 else INFINITE,
    )


def _largest(proof: "Prover", call: "Call") -> Value:
    rounds, member = (call.count, join_all(call.args)) if len(call.args) > 1 else proof.members(call.arg(0))
    proof.spend(rounds * proof.weight(member))
    if "key" in call.kwargs:
        proof.run_callback(call, call.kwargs["key"], [member], rounds, join_all(call.args))
    return join(member, call.kwargs.get("default", EMPTY))


# -- texts ---------------------------------------------------------------------------------------------


def _text(proof: "Prover", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) if call.args else 0
    proof.spend(length)
    return string(length)


def _quoted(proof: "Prover", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) * 10 + 2
    proof.spend(length)
    return string(length)


def _digits(proof: "Prover", call: "Call") -> Value:
    length = bits(call.arg(0).size) + 4
    proof.spend(length)
    return string(length)


def _bytes(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    length = small(proof, value, _MAX_COUNT) if value.has("number", "any") else 0
    rounds = proof.members(value)[0] * 4
    proof.spend(length + rounds)
    return string(max(length, rounds))


def _character(proof: "Prover", call: "Call") -> Value:
    return string(1)


def _code(proof: "Prover", call: "Call") -> Value:
    return number(0x110000)


def _format(proof: "Prover", call: "Call") -> Value:
    if len(call.args) < 2:
        return _text(proof, call)
    template = call.arg(1)
    return proof.fill_template(
        string(0, "{" + template.text + "}") if template.text is not None else string(0),
        call.arg(0),
        percent=False,
    )


def _print(proof: "Prover", call: "Call") -> Value:
    if not call.kwargs.keys() <= {"sep", "end", "flush"}:
        raise proof.refuse("prints to something that is not known")
    for each in (*call.args, *call.kwargs.values()):
        proof.spend(proof.spelled(each) * max(1, call.count - len(call.args)))
    return NOTHING


def _same_text(proof: "Prover", call: "Call") -> Value:
    length = call.receiver.length
    proof.spend(length)
    return string(length * 3)


def _text_flag(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.receiver.length)
    return FLAG


def _find_text(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.receiver.length * max(1, call.arg(0).length))
    return number(max(call.receiver.length, 1))


def _split(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.receiver.length)
    return proof.listed(call.node, "list", call.receiver.length + 1, string(call.receiver.length))


def _partition(proof: "Prover", call: "Call") -> Value:
    return proof.listed(call.node, "tuple", 3, string(max(call.receiver.length, call.arg(0).length)))


def _join_text(proof: "Prover", call: "Call") -> Value:
    rounds, member = proof.members(call.arg(0))
    length = rounds * (member.length + call.receiver.length)
    proof.spend(length)
    return string(length)


def _replace(proof: "Prover", call: "Call") -> Value:
    length = call.receiver.length + (call.receiver.length + 1) * call.arg(1).length
    proof.spend(length)
    return string(length)


def _pad(proof: "Prover", call: "Call") -> Value:
    length = max(call.receiver.length, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def _tabs(proof: "Prover", call: "Call") -> Value:
    length = call.receiver.length * max(8, small(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def _fill(proof: "Prover", call: "Call") -> Value:
    return proof.fill_template(call.receiver, call.everything, percent=False)


def _encode(proof: "Prover", call: "Call") -> Value:
    names = [each.text for each in (*call.args, *call.kwargs.values())]
    if not all(name is not None and name.lower() in _ENCODINGS for name in names):
        raise proof.refuse("an encoding that is not known")
    proof.spend(call.receiver.length * 10)
    return string(call.receiver.length * 10 + 4)


_ENCODINGS: Final = frozenset(
    [
        "utf-8",
        "utf8",
        "ascii",
        "latin-1",
        "latin1",
        "utf-16",
        "utf-32",
        "cp1252",
        "strict",
        "ignore",
        "replace",
    ]
)


# -- containers ----------------------------------------------------------------------------------------


def _collect(kind: str) -> Handler:
    def handler(proof: "Prover", call: "Call") -> Value:
        rounds, member = proof.members(call.arg(0))
        proof.spend(rounds * (proof.weight(member) if kind in ("set", "dict") else 1))
        if kind == "dict":
            member = join(member, proof.members(member)[1] if member.cells or member.has("text") else EMPTY)
            member = join(
                member, join_all((*call.kwargs.values(), *(string(len(name)) for name in call.kwargs)))
            )
        return proof.listed(call.node, kind, rounds + len(call.kwargs), member)

    return handler


def _counter(proof: "Prover", call: "Call") -> Value:
    rounds, member = proof.members(call.arg(0))
    proof.spend(rounds)
    return proof.listed(call.node, "dict", rounds, join(member, number(max(rounds, member.size))))


def _default_dict(proof: "Prover", call: "Call") -> Value:
    made = proof.listed(call.node, "dict", 0, EMPTY)
    from_factory = (
        proof.call_value(call.arg(0), type(call)(call.node, [], {}, 0)) if call.arg(0).calls else NOTHING
    )
    for cell in made.cells:
        proof.put_field(cell, "factory", from_factory)
        proof.put_member(cell, from_factory)
    return made


def _range(proof: "Prover", call: "Call") -> Value:
    size = call.everything.size
    if not call.everything.kinds <= {"number", "any", "none"} or size == INFINITE:
        raise proof.refuse("a range whose length is not known")
    first, last = (call.arg(0), call.arg(1)) if len(call.args) > 1 else (EMPTY, call.arg(0))
    rounds = first.size + last.size if len(call.args) > 1 and _may_be_negative(call) else last.size
    rounds = max(rounds, first.size if len(call.args) > 2 else 0)
    cell = proof.cell(id(call.node), "iterator")
    proof.put_member(cell, number(max(first.size, last.size)))
    if rounds > cell.length:
        cell.length = rounds
        proof.version += 1
    return held(cell)


def _may_be_negative(call: "Call") -> bool:
    first = call.node.args[0] if getattr(call.node, "args", None) else None
    return not (isinstance(first, ast.Constant) and isinstance(first.value, int))


def _lazily(proof: "Prover", call: "Call", again: Callable[[], tuple[Bound, Value]]) -> Value:
    return proof.lazy(call.node, again, proof.sources(join(call.receiver, call.everything)))


def _enumerate(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(call.arg(0))
        return rounds, _tuple(proof, call, [number(rounds + call.arg(1, "start").size), member])

    return _lazily(proof, call, again)


def _zip(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        walked = [proof.members(each) for each in call.args]
        return max((rounds for rounds, _ in walked), default=0), _tuple(
            proof, call, [member for _, member in walked]
        )

    return _lazily(proof, call, again)


def _map(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        walked = [proof.members(each) for each in call.args[1:]]
        rounds = max((rounds for rounds, _ in walked), default=0)
        return rounds, proof.run_callback(call, call.arg(0), [member for _, member in walked], rounds)

    return _lazily(proof, call, again)


def _filter(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(call.arg(1))
        if call.arg(0).kinds != {"none"}:
            proof.run_callback(call, call.arg(0), [member], rounds)
        return rounds, member

    return _lazily(proof, call, again)


def _same_members(proof: "Prover", call: "Call") -> Value:
    """`reversed`, `iter`, `islice`, `chain`: the members of what is given, walked over later."""

    def again() -> tuple[Bound, Value]:
        walked = [proof.members(each) for each in call.args if each.has("cell", "text", "any")]
        return sum(rounds for rounds, _ in walked), join_all(member for _, member in walked)

    return _lazily(proof, call, again)


def _chained(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(call.arg(0))
        proof.note_walk(proof.cell(id(call.node), "iterator"), proof.sources(member))
        inner, deeper = proof.members(member)
        return rounds * inner, deeper

    return _lazily(proof, call, again)


def _accumulate(proof: "Prover", call: "Call") -> Value:
    if len(call.args) > 1 or call.kwargs:
        raise proof.refuse("accumulates with a function")

    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(call.arg(0))
        return rounds, Value(member.kinds, _total(proof, rounds, member), member.length * rounds)

    return _lazily(proof, call, again)


def _combine(proof: "Prover", call: "Call") -> Value:
    """`product`, `permutations`, `combinations`: as many tuples as their arguments allow."""
    walked = [proof.members(each) for each in call.args if each.has("cell", "text")]
    taken = [each for each in (*call.args, *call.kwargs.values()) if each.has("number", "any")]
    rounds: Bound = math.prod(max(rounds, 1) for rounds, _ in walked)
    width = small(proof, taken[0], 64) if taken else 1
    longest = max((rounds for rounds, _ in walked), default=0)
    exact = taken or len(walked) > 1
    total = rounds ** max(width, 1) if exact else float(math.factorial(min(math.ceil(longest), 20)))
    proof.spend(total)
    each = proof.listed(
        (call.node, "each"), "tuple", max(width, len(walked), longest), join_all(m for _, m in walked)
    )
    return _lazily(proof, call, lambda: (total, each))


def _sort(proof: "Prover", call: "Call") -> Value:
    value = _first(call)
    rounds, member = proof.members(value)
    proof.spend(rounds * max(1, math.log2(rounds + 1)) * proof.weight(member))
    if "key" in call.kwargs and call.kwargs["key"].kinds != {"none"}:
        proof.run_callback(call, call.kwargs["key"], [member], rounds)
    return NOTHING if call.receiver.kinds else proof.listed(call.node, "list", rounds, member)


def _append(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args).without() if len(call.args) < 2 else call.args[-1])
        proof.grow(cell, 1, id(call.node))
    return NOTHING


def _extend(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        for each in (*call.args, *call.kwargs.values()):
            proof.refuse_own_reader(cell, each)
            rounds, member = proof.members(each)
            proof.put_member(
                cell,
                join(member, proof.members(member)[1] if cell.kind == "dict" and member.cells else EMPTY),
            )
            proof.grow(cell, rounds, (id(call.node), id(each.cells) if not each.cells else 0))
    return NOTHING


def _take(proof: "Prover", call: "Call") -> Value:
    proof.spend(max((cell.length for cell in call.receiver.cells), default=0))
    return join(proof.members(call.receiver)[1], call.arg(1))


def _pick(proof: "Prover", call: "Call") -> Value:
    """`get`, `setdefault`: an entry, or what is given for want of one."""
    for cell in call.receiver.cells:
        if len(call.args) > 1:
            proof.put_member(cell, call.arg(1))
        proof.put_member(cell, call.arg(0))
        proof.grow(cell, 1, id(call.node))
    return join(join(proof.members(call.receiver)[1], call.arg(1)), NOTHING)


def _get(proof: "Prover", call: "Call") -> Value:
    return join(join(proof.members(call.receiver)[1], call.arg(1)), NOTHING)


def _look(proof: "Prover", call: "Call") -> Value:
    rounds = max([call.receiver.length, *(cell.length for cell in call.receiver.cells)])
    proof.spend(rounds * proof.weight(call.arg(0)))
    return number(max(rounds, 1))


def _nothing(proof: "Prover", call: "Call") -> Value:
    proof.spend(max((cell.length for cell in call.receiver.cells), default=0))
    return NOTHING


def _copy(proof: "Prover", call: "Call") -> Value:
    made = EMPTY
    for cell in call.receiver.cells:
        made = join(made, proof.listed(call.node, cell.kind, cell.length, cell.member))
    return made if made.kinds else call.receiver


def _unite(proof: "Prover", call: "Call") -> Value:
    walked = [proof.members(each) for each in (call.receiver, *call.args)]
    proof.spend(sum(rounds for rounds, _ in walked))
    return proof.listed(call.node, "set", sum(rounds for rounds, _ in walked), join_all(m for _, m in walked))


def _view(proof: "Prover", call: "Call") -> Value:
    return _same_members(proof, type(call)(call.node, [call.receiver], {}, 1))


def _pairs(proof: "Prover", call: "Call") -> Value:
    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(call.receiver)
        return rounds, proof.listed((call.node, "pair"), "tuple", 2, member)

    return _lazily(proof, call, again)


def _most_common(proof: "Prover", call: "Call") -> Value:
    rounds, member = proof.members(call.receiver)
    proof.spend(rounds * 20)
    pair = proof.listed((call.node, "pair"), "tuple", 2, member)
    return proof.listed(call.node, "list", rounds, pair)


# -- the rest ------------------------------------------------------------------------------------------


def _reduce(proof: "Prover", call: "Call") -> Value:
    rounds, member = proof.members(call.arg(1))
    total = Variable()
    proof.put(total, join(call.arg(2), member))

    def once() -> None:
        proof.put(total, proof.run_callback(call, call.arg(0), [total.value, member], 1, call.arg(1)))

    proof.repeat(rounds, once)
    return total.value


def _operator(op: ast.operator) -> Handler:
    return lambda proof, call: proof.operate(op, call.arg(0), call.arg(1), call.node)


def _item_getter(proof: "Prover", call: "Call") -> Value:
    return Value(frozenset({"call"}), calls=frozenset({"operator.itemgetter()"}))


def _got_item(proof: "Prover", call: "Call") -> Value:
    return join_all(
        (proof.members(call.arg(0))[1], *(f for c in call.arg(0).cells for f in c.fields.values()))
    )


def _to_json(proof: "Prover", call: "Call") -> Value:
    if not call.kwargs.keys() <= {"indent", "sort_keys", "ensure_ascii"}:
        raise proof.refuse("json.dumps with a function")
    length = proof.spelled(call.arg(0)) * 10 * (1 + 6 * small(proof, call.kwargs.get("indent", EMPTY), 16))
    proof.spend(length)
    return string(length)


def _from_json(proof: "Prover", call: "Call") -> Value:
    if call.kwargs or len(call.args) > 1:
        raise proof.refuse("json.loads with a function")
    proof.spend(call.arg(0).length * 10)
    return Value(frozenset({"any"}), 10**_MAX_DIGITS, call.arg(0).length)


def _deep_copy(proof: "Prover", call: "Call") -> Value:
    proof.spend(proof.spelled(call.arg(0)))
    if any(cell.kind == "object" for cell in call.arg(0).cells):
        return call.arg(0)
    return _copy(proof, type(call)(call.node, [], {}, 0, call.arg(0)))


def _heap_push(proof: "Prover", call: "Call") -> Value:
    return _append(proof, type(call)(call.node, call.args[1:2], {}, 1, call.arg(0)))


def _heap_pop(proof: "Prover", call: "Call") -> Value:
    return proof.members(call.arg(0))[1]


def _heapify(proof: "Prover", call: "Call") -> Value:
    proof.spend(proof.members(call.arg(0))[0] * 20)
    return NOTHING


def _some_of(proof: "Prover", call: "Call") -> Value:
    return _sort(proof, type(call)(call.node, [call.arg(1)], call.kwargs, 1))


def _bisect(proof: "Prover", call: "Call") -> Value:
    return _look(proof, type(call)(call.node, [call.arg(1)], {}, 1, call.arg(0)))


def _indent(proof: "Prover", call: "Call") -> Value:
    length = call.arg(0).length * (call.arg(1).length + 2) * 8
    proof.spend(length)
    return string(length)


def _named_tuple(proof: "Prover", call: "Call") -> Value:
    raise proof.refuse("a class made by other means than its body")


def _error(proof: "Prover", call: "Call") -> Value:
    for each in call.args:
        proof.spend(proof.spelled(each))
    cell = proof.error(call.node)
    proof.put_member(cell, join_all(call.args).without("cell", "call"))
    return held(cell)


def _opaque(proof: "Prover", call: "Call") -> Value:
    return NOTHING


def _type_of(proof: "Prover", call: "Call") -> Value:
    if len(call.args) != 1 or call.kwargs:
        raise proof.refuse("makes a class")
    return Value(frozenset({"call"}), calls=frozenset({"builtins.type()"}))


def _super(proof: "Prover", call: "Call") -> Value:
    raise proof.refuse("super, whose class is not followed")


def _callable_decorator(proof: "Prover", call: "Call") -> Value:
    """`functools.wraps(f)(g)` and `lru_cache(g)` behave as `g` does."""
    return call.arg(0)


def _field(proof: "Prover", call: "Call") -> Value:
    factory = call.kwargs.get("default_factory", EMPTY)
    made = proof.call_value(factory, type(call)(call.node, [], {}, 0)) if factory.calls else EMPTY
    return join(made, call.kwargs.get("default", NOTHING))


def _table(kind: str, names: str, handler: Handler) -> dict[tuple[str, str], Handler]:
    return {(kind, name): handler for name in names.split()}


_TEXT_TESTS: Final = (
    "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle isupper "
    "startswith endswith"
)
_TEXT_SAME: Final = (
    "capitalize casefold lower lstrip removeprefix removesuffix rstrip strip swapcase title upper"
)
METHODS: Final[dict[tuple[str, str], Handler]] = {
    **_table("text", _TEXT_TESTS, _text_flag),
    **_table("text", _TEXT_SAME, _same_text),
    **_table("text", "find rfind index rindex count", _find_text),
    **_table("text", "split rsplit splitlines", _split),
    **_table("text", "partition rpartition", _partition),
    **_table("text", "join", _join_text),
    **_table("text", "replace", _replace),
    **_table("text", "ljust rjust center zfill", _pad),
    **_table("text", "expandtabs", _tabs),
    **_table("text", "format", _fill),
    **_table("text", "encode decode", _encode),
    **_table("number", "bit_length conjugate bit_count", _same_number),
    **_table("float", "is_integer", _flag),
    **_table("list", "append appendleft insert", _append),
    **_table("list", "extend extendleft", _extend),
    **_table("list", "pop popleft", _take),
    **_table("list", "remove reverse clear rotate", _nothing),
    **_table("list", "sort", _sort),
    **_table("list", "index count", _look),
    **_table("tuple", "index count", _look),
    **_table("list", "copy", _copy),
    **_table("set", "add", _append),
    **_table("set", "update", _extend),
    **_table("set", "discard remove clear", _nothing),
    **_table("set", "pop", _take),
    **_table("set", "union intersection difference symmetric_difference", _unite),
    **_table("set", "issubset issuperset isdisjoint", _look),
    **_table("set", "copy", _copy),
    **_table("dict", "get", _get),
    **_table("dict", "setdefault", _pick),
    **_table("dict", "pop popitem", _take),
    **_table("dict", "update", _extend),
    **_table("dict", "items", _pairs),
    **_table("dict", "keys values", _view),
    **_table("dict", "copy", _copy),
    **_table("dict", "clear move_to_end", _nothing),
    **_table("dict", "most_common", _most_common),
    **_table("dict", "total", _look),
}
_OF_ANYTHING: Final = ("text", "list", "dict", "set", "number", "float")


def method_kinds(value: Value) -> Iterator[str]:
    for kind in ("text", "number", "float"):
        if value.has(kind):
            yield kind
    yield from sorted({cell.kind for cell in value.cells})
    if value.has("any"):
        yield from _OF_ANYTHING


TYPE_OWNERS: Final = {
    "builtins.str": "text",
    "builtins.list": "list",
    "builtins.dict": "dict",
    "builtins.set": "set",
    "builtins.int": "number",
    "builtins.float": "float",
    "builtins.type()": "none",
}
_ERRORS: Final = (
    "ArithmeticError AssertionError AttributeError BaseException Exception IndexError KeyError LookupError "
    "NameError NotImplementedError OverflowError RecursionError RuntimeError StopIteration TypeError "
    "UnicodeError ValueError ZeroDivisionError"
)
_MATH_SMALL: Final = (
    "sin cos tan asin acos atan atan2 degrees radians log log2 log10 log1p tanh fmod copysign"
)
_MATH_ANY: Final = "exp expm1 exp2 pow cosh sinh hypot dist fsum erf gamma lgamma frexp ldexp modf fma"
VALUES: Final[dict[str, Value]] = {
    **{f"math.{name}": real(7) for name in ("pi", "e", "tau")},
    "math.inf": real(),
    "math.nan": real(),
    **{f"cmath.{name}": real() for name in ("pi", "e")},
    **{
        f"string.{name}": string(100)
        for name in [
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "digits",
            "hexdigits",
            "octdigits",
            "punctuation",
            "printable",
            "whitespace",
        ]
    },
    "sys.maxsize": number(2**63),
}
CALLS: Final[dict[str, Handler]] = {
    **dict.fromkeys((f"builtins.{name}" for name in _ERRORS.split()), _error),
    **dict.fromkeys(
        (f"builtins.{name}" for name in ["bool", "callable", "isinstance", "issubclass", "hash"]), _flag
    ),
    **dict.fromkeys(("builtins.all", "builtins.any"), _all_any),
    "builtins.abs": _same_number,
    "builtins.ascii": _quoted,
    "builtins.repr": _quoted,
    **dict.fromkeys(("builtins.bin", "builtins.hex", "builtins.oct"), _digits),
    "builtins.bytes": _bytes,
    "builtins.chr": _character,
    "builtins.ord": _code,
    "builtins.complex": _unbounded,
    "builtins.divmod": _divmod,
    "builtins.float": _float,
    "builtins.int": _integer,
    "builtins.format": _format,
    "builtins.len": _length,
    "builtins.max": _largest,
    "builtins.min": _largest,
    "builtins.pow": _power,
    "builtins.print": _print,
    "builtins.round": _round,
    "builtins.str": _text,
    "builtins.sum": _sum,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.reversed": _same_members,
    "builtins.sorted": _sort,
    **{f"builtins.{kind}": _collect(kind) for kind in ("list", "tuple", "set", "dict")},
    "builtins.frozenset": _collect("set"),
    "builtins.object": _opaque,
    "builtins.type": _type_of,
    "builtins.super": _super,
    "builtins.dict.fromkeys": _counter,
    **dict.fromkeys((f"math.{name}" for name in _MATH_SMALL.split()), _unbounded),
    **dict.fromkeys((f"math.{name}" for name in _MATH_ANY.split()), _unbounded),
    **dict.fromkeys(("math.sqrt", "math.cbrt", "math.fabs"), _root),
    **dict.fromkeys(("math.floor", "math.ceil", "math.trunc"), _floor),
    **dict.fromkeys(("math.isnan", "math.isinf", "math.isfinite", "math.isclose"), _flag),
    "math.isqrt": _whole_root,
    "math.gcd": _divisor,
    "math.lcm": _multiple,
    "math.factorial": _factorial,
    "math.comb": _choose,
    "math.perm": _choose,
    "math.prod": _product,
    **{
        f"cmath.{name}": _unbounded for name in ["sqrt", "exp", "log", "phase", "polar", "rect", "sin", "cos"]
    },
    **{
        f"statistics.{name}": _statistics
        for name in [
            "mean",
            "fmean",
            "median",
            "median_low",
            "median_high",
            "mode",
            "stdev",
            "pstdev",
            "variance",
            "pvariance",
            "harmonic_mean",
        ]
    },
    "itertools.chain": _same_members,
    "itertools.chain.from_iterable": _chained,
    "itertools.islice": _same_members,
    "itertools.pairwise": _zip,
    "itertools.zip_longest": _zip,
    "itertools.accumulate": _accumulate,
    **{
        f"itertools.{name}": _combine
        for name in ("product", "permutations", "combinations", "combinations_with_replacement")
    },
    "functools.reduce": _reduce,
    **dict.fromkeys(("functools.wraps", "functools.lru_cache", "functools.cache"), _callable_decorator),
    "collections.Counter": _counter,
    "collections.OrderedDict": _collect("dict"),
    "collections.deque": _collect("list"),
    "collections.defaultdict": _default_dict,
    "collections.namedtuple": _named_tuple,
    "dataclasses.field": _field,
    "dataclasses.dataclass": _callable_decorator,
    "decimal.Decimal": _decimal,
    "fractions.Fraction": _fraction,
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), _deep_copy),
    "json.dumps": _to_json,
    "json.loads": _from_json,
    "heapq.heappush": _heap_push,
    "heapq.heappop": _heap_pop,
    "heapq.heapify": _heapify,
    **dict.fromkeys(("heapq.nlargest", "heapq.nsmallest"), _some_of),
    **dict.fromkeys(("bisect.bisect", "bisect.bisect_left", "bisect.bisect_right"), _bisect),
    "bisect.insort": _heap_push,
    **dict.fromkeys(("textwrap.dedent", "textwrap.indent", "textwrap.fill", "textwrap.shorten"), _indent),
    "operator.itemgetter": _item_getter,
    "operator.itemgetter()": _got_item,
    **{
        f"operator.{name}": _operator(op)
        for name, op in (
            ("add", ast.Add()),
            ("sub", ast.Sub()),
            ("mul", ast.Mult()),
            ("truediv", ast.Div()),
            ("mod", ast.Mod()),
            ("floordiv", ast.FloorDiv()),
        )
    },
    **{
        f"operator.{name}": _flag
        for name in ["lt", "le", "gt", "ge", "eq", "ne", "not_", "and_", "or_", "contains"]
    },
}
_TYPING: Final = (
    "Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping NamedTuple "
    "Optional Protocol Sequence Set Tuple Type TypeVar TypedDict Union"
)
TYPES: Final = frozenset(
    [
        *(f"typing.{name}" for name in _TYPING.split()),
        *(f"collections.abc.{name}" for name in ["Callable", "Iterable", "Iterator", "Mapping", "Sequence"]),
        *(f"enum.{name}" for name in ["Enum", "IntEnum", "auto"]),
        *(f"numbers.{name}" for name in ["Number", "Real", "Integral"]),
        "abc.ABC",
        "abc.abstractmethod",
        "functools.total_ordering",
        "functools.cached_property",
        "builtins.property",
        "builtins.staticmethod",
        "builtins.classmethod",
    ]
)
TYPE_MODULES: Final = frozenset({"__future__"})
BASES: Final = frozenset(
    {f"builtins.{name}" for name in _ERRORS.split()}
    | {
        "builtins.object",
        "abc.ABC",
        "typing.NamedTuple",
        "typing.Protocol",
        "typing.TypedDict",
        "enum.Enum",
        "enum.IntEnum",
    }
)
DECORATORS: Final = frozenset(
    ["dataclass", "cache", "lru_cache", "wraps", "total_ordering", "abstractmethod", "final", "override"]
)
MODULES: Final = (
    frozenset(path.rpartition(".")[0] for path in (*CALLS, *VALUES)) - {"builtins", "sys"}
    | TYPE_MODULES
    | {path.rpartition(".")[0] for path in TYPES} - {"builtins"}
)


def is_type(path: Any) -> bool:
    """`list[int]`, `typing.Optional[str]`: brackets after these name a type."""
    return isinstance(path, str) and (
        path.partition(".")[0] in ("typing", "collections")
        or path in (f"builtins.{t}" for t in ("list", "dict", "set", "tuple", "type", "frozenset"))
    )
