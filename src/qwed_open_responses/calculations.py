"""Calculations in structured values: which fields state one, and what its result is.

A calculator yields one `CalculationClaim` for each result an object states. What an object leaves unclear (an
operand that is not a number, a charge of unknown sign) yields nothing: it was not checked, and is not called
wrong.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

# Beyond these a power or a product is not worth computing.
_MAX_EXPONENT: Final = 1_000
_MAX_DIGITS: Final = 2_000

Object = Mapping[str, Json]


class StatedNumber(msgspec.Struct, frozen=True):
    """A stated number: its value, whether it came as a float, and how many decimals it was written with."""

    value: Fraction | int
    is_float: bool
    decimals: int


class CalculationClaim(msgspec.Struct, frozen=True):
    """`formula` as a person writes it; `results` are the readings under which the claim would be right."""

    formula: str
    results: tuple[Fraction | int, ...]
    stated: StatedNumber
    has_floats: bool


HOLDS: Final = CalculationClaim("", (0,), StatedNumber(0, False, 0), False)


def number(value: Any) -> StatedNumber | None:
    """The number that a JSON value is; a bool is none, a numeric string is one."""
    kind = type(value)
    if kind is int:
        return StatedNumber(value, False, 0)
    if kind is bool:
        return None
    if isinstance(value, float):
        return _decimal(Decimal(repr(value)), True) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return _decimal(value, False) if value.is_finite() else None
    if isinstance(value, str) and 0 < len(value) <= 40:
        return _numeric_text(value)
    return None


def _decimal(value: Decimal, is_float: bool) -> StatedNumber | None:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _MAX_EXPONENT:
        return None
    return StatedNumber(Fraction(value), is_float, max(0, -exponent))


def _numeric_text(text: str) -> StatedNumber | None:
    bare = text.strip().lstrip("$€£¥").replace(",", "").replace("_", "")
    if not bare.removeprefix("-").replace(".", "", 1).isdigit() or not bare.isascii():
        return None
    return _decimal(Decimal(bare), False)


def shown(value: Fraction | int) -> str:
    """A number as it is written: exact where that is finite, else rounded to six decimals."""
    if value.denominator == 1:
        return str(value.numerator)
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return f"{exact.normalize():f}" if Fraction(exact) == value else f"{round(float(value), 6):g}"


def claims_in(value: Object) -> Iterator[CalculationClaim]:
    """Every calculation that one object states."""
    for has, calculate in _CALCULATORS:
        if not has.isdisjoint(value):
            yield from calculate(value)


# Operation fields

_OPERATIONS: Final = {
    "+": ("add", "plus", "sum", "addition", "+", "adding"),
    "−": ("subtract", "minus", "subtraction", "difference", "-", "−", "sub"),
    "×": ("multiply", "times", "product", "multiplication", "*", "×", "x", "mul", "mult"),
    "÷": ("divide", "division", "quotient", "/", "÷", "div", "divided_by"),
    "^": ("power", "pow", "exponent", "exponentiate", "^", "**", "exponentiation"),
    "mod": ("mod", "modulo", "modulus", "remainder"),
    "% of": ("percent", "percentage", "percent_of", "percentage_of", "% of"),
}
_SIGN_OF: Final = {name: sign for sign, names in _OPERATIONS.items() for name in names}
_OPERATION_KEYS: Final = ("operation", "op", "operator", "function", "calculation")
_OPERAND_KEYS: Final = (
    ("x", "y"), ("a", "b"), ("left", "right"), ("lhs", "rhs"), ("first", "second"), ("num1", "num2"),
    ("n1", "n2"), ("operand1", "operand2"), ("operand_1", "operand_2"), ("value1", "value2"),
    ("number1", "number2"),
    ("dividend", "divisor"), ("numerator", "denominator"), ("base", "exponent"), ("minuend", "subtrahend"),
    ("augend", "addend"), ("multiplicand", "multiplier"), ("percent", "value"), ("percentage", "value"),
)  # fmt: skip
_LIST_KEYS: Final = ("operands", "numbers", "values", "args", "terms", "inputs")
_RESULT_KEYS: Final = (
    "result",
    "answer",
    "output",
    "total",
    "solution",
    "expected_result",
    "computed",
    "value",
)


def _operation(value: Object) -> Iterator[CalculationClaim]:
    name = next((value[key] for key in _OPERATION_KEYS if isinstance(value.get(key), str)), "")
    sign = _SIGN_OF.get(name.strip().lower().replace(" ", "_"), _SIGN_OF.get(name.strip().lower()))
    if sign is None:
        return
    stated = _first(value, _RESULT_KEYS)
    operands = _operands(value)
    if stated is None or operands is None:
        return
    if sign in _WHOLE and _is_whole_and_right(sign, operands, stated):
        yield HOLDS
        return
    formula = f" {sign} ".join(shown(operand.value) for operand in operands)
    results = tuple(_fold(sign, [operand.value for operand in operands]))
    yield CalculationClaim(formula, results, stated, _has_floats(*operands, stated))


# Signs whose results are whole numbers where the operands are.
_WHOLE: Final = frozenset("+−×")


def _is_whole_and_right(sign: str, operands: list[StatedNumber], stated: StatedNumber) -> bool:
    """The quick answer to most claims, which need neither fractions nor a formula to show."""
    if len(operands) != 2 or stated.decimals or operands[0].decimals or operands[1].decimals:
        return False
    return bool(_APPLY[sign](operands[0].value, operands[1].value) == stated.value)


def _operands(value: Object) -> list[StatedNumber] | None:
    for left, right in _OPERAND_KEYS:
        if left in value and right in value:
            return _all_numbers((value[left], value[right]))
    for key in _LIST_KEYS:
        if isinstance(value.get(key), list) and 2 <= len(value[key]) <= 1_000:
            return _all_numbers(value[key])
    return None


def _all_numbers(values: Any) -> list[StatedNumber] | None:
    numbers = [number(each) for each in values]
    return [each for each in numbers if each is not None] if None not in numbers else None


def _fold(sign: str, operands: list[Fraction | int]) -> Iterator[Fraction | int]:
    """The result, or nothing where there is none, such as a division by zero."""
    total = operands[0]
    for operand in operands[1:]:
        if (sign in ("÷", "mod") and operand == 0) or (sign == "^" and not _is_sane_power(total, operand)):
            return
        total = _APPLY[sign](total, operand)
    yield total


def _is_sane_power(base: Fraction | int, exponent: Fraction | int) -> bool:
    if exponent.denominator != 1 or not -_MAX_EXPONENT <= exponent <= _MAX_EXPONENT or (base == 0 > exponent):
        return False
    digits = len(str(base.numerator)) + len(str(base.denominator))
    return digits * abs(int(exponent)) <= _MAX_DIGITS


def _power(base: Any, exponent: Any) -> Fraction:
    return Fraction(base) ** int(exponent)


_APPLY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "−": lambda left, right: left - right,
    "×": lambda left, right: left * right,
    "÷": lambda left, right: Fraction(left) / right,
    "^": _power,
    "mod": lambda left, right: left % right,
    "% of": lambda left, right: Fraction(left * right) / 100,
}


# Totals

_PRICE_KEYS: Final = ("unit_price", "price", "unitPrice", "price_per_unit", "unit_cost", "rate")
_QUANTITY_KEYS: Final = ("quantity", "qty", "count", "units", "amount_ordered")
_LINE_KEYS: Final = (
    "line_total",
    "lineTotal",
    "total",
    "subtotal",
    "amount",
    "total_price",
    "extended_price",
)
_ITEM_KEYS: Final = ("items", "line_items", "lineItems", "products", "lines", "cart")
_TOTAL_KEYS: Final = (
    "total",
    "grand_total",
    "grandTotal",
    "total_amount",
    "amount_due",
    "total_due",
    "total_price",
)
_SUBTOTAL_KEYS: Final = ("subtotal", "sub_total", "subTotal", "net", "net_total", "net_amount")
_ADDED_KEYS: Final = (
    "tax", "tax_amount", "vat", "vat_amount", "gst", "sales_tax", "shipping", "shipping_cost", "shipping_fee",
    "delivery", "delivery_fee", "tip", "gratuity", "fee", "fees", "service_fee", "service_charge", "handling",
    "handling_fee", "surcharge",
)  # fmt: skip
_TAKEN_KEYS: Final = ("discount", "discount_amount", "coupon", "credit", "rebate", "savings", "promo")
_RATE_KEYS: Final = ("tax_rate", "vat_rate", "tax_percent", "vat_percent", "tax_percentage")
# A field with one of these in its name may change a total in a way that is not known here.
_UNCLEAR: Final = (
    "discount",
    "tax",
    "fee",
    "charge",
    "shipping",
    "deposit",
    "paid",
    "adjust",
    "round",
    "exchange",
    "credit",
)


def _line(value: Object) -> Iterator[CalculationClaim]:
    price, quantity = _first(value, _PRICE_KEYS), _first(value, _QUANTITY_KEYS)
    stated = _first(value, _LINE_KEYS)
    if price is None or quantity is None or stated is None or not _ITEM_SET.isdisjoint(value):
        return
    if _has_unclear(value, frozenset()):
        return
    formula = f"{shown(quantity.value)} × {shown(price.value)}"
    yield CalculationClaim(
        formula, (quantity.value * price.value,), stated, _has_floats(price, quantity, stated)
    )


def _totals(value: Object) -> Iterator[CalculationClaim]:
    items = _items_sum(value)
    subtotal, total = _first(value, _SUBTOTAL_KEYS), _first(value, _TOTAL_KEYS)
    if items is not None and subtotal is not None:
        yield CalculationClaim(f"the sum of the items {items[1]}", (items[0],), subtotal, True)
    base = subtotal.value if subtotal is not None else items[0] if items is not None else None
    if base is None or total is None or _has_unclear(value, _KNOWN_CHARGES):
        return
    charges = [(1, key) for key in _ADDED_KEYS if key in value] + [
        (-1, key) for key in _TAKEN_KEYS if key in value
    ]
    numbers = _all_numbers(value[key] for _, key in charges)
    if numbers is None or (subtotal is not None and not charges and items is None):
        return
    signed = [(sign, each) for (sign, _), each in zip(charges, numbers, strict=True)]
    formula = shown(base) + "".join(
        f" {'+' if sign > 0 else '−'} {shown(each.value)}" for sign, each in signed
    )
    yield CalculationClaim(formula, tuple(_sums(base, signed)), total, True)


def _sums(base: Fraction | int, charges: list[tuple[int, StatedNumber]]) -> Iterator[Fraction | int]:
    """All charges as amounts; and those between 0 and 1 as the parts of the base that they may be."""
    yield base + sum(sign * each.value for sign, each in charges)
    parts = [each.value * base if 0 < each.value < 1 else each.value for _, each in charges]
    yield base + sum(sign * part for (sign, _), part in zip(charges, parts, strict=True))


def _tax(value: Object) -> Iterator[CalculationClaim]:
    base, rate = _first(value, _SUBTOTAL_KEYS), _first(value, _RATE_KEYS)
    tax = _first(value, ("tax", "tax_amount", "vat", "vat_amount"))
    if base is None or rate is None or tax is None:
        return
    readings = (Fraction(base.value * rate.value) / 100, base.value * rate.value)
    yield CalculationClaim(f"{shown(rate.value)}% of {shown(base.value)}", readings, tax, True)


def _items_sum(value: Object) -> tuple[Fraction | int, str] | None:
    items = next((value[key] for key in _ITEM_KEYS if isinstance(value.get(key), list)), None)
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    parts = [_item_amount(item) for item in items]
    if any(part is None for part in parts):
        return None
    amounts = [part for part in parts if part is not None]
    return sum(amounts, Fraction(0)), " + ".join(shown(part) for part in amounts[:6])


def _item_amount(item: Object) -> Fraction | int | None:
    price, quantity = _first(item, _PRICE_KEYS), _first(item, _QUANTITY_KEYS)
    line = _first(item, _LINE_KEYS)
    if _has_unclear(item, frozenset()):
        return line.value if line is not None else None
    if price is None:
        return line.value if line is not None else None
    if not _QUANTITY_SET.isdisjoint(item) and quantity is None:
        return None
    return price.value * (quantity.value if quantity is not None else 1)


# Percentages


def _percentage(value: Object) -> Iterator[CalculationClaim]:
    percent = _first(value, ("percent", "percentage", "pct"))
    base = _first(value, ("of", "base", "whole", "base_amount", "base_value"))
    part = _first(value, ("result", "part", "answer", "portion"))
    if percent is None or base is None or part is None or not _OPERATION_SET.isdisjoint(value):
        return
    formula = f"{shown(percent.value)}% of {shown(base.value)}"
    yield CalculationClaim(
        formula, (Fraction(percent.value * base.value) / 100,), part, _has_floats(percent, base, part)
    )


def _find_discounted(value: Object) -> Iterator[CalculationClaim]:
    original = _first(value, ("original_price", "list_price", "old_price", "price_before"))
    percent = _first(value, ("discount_percent", "discount_percentage", "percent_off", "discount_pct"))
    final = _first(value, ("final_price", "sale_price", "discounted_price", "new_price", "price_after"))
    if original is None or percent is None or final is None:
        return
    result = Fraction(original.value * (100 - percent.value)) / 100
    yield CalculationClaim(f"{shown(original.value)} − {shown(percent.value)}%", (result,), final, True)


def _change(value: Object) -> Iterator[CalculationClaim]:
    old = _first(value, ("old_value", "previous", "old", "before", "start_value"))
    new = _first(value, ("new_value", "current", "new", "after", "end_value"))
    stated = _first(value, ("percent_change", "percentage_change", "change_percent", "growth_percent"))
    if old is None or new is None or stated is None or old.value == 0:
        return
    result = Fraction((new.value - old.value) * 100) / abs(Fraction(old.value))
    yield CalculationClaim(
        f"({shown(new.value)} − {shown(old.value)}) ÷ {shown(old.value)} in %", (result,), stated, True
    )


def _first(value: Object, keys: tuple[str, ...]) -> StatedNumber | None:
    return next((found for key in keys if key in value and (found := number(value[key])) is not None), None)


def _has_floats(*numbers: StatedNumber) -> bool:
    return any(each.is_float for each in numbers)


def _has_unclear(value: Object, known: frozenset[str]) -> bool:
    return any(
        isinstance(key, str) and key not in known and any(word in key.lower() for word in _UNCLEAR)
        for key in value
    )


_ITEM_SET: Final = frozenset(_ITEM_KEYS)
_QUANTITY_SET: Final = frozenset(_QUANTITY_KEYS)
_OPERATION_SET: Final = frozenset(_OPERATION_KEYS)
_KNOWN_CHARGES: Final = frozenset((*_ADDED_KEYS, *_TAKEN_KEYS, *_RATE_KEYS))
_CALCULATORS: Final[tuple[tuple[frozenset[str], Callable[[Object], Iterator[CalculationClaim]]], ...]] = (
    (_OPERATION_SET, _operation),
    (_QUANTITY_SET, _line),
    (frozenset(_TOTAL_KEYS + _SUBTOTAL_KEYS), _totals),
    (frozenset(_RATE_KEYS), _tax),
    (frozenset({"percent", "percentage", "pct"}), _percentage),
    (frozenset({"discount_percent", "discount_percentage", "percent_off", "discount_pct"}), _find_discounted),
    (frozenset({"percent_change", "percentage_change", "change_percent", "growth_percent"}), _change),
)
