"""The SQL of this store, by name, from `queries.sql`."""

from importlib import resources
from typing import Final


def _read() -> dict[str, str]:
    text = resources.files(__package__).joinpath("queries.sql").read_text(encoding="utf-8")
    named = (part.split("\n", 1) for part in text.split("-- name: ")[1:])
    return {name.strip(): body.strip() for name, body in named}


SQL: Final = _read()
