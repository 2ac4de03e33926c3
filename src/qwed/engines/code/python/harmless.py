"""The names and methods of Python that only compute, each with a bound on what it makes.

What is not in these tables is not harmless.
"""

import ast
from collections.abc import Iterator
from typing import Any, Final

from qwed.engines.code.bounds import BoundedValue, number, real, string
from qwed.engines.code.python.harmless_calls import Handler
from qwed.engines.code.python.harmless_containers import (
    bound_accumulate,
    bound_append,
    bound_chained,
    bound_combine,
    bound_copy,
    bound_counter,
    bound_default_dict,
    bound_enumerate,
    bound_extend,
    bound_filter,
    bound_get,
    bound_look,
    bound_map,
    bound_most_common,
    bound_nothing,
    bound_pairs,
    bound_pick,
    bound_range,
    bound_same_members,
    bound_sort,
    bound_take,
    bound_unite,
    bound_view,
    bound_zip,
    bounder_of_collection,
)
from qwed.engines.code.python.harmless_modules import (
    bound_bisect,
    bound_callable_decorator,
    bound_deep_copy,
    bound_error,
    bound_field,
    bound_from_json,
    bound_got_item,
    bound_heap_pop,
    bound_heap_push,
    bound_heapify,
    bound_indent,
    bound_item_getter,
    bound_named_tuple,
    bound_opaque,
    bound_reduce,
    bound_some_of,
    bound_super,
    bound_to_json,
    bound_type_of,
    bounder_of_operator,
)
from qwed.engines.code.python.harmless_numbers import (
    bound_all_any,
    bound_choose,
    bound_decimal,
    bound_divisor,
    bound_divmod,
    bound_factorial,
    bound_flag,
    bound_float,
    bound_floor,
    bound_fraction,
    bound_integer,
    bound_largest,
    bound_length,
    bound_multiple,
    bound_power,
    bound_product,
    bound_root,
    bound_round,
    bound_same_number,
    bound_statistics,
    bound_sum,
    bound_unbounded,
    bound_whole_root,
)
from qwed.engines.code.python.harmless_texts import (
    bound_bytes,
    bound_character,
    bound_code,
    bound_digits,
    bound_encode,
    bound_fill,
    bound_find_text,
    bound_format,
    bound_join_text,
    bound_pad,
    bound_partition,
    bound_print,
    bound_quoted,
    bound_replace,
    bound_same_text,
    bound_split,
    bound_tabs,
    bound_text,
    bound_text_flag,
)

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
    **_table("text", _TEXT_TESTS, bound_text_flag),
    **_table("text", _TEXT_SAME, bound_same_text),
    **_table("text", "find rfind index rindex count", bound_find_text),
    **_table("text", "split rsplit splitlines", bound_split),
    **_table("text", "partition rpartition", bound_partition),
    **_table("text", "join", bound_join_text),
    **_table("text", "replace", bound_replace),
    **_table("text", "ljust rjust center zfill", bound_pad),
    **_table("text", "expandtabs", bound_tabs),
    **_table("text", "format", bound_fill),
    **_table("text", "encode decode", bound_encode),
    **_table("number", "bit_length conjugate bit_count", bound_same_number),
    **_table("float", "is_integer", bound_flag),
    **_table("list", "append appendleft insert", bound_append),
    **_table("list", "extend extendleft", bound_extend),
    **_table("list", "pop popleft", bound_take),
    **_table("list", "remove reverse clear rotate", bound_nothing),
    **_table("list", "sort", bound_sort),
    **_table("list", "index count", bound_look),
    **_table("tuple", "index count", bound_look),
    **_table("list", "copy", bound_copy),
    **_table("set", "add", bound_append),
    **_table("set", "update", bound_extend),
    **_table("set", "discard remove clear", bound_nothing),
    **_table("set", "pop", bound_take),
    **_table("set", "union intersection difference symmetric_difference", bound_unite),
    **_table("set", "issubset issuperset isdisjoint", bound_look),
    **_table("set", "copy", bound_copy),
    **_table("dict", "get", bound_get),
    **_table("dict", "setdefault", bound_pick),
    **_table("dict", "pop popitem", bound_take),
    **_table("dict", "update", bound_extend),
    **_table("dict", "items", bound_pairs),
    **_table("dict", "keys values", bound_view),
    **_table("dict", "copy", bound_copy),
    **_table("dict", "clear move_to_end", bound_nothing),
    **_table("dict", "most_common", bound_most_common),
    **_table("dict", "total", bound_look),
}
_OF_ANYTHING: Final = ("text", "list", "dict", "set", "number", "float")


def method_kinds(value: BoundedValue) -> Iterator[str]:
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
VALUES: Final[dict[str, BoundedValue]] = {
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
    **dict.fromkeys((f"builtins.{name}" for name in _ERRORS.split()), bound_error),
    **dict.fromkeys(
        (f"builtins.{name}" for name in ["bool", "callable", "isinstance", "issubclass", "hash"]), bound_flag
    ),
    **dict.fromkeys(("builtins.all", "builtins.any"), bound_all_any),
    "builtins.abs": bound_same_number,
    "builtins.ascii": bound_quoted,
    "builtins.repr": bound_quoted,
    **dict.fromkeys(("builtins.bin", "builtins.hex", "builtins.oct"), bound_digits),
    "builtins.bytes": bound_bytes,
    "builtins.chr": bound_character,
    "builtins.ord": bound_code,
    "builtins.complex": bound_unbounded,
    "builtins.divmod": bound_divmod,
    "builtins.float": bound_float,
    "builtins.int": bound_integer,
    "builtins.format": bound_format,
    "builtins.len": bound_length,
    "builtins.max": bound_largest,
    "builtins.min": bound_largest,
    "builtins.pow": bound_power,
    "builtins.print": bound_print,
    "builtins.round": bound_round,
    "builtins.str": bound_text,
    "builtins.sum": bound_sum,
    "builtins.range": bound_range,
    "builtins.enumerate": bound_enumerate,
    "builtins.zip": bound_zip,
    "builtins.map": bound_map,
    "builtins.filter": bound_filter,
    "builtins.reversed": bound_same_members,
    "builtins.sorted": bound_sort,
    **{f"builtins.{kind}": bounder_of_collection(kind) for kind in ("list", "tuple", "set", "dict")},
    "builtins.frozenset": bounder_of_collection("set"),
    "builtins.object": bound_opaque,
    "builtins.type": bound_type_of,
    "builtins.super": bound_super,
    "builtins.dict.fromkeys": bound_counter,
    **dict.fromkeys((f"math.{name}" for name in _MATH_SMALL.split()), bound_unbounded),
    **dict.fromkeys((f"math.{name}" for name in _MATH_ANY.split()), bound_unbounded),
    **dict.fromkeys(("math.sqrt", "math.cbrt", "math.fabs"), bound_root),
    **dict.fromkeys(("math.floor", "math.ceil", "math.trunc"), bound_floor),
    **dict.fromkeys(("math.isnan", "math.isinf", "math.isfinite", "math.isclose"), bound_flag),
    "math.isqrt": bound_whole_root,
    "math.gcd": bound_divisor,
    "math.lcm": bound_multiple,
    "math.factorial": bound_factorial,
    "math.comb": bound_choose,
    "math.perm": bound_choose,
    "math.prod": bound_product,
    **{
        f"cmath.{name}": bound_unbounded
        for name in ["sqrt", "exp", "log", "phase", "polar", "rect", "sin", "cos"]
    },
    **{
        f"statistics.{name}": bound_statistics
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
    "itertools.chain": bound_same_members,
    "itertools.chain.from_iterable": bound_chained,
    "itertools.islice": bound_same_members,
    "itertools.pairwise": bound_zip,
    "itertools.zip_longest": bound_zip,
    "itertools.accumulate": bound_accumulate,
    **{
        f"itertools.{name}": bound_combine
        for name in ("product", "permutations", "combinations", "combinations_with_replacement")
    },
    "functools.reduce": bound_reduce,
    **dict.fromkeys(("functools.wraps", "functools.lru_cache", "functools.cache"), bound_callable_decorator),
    "collections.Counter": bound_counter,
    "collections.OrderedDict": bounder_of_collection("dict"),
    "collections.deque": bounder_of_collection("list"),
    "collections.defaultdict": bound_default_dict,
    "collections.namedtuple": bound_named_tuple,
    "dataclasses.field": bound_field,
    "dataclasses.dataclass": bound_callable_decorator,
    "decimal.Decimal": bound_decimal,
    "fractions.Fraction": bound_fraction,
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), bound_deep_copy),
    "json.dumps": bound_to_json,
    "json.loads": bound_from_json,
    "heapq.heappush": bound_heap_push,
    "heapq.heappop": bound_heap_pop,
    "heapq.heapify": bound_heapify,
    **dict.fromkeys(("heapq.nlargest", "heapq.nsmallest"), bound_some_of),
    **dict.fromkeys(("bisect.bisect", "bisect.bisect_left", "bisect.bisect_right"), bound_bisect),
    "bisect.insort": bound_heap_push,
    **dict.fromkeys(
        ("textwrap.dedent", "textwrap.indent", "textwrap.fill", "textwrap.shorten"), bound_indent
    ),
    "operator.itemgetter": bound_item_getter,
    "operator.itemgetter()": bound_got_item,
    **{
        f"operator.{name}": bounder_of_operator(op)
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
        f"operator.{name}": bound_flag
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
