"""The names and methods of JavaScript that only compute, each with a bound on what it makes.

What is not in these tables is not harmless.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from qwed.engines.code.bounds import (
    INFINITE,
    NOTHING,
    Bound,
    Value,
    Variable,
    held,
    join,
    join_all,
    real,
    string,
)
from qwed.engines.code.javascript.readers import walked_place

if TYPE_CHECKING:
    from qwed.engines.code.javascript.purity import Call, Prover

Handler = Callable[["Prover", "Call"], Value]

_FLAG: Final = real(1)
_CHARACTER: Final = real(0x110000)
_MAX_WIDTH: Final = 100_000


def unquoted(spelled: str) -> str:
    """A literal's text; one with escapes is left as it is spelled, which is never shorter."""
    return spelled[1:-1] if "\\" not in spelled else spelled


def literal_number(spelled: str) -> float:
    plain = spelled.replace("_", "").lower().removesuffix("n")
    try:
        return float(int(plain, 0)) if plain[:2] in ("0x", "0o", "0b") else float(plain)
    except (ValueError, OverflowError):
        return INFINITE


def arithmetic(operator: str, left: Bound, right: Bound, *, plain: bool) -> Bound:
    if not plain or operator in ("/", "**"):
        return INFINITE
    if operator == "-":
        return left + right
    if operator == "%":
        return right
    return 0 if 0 in (left, right) else min(left, 1e200) * min(right, 1e200)


_QUANTIFIER: Final = re.compile(r"\*|\+|\{\d*,?\d*\}|\?(?![:!=<])")
_UNSAFE: Final = re.compile(r"\\[1-9k]|\(\?[!=<]|\)(?:[*+{])|\{\d{3,}|\{\d+,\d{3,}")
_CLASS: Final = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\[^1-9k]")


def weigh_pattern(pattern: str) -> int | None:
    """How often a pattern can go over its text; none where it may need time without bound."""
    plain = _CLASS.sub("x", pattern)
    if _UNSAFE.search(plain):
        return None
    weight = len(_QUANTIFIER.findall(plain)) + plain.count("|")
    return weight if weight <= 4 else None


# -- texts ---------------------------------------------------------------------------------------------


def _same_text(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.receiver.length)
    return string(call.receiver.length * 3)


def _spell(proof: "Prover", call: "Call") -> Value:
    length = proof.spelled(call.receiver)
    proof.spend(length)
    return string(max(length, 1100))


def _search(proof: "Prover", call: "Call") -> Value:
    _spend_on_patterns(proof, call)
    proof.spend(call.receiver.length)
    return real(call.receiver.length)


def _test(proof: "Prover", call: "Call") -> Value:
    _search(proof, call)
    return _FLAG


def _code(proof: "Prover", call: "Call") -> Value:
    return _CHARACTER


def _spend_on_patterns(proof: "Prover", call: "Call") -> None:
    texts = max(
        [call.receiver.length, *(each.length for each in call.args), *(proof.spelled(a) for a in call.args)]
    )
    for value in (call.receiver, *call.args):
        if value.has("regex"):
            proof.spend((texts + 1) ** (value.size + 1))


def _split(proof: "Prover", call: "Call") -> Value:
    _spend_on_patterns(proof, call)
    return proof.listed(call.node, call.receiver.length + 1, string(call.receiver.length))


def _match(proof: "Prover", call: "Call") -> Value:
    if call.receiver.has("text") and call.arg(0).kinds != {"regex"}:
        raise proof.refuse("a pattern that is not known")
    return join(_split(proof, call), NOTHING)


def _concat_text(proof: "Prover", call: "Call") -> Value:
    length = call.receiver.length + call.count * proof.spelled(join_all(call.args))
    proof.spend(length)
    return string(length)


def _count_of(proof: "Prover", value: Value) -> Bound:
    if value.size > _MAX_WIDTH or value.has("text", "cell"):
        raise proof.refuse("a size that is not known to be small")
    return math.ceil(value.size)


def _repeat_text(proof: "Prover", call: "Call") -> Value:
    length = call.receiver.length * _count_of(proof, call.arg(0))
    proof.spend(length)
    return string(length)


def _pad(proof: "Prover", call: "Call") -> Value:
    length = max(call.receiver.length, _count_of(proof, call.arg(0)))
    proof.spend(length)
    return string(length)


def _replace(proof: "Prover", call: "Call") -> Value:
    _spend_on_patterns(proof, call)
    length, given = call.receiver.length, call.arg(1)
    if given.calls:
        given = proof.run_callback(call, given, [string(length)] * 3, length + 1)
    each = proof.spelled(given)
    if given.text is None or "$" in given.text:
        each *= length + 1
    proof.spend(length + (length + 1) * each)
    return string(length + (length + 1) * each)


# -- arrays --------------------------------------------------------------------------------------------


def _length(call: "Call") -> Bound:
    cells = max([cell.length for cell in call.receiver.cells], default=0)
    return max(cells, call.receiver.length) if call.receiver.has("any") else cells


def _members(proof: "Prover", call: "Call") -> Value:
    return proof.members(call.receiver)[1]


def _each(proof: "Prover", call: "Call", index: int = 0) -> Value:
    """Runs the callback once for each member; the answer is what it may return."""
    given = [_members(proof, call), real(_length(call)), call.receiver]
    # An array's methods ask for its length once; a map or set is walked for as long as it has members.
    walked = frozenset(cell for cell in call.receiver.cells if cell.kind in ("map", "set"))
    function = call.node.child_by_field_name("function")
    owner = function.child_by_field_name("object") if function is not None else None
    places = proof.places([] if owner is None else [owner], "entries")
    return proof.run_callback(call, call.arg(index), given, _length(call), walked | places)


def _map(proof: "Prover", call: "Call") -> Value:
    return proof.listed(call.node, _length(call), _each(proof, call))


def _filter(proof: "Prover", call: "Call") -> Value:
    _each(proof, call)
    return proof.listed(call.node, _length(call), _members(proof, call))


def _for_each(proof: "Prover", call: "Call") -> Value:
    _each(proof, call)
    return NOTHING


def _find(proof: "Prover", call: "Call") -> Value:
    _each(proof, call)
    return join(_members(proof, call), NOTHING)


def _find_index(proof: "Prover", call: "Call") -> Value:
    _each(proof, call)
    return real(max(_length(call), 1))


def _flat_map(proof: "Prover", call: "Call") -> Value:
    made = _each(proof, call)
    inner, member = proof.members(made)
    return proof.listed(call.node, _length(call) * max(inner, 1), join(member, made))


def _flat(proof: "Prover", call: "Call") -> Value:
    if call.args:
        raise proof.refuse("flat to a depth that is not known")
    inner, member = proof.members(_members(proof, call))
    return proof.listed(call.node, _length(call) * max(inner, 1), join(member, _members(proof, call)))


def _reduce(proof: "Prover", call: "Call") -> Value:
    total = Variable()
    proof.put(total, call.arg(1) if len(call.args) > 1 else _members(proof, call))

    def once() -> None:
        given = [total.value, _members(proof, call), real(_length(call)), call.receiver]
        proof.put(total, proof.run_callback(call, call.arg(0), given, 1))

    proof.repeat(_length(call), once)
    return total.value


def _sort(proof: "Prover", call: "Call") -> Value:
    length = _length(call)
    work = length * max(1, math.ceil(math.log2(length + 1))) * 2
    if call.args:
        proof.run_callback(call, call.arg(0), [_members(proof, call)] * 2, work)
    else:
        proof.spend(work * (1 + proof.spelled(_members(proof, call))))
    return call.receiver


def _push(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args))
        proof.grow(cell, call.count, call.node.id)
    return real(_length(call))


def _splice(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args[2:]))
        proof.grow(cell, max(call.count - 2, 0), call.node.id)
    return _copy(proof, call)


def _pop(proof: "Prover", call: "Call") -> Value:
    return join(_members(proof, call), NOTHING)


def _shift(proof: "Prover", call: "Call") -> Value:
    proof.spend(_length(call))
    return join(_members(proof, call), NOTHING)


def _copy(proof: "Prover", call: "Call") -> Value:
    return proof.listed(call.node, _length(call), _members(proof, call))


def _same(proof: "Prover", call: "Call") -> Value:
    proof.spend(_length(call))
    return call.receiver


def _concat(proof: "Prover", call: "Call") -> Value:
    lengths, members = zip(*(proof.members(each) for each in (call.receiver, *call.args)), strict=True)
    return proof.listed(call.node, sum(lengths) + call.count, join(join_all(members), join_all(call.args)))


def _join_text(proof: "Prover", call: "Call") -> Value:
    between = proof.spelled(call.arg(0)) if call.args else 1
    length = _length(call) * (proof.spelled(_members(proof, call)) + between)
    proof.spend(length)
    return string(length)


def _fill(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        proof.put_member(cell, call.arg(0))
    proof.spend(_length(call))
    return call.receiver


def _look(proof: "Prover", call: "Call") -> Value:
    proof.spend(_length(call) + proof.spelled(call.arg(0)))
    return real(max(_length(call), 1))


def _walk(proof: "Prover", call: "Call") -> Value:
    """`entries`, `keys`, `values`: walked over later, so what they yield is asked again then."""
    receiver = call.receiver
    cell = proof.cell(call.node.id, "iterator")
    pair = proof.cell((call.node.id, "pair"), "array")

    def again() -> tuple[Bound, Value]:
        rounds, member = proof.members(receiver)
        proof.put_member(pair, join(member, real(rounds)))
        proof.stretch(pair, 2)
        return rounds, join(join(member, real(rounds)), held(pair))

    cell.again = again
    proof.note_walk(cell, proof.sources(receiver))
    again()
    return held(cell)


# -- maps, sets, objects -------------------------------------------------------------------------------


def _put_entry(proof: "Prover", call: "Call") -> Value:
    for cell in call.receiver.cells:
        proof.put_member(cell, join_all(call.args))
        proof.grow(cell, 1, call.node.id)
    return call.receiver


def _get_entry(proof: "Prover", call: "Call") -> Value:
    return join(_members(proof, call), NOTHING)


def _has_entry(proof: "Prover", call: "Call") -> Value:
    return _FLAG


def _entries_of(proof: "Prover", value: Value) -> tuple[Bound, Value]:
    """Every value and every name in an object."""
    rounds, made = proof.members(value)
    for cell in value.cells:
        made = join(made, join_all(cell.fields.values()))
    names = max([24, *(len(name) for cell in value.cells for name in cell.fields)])
    return rounds, join(made, string(names))


def _object_list(proof: "Prover", call: "Call") -> Value:
    rounds, member = _entries_of(proof, call.arg(0))
    pair = proof.cell((call.node.id, "pair"), "array")
    proof.put_member(pair, member)
    proof.stretch(pair, 2)
    return proof.listed(call.node, rounds, join(member, held(pair)))


def _collect(kind: str) -> Handler:
    def handler(proof: "Prover", call: "Call") -> Value:
        cell = proof.cell(call.node.id, kind)
        rounds, member = proof.members(call.arg(0))
        proof.put_member(cell, join(member, proof.members(member)[1]))
        proof.stretch(cell, rounds)
        return held(cell)

    return handler


def _assign(proof: "Prover", call: "Call") -> Value:
    target = call.arg(0)
    if target.calls:
        raise proof.refuse("changes a function or a global object")
    for cell in target.cells:
        for given in call.args[1:]:
            rounds, member = _entries_of(proof, given)
            if member.calls:
                raise proof.refuse("a function is stored under a name that is not known")
            proof.put_member(cell, member)
            proof.grow(cell, rounds, call.node.id)
    return target


def _given(proof: "Prover", call: "Call") -> Value:
    if call.arg(0).calls:
        raise proof.refuse("changes a function or a global object")
    return call.arg(0)


# -- globals -------------------------------------------------------------------------------------------


def _array_from(proof: "Prover", call: "Call") -> Value:
    source = call.arg(0)
    rounds, member = proof.members(source)
    for cell in source.cells:
        if "length" in cell.fields:
            rounds = max(rounds, _count_of(proof, cell.fields["length"]))
            member = join(member, NOTHING)
    if len(call.args) > 1:
        given = [join(member, NOTHING), real(rounds)]
        walked = proof.sources(source) | proof.places(_first_argument(call))
        member = proof.run_callback(call, call.arg(1), given, rounds, walked)
    return proof.listed(call.node, rounds, member)


def _first_argument(call: "Call") -> list[Any]:
    given = call.node.child_by_field_name("arguments")
    return [walked_place(each) for each in given.named_children[:1]] if given is not None else []


def _new_array(proof: "Prover", call: "Call") -> Value:
    first = call.arg(0)
    length = max(call.count, _count_of(proof, first) if first.has("float", "any") else 0)
    return proof.listed(call.node, length, join(join_all(call.args), NOTHING))


def _array_of(proof: "Prover", call: "Call") -> Value:
    return proof.listed(call.node, call.count, join_all(call.args))


def _number_of(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    proof.spend(value.length)
    return real(value.size if value.kinds <= {"float", "none"} else INFINITE)


def _text_of(proof: "Prover", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) if call.args else 0
    proof.spend(length)
    return string(length)


def _flag(proof: "Prover", call: "Call") -> Value:
    return _FLAG


def _largest(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.count)
    values = join_all(call.args)
    return real(values.size if values.kinds <= {"float", "none"} else INFINITE)


def _round(proof: "Prover", call: "Call") -> Value:
    value = call.arg(0)
    return real(value.size + 1 if value.kinds <= {"float", "none", "any"} else INFINITE)


def _unbounded(proof: "Prover", call: "Call") -> Value:
    return real()


def _show(proof: "Prover", call: "Call") -> Value:
    for each in call.args:
        proof.spend(proof.spelled(each) * max(1, call.count - len(call.args)))
    return NOTHING


def _stringify(proof: "Prover", call: "Call") -> Value:
    if call.arg(1).calls or call.arg(2).length > 10:
        raise proof.refuse("JSON.stringify with a function or a wide indent")
    length = proof.spelled(call.arg(0)) * (80 if len(call.args) > 2 else 1)
    proof.spend(length)
    return string(length)


def _parse_json(proof: "Prover", call: "Call") -> Value:
    if len(call.args) > 1:
        raise proof.refuse("JSON.parse with a function")
    length = proof.spelled(call.arg(0))
    proof.spend(length)
    return Value(frozenset({"any"}), INFINITE, length)


def _encode(proof: "Prover", call: "Call") -> Value:
    length = proof.spelled(call.arg(0)) * 12
    proof.spend(length)
    return string(length)


def _characters(proof: "Prover", call: "Call") -> Value:
    proof.spend(call.count)
    return string(call.count * 2)


def _error(proof: "Prover", call: "Call") -> Value:
    for each in call.args:
        proof.spend(proof.spelled(each))
    return held(proof.error(call.node))


def _table(kind: str, names: str, handler: Handler) -> dict[tuple[str, str], Handler]:
    return {(kind, name): handler for name in names.split()}


METHODS: Final[dict[tuple[str, str], Handler]] = {
    **_table("text", "trim trimStart trimEnd slice substring substr charAt at valueOf", _same_text),
    **_table("text", "toLowerCase toUpperCase toLocaleLowerCase toLocaleUpperCase toString", _same_text),
    **_table("text", "indexOf lastIndexOf localeCompare", _search),
    **_table("text", "includes startsWith endsWith", _test),
    **_table("text", "charCodeAt codePointAt", _code),
    **_table("text", "split", _split),
    **_table("text", "match matchAll", _match),
    **_table("text", "concat", _concat_text),
    **_table("text", "repeat", _repeat_text),
    **_table("text", "padStart padEnd", _pad),
    **_table("text", "replace replaceAll", _replace),
    **_table("float", "toFixed toString toPrecision toExponential toLocaleString", _spell),
    **_table("float", "valueOf", _same),
    **_table("regex", "test", _test),
    **_table("regex", "exec", _match),
    **_table("array", "map", _map),
    **_table("array", "filter", _filter),
    **_table("array", "forEach", _for_each),
    **_table("array", "find findLast", _find),
    **_table("array", "findIndex findLastIndex some every", _find_index),
    **_table("array", "flatMap", _flat_map),
    **_table("array", "flat", _flat),
    **_table("array", "reduce reduceRight", _reduce),
    **_table("array", "sort toSorted", _sort),
    **_table("array", "push unshift", _push),
    **_table("array", "splice", _splice),
    **_table("array", "pop at", _pop),
    **_table("array", "shift", _shift),
    **_table("array", "slice toReversed", _copy),
    **_table("array", "reverse", _same),
    **_table("array", "concat", _concat),
    **_table("array", "join toString", _join_text),
    **_table("array", "fill", _fill),
    **_table("array", "includes indexOf lastIndexOf", _look),
    **_table("array", "keys values entries", _walk),
    **_table("map", "set", _put_entry),
    **_table("set", "add", _put_entry),
    **_table("map", "get", _get_entry),
    **_table("map", "has delete clear", _has_entry),
    **_table("set", "has delete clear", _has_entry),
    **_table("map", "keys values entries", _walk),
    **_table("set", "keys values entries", _walk),
    **_table("map", "forEach", _for_each),
    **_table("set", "forEach", _for_each),
    **_table("object", "hasOwnProperty", _has_entry),
}
METHOD_NAMES: Final = frozenset(name for _, name in METHODS)
_KINDS_OF_ANYTHING: Final = ("text", "array", "map", "set", "float")


def method_kinds(value: Value) -> Iterator[str]:
    for kind in ("text", "float", "regex"):
        if value.has(kind):
            yield kind
    for kind in sorted({cell.kind for cell in value.cells}):
        yield kind
    if value.has("any"):
        yield from _KINDS_OF_ANYTHING


_MATH_SMALL: Final = "sin cos tan asin acos atan atan2 sign clz32 tanh fround"
_MATH_ANY: Final = "pow sqrt cbrt exp expm1 log log2 log10 log1p hypot sinh cosh imul acosh asinh atanh"
VALUES: Final[dict[str, Value]] = {
    "undefined": NOTHING,
    "NaN": real(),
    "Infinity": real(),
    **{f"Math.{name}": real(4) for name in ["PI", "E", "LN2", "LN10", "LOG2E", "LOG10E", "SQRT2", "SQRT1_2"]},
    **{
        f"Number.{name}": real()
        for name in ["MAX_VALUE", "MIN_VALUE", "POSITIVE_INFINITY", "NEGATIVE_INFINITY", "NaN"]
    },
    "Number.EPSILON": real(1),
    "Number.MAX_SAFE_INTEGER": real(2**53),
    "Number.MIN_SAFE_INTEGER": real(2**53),
}
NAMESPACES: Final = frozenset({"Math", "JSON", "Object", "Array", "Number", "String", "console"})
_ERRORS: Final = (
    "Error",
    "TypeError",
    "RangeError",
    "SyntaxError",
    "ReferenceError",
    "EvalError",
    "URIError",
)
CALLS: Final[dict[str, Handler]] = {
    **{f"console.{name}": _show for name in ["log", "info", "warn", "error", "debug"]},
    **{f"Math.{name}": _largest for name in ["max", "min", "abs"]},
    **{f"Math.{name}": _round for name in ["round", "floor", "ceil", "trunc"]},
    **{f"Math.{name}": _code for name in _MATH_SMALL.split()},
    **{f"Math.{name}": _unbounded for name in _MATH_ANY.split()},
    **dict.fromkeys(("Number", "parseInt", "parseFloat", "Number.parseInt", "Number.parseFloat"), _number_of),
    **dict.fromkeys(("isNaN", "isFinite", "Boolean", "Array.isArray"), _flag),
    **{f"Number.{name}": _flag for name in ["isInteger", "isFinite", "isNaN", "isSafeInteger"]},
    "String": _text_of,
    "String.fromCharCode": _characters,
    "String.fromCodePoint": _characters,
    **dict.fromkeys(
        ("encodeURIComponent", "encodeURI", "decodeURIComponent", "decodeURI", "escape", "unescape"), _encode
    ),
    "JSON.stringify": _stringify,
    "JSON.parse": _parse_json,
    **{f"Object.{name}": _object_list for name in ["keys", "values", "entries", "getOwnPropertyNames"]},
    "Object.fromEntries": _collect("object"),
    "Object.assign": _assign,
    **{f"Object.{name}": _given for name in ["freeze", "seal", "preventExtensions"]},
    **{f"Object.{name}": _flag for name in ["is", "isFrozen", "hasOwn"]},
    "Array": _new_array,
    "Array.from": _array_from,
    "Array.of": _array_of,
    "Map": _collect("map"),
    "Set": _collect("set"),
    **dict.fromkeys(_ERRORS, _error),
}
CONSTRUCTORS: Final = frozenset({"Array", "Map", "Set", *_ERRORS})
