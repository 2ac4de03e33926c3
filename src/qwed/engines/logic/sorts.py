"""Sorts: what a variable ranges over, by the many names people give them."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.engines.logic.refusals import NotLogic
from qwed.engines.logic.sexpr import Sexpr, symbol, write

BOOL: Final = "Bool"
INT: Final = "Int"
REAL: Final = "Real"
INDIVIDUAL: Final = "Individual"
TEXT: Final = "Text"

# Names the solver gives to sorts of its own, whatever the logic.
TAKEN_SORTS: Final = frozenset(
    {
        *(
            "Array",
            "BitVec",
            "Bool",
            "FiniteSet",
            "Float128",
            "Float16",
            "Float32",
            "Float64",
            "FloatingPoint",
        ),
        *(
            "Int",
            "List",
            "Proof",
            "Real",
            "RegEx",
            "RegLan",
            "RoundingMode",
            "Seq",
            "Set",
            "String",
            "Unicode",
        ),
        *("bool", "bv"),
    }
)

MAX_SORT_CHARACTERS: Final = 64
MAX_BITS: Final = 4096
MAX_MEMBERS: Final = 1000

_NAMES: Final = {
    **dict.fromkeys(("bool", "boolean", "prop", "proposition", "𝔹"), BOOL),
    **dict.fromkeys(("int", "integer", "integers", "z", "ℤ"), INT),
    **dict.fromkeys(("nat", "natural", "naturals", "n", "ℕ"), "nat"),
    **dict.fromkeys(
        ("real", "reals", "float", "double", "decimal", "rational", "number", "r", "ℝ", "q", "ℚ"), REAL
    ),
    **dict.fromkeys(("str", "string", "text"), TEXT),
    **dict.fromkeys(("individual", "object", "entity"), INDIVIDUAL),
}
# Capital letters alone are too likely predicates or sets to be sorts inside a formula.
_LETTERS: Final = frozenset("zZnNrRqQ")
_BITS: Final = re.compile(r"(?:bv|bitvec|bits|u|uint|i|int|sint)_?[\[( ]?(\d{1,4})[\])]?", re.IGNORECASE)
_SIGNED: Final = re.compile(r"i|int|sint", re.IGNORECASE)
_ARRAY: Final = re.compile(
    r"array\s*[\[( ]\s*([\w() ]+?)\s*(?:,|->|\s)\s*([\w() ]+?)\s*[\])]?", re.IGNORECASE
)


class Sort(msgspec.Struct, frozen=True):
    """`term` is the SMT-LIB sort; the rest is what SMT-LIB does not say in a sort."""

    term: Sexpr
    is_signed: bool = False
    is_natural: bool = False
    members: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return write(self.term)


def is_sort_name(name: str) -> bool:
    """Whether a word inside a formula names a sort."""
    if name in _LETTERS:
        return False
    return name.lower() in _NAMES or _BITS.fullmatch(name) is not None


def read_sort(name: str, specification: Any) -> Sort:
    """The sort a caller gives the variable `name`: a word, a list of members, `{"enum": […]}`,
    `{"bitvec": 8}`. Raises `NotLogic`."""
    if isinstance(specification, Mapping) and len(specification) == 1:
        ((kind, detail),) = specification.items()
        if kind == "enum":
            return _enumeration(name, detail)
        if kind == "bitvec":
            return read_sort(name, f"bitvec{detail}")
    if isinstance(specification, list | tuple):
        return _enumeration(name, specification)
    if not isinstance(specification, str):
        raise NotLogic(f"the sort of {name!r} is a name or a list of members")
    return _name(name, specification.strip())


def _name(name: str, word: str) -> Sort:
    if len(word) > MAX_SORT_CHARACTERS:
        raise NotLogic(f"the sort of {name!r} is {len(word)} characters long")
    known = _NAMES.get(word.lower())
    if known == "nat":
        return Sort(INT, is_natural=True)
    if known is not None:
        return Sort(known)
    bits = _BITS.fullmatch(word)
    if bits is not None:
        return _bit_vector(name, int(bits[1]), is_signed=_SIGNED.match(word) is not None)
    array = _ARRAY.fullmatch(word.strip("()"))
    if array is not None:
        return Sort(("Array", _name(name, array[1]).term, _name(name, array[2]).term))
    if word.isidentifier():
        return Sort(symbol(f"{word}.own" if word in TAKEN_SORTS else word))
    raise NotLogic(f"{word[:60]!r} is no sort for {name!r}")


def _bit_vector(name: str, width: int, *, is_signed: bool) -> Sort:
    if not 1 <= width <= MAX_BITS:
        raise NotLogic(f"{name!r} has {width} bits, of 1 to {MAX_BITS}")
    return Sort(("_", "BitVec", str(width)), is_signed=is_signed)


def _enumeration(name: str, members: Any) -> Sort:
    if not isinstance(members, list | tuple) or not members or len(members) > MAX_MEMBERS:
        raise NotLogic(f"{name!r} needs 1 to {MAX_MEMBERS} members")
    if not all(isinstance(member, str) for member in members) or len(set(members)) != len(members):
        raise NotLogic(f"the members of {name!r} are distinct names")
    return Sort(symbol(f"{name}-values"), members=tuple(members))
