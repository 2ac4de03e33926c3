"""The names and methods of JavaScript that only compute, each with a bound on what it makes.

What is not in these tables is not harmless.
"""

from collections.abc import Iterator
from typing import Final

from qwed.engines.code.bounds import NOTHING, BoundedValue, real
from qwed.engines.code.javascript.harmless_calls import Handler
from qwed.engines.code.javascript.harmless_containers import (
    bound_array_from,
    bound_array_of,
    bound_assign,
    bound_concat,
    bound_copy,
    bound_fill,
    bound_filter,
    bound_find,
    bound_find_index,
    bound_flat,
    bound_flat_map,
    bound_for_each,
    bound_get_entry,
    bound_given,
    bound_has_entry,
    bound_join_text,
    bound_look,
    bound_map,
    bound_new_array,
    bound_object_list,
    bound_pop,
    bound_push,
    bound_put_entry,
    bound_reduce,
    bound_same,
    bound_shift,
    bound_sort,
    bound_splice,
    bound_walk,
    bounder_of_collection,
)
from qwed.engines.code.javascript.harmless_functions import (
    bound_characters,
    bound_encode,
    bound_error,
    bound_flag,
    bound_largest,
    bound_number_of,
    bound_parse_json,
    bound_round,
    bound_show,
    bound_stringify,
    bound_text_of,
    bound_unbounded,
)
from qwed.engines.code.javascript.harmless_texts import (
    bound_code,
    bound_concat_text,
    bound_match,
    bound_pad,
    bound_repeat_text,
    bound_replace,
    bound_same_text,
    bound_search,
    bound_spell,
    bound_split,
    bound_test,
)


def _table(kind: str, names: str, handler: Handler) -> dict[tuple[str, str], Handler]:
    return {(kind, name): handler for name in names.split()}


METHODS: Final[dict[tuple[str, str], Handler]] = {
    **_table("text", "trim trimStart trimEnd slice substring substr charAt at valueOf", bound_same_text),
    **_table("text", "toLowerCase toUpperCase toLocaleLowerCase toLocaleUpperCase toString", bound_same_text),
    **_table("text", "indexOf lastIndexOf localeCompare", bound_search),
    **_table("text", "includes startsWith endsWith", bound_test),
    **_table("text", "charCodeAt codePointAt", bound_code),
    **_table("text", "split", bound_split),
    **_table("text", "match matchAll", bound_match),
    **_table("text", "concat", bound_concat_text),
    **_table("text", "repeat", bound_repeat_text),
    **_table("text", "padStart padEnd", bound_pad),
    **_table("text", "replace replaceAll", bound_replace),
    **_table("float", "toFixed toString toPrecision toExponential toLocaleString", bound_spell),
    **_table("float", "valueOf", bound_same),
    **_table("regex", "test", bound_test),
    **_table("regex", "exec", bound_match),
    **_table("array", "map", bound_map),
    **_table("array", "filter", bound_filter),
    **_table("array", "forEach", bound_for_each),
    **_table("array", "find findLast", bound_find),
    **_table("array", "findIndex findLastIndex some every", bound_find_index),
    **_table("array", "flatMap", bound_flat_map),
    **_table("array", "flat", bound_flat),
    **_table("array", "reduce reduceRight", bound_reduce),
    **_table("array", "sort toSorted", bound_sort),
    **_table("array", "push unshift", bound_push),
    **_table("array", "splice", bound_splice),
    **_table("array", "pop at", bound_pop),
    **_table("array", "shift", bound_shift),
    **_table("array", "slice toReversed", bound_copy),
    **_table("array", "reverse", bound_same),
    **_table("array", "concat", bound_concat),
    **_table("array", "join toString", bound_join_text),
    **_table("array", "fill", bound_fill),
    **_table("array", "includes indexOf lastIndexOf", bound_look),
    **_table("array", "keys values entries", bound_walk),
    **_table("map", "set", bound_put_entry),
    **_table("set", "add", bound_put_entry),
    **_table("map", "get", bound_get_entry),
    **_table("map", "has delete clear", bound_has_entry),
    **_table("set", "has delete clear", bound_has_entry),
    **_table("map", "keys values entries", bound_walk),
    **_table("set", "keys values entries", bound_walk),
    **_table("map", "forEach", bound_for_each),
    **_table("set", "forEach", bound_for_each),
    **_table("object", "hasOwnProperty", bound_has_entry),
}
METHOD_NAMES: Final = frozenset(name for _, name in METHODS)
_KINDS_OF_ANYTHING: Final = ("text", "array", "map", "set", "float")


def method_kinds(value: BoundedValue) -> Iterator[str]:
    for kind in ("text", "float", "regex"):
        if value.has(kind):
            yield kind
    for kind in sorted({cell.kind for cell in value.cells}):
        yield kind
    if value.has("any"):
        yield from _KINDS_OF_ANYTHING


_MATH_SMALL: Final = "sin cos tan asin acos atan atan2 sign clz32 tanh fround"
_MATH_ANY: Final = "pow sqrt cbrt exp expm1 log log2 log10 log1p hypot sinh cosh imul acosh asinh atanh"
VALUES: Final[dict[str, BoundedValue]] = {
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
    **{f"console.{name}": bound_show for name in ["log", "info", "warn", "error", "debug"]},
    **{f"Math.{name}": bound_largest for name in ["max", "min", "abs"]},
    **{f"Math.{name}": bound_round for name in ["round", "floor", "ceil", "trunc"]},
    **{f"Math.{name}": bound_code for name in _MATH_SMALL.split()},
    **{f"Math.{name}": bound_unbounded for name in _MATH_ANY.split()},
    **dict.fromkeys(
        ("Number", "parseInt", "parseFloat", "Number.parseInt", "Number.parseFloat"), bound_number_of
    ),
    **dict.fromkeys(("isNaN", "isFinite", "Boolean", "Array.isArray"), bound_flag),
    **{f"Number.{name}": bound_flag for name in ["isInteger", "isFinite", "isNaN", "isSafeInteger"]},
    "String": bound_text_of,
    "String.fromCharCode": bound_characters,
    "String.fromCodePoint": bound_characters,
    **dict.fromkeys(
        ("encodeURIComponent", "encodeURI", "decodeURIComponent", "decodeURI", "escape", "unescape"),
        bound_encode,
    ),
    "JSON.stringify": bound_stringify,
    "JSON.parse": bound_parse_json,
    **{f"Object.{name}": bound_object_list for name in ["keys", "values", "entries", "getOwnPropertyNames"]},
    "Object.fromEntries": bounder_of_collection("object"),
    "Object.assign": bound_assign,
    **{f"Object.{name}": bound_given for name in ["freeze", "seal", "preventExtensions"]},
    **{f"Object.{name}": bound_flag for name in ["is", "isFrozen", "hasOwn"]},
    "Array": bound_new_array,
    "Array.from": bound_array_from,
    "Array.of": bound_array_of,
    "Map": bounder_of_collection("map"),
    "Set": bounder_of_collection("set"),
    **dict.fromkeys(_ERRORS, bound_error),
}
CONSTRUCTORS: Final = frozenset({"Array", "Map", "Set", *_ERRORS})
