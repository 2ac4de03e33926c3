# ruff: noqa: E501, SIM905
"""Worked answers to word problems, true ones and the same with one claimed value changed.

A template is text with slots. `{a}` is a number that was drawn, `{w:a}` the same in words, `{=a*b}` a value that is
claimed: it is worked out here, and one of them is changed to make a false text. `|,` groups thousands, `|2` writes
two decimals. What stands after `::` are conditions and derived numbers, in the order they are needed.

The templates in this file were looked at while the rules of the engine were written. Those of
`worked_answers_held_out` were written beforehand, with other forms and words, and only measured.
"""

import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SLOT: Final = re.compile(r"\{([^{}]+)\}")
_TRIES: Final = 4_000


class Words(NamedTuple):
    names: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]


class Worked(NamedTuple):
    """A text, whether all it claims is right, and for a false one the true text it was made from."""

    text: str
    is_right: bool
    right_text: str
    template: str


def generate(
    templates: tuple[str, ...], words: Words, seed: str, count: int, *, joined: bool = True
) -> Iterator[Worked]:
    """`count` true texts, each with a false one made from it where it claims anything."""
    source = random.Random(seed)
    for index in range(count):
        chosen = [templates[index % len(templates)]]
        if joined:
            chosen += source.sample(templates, source.choice((0, 0, 1, 2)))
            source.shuffle(chosen)
        yield from _pair(chosen, words, source)


def _pair(chosen: list[str], words: Words, source: random.Random) -> Iterator[Worked]:
    parts = [part for template in chosen for part in _parts(template, words, source)]
    claims = [index for index, part in enumerate(parts) if isinstance(part, _Claim)]
    right = "".join(map(str, parts)).strip()
    yield Worked(right, True, right, chosen[0])
    if not claims:
        return
    target = source.choice(claims)
    claim = parts[target]
    assert isinstance(claim, _Claim)
    parts[target] = claim.changed(source)
    wrong = "".join(map(str, parts)).strip()
    yield Worked(wrong, False, right, chosen[0])


class _Claim(NamedTuple):
    value: Fraction
    style: str

    def __str__(self) -> str:
        return shown(self.value, self.style)

    def changed(self, source: random.Random) -> "_Claim":
        """Another value, never one that the right one could be rounded to."""
        while True:
            other = source.choice((_nudged, _scaled, _swapped))(self.value, source)
            if (
                other > 0
                and abs(other - self.value) >= Fraction(1, 2)
                and shown(other, self.style) != str(self)
            ):
                return _Claim(other, self.style)


def _nudged(value: Fraction, source: random.Random) -> Fraction:
    return value + source.choice((1, -1, 2, -2, 3, 5, 10, -10, 100))


def _scaled(value: Fraction, source: random.Random) -> Fraction:
    return value * source.choice((2, 3, 10))


def _swapped(value: Fraction, source: random.Random) -> Fraction:
    digits = list(str(abs(value.numerator // value.denominator)))
    source.shuffle(digits)
    return Fraction(int("".join(digits))) + value % 1


def shown(value: Fraction, style: str) -> str:
    if style == "2":
        return f"{float(value):.2f}"
    if value.denominator != 1:
        return f"{float(value):.4f}".rstrip("0").rstrip(".")
    return f"{value.numerator:,}" if style == "," else str(value.numerator)


def spoken(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10 - 2] + (f"-{_ONES[value % 10]}" if value % 10 else "")
    rest = f" {spoken(value % 100)}" if value % 100 else ""
    return f"{_ONES[value // 100]} hundred{rest}"


def _parts(template: str, words: Words, source: random.Random) -> list["str | _Claim"]:
    text, _, conditions = template.partition("::")
    numbers = _drawn(conditions, source)
    given: dict[str, str] = {
        "name": source.choice(words.names),
        "things": source.choice(words.things),
        "place": source.choice(words.places),
    }
    given["thing"] = given["things"].removesuffix("s")
    found: list[str | _Claim] = []
    for index, piece in enumerate(_SLOT.split(text.strip())):
        found.append(_filled(piece, numbers, given) if index % 2 else piece)
    # A line without a full stop is a line of its own.
    found.append(source.choice((" ", "\n")) if text.strip().endswith(".") else "\n")
    return found


def _filled(slot: str, numbers: dict[str, Fraction], given: dict[str, str]) -> "str | _Claim":
    if slot in given:
        return given[slot]
    body, _, style = slot.partition("|")
    if body.startswith("="):
        return _Claim(_value(body[1:], numbers), style)
    if body.startswith("w:"):
        return spoken(int(numbers[body[2:]]))
    return shown(_value(body, numbers), style)


def _drawn(conditions: str, source: random.Random) -> dict[str, Fraction]:
    """Small a to f, larger m and n, a price p, a percentage q, kept when every condition holds."""
    for _ in range(_TRIES):
        numbers = {name: Fraction(source.randint(2, 20)) for name in "abcdef"}
        numbers |= {name: Fraction(source.randint(30, 480)) for name in "mn"}
        numbers |= {"k": Fraction(source.randint(2, 60) * 1000), "p": Fraction(source.randint(3, 90))}
        numbers |= {"q": Fraction(source.randint(1, 18) * 5), "r": Fraction(source.randint(105, 2499), 100)}
        if _hold(conditions, numbers):
            return numbers
    raise ValueError(f"no numbers for {conditions!r}")


def _hold(conditions: str, numbers: dict[str, Fraction]) -> bool:
    for condition in filter(None, map(str.strip, conditions.split(";"))):
        name, sign, expression = condition.partition(":=")
        if sign:
            numbers[name.strip()] = _value(expression, numbers)
        elif not _value(condition, numbers):
            return False
    return True


def _value(expression: str, numbers: dict[str, Fraction]) -> Fraction:
    # The expressions are those of the templates in these two files.
    value = eval(expression, {"__builtins__": {}}, dict(numbers))
    return Fraction(value)


WORDS: Final = Words(
    ("Natalia", "Weng", "Betty", "James", "Mark", "Albert", "Ken", "Alexis", "Tina", "Randy"),
    ("apples", "pencils", "books", "cookies", "stickers", "marbles", "tickets", "pizzas"),
    ("the store", "school", "the farm", "the bakery"),
)

# Answers in the manner of school books.
TEMPLATES: Final = (
    "{name} sold {a}*{b} = <<{a}*{b}={=a*b}>>{=a*b} {things} in May.",
    "{name} has {m}/{a} = <<{m}/{a}={=m/a}>>{=m/a} {things}. :: m%a==0",
    "{name} earns ${p} x {a} = ${=p*a}.",
    "The total cost of {w:a} {things} is ${p} x {a} = ${=p*a}.",
    "{name} trains {a}*{b}={=a*b} hours per day. :: a<6;b<4",
    "So in {w:a} weeks {name} makes {a} * ${p} = ${=a*p}.",
    "There are {a} rows with {b} {things} each, so there are {a}*{b}={=a*b} {things} at {place}.",
    "{a} boxes * {b} {things}/box = {=a*b} {things}.",
    "{name} spent ${p}*{a}=$<<{p}*{a}={=p*a}>>{=p*a} on {things}.",
    "{name} read {a} pages on Monday and {b} pages on Tuesday, which is {a} + {b} = {=a+b} pages.",
    "After that, {n} - {a} = {=n-a} {things} are left.",
    "{name} gave away {q}% of {n} {things}, which is {q}/100*{n} = {=q*n/100} {things}. :: (q*n)%100==0",
    "The discount is ${n} * .{q} = ${=n*q/100}. :: q>9;(q*n)%100==0",
    "{q}% of {n} is {=q*n/100}. :: (q*n)%100==0",
    "The profit was ${k|,} - ${n|,} = ${=k-n|,}.",
    "In total there are {a} + {b} + {c} = {=a+b+c} {things}.",
    "{name} needs {a} x {b} = {=a*b} {things}, and {=a*b} - {c} = {=a*b-c} more. :: a*b>c",
    "So {name} has {a}+{b}={=a+b} {things}.",
    "Each of the {a} friends gets {m} / {a} = {=m/a} {things}. :: m%a==0",
    "It takes {name} {a} hours * 60 minutes/hour = {=a*60} minutes to get to {place}.",
    "{name} bought {a} {things} at ${r|2} each, which cost {a} * ${r|2} = ${=a*r|2}.",
    "The {things} cost {p}€ each, so {name} pays {p}€ * {a} = {=p*a}€.",
    "First find the number of {things} in {w:a} boxes: {a} boxes * {b} {things}/box = {=a*b} {things}",
    "Then add the number of {things}: {m} {things} + {n} {things} = {=m+n} {things}",
    "{name}'s age is {a}*2={=a*2} years, and in {b} years it is {=a*2}+{b}={=a*2+b} years.",
    "There are 7 days in a week, so {name} uses {a}*7={=a*7} {things} per week.",
    "{w:a} of them are broken, so {name} can sell {n}-{a}={=n-a} {things}.",
    "{name} walks {a} miles/day * {b} days = {=a*b} miles.",
    "{n} minutes is {n-30}+30={=n} minutes. :: n>60",
    "The rent is {a} months x ${n}/month = ${=a*n}.",
    "The {things} weigh {a} pounds each, a total of {a}*{b}={=a*b} pounds.",
    "Twice as many {things} is {a}*2={=a*2}.",
    "Half of the {n} {things} is {n}/2={=n/2} {things}. :: n%2==0",
    "{name} pays ${m} for the {thing} plus ${p} for shipping, or {m} + {p} = ${=m+p}.",
    "{name} had {n} {things}, gave {a} to each of {b} friends and kept {n}-({a}*{b})={=n-a*b}. :: n>a*b",
    "({a} + {b}) * {c} = {=(a+b)*c} {things}",
    "The answer is {a} * {b} + {c} = {=a*b+c}.",
    "The cost per {thing} is ${m}/{a} = ${=m/a|2}.",
    "1/{a} of the {m} {things} is 1/{a} * {m} = {=m/a} {things}. :: m%a==0",
    "{name} ran {a} laps in the morning, {b} at noon and {c} at night for a total of {a}+{b}+{c}={=a+b+c} laps.",
    "If there are {w:a} {things} in a dozen boxes, there are {a} x 12 = {=a*12} {things}.",
    "{name} saves ${p} every week for {a} weeks: ${p} × {a} = ${=p*a}",
    "Since {q}% are gone, 100-{q}={=100-q}% are left.",
    "A {thing} costs {p} cents, so {a} {things} cost {a}*{p}={=a*p} cents.",
    "{name} worked {a} hours on each of {w:b} days, so {name} worked {a} hours/day * {b} days = {=a*b} hours.",
    "The speed is {m} miles / {a} hours = {=m/a} miles per hour. :: m%a==0",
    "{a}x{b}={=a*b} {things}",
    "{name} makes {a}*{b}*{c}=${=a*b*c} a week.",
    "Let x be the number of {things}. x + {a} = {n}, so x = {n} - {a} = {=n-a}.",
    "{name} is {a} + {b} = {=a+b} years old, {c} years older than 10 + {d} = {=10+d}.",
    "The class of {n} has {a} groups of {b} = {=a*b} children in it.",
    "One day has 24 hours, and {a} days have 24 * {a} = {=24*a} hours.",
    "{name} gets a {q}% raise of ${k|,} * {q}% = ${=k*q/100|,}.",
    "He spent {a}+{b}={=a+b}+{c}={=a+b+c} dollars.",
    "{a} + {b} = {=a+b} * {c} = {=(a+b)*c}",
)

# Explanations of multiple-choice answers.
RATIONALES: Final = (
    "Explanation: speed = {m}/{a} = {=m/a} km/hr. :: m%a==0",
    "Total marks = {a} * {b} + {c} * {d} = {=a*b+c*d}",
    "Required average = ({m} + {n})/2 = {=(m+n)/2}. Answer: B",
    "S.P. = {n} * {100+q}/100 = {=n*(100+q)/100} :: (n*q)%100==0",
    "Let the number be x. Then x + {a} = {n} => x = {=n-a}. Answer is C.",
    "{a} men can do it in {b} days, so 1 man needs {a} * {b} = {=a*b} days",
    "A's 1 day work = 1/{a}, so {b} days' work = {b}/{a}",
    "Interest = {k} * {a} * {b}/100 = Rs. {=k*a*b/100} :: (k*a*b)%100==0",
    "C.P. = Rs. {n}, gain = Rs. {m-30}, S.P. = {n} + {m-30} = Rs. {=n+m-30}",
    "distance = speed * time = {a} * {b} = {=a*b} km",
    "Given ratio {a}:{b}, sum of the parts = {a} + {b} = {=a+b}",
    "{q}% of {n} = {q}/100 * {n} = {=q*n/100} :: (q*n)%100==0",
    "Area = length x breadth = {a} x {b} = {=a*b} sq. m, answer A",
    "({a} + {b})({c}) = {=(a+b)*c}, so (D) is the answer",
    "{a}x = {a*b}; x = {=b}",
    "Time taken = {m}/{a} = {=m/a} hours, i.e. {m/a} hrs. :: m%a==0",
    "Number of ways = {a} × {b} × {c} = {=a*b*c}.\nOption E",
    "LCM = {a*b}. Hence {a*b} / {a} = {=b}",
    "Gain = {m} - {a}\n= {=m-a}",
    "2({a} + {b}) = {=2*(a+b)} m",
    "{a}² = {=a*a} and {b}^2 = {=b*b}",
    "square root of {a*a} = {=a}",
    "{n}/{a} = {n//a} approximately :: n%a>0",
    "From statement 1: x > {a}. Not sufficient. From 2: {a} + {b} = {=a+b}.",
    "Rs.{n} ---> {n} * {a} = {=n*a}\n1 ---> ?",
    "Profit % = {a}/{a*2} * 100 = {=50}%",
    "({m} km/hr) = {m} * 5/18 = {=m*5/18} m/sec :: m%18==0",
)
