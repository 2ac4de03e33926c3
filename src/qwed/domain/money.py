"""Money: `Decimal` at the edges, whole billionths of a dollar inside, so that sums are exact."""

from decimal import ROUND_CEILING, Context, Decimal, Inexact
from functools import lru_cache
from typing import Final, NewType

NanoUsd = NewType("NanoUsd", int)

NANO: Final = 1_000_000_000
MAX_USD: Final = Decimal(1_000_000_000)
_PLACES: Final = Decimal(1).scaleb(-9)
_EXACT: Final = Context(prec=60, traps=[Inexact])


@lru_cache(maxsize=1024)
def nano_of(usd: Decimal) -> NanoUsd:
    """Rounded up to the next billionth: an estimate is never counted for less than it says."""
    scaled = usd.quantize(_PLACES, rounding=ROUND_CEILING, context=Context(prec=60))
    return NanoUsd(int(scaled.scaleb(9, context=_EXACT)))


@lru_cache(maxsize=1024)
def usd_of(nano: int) -> Decimal:
    """The shortest Decimal of that many billionths."""
    usd = Decimal(nano).scaleb(-9)
    # normalize() alone would write 100 as 1E+2, which JSON readers accept and people do not.
    return usd.quantize(Decimal(1)) if nano % NANO == 0 else usd.normalize()
