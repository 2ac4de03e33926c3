"""Instants are integers: milliseconds since the epoch, UTC."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
#: The last millisecond that `iso` can write: of the year 9999.
LAST_MS: Final = 253_402_300_799_999


def day_of(now_ms: int) -> int:
    """The UTC calendar day, counted from the epoch."""
    return now_ms // DAY_MS


def iso(instant_ms: int) -> str:
    """ISO 8601 with milliseconds and a `Z`."""
    return f"{_second(instant_ms // 1000)}.{instant_ms % 1000:03d}Z"


@lru_cache(maxsize=256)
def _second(instant: int) -> str:
    return f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%S}"


def parse_iso(text: str) -> int:
    """The instant of an ISO 8601 time from 1970 to 9999; without an offset it is read as UTC.

    Raises `ValueError`.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    instant_ms = int(moment.timestamp() * 1000)
    if not 0 <= instant_ms <= LAST_MS:
        raise ValueError(f"{text} is not a time from 1970 to 9999")
    return instant_ms
