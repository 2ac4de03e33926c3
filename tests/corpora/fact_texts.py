"""Claims about small invented worlds, with the answer computed from the world and not from any text.

A world has things with measures, foundings, holders of roles and events. A text states some of that in one
wording; a claim states something in another wording: the truth, a falsehood, or what the text leaves open.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

VERIFIED, FAILED, UNCERTAIN = "VERIFIED", "FAILED", "UNCERTAIN"


class Case(NamedTuple):
    source: str
    claim: str
    expected: str


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_PLACES = ("Arlen", "Brookfield", "Castle Rock", "Derry", "Elmwood", "Fairview", "Gotham", "Hill Valley")
_COMPANIES = (
    "Acme Corp",
    "Globex",
    "Initech",
    "Umbrella Group",
    "Soylent Foods",
    "Hooli",
    "Vandelay Imports",
)
_PEOPLE = (
    "Alice Brown",
    "Bruno Keller",
    "Chiara Rossi",
    "David Okafor",
    "Erin Walsh",
    "Farid Nasser",
    "Grace Liu",
)
_TOWERS = ("the Grand Tower", "the North Bridge", "the Old Lighthouse", "the Silver Dam", "the West Gate")
_LENGTHS = {"m": 1.0, "metres": 1.0, "meters": 1.0, "cm": 0.01, "km": 1000.0}


def _grouped(number: int) -> str:
    return f"{number:,}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _date_forms(year: int, month: int, day: int) -> list[str]:
    name = _MONTHS[month - 1]
    return [
        f"on {day} {name} {year}",
        f"on {name} {day}, {year}",
        f"on {year}-{month:02}-{day:02}",
        f"on {day} {name[:3]} {year}",
    ]


def height_cases(chooser: random.Random) -> Iterator[Case]:
    tower, other = chooser.sample(_TOWERS, 2)
    metres = chooser.randrange(20, 900)
    wrong = metres + chooser.choice((-7, 5, 11, 120))
    stated = chooser.choice(
        (
            f"{tower} is {metres} metres tall.",
            f"{tower} has a height of {metres} m.",
            f"The height of {tower} is {metres} meters.",
            f"{tower}'s height is {metres} m.",
        )
    )
    source = _capital(stated)
    yield Case(source, _capital(f"{tower} is {metres} m tall."), VERIFIED)
    yield Case(source, _capital(f"{tower} has a height of {_grouped(metres * 100)} cm."), VERIFIED)
    yield Case(source, f"The height of {tower} is {metres} metres.", VERIFIED)
    yield Case(source, _capital(f"{tower} is more than {metres - 3} m tall."), VERIFIED)
    yield Case(source, _capital(f"{tower} is at least {metres} m tall."), VERIFIED)
    yield Case(source, _capital(f"{tower} is {wrong} m tall."), FAILED)
    yield Case(source, _capital(f"{tower}'s height is {wrong} metres."), FAILED)
    yield Case(source, _capital(f"{tower} is less than {metres} m tall."), FAILED)
    yield Case(source, _capital(f"{tower} is not {metres} m tall."), FAILED)
    yield Case(source, _capital(f"{other} is {metres} m tall."), UNCERTAIN)
    yield Case(source, _capital(f"{tower} is {metres} m wide."), UNCERTAIN)
    yield Case(source, _capital(f"{tower} was {wrong} m tall."), UNCERTAIN)


def comparison_cases(chooser: random.Random) -> Iterator[Case]:
    first, second, third = chooser.sample(_TOWERS, 3)
    low, high = sorted(chooser.sample(range(20, 900), 2))
    source = _capital(f"{first} is {high} m tall. ") + _capital(f"{second} has a height of {low * 100} cm.")
    yield Case(source, _capital(f"{first} is taller than {second}."), VERIFIED)
    yield Case(source, _capital(f"{second} is shorter than {first}."), VERIFIED)
    yield Case(source, f"The height of {first} is greater than the height of {second}.", VERIFIED)
    yield Case(source, _capital(f"{second} is taller than {first}."), FAILED)
    yield Case(source, _capital(f"{first} is not taller than {second}."), FAILED)
    yield Case(source, _capital(f"{first} is taller than {third}."), UNCERTAIN)
    yield Case(source, _capital(f"{first} is heavier than {second}."), UNCERTAIN)


def population_cases(chooser: random.Random) -> Iterator[Case]:
    place, other = chooser.sample(_PLACES, 2)
    tenths = chooser.randrange(11, 99)
    people = tenths * 100_000
    source = chooser.choice(
        (
            f"{place} has a population of {tenths / 10} million.",
            f"The population of {place} is {_grouped(people)}.",
            f"{place}, with a population of {tenths / 10} million, is a large city.",
            f"{place}'s population is {tenths / 10} million.",
        )
    )
    wrong = (tenths + chooser.choice((3, 8, -4))) / 10
    yield Case(source, f"The population of {place} is {tenths / 10} million.", VERIFIED)
    yield Case(source, f"{place} has a population of {_grouped(people)}.", VERIFIED)
    if tenths % 10:
        yield Case(source, f"{place} has a population of more than {tenths // 10} million.", VERIFIED)
    yield Case(source, f"{place}'s population is {wrong} million.", FAILED)
    yield Case(source, f"{place} has a population of {_grouped(people + 500_000)}.", FAILED)
    yield Case(source, f"The population of {other} is {tenths / 10} million.", UNCERTAIN)
    yield Case(source, f"The population of {place} was {wrong} million in 1950.", UNCERTAIN)


def founding_cases(chooser: random.Random) -> Iterator[Case]:
    company, other = chooser.sample(_COMPANIES, 2)
    founder = chooser.choice(_PEOPLE)
    year, month, day = chooser.randrange(1900, 2020), chooser.randrange(1, 13), chooser.randrange(1, 29)
    form = chooser.choice(_date_forms(year, month, day))
    source = chooser.choice(
        (
            f"{company} was founded {form}.",
            f"{founder} founded {company} {form}.",
            f"{company} was founded by {founder} {form}.",
        )
    )
    later = year + chooser.choice((1, 2, 15))
    yield Case(source, f"{company} was founded in {year}.", VERIFIED)
    yield Case(source, f"{company} was founded {chooser.choice(_date_forms(year, month, day))}.", VERIFIED)
    yield Case(source, f"{company} was founded in {_MONTHS[month - 1]} {year}.", VERIFIED)
    yield Case(source, f"{company} was founded in the {year // 10 * 10}s.", VERIFIED)
    yield Case(source, f"{company} was founded in {later}.", FAILED)
    yield Case(source, f"{company} was founded {_date_forms(year, month, day % 28 + 1)[0]}.", FAILED)
    yield Case(source, f"{company} was not founded in {year}.", FAILED)
    yield Case(source, f"{other} was founded in {year}.", UNCERTAIN)
    yield Case(source, f"{company} was closed in {year}.", UNCERTAIN)
    yield Case(f"{company} was founded in {year}.", f"{company} was founded {form}.", UNCERTAIN)


def role_cases(chooser: random.Random) -> Iterator[Case]:
    company, other = chooser.sample(_COMPANIES, 2)
    person, stranger = chooser.sample(_PEOPLE, 2)
    source = chooser.choice(
        (
            f"{person} is the CEO of {company}.",
            f"The CEO of {company} is {person}.",
            f"{company}'s CEO is {person}.",
            f"{person}, the CEO of {company}, visited Derry in 2019.",
        )
    )
    yield Case(source, f"The CEO of {company} is {person}.", VERIFIED)
    yield Case(source, f"{person} is the CEO of {company}.", VERIFIED)
    yield Case(source, f"{company}'s CEO is {person}.", VERIFIED)
    yield Case(source, f"{stranger} is the CEO of {company}.", FAILED)
    yield Case(source, f"The CEO of {company} is {stranger}.", FAILED)
    yield Case(source, f"{person} is not the CEO of {company}.", FAILED)
    yield Case(source, f"{person} is the CEO of {other}.", UNCERTAIN)
    yield Case(source, f"{person} was the CEO of {company}.", UNCERTAIN)
    yield Case(source, f"{stranger} is the CFO of {company}.", UNCERTAIN)


def event_cases(chooser: random.Random) -> Iterator[Case]:
    buyer, bought, other = chooser.sample(_COMPANIES, 3)
    year, price = chooser.randrange(1990, 2024), chooser.randrange(2, 90)
    source = chooser.choice(
        (
            f"{buyer} acquired {bought} in {year} for ${price} million.",
            f"In {year}, {buyer} acquired {bought} for ${price} million.",
            f"{bought} was acquired by {buyer} in {year} for ${price} million.",
        )
    )
    yield Case(source, f"{buyer} acquired {bought}.", VERIFIED)
    yield Case(source, f"{bought} was acquired by {buyer}.", VERIFIED)
    yield Case(source, f"{bought} was acquired in {year}.", VERIFIED)
    yield Case(source, f"{buyer} acquired {bought} for ${_grouped(price * 1_000_000)}.", VERIFIED)
    yield Case(source, f"{buyer} acquired {bought} in {year + 1}.", FAILED)
    yield Case(source, f"{buyer} did not acquire {bought}.", FAILED)
    yield Case(source, f"{buyer} acquired {bought} in {year} for ${price + 3} million.", FAILED)
    yield Case(source, f"{bought} acquired {buyer}.", UNCERTAIN)
    yield Case(source, f"{other} acquired {bought}.", UNCERTAIN)
    yield Case(source, f"{buyer} acquired {other}.", UNCERTAIN)


_DOUBTS = (
    "If all goes well, {}",
    "Critics said that {}",
    "Reportedly, {}",
    "It is false that {}",
    "According to a rumor, {}",
    "Nobody knows whether {}",
    "Perhaps {}",
)


def hedged_cases(chooser: random.Random) -> Iterator[Case]:
    company = chooser.choice(_COMPANIES)
    employees = chooser.randrange(20, 9_000)
    claim = f"{company} has {_grouped(employees)} employees."
    yield Case(claim, claim, VERIFIED)
    yield Case(chooser.choice(_DOUBTS).format(claim), claim, UNCERTAIN)
    yield Case(f'A blog wrote: "{claim}"', claim, UNCERTAIN)
    yield Case(claim.replace(".", "?"), claim, UNCERTAIN)
    yield Case(f"{company} may have {_grouped(employees)} employees.", claim, UNCERTAIN)
    yield Case(f"{company} does not have {_grouped(employees)} employees.", claim, FAILED)
    yield Case(f"{company} has about {_grouped(employees)} employees.", claim, UNCERTAIN)
    yield Case(f"{company} has {_grouped(employees)} employees in Derry.", claim, UNCERTAIN)
    yield Case(f"{company} had {_grouped(employees + 50)} employees in 2001.", claim, UNCERTAIN)
    yield Case(f"{claim} {company} has {_grouped(employees + 7)} employees.", claim, UNCERTAIN)


_GRAMMARS = (
    height_cases,
    comparison_cases,
    population_cases,
    founding_cases,
    role_cases,
    event_cases,
    hedged_cases,
)
_FILLER = (
    "The weather was mild.",
    "Visitors come from many countries.",
    "A new road opened near the river.",
    "The council met twice that week.",
    "Nothing else is known about it.",
)


def text_cases(rounds: int, seed: int = 5) -> Iterator[Case]:
    """Cases of every kind, half of them inside a longer text."""
    chooser = random.Random(seed)
    for _ in range(rounds):
        for grammar in _GRAMMARS:
            for case in grammar(chooser):
                if chooser.random() < 0.5:
                    before, after = chooser.sample(_FILLER, 2)
                    case = case._replace(source=f"{before} {case.source} {after}")
                yield case
