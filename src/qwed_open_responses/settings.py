"""The only reader of the environment in this package."""

import logging
import os
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

LOGGER_NAME: Final = "qwed_open_responses"
_TRUTHS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


class GuardSettings(msgspec.Struct, frozen=True):
    strict: bool = True
    max_budget: Decimal = Decimal(100)
    log_level: str = "INFO"


def from_environment(environment: Mapping[str, str] = os.environ) -> GuardSettings:
    """Raises `ValueError` for a value that can't be read: a misspelled limit must not pass as none."""
    return GuardSettings(
        strict=_truth("QWED_OR_STRICT", environment.get("QWED_OR_STRICT", "true")),
        max_budget=_amount("QWED_OR_MAX_BUDGET", environment.get("QWED_OR_MAX_BUDGET", "100.0")),
        log_level=_level("QWED_OR_LOG_LEVEL", environment.get("QWED_OR_LOG_LEVEL", "INFO")),
    )


def configure_logger(level: str) -> logging.Logger:
    """The package's own logger, and nothing else's, gets the level."""
    logger = logging.getLogger(LOGGER_NAME)
    logger.setLevel(level)
    return logger


def _truth(name: str, text: str) -> bool:
    try:
        return _TRUTHS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{name} is true or false, not {text!r}") from None


def _amount(name: str, text: str) -> Decimal:
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{name} is an amount such as 100.0, not {text!r}") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{name} is a finite amount of at least 0, not {text!r}")
    return amount


def _level(name: str, text: str) -> str:
    level = text.strip().upper()
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"{name} is a logging level such as INFO, not {text!r}")
    return level
