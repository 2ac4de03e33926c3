"""Libraries that come with the extra `guards`, imported when a guard first needs one."""

import importlib
from typing import Any


def library(name: str) -> Any:
    """Raises `ModuleNotFoundError`, which says what to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        message = f"the guards need {missing.name}: pip install 'qwed-gateway[guards]'"
        raise ModuleNotFoundError(message, name=missing.name) from missing
