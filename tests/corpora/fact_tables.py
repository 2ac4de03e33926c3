"""Claims about generated tables and objects; the answers come from Python's own arithmetic."""

import random
import statistics
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

VERIFIED, FAILED, UNCERTAIN = "VERIFIED", "FAILED", "UNCERTAIN"


class Case(NamedTuple):
    sources: Any
    claim: str
    expected: str


_PRODUCTS = ("Lamp", "Desk", "Chair", "Sofa", "Mirror", "Carpet", "Shelf", "Clock", "Vase", "Stool")
_CATEGORIES = ("Office", "Garden", "Kitchen")


def _table(chooser: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "product": product,
            "category": chooser.choice(_CATEGORIES),
            "price": chooser.randrange(5, 500),
            "units sold": chooser.randrange(1, 90),
        }
        for product in chooser.sample(_PRODUCTS, chooser.randrange(3, 9))
    ]


def _shapes(rows: list[dict[str, Any]], chooser: random.Random) -> Any:
    """The same table as objects, as rows, as CSV, as Markdown, as JSON text or with an id."""
    header = list(rows[0])
    cells = [[str(row[name]) for name in header] for row in rows]
    shape = chooser.randrange(6)
    if shape == 0:
        return [header, *[[row[name] for name in header] for row in rows]]
    if shape == 1:
        return "\n".join(",".join(line) for line in [header, *cells])
    if shape == 2:
        rule = ["---"] * len(header)
        return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *cells])
    if shape == 3:
        return [{"id": "stock", "table": rows}]
    if shape == 4:
        return {"id": "stock", "csv": "\n".join(";".join(line) for line in [header, *cells])}
    return rows


def _off(value: Fraction | int, chooser: random.Random) -> int:
    return int(value) + chooser.choice((2, 3, 17))


def table_cases(rounds: int, seed: int = 3) -> Iterator[Case]:
    chooser = random.Random(seed)
    for _ in range(rounds):
        rows = _table(chooser)
        sources = _shapes(rows, chooser)
        for claim, expected in _claims(rows, chooser):
            yield Case(sources, claim, expected)


def _claims(rows: list[dict[str, Any]], chooser: random.Random) -> Iterator[tuple[str, str]]:
    prices = [row["price"] for row in rows]
    units = [row["units sold"] for row in rows]
    yield f"The total units sold is {sum(units)}.", VERIFIED
    yield f"The sum of the units sold is {_off(sum(units), chooser)}.", FAILED
    mean = statistics.mean(map(Fraction, prices))
    rounded = round(Decimal(mean.numerator) / Decimal(mean.denominator), 2)
    yield f"The average price is {rounded}.", VERIFIED
    yield f"The average price is {rounded + 1}.", FAILED
    yield f"The median price is {float(statistics.median(map(Fraction, prices)))}.", VERIFIED
    yield f"There are {len(rows)} products.", VERIFIED
    yield f"The number of rows is {len(rows) + 1}.", FAILED
    yield f"The highest price is {max(prices)}.", VERIFIED
    yield f"The lowest price is {min(prices) - 1}.", FAILED
    yield from _category_claims(rows, chooser)
    yield from _row_claims(rows, prices, chooser)


def _category_claims(rows: list[dict[str, Any]], chooser: random.Random) -> Iterator[tuple[str, str]]:
    category = chooser.choice(rows)["category"]
    chosen = [row for row in rows if row["category"] == category]
    total = sum(row["units sold"] for row in chosen)
    yield f"The total units sold in the {category} category is {total}.", VERIFIED
    yield f"The total units sold in the {category} category is {_off(total, chooser)}.", FAILED
    yield f"There are {len(chosen)} products in the {category} category.", VERIFIED
    yield f"There are {len(chosen) + 1} products in the {category} category.", FAILED
    bound = chooser.randrange(50, 400)
    above = sum(row["price"] > bound for row in rows)
    yield f"The number of products with a price above {bound} is {above}.", VERIFIED
    yield f"The number of products with a price above {bound} is {above + 1}.", FAILED
    yield "The total units sold in the Bathroom category is 5.", UNCERTAIN
    yield "The total weight is 12.", UNCERTAIN


def _row_claims(
    rows: list[dict[str, Any]], prices: list[int], chooser: random.Random
) -> Iterator[tuple[str, str]]:
    first, second = chooser.sample(rows, 2)
    yield f"The price of the {first['product']} is {first['price']}.", VERIFIED
    yield f"The {first['product']} costs ${first['price']}.", VERIFIED
    yield f"The {first['product']}'s price is {_off(first['price'], chooser)}.", FAILED
    yield f"The category of the {first['product']} is {first['category']}.", VERIFIED
    yield f"The price of the Piano is {first['price']}.", UNCERTAIN
    if first["price"] != second["price"]:
        high, low = sorted((first, second), key=lambda row: -row["price"])
        yield f"The {high['product']} is more expensive than the {low['product']}.", VERIFIED
        yield f"The {high['product']} costs less than the {low['product']}.", FAILED
    top = [row["product"] for row in rows if row["price"] == max(prices)]
    other = chooser.choice([row["product"] for row in rows if row["price"] != max(prices)] or ["Piano"])
    yield f"The {top[0]} has the highest price.", VERIFIED if len(top) == 1 else UNCERTAIN
    yield (
        f"The product with the highest price is the {other}.",
        FAILED if len(top) == 1 and other != "Piano" else UNCERTAIN,
    )


_NAMES = ("Acme", "Globex", "Initech", "Hooli")


def object_cases(rounds: int, seed: int = 9) -> Iterator[Case]:
    chooser = random.Random(seed)
    for _ in range(rounds):
        name, other = chooser.sample(_NAMES, 2)
        year, employees = chooser.randrange(1950, 2020), chooser.randrange(10, 5_000)
        members = {
            "founded": year,
            "ceo": "Jane Doe",
            "employees": employees,
            "active": chooser.random() < 0.5,
        }
        source: Any = chooser.choice(
            ({"company": {"name": name, **members}}, {"name": name, **members}, {name: members})
        )
        is_active = members["active"]
        yield Case(source, f"{name} was founded in {year}.", VERIFIED)
        yield Case(source, f"{name} was founded in {year + 4}.", FAILED)
        yield Case(source, f"{name} has {employees} employees.", VERIFIED)
        yield Case(source, f"{name} has {employees + 1} employees.", FAILED)
        yield Case(source, f"{name} has more than {employees - 1} employees.", VERIFIED)
        yield Case(source, f"The CEO of {name} is Jane Doe.", VERIFIED)
        yield Case(source, f"Max Power is the CEO of {name}.", FAILED)
        yield Case(source, f"{name} is active.", VERIFIED if is_active else FAILED)
        yield Case(source, f"{name} is not active.", FAILED if is_active else VERIFIED)
        yield Case(source, f"{other} has {employees} employees.", UNCERTAIN)
        yield Case(source, f"{name} is profitable.", UNCERTAIN)
