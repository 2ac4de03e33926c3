"""How large a test is: small in every run, larger at night, in full in the long run.

`QWED_TIER` names the tier: `ci` (also where it is not set), `nightly` or `long`. A test whose size can
differ says `scale(ci=…, nightly=…, long=…)`. A test that has no small form carries the mark `nightly` or
`long`, and is left out of the smaller tiers; one that is worth another try is marked
`repeated(nightly=…, long=…)`.
"""

import os
from typing import Final

TIERS: Final = ("ci", "nightly", "long")


def tier() -> str:
    name = os.environ.get("QWED_TIER") or TIERS[0]
    if name not in TIERS:
        raise ValueError(f"QWED_TIER is {name!r}; it must be one of {', '.join(TIERS)}")
    return name


def scale(*, ci: int, nightly: int | None = None, long: int | None = None) -> int:
    """The size for this run. A tier that is not named takes the size of the one before it."""
    sizes = {"ci": ci, "nightly": ci if nightly is None else nightly}
    sizes["long"] = sizes["nightly"] if long is None else long
    return sizes[tier()]


def is_left_out(marks: set[str]) -> bool:
    """Whether a test with these marks belongs to a larger tier than this run's."""
    larger = TIERS[TIERS.index(tier()) + 1 :]
    return any(name in marks for name in larger)
