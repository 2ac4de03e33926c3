"""Payments: a positive, exact amount in a known currency, within its limit."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from qwed.domain.json_text import Unrepresentable
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided
from qwed.engines.tools.rules import PaymentRules

_PLAIN_AMOUNT: Final = re.compile(r"[+-]?\d{1,24}(?:\.\d{1,12})?\Z", re.ASCII)
_GROUPED_AMOUNT: Final = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d{1,12})?\Z", re.ASCII)
# A three-digit group after a lone comma or point is thousands to one reader and a fraction to another.
_AMBIGUOUS: Final = re.compile(r"[+-]?\d{1,3}(?:,\d{3}|\.\d{3})\Z", re.ASCII)
_CURRENCY: Final = re.compile(r"[A-Z]{3,5}\Z")
_SIGNS: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_WITH_CURRENCY: Final = re.compile(
    r"\A(?P<before>[$€£¥₹]|[A-Z]{3})?\s*(?P<number>[+\-\d.,]+)\s*(?P<after>[$€£¥₹]|[A-Z]{3})?\Z"
)


def inspect_payment(amount: Any, currency: Any, *, rules: PaymentRules) -> list[ArgumentProblem]:
    """Problems of one amount with its currency; neither needs to be of the right type."""
    value, stated = read_amount(amount)
    shown = str(amount)[:100]
    if isinstance(value, ArgumentProblem):
        return [value]
    if value <= 0:
        return [forbidden("amount", "a payment moves more than nothing", shown)]
    name = _read_currency(currency, stated, rules)
    if isinstance(name, ArgumentProblem):
        return [name]
    return _limit_problems(value, name, rules)


def read_amount(amount: Any) -> tuple[Decimal | ArgumentProblem, str | None]:
    shown = str(amount)[:100]
    if isinstance(amount, bool) or not isinstance(amount, int | float | Decimal | str | Unrepresentable):
        return malformed("amount", "the amount is not a number", shown), None
    if isinstance(amount, Unrepresentable):
        return malformed("amount", f"the amount is {amount.why}", shown), None
    if isinstance(amount, str):
        return _read_text(amount.strip())
    if isinstance(amount, float):
        return (
            Decimal(repr(amount)) if math.isfinite(amount) else malformed("amount", "not finite", shown)
        ), None
    value = Decimal(amount)
    return (value if value.is_finite() else malformed("amount", "the amount is not finite", shown)), None


def _read_text(text: str) -> tuple[Decimal | ArgumentProblem, str | None]:
    match = _WITH_CURRENCY.match(text) if len(text) <= 60 else None
    if match is None:
        return malformed("amount", "the amount is not a number", text[:100]), None
    number, sign = match["number"], match["before"] or match["after"]
    if _AMBIGUOUS.match(number):
        return undecided("amount", "thousands or a fraction: the amount is ambiguous", text), None
    if not _PLAIN_AMOUNT.match(number) and not _GROUPED_AMOUNT.match(number):
        return malformed("amount", "the amount is not a number", text), None
    return Decimal(number.replace(",", "")), _SIGNS.get(sign, sign) if sign else None


def _read_currency(currency: Any, stated: str | None, rules: PaymentRules) -> str | ArgumentProblem:
    given = currency if currency is not None else stated or rules.default_currency
    if given is None:
        return undecided("currency", "no currency is given", "")
    name = _SIGNS.get(given, given.strip().upper()) if isinstance(given, str) else ""
    if not _CURRENCY.match(name):
        return malformed("currency", "the currency is not a code such as EUR", str(given)[:40])
    if stated is not None and stated != name:
        return forbidden("currency", f"the amount is in {stated}, the payment in {name}", name)
    return name


def _limit_problems(value: Decimal, currency: str, rules: PaymentRules) -> list[ArgumentProblem]:
    limits: Mapping[str, Decimal] = rules.limits
    if not limits:
        return [undecided("limit", "no payment limit is configured", f"{value} {currency}")]
    limit = limits.get(currency)
    if limit is None:
        return [forbidden("limit", f"no limit is configured for {currency}", f"{value} {currency}")]
    if value > limit:
        return [forbidden("limit", f"more than the limit of {limit} {currency}", f"{value} {currency}")]
    return []
