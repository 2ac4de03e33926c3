"""What a program that is started here is given of this one's environment."""

import os
from collections.abc import Iterable


def inherit(names: Iterable[str]) -> dict[str, str]:
    """These variables alone, as far as they are set."""
    return {name: os.environ[name] for name in names if name in os.environ}


def inherit_without(*prefixes: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
