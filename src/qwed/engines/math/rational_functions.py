"""Functions of rational arguments: whole numbers, statistics, finance. Each is exact or refuses."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, gcd, lcm, perm
from math import factorial as integer_factorial
from typing import Final

from qwed.engines.math.problems import MAX_BITS, NotRational, UndecidedMath, Undefined, too_large
from qwed.engines.math.ratios import Ratio, checked, power, reduce_ratio, root

_MAX_FACTORIAL: Final = 5_000
_LONG_BITS: Final = 20_000

Arguments = Sequence[Ratio]


def _fraction(value: Ratio) -> Fraction:
    return Fraction(*value)


def _ratio(value: Fraction | int) -> Ratio:
    return checked(value.numerator, value.denominator)


def natural(value: Ratio, most: int = MAX_BITS) -> int:
    """A whole number from 0 to `most`."""
    top, bottom = reduce_ratio(value)
    if bottom != 1 or top < 0:
        raise Undefined(
            f"{top}/{bottom} is not a natural number" if abs(top) < 1 << 64 else "not a natural number"
        )
    if top > most:
        raise too_large()
    return top


def _whole(value: Ratio) -> int:
    top, bottom = reduce_ratio(value)
    if bottom != 1:
        raise Undefined("not an integer")
    return top


def _factorial(arguments: Arguments) -> Ratio:
    top, bottom = arguments[0]
    if bottom != 1:
        raise NotRational("the factorial of a fraction is the gamma function")
    if top < 0:
        raise Undefined("the factorial of a negative integer")
    return integer_factorial(natural((top, 1), _MAX_FACTORIAL)), 1


def _binomial(arguments: Arguments) -> Ratio:
    return comb(natural(arguments[0], _MAX_FACTORIAL), natural(arguments[1], _MAX_FACTORIAL)), 1


def _permutations(arguments: Arguments) -> Ratio:
    return perm(natural(arguments[0], _MAX_FACTORIAL), natural(arguments[1], _MAX_FACTORIAL)), 1


def _mod(arguments: Arguments) -> Ratio:
    (a, b), (c, d) = arguments
    if not c:
        raise Undefined("a remainder of division by zero")
    if a < 0 or c < 0:
        raise UndecidedMath("the remainder of a negative number is a matter of convention")
    return checked((a * d) % (c * b), b * d)


def _round(arguments: Arguments) -> Ratio:
    places = _whole(arguments[1]) if len(arguments) > 1 else 0
    if abs(places) > 1_000:
        raise too_large()
    return _ratio(round_half_away(_fraction(arguments[0]), places))


def round_half_away(value: Fraction, places: int) -> Fraction:
    """The usual rounding of a person: half goes away from zero."""
    scale = Fraction(10) ** places
    scaled = abs(value) * scale
    nearest = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return (nearest if value >= 0 else -nearest) / scale


def _variance(arguments: Arguments, divisor: int) -> Fraction:
    values = list(map(_fraction, arguments))
    if divisor < 1:
        raise Undefined("the variance of a sample needs two values")
    mean = sum(values) / Fraction(len(values))
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / divisor


def _median(arguments: Arguments) -> Ratio:
    values = sorted(map(_fraction, arguments))
    middle = len(values) // 2
    if len(values) % 2:
        return _ratio(values[middle])
    return _ratio((values[middle - 1] + values[middle]) / 2)


def _mode(arguments: Arguments) -> Ratio:
    counts: dict[Ratio, int] = {}
    for value in arguments:
        counts[value] = counts.get(value, 0) + 1
    most = max(counts.values())
    found = [value for value, count in counts.items() if count == most]
    if len(found) > 1:
        raise UndecidedMath("there is more than one mode")
    return found[0]


def _mean(arguments: Arguments) -> Ratio:
    return _ratio(sum(map(_fraction, arguments), Fraction(0)) / len(arguments))


def _square_root(value: Fraction) -> Ratio:
    return root((value.numerator, value.denominator), 2)


def _product_of(arguments: Arguments) -> Ratio:
    result = (1, 1)
    for top, bottom in arguments:
        result = checked(result[0] * top, result[1] * bottom)
    return result


def _geometric_mean(arguments: Arguments) -> Ratio:
    if any(top < 0 for top, _ in arguments):
        raise Undefined("the geometric mean of a negative number")
    return root(_product_of(arguments), len(arguments))


def _harmonic_mean(arguments: Arguments) -> Ratio:
    if any(top <= 0 for top, _ in arguments):
        raise Undefined("the harmonic mean needs positive numbers")
    return _ratio(len(arguments) / sum((1 / _fraction(value) for value in arguments), Fraction(0)))


def _log(arguments: Arguments) -> Ratio:
    return _exact_log(arguments[0], arguments[1])


def _exact_log(value: Ratio, base: Ratio) -> Ratio:
    """The logarithm where it is an integer; powers are tried, nothing is rounded."""
    target, step = _fraction(value), _fraction(base)
    if target <= 0 or step <= 0 or step == 1:
        raise Undefined("the logarithm is not defined there")
    sign = 1
    if (target < 1) != (step < 1):
        target, sign = 1 / target, -1
    reached, count = Fraction(1), 0
    while (reached < target if step > 1 else reached > target) and count < 1_000:
        reached, count = reached * step, count + 1
    if reached == target:
        return sign * count, 1
    raise NotRational("the logarithm is not an integer")


def _fibonacci(arguments: Arguments) -> Ratio:
    low, high = 0, 1
    for _ in range(natural(arguments[0], 10_000)):
        low, high = high, low + high
    return low, 1


def _percent_change(arguments: Arguments) -> Ratio:
    before, after = map(_fraction, arguments)
    if not before:
        raise Undefined("a change from zero has no percentage")
    return _ratio((after - before) / before)


def _quotient(arguments: Arguments) -> Ratio:
    first, second = map(_fraction, arguments)
    if not second:
        raise Undefined("division by zero")
    return _ratio(first / second)


# -- finance -------------------------------------------------------------------------------------


def _growth(rate: Ratio, years: Ratio, per_year: Ratio) -> Fraction:
    """(1 + rate/m) ** (m * years)."""
    periods = natural(per_year, 366)
    if not periods:
        raise Undefined("no compounding period in a year")
    factor = 1 + _fraction(rate) / periods
    return _fraction(_bound_power(factor, _fraction(years) * periods))


def _bound_power(factor: Fraction, count: Fraction) -> Ratio:
    if abs(count) * max(factor.numerator.bit_length(), factor.denominator.bit_length()) > _LONG_BITS:
        raise NotRational("the exact value is too long to be of use")
    return power((factor.numerator, factor.denominator), (count.numerator, count.denominator))


def _fourth(arguments: Arguments) -> Ratio:
    return arguments[3] if len(arguments) > 3 else (1, 1)


def _compound_amount(arguments: Arguments) -> Ratio:
    principal, rate, years = arguments[:3]
    return _ratio(_fraction(principal) * _growth(rate, years, _fourth(arguments)))


def _compound_interest(arguments: Arguments) -> Ratio:
    principal, rate, years = arguments[:3]
    return _ratio(_fraction(principal) * (_growth(rate, years, _fourth(arguments)) - 1))


def _simple_interest(arguments: Arguments) -> Ratio:
    return _product_of(arguments)


def _simple_amount(arguments: Arguments) -> Ratio:
    return _ratio(_fraction(arguments[0]) + _fraction(_product_of(arguments)))


def _present_value(arguments: Arguments) -> Ratio:
    amount, rate, years = arguments[:3]
    growth = _growth(rate, years, _fourth(arguments))
    if not growth:
        raise Undefined("a rate of -100 %")
    return _ratio(_fraction(amount) / growth)


def _loan_payment(arguments: Arguments) -> Ratio:
    """The level payment per period that repays a loan: (principal, yearly rate, years, periods per year)."""
    principal, rate, years = arguments[:3]
    per_year = natural(arguments[3] if len(arguments) > 3 else (12, 1), 366)
    count = _fraction(years) * per_year
    if not rate[0]:
        return _quotient([principal, (count.numerator, count.denominator)])
    growth = _growth(rate, years, (per_year, 1))
    return _ratio(_fraction(principal) * _fraction(rate) / per_year * growth / (growth - 1))


def _annuity_value(arguments: Arguments) -> Ratio:
    """What equal payments at the end of each period are worth at the end."""
    payment, rate, years = arguments[:3]
    per_year = natural(_fourth(arguments), 366)
    if not rate[0]:
        return _ratio(_fraction(payment) * _fraction(years) * per_year)
    growth = _growth(rate, years, (per_year, 1))
    return _ratio(_fraction(payment) * (growth - 1) / (_fraction(rate) / per_year))


def _npv(arguments: Arguments) -> Ratio:
    """The first flow is at time 0."""
    factor = 1 + _fraction(arguments[0])
    if not factor:
        raise Undefined("a rate of -100 %")
    total, discount = Fraction(0), Fraction(1)
    for flow in arguments[1:]:
        total += _fraction(flow) / discount
        discount *= factor
    return _ratio(total)


def _cagr(arguments: Arguments) -> Ratio:
    start, end, years = map(_fraction, arguments)
    if start <= 0 or end < 0 or years <= 0:
        raise Undefined("growth needs a positive start and time")
    growth = _fraction(_bound_power(end / start, 1 / years))
    return _ratio(growth - 1)


FUNCTIONS: Final[dict[str, Callable[[Arguments], Ratio]]] = {
    "sqrt": lambda a: root(a[0], 2),
    "cbrt": lambda a: root(a[0], 3),
    "root": lambda a: root(a[0], max(1, natural(a[1], 1_000))),
    "abs": lambda a: (abs(a[0][0]), a[0][1]),
    "sign": lambda a: ((a[0][0] > 0) - (a[0][0] < 0), 1),
    "floor": lambda a: (a[0][0] // a[0][1], 1),
    "ceil": lambda a: (-(-a[0][0] // a[0][1]), 1),
    "round": _round,
    "factorial": _factorial,
    "binomial": _binomial,
    "permutations": _permutations,
    "fibonacci": _fibonacci,
    "pow": lambda a: power(a[0], a[1]),
    "mod": _mod,
    "gcd": lambda a: (gcd(*map(_whole, a)), 1),
    "lcm": lambda a: checked(lcm(*map(_whole, a)), 1),
    "min": lambda a: _ratio(min(map(_fraction, a))),
    "max": lambda a: _ratio(max(map(_fraction, a))),
    "sum": lambda a: _ratio(sum(map(_fraction, a), Fraction(0))),
    "product": _product_of,
    "mean": _mean,
    "median": _median,
    "mode": _mode,
    "range": lambda a: _ratio(max(map(_fraction, a)) - min(map(_fraction, a))),
    "geometric_mean": _geometric_mean,
    "harmonic_mean": _harmonic_mean,
    "variance": lambda a: _ratio(_variance(a, len(a))),
    "sample_variance": lambda a: _ratio(_variance(a, len(a) - 1)),
    "stdev": lambda a: _square_root(_variance(a, len(a))),
    "sample_stdev": lambda a: _square_root(_variance(a, len(a) - 1)),
    "log": _log,
    "log10": lambda a: _exact_log(a[0], (10, 1)),
    "log2": lambda a: _exact_log(a[0], (2, 1)),
    "percent_change": _percent_change,
    "ratio": _quotient,
    "compound_amount": _compound_amount,
    "compound_interest": _compound_interest,
    "simple_interest": _simple_interest,
    "simple_amount": _simple_amount,
    "present_value": _present_value,
    "loan_payment": _loan_payment,
    "annuity_value": _annuity_value,
    "npv": _npv,
    "cagr": _cagr,
}
