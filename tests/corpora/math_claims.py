"""Claims with answers computed apart from the engine: by fractions, decimals and the standard library.

Every generator takes a seeded source of randomness and yields `Claim`s. A wrong claim is made from a
right one by changing its result by more than any rounding could explain.
"""

import random
import statistics
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

getcontext().prec = 60


class Claim(NamedTuple):
    text: str
    is_right: bool
    # What a wrong claim has to be corrected to, where there is only one way to write it.
    corrected: str | None = None


def decimals_of(value: Fraction) -> int | None:
    """How many decimals the value needs; None when it never ends."""
    for places in range(15):
        if (value * 10**places).denominator == 1:
            return places
    return None


def plain(value: Fraction) -> str:
    places = decimals_of(value)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.{places}f}"


def rounded(value: Fraction, places: int) -> str:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))


def grouped(value: int) -> str:
    return f"{value:,}"


def _claims(
    left: str, relation: str, value: Fraction, source: random.Random, tail: str = ""
) -> Iterator[Claim]:
    """The right claim and a wrong one, off by a visible amount."""
    yield Claim(f"{left}{relation}{plain(value)}{tail}", True)
    places = decimals_of(value)
    if places is None:
        return
    wrong = value + source.choice([-1, 1]) * source.randint(1, 9) * Fraction(1, 10**places)
    # With the same number of decimals: without a closing zero it might be a right result, rounded.
    yield Claim(f"{left}{relation}{rounded(wrong, places)}{tail}", False)


# -- arithmetic ----------------------------------------------------------------------------------


class _Tree(NamedTuple):
    text: str
    value: Fraction
    # 0 for sums, 1 for products, 2 for what needs no brackets.
    level: int


def _leaf(source: random.Random) -> _Tree:
    kind = source.randrange(5)
    if kind == 0:
        value = Fraction(source.randint(0, 9999), 100)
        return _Tree(plain(value), value, 2)
    if kind == 1:
        number = source.randint(1_000, 9_999_999)
        return _Tree(grouped(number), Fraction(number), 2)
    if kind == 2:
        number = source.randint(1, 99)
        return _Tree(f"{number}%", Fraction(number, 100), 2)
    number = source.randint(0, 200)
    return _Tree(str(number), Fraction(number), 2)


def _tree(source: random.Random, depth: int) -> _Tree:
    if depth == 0 or source.random() < 0.2:
        return _leaf(source)
    left, right = _tree(source, depth - 1), _tree(source, depth - 1)
    sign = source.choice("+-*/^")
    if sign == "^":
        count = source.randint(0, 4)
        if not left.value and not count:
            return left
        return _Tree(f"({left.text}){source.choice(['^', '**'])}{count}", left.value**count, 2)
    if sign == "/" and not right.value:
        sign = "*"
    if sign in "+-":
        # A bare percentage after a sum has two readings; in brackets it has one.
        second = f"({right.text})" if right.level == 0 or right.text.endswith("%") else right.text
        value = left.value + right.value if sign == "+" else left.value - right.value
        return _Tree(
            f"{left.text} {source.choice([sign, sign, '−' if sign == '-' else '+'])} {second}", value, 0
        )
    first = f"({left.text})" if left.level == 0 else left.text
    second = f"({right.text})" if right.level < 2 else right.text
    if sign == "*":
        return _Tree(f"{first} {source.choice('*×·')} {second}", left.value * right.value, 1)
    return _Tree(f"{first} {source.choice('/÷')} {second}", left.value / right.value, 1)


def arithmetic(source: random.Random) -> Iterator[Claim]:
    tree = _tree(source, source.randint(1, 4))
    if abs(tree.value.numerator) > 10**40 or tree.value.denominator > 10**30:
        return
    yield from _claims(tree.text, source.choice([" = ", "=", " == "]), tree.value, source)


def expressions(source: random.Random) -> Iterator[tuple[str, Fraction]]:
    tree = _tree(source, source.randint(1, 4))
    if abs(tree.value.numerator) < 10**40 and tree.value.denominator < 10**30:
        yield tree.text, tree.value


def chains(source: random.Random) -> Iterator[Claim]:
    a, b, c = (source.randint(2, 60) for _ in range(3))
    total = a * b + c
    yield Claim(f"{a} * {b} + {c} = {a * b} + {c} = {total}", True)
    yield Claim(f"{a} * {b} + {c} = {a * b + 1} + {c} = {total + 1}", False)
    low, high = sorted((a, total))
    yield Claim(f"{low} < {high + 1} <= {high + 1}", True)
    yield Claim(f"{high + 1} < {low}", False, f"{high + 1} > {low}")
    yield Claim(f"{a} + {b} ≠ {a + b + c}", True)
    yield Claim(f"{a} + {b} >= {a + b}", True)
    yield Claim(f"{a} + {b} > {a + b}", False, f"{a} + {b} = {a + b}")


def roundings(source: random.Random) -> Iterator[Claim]:
    top, bottom = source.randint(1, 999), source.choice([3, 7, 11, 13, 17, 19, 23, 29])
    places = source.randint(1, 6)
    value = Fraction(top, bottom)
    yield Claim(f"{top} / {bottom} = {rounded(value, places)}", True)
    unit = Fraction(source.choice([-2, -1, 1, 2]), 10**places)
    yield Claim(
        f"{top} / {bottom} = {rounded(Fraction(rounded(value, places)) + unit, places)}",
        value.denominator == 0,
    )
    if value.denominator != 1:
        whole = rounded(value, 0)
        yield Claim(f"{top} / {bottom} = {whole}", False)
        yield (
            Claim(f"{top} / {bottom} ≈ {whole}", True)
            if int(whole) % 10
            else Claim(f"{whole} = {whole}", True)
        )


def money(source: random.Random) -> Iterator[Claim]:
    count, cents = source.randint(2, 40), source.randint(1, 99_99)
    total = Fraction(count * cents, 100)
    price = f"${Decimal(cents) / 100:.2f}"
    for amount, is_right in ((total, True), (total + Fraction(source.randint(1, 500), 100), False)):
        shown = f"${Decimal(amount.numerator) / amount.denominator:,.2f}"
        right = f"${Decimal(total.numerator) / total.denominator:,.2f}"
        for left in (f"the total is {count} × {price}", f"{count} * {price}", f"{price} x {count}"):
            yield Claim(f"{left} = {shown}", is_right, None if is_right else f"{left} = {right}")


# -- sentences -----------------------------------------------------------------------------------

_ONES = [
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        rest = number % 10
        return _TENS[number // 10] + (f"-{_ONES[rest]}" if rest else "")
    if number < 1000:
        rest = number % 100
        return f"{_ONES[number // 100]} hundred" + (f" and {in_words(rest)}" if rest else "")
    rest = number % 1000
    return f"{in_words(number // 1000)} thousand" + (f" {in_words(rest)}" if rest else "")


def spoken(source: random.Random) -> Iterator[Claim]:
    a, b = source.randint(2, 900), source.randint(2, 90)
    # "five hundred and ten" is one number or two.
    say = source.choice([str, in_words, grouped] if a % 100 else [str, grouped])
    equals = source.choice(["is", "equals", "is equal to", "makes", "gives"])
    for phrase, value in (
        (f"{say(a)} plus {say(b)}", a + b),
        (f"{say(a)} minus {say(b)}", a - b),
        (f"{say(a)} times {say(b)}", a * b),
        (f"{say(a)} multiplied by {say(b)}", a * b),
        (f"{say(a * b)} divided by {say(b)}", a),
        (f"the sum of {say(a)} and {say(b)}", a + b),
        (f"the product of {say(a)} and {say(b)}", a * b),
        (f"the difference between {say(a)} and {say(b)}", abs(a - b)),
        (f"adding {say(a)} and {say(b)}", a + b),
        (f"{say(b)} squared", b * b),
        (f"twice {say(a)}", 2 * a),
        (f"half of {say(2 * a)}", a),
        (f"{say(b)} less than {say(a + b)}", a),
        (f"{say(b)} more than {say(a)}", a + b),
        (f"the square root of {b * b}", b),
        (f"two thirds of {say(3 * a)}", 2 * a),
    ):
        if "square root" in phrase and equals in ("makes", "gives"):
            continue
        yield Claim(f"{phrase} {equals} {value}", True)
        wrong = value + source.randint(1, 50)
        right = f"{phrase} {equals} {value}"
        yield Claim(f"{phrase} {equals} {wrong}", False, right)


def percentages(source: random.Random) -> Iterator[Claim]:
    rate, base = source.randint(1, 99), source.randint(1, 80) * 25
    part = Fraction(rate * base, 100)
    more, less = base + part, base - part
    for left, value in (
        (f"{rate}% of {base} is ", part),
        (f"{rate} percent of {base} equals ", part),
        (f"Increasing {base} by {rate}% gives ", more),
        (f"Decreasing {base} by {rate}% gives ", less),
        (f"{base} increased by {rate}% is ", more),
        (f"{base} reduced by {rate}% is ", less),
        (f"{rate}% off {base} is ", less),
        (f"{rate}% more than {base} is ", more),
        (f"{base} + {rate}% = ", more),
        (f"{rate}% × {base} = ", part),
    ):
        yield from _claims(left, "", value, source)
    yield Claim(f"{plain(part)} is {rate}% of {base}", True)
    yield Claim(f"{plain(part + 1)} is {rate}% of {base}", False, f"{plain(part)} is {rate}% of {base}")
    yield Claim(f"{plain(part)} out of {base} is {rate}%", True)
    yield Claim(f"the percentage increase from {base} to {plain(more)} is {rate}%", True)
    yield Claim(f"the percentage increase from {base} to {plain(more)} is {rate + 1}%", False)


def lists(source: random.Random) -> Iterator[Claim]:
    numbers = [source.randint(1, 60) for _ in range(source.randint(3, 8))]
    said = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    exact = list(map(Fraction, numbers))
    for name, value in (
        ("average", statistics.mean(exact)),
        ("mean", statistics.mean(exact)),
        ("median", statistics.median(exact)),
        ("sum", sum(exact)),
        ("range", max(exact) - min(exact)),
        ("largest", max(exact)),
        ("population variance", statistics.pvariance(exact)),
        ("sample variance", statistics.variance(exact)),
    ):
        shown = plain(value) if decimals_of(value) is not None else rounded(value, 2)
        yield Claim(f"the {name} of {said} is {shown}", True)
        yield Claim(f"the {name} of {said} is {plain(Fraction(shown) + source.randint(1, 9))}", False)
    deviation = Decimal(statistics.pstdev(map(Decimal, numbers)))
    yield Claim(f"the population standard deviation of {said} is {deviation:.4f}", True)
    yield Claim(f"the population standard deviation of {said} is {deviation + Decimal('0.01'):.4f}", False)


_SCENES = (
    "{name} sold {left} = {mark}{result} clips in May.",
    "So the total cost is {left} = ${mark}{result}.",
    "There are {left} = {mark}{result} more apples than pears in the basket.",
    "If each box holds that many, then {name} needs {left} = {mark}{result} boxes in 3 days.",
    "{name} then has {left} = {mark}{result} dollars left.",
    "Altogether, {name} walked {left} = {mark}{result} miles.",
)


def stories(source: random.Random) -> Iterator[Claim]:
    """Worked answers as schoolbooks and public data sets write them, with and without <<a=b>> marks."""
    right_lines, wrong_lines, fixed_lines = [], [], []
    for line in range(source.randint(1, 4)):
        a, b = source.randint(2, 400), source.randint(2, 40)
        sign, value = source.choice([("+", a + b), ("-", a - b), ("*", a * b), ("/", Fraction(a, b))])
        if decimals_of(Fraction(value)) is None:
            sign, value = "*", a * b
        left = f"{a}{sign}{b}"
        shown = left if source.random() < 0.5 else f"{a} {sign} {b}"
        scene, name = source.choice(_SCENES), source.choice(["Natalia", "Weng", "Betty", "Tom"])
        result, wrong = plain(Fraction(value)), plain(Fraction(value) + source.randint(1, 30))
        marked = source.random() < 0.6
        mark = f"<<{left}={result}>>" if marked else ""
        bad_mark = f"<<{left}={wrong}>>" if marked else ""
        right_lines.append(scene.format(name=name, left=shown, mark=mark, result=result))
        bad = scene.format(name=name, left=shown, mark=bad_mark, result=wrong)
        wrong_lines.append(bad if line == 0 else right_lines[-1])
    fixed_lines = right_lines
    yield Claim("\n".join(right_lines), True)
    yield Claim("\n".join(wrong_lines), False, "\n".join(fixed_lines))


def questions(source: random.Random) -> Iterator[Claim]:
    a, b = source.randint(2, 999), source.randint(2, 999)
    word, value = source.choice([("plus", a + b), ("minus", a - b), ("times", a * b)])
    for form in (
        "What is {q}? {r}",
        "Q: What is {q}? A: {r}",
        "What is {q}? The answer is {r}.",
        "{q} = {r}",
    ):
        question = f"{a} {word} {b}"
        yield Claim(form.format(q=question, r=value), True)
        yield Claim(form.format(q=question, r=value + 10), False, form.format(q=question, r=value))


def units(source: random.Random) -> Iterator[Claim]:
    hours, minutes = source.randint(1, 20), source.randint(1, 59)
    total = 60 * hours + minutes
    yield Claim(f"{hours} hours + {minutes} minutes = {total} minutes", True)
    yield Claim(f"{hours} hours + {minutes} minutes = {hours + minutes} minutes", False)
    metres = source.randint(1, 40)
    yield Claim(f"{metres} km = {metres * 1000} meters", True)
    yield Claim(f"{metres} km = {metres * 100} meters", False, f"{metres} km = {metres * 1000} meters")
    yield Claim(f"{hours} hours * ${metres} per hour = ${hours * metres}", True)
    yield Claim(f"{hours} hours * ${metres} per hour = ${hours * metres + 1}", False)
    yield Claim(f"{hours} apples + {minutes} oranges = {hours + minutes} fruits", True)


# -- finance -------------------------------------------------------------------------------------


def finance(source: random.Random) -> Iterator[Claim]:
    principal, years = source.randint(1, 400) * 100, source.randint(1, 30)
    rate = Decimal(source.randint(1, 1200)) / 100
    every, periods = source.choice([("annually", 1), ("quarterly", 4), ("monthly", 12)])
    growth = (1 + rate / 100 / periods) ** (periods * years)
    amount = principal * growth
    payment = principal * (rate / 1200) / (1 - (1 + rate / 1200) ** (-12 * years))
    flows = [source.randint(-5000, 5000) for _ in range(source.randint(2, 6))]
    npv = sum(Decimal(flow) / (1 + rate / 100) ** year for year, flow in enumerate(flows))
    said = ", ".join(map(str, flows))
    for text, value in (
        (f"${principal} invested at {rate}% compounded {every} for {years} years grows to ${{}}", amount),
        (
            f"The compound interest on ${principal} at {rate}% compounded {every} for {years} years is ${{}}",
            amount - principal,
        ),
        (
            f"The simple interest on ${principal} at {rate}% for {years} years is ${{}}",
            principal * rate * years / 100,
        ),
        (f"The monthly payment on a ${principal:,} loan at {rate}% for {years} years is ${{}}", payment),
        (f"npv({rate}%, {said}) = {{}}", npv),
        (f"compound_amount({principal}, {rate}%, {years}, {periods}) = {{}}", amount),
    ):
        yield Claim(text.format(f"{value:.2f}"), True)
        yield Claim(text.format(f"{value + Decimal('0.03'):.2f}"), False, text.format(f"{value:.2f}"))


# -- algebra -------------------------------------------------------------------------------------

_Poly = dict[int, int]


def _poly(source: random.Random, degree: int) -> _Poly:
    poly = {power: source.randint(-9, 9) for power in range(degree)}
    poly[degree] = source.choice([-3, -2, -1, 1, 2, 3])
    return {power: factor for power, factor in poly.items() if factor}


def _poly_text(poly: _Poly) -> str:
    parts = []
    for power in sorted(poly, reverse=True):
        factor = poly[power]
        name = "" if power == 0 else "x" if power == 1 else f"x^{power}"
        size = str(abs(factor)) if abs(factor) != 1 or not name else ""
        parts.append(("- " if factor < 0 else "+ ") + size + name)
    text = " ".join(parts) or "+ 0"
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def _multiplied(left: _Poly, right: _Poly) -> _Poly:
    result: _Poly = {}
    for a, factor in left.items():
        for b, other in right.items():
            result[a + b] = result.get(a + b, 0) + factor * other
    return {power: factor for power, factor in result.items() if factor}


def _changed(poly: _Poly, source: random.Random) -> _Poly:
    power = source.choice(sorted(poly) or [0])
    changed = {**poly, power: poly.get(power, 0) + source.choice([-2, -1, 1, 2])}
    return {power: factor for power, factor in changed.items() if factor}


def identities(source: random.Random) -> Iterator[Claim]:
    first, second = _poly(source, source.randint(1, 3)), _poly(source, source.randint(1, 3))
    product = _multiplied(first, second)
    left = f"({_poly_text(first)})({_poly_text(second)})"
    yield Claim(f"{left} = {_poly_text(product)}", True)
    wrong = _changed(product, source)
    if wrong and max(wrong) > 0:
        yield Claim(f"{left} = {_poly_text(wrong)}", False)
    square = _multiplied(first, first)
    yield Claim(f"({_poly_text(first)})^2 = {_poly_text(square)}", True)


def derivatives(source: random.Random) -> Iterator[Claim]:
    poly = _poly(source, source.randint(2, 6))
    derived = {power - 1: power * factor for power, factor in poly.items() if power}
    for left in (f"derivative of {_poly_text(poly)} is ", f"d/dx ({_poly_text(poly)}) = "):
        yield Claim(left + _poly_text(derived), True)
        yield Claim(left + _poly_text(_changed(derived, source)), False)
    for left in (f"integral of {_poly_text(derived)} is ", f"∫ ({_poly_text(derived)}) dx = "):
        yield Claim(f"{left}{_poly_text(poly)} + C", True)
        wrong = {power: factor for power, factor in poly.items() if power}
        top = max(wrong)
        yield Claim(f"{left}{_poly_text({**wrong, top: wrong[top] + 5})} + C", False)
    low, high = source.randint(-3, 0), source.randint(1, 4)
    area = sum(factor * (high**power - low**power) for power, factor in poly.items())
    yield Claim(f"integral of {_poly_text(derived)} from {low} to {high} is {area}", True)
    yield Claim(f"integral of {_poly_text(derived)} from {low} to {high} is {area + 1}", False)


def solutions(source: random.Random) -> Iterator[Claim]:
    roots = sorted(source.sample(range(-9, 10), source.randint(1, 3)))
    poly: _Poly = {0: source.choice([-2, -1, 1, 3])}
    for root in roots:
        poly = _multiplied(poly, {1: 1, 0: -root} if root else {1: 1})
    said = " and ".join(f"x = {root}" for root in roots)
    off = " and ".join(f"x = {root}" for root in (*roots[:-1], roots[-1] + 20))
    equation = f"{_poly_text(poly)} = 0"
    for form in ("{e} has solutions {v}", "The solutions of {e} are {v}", "solve {e}; {v}"):
        yield Claim(form.format(e=equation, v=said), True)
        yield Claim(form.format(e=equation, v=off), False)
        if len(roots) > 1:
            yield Claim(form.format(e=equation, v=f"x = {roots[0]}"), False)
    yield Claim(f"x = {roots[0]} is a solution of {equation}", True)
    yield Claim(f"x = {roots[0] + 20} is a solution of {equation}", False)


# -- matrices ------------------------------------------------------------------------------------

_Grid = list[list[int]]


def _determinant(grid: _Grid) -> int:
    total = 0
    for order in permutations(range(len(grid))):
        swaps = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
        term = -1 if swaps % 2 else 1
        for row, column in enumerate(order):
            term *= grid[row][column]
        total += term
    return total


def matrices(source: random.Random) -> Iterator[Claim]:
    size = source.randint(2, 4)
    first, second = ([[source.randint(-9, 9) for _ in range(size)] for _ in range(size)] for _ in range(2))
    determinant = _determinant(first)
    product = [
        [sum(first[i][k] * second[k][j] for k in range(size)) for j in range(size)] for i in range(size)
    ]
    turned = [[first[j][i] for j in range(size)] for i in range(size)]
    yield Claim(f"det({first}) = {determinant}", True)
    yield Claim(
        f"the determinant of {first} is {determinant + 3}",
        False,
        f"the determinant of {first} is {determinant}",
    )
    yield Claim(f"{first} * {second} = {product}", True)
    yield Claim(f"{first} * {second} = {second}", product == second)
    yield Claim(f"transpose of {first} is {turned}", True)
    yield Claim(f"trace({first}) = {sum(first[i][i] for i in range(size))}", True)


FAMILIES: dict[str, tuple[Callable[[random.Random], Iterator[Claim]], int]] = {
    "arithmetic": (arithmetic, 700),
    "chains": (chains, 60),
    "roundings": (roundings, 150),
    "money": (money, 60),
    "spoken": (spoken, 30),
    "percentages": (percentages, 40),
    "lists": (lists, 40),
    "stories": (stories, 250),
    "questions": (questions, 60),
    "units": (units, 40),
    "finance": (finance, 40),
    "identities": (identities, 80),
    "derivatives": (derivatives, 40),
    "solutions": (solutions, 40),
    "matrices": (matrices, 40),
}


def claims(family: str) -> list[Claim]:
    generate, rounds = FAMILIES[family]
    source = random.Random(f"math {family}")
    return [claim for _ in range(rounds) for claim in generate(source)]
