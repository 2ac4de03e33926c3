"""The `Execution-Context` header: any number of lines, each one token or several joined by commas."""

from collections.abc import Iterable
from typing import Final

import msgspec

NAME: Final = "Execution-Context"
MAX_TOKENS: Final = 32
MAX_BYTES: Final = 32_768


class PresentedTokens(msgspec.Struct, frozen=True):
    """The tokens of a request, each once, in their order; none at all is fine here."""

    tokens: tuple[str, ...]


class HeaderTooLarge(msgspec.Struct, frozen=True):
    """More than a request may bring (431); what it says is safe to answer."""

    says: str
    status: int = 431


def read_header(lines: Iterable[str]) -> PresentedTokens | HeaderTooLarge:
    """The values of every `Execution-Context` line of one request."""
    size = 0
    tokens: list[str] = []
    for line in lines:
        size += len(line.encode("utf-8", "surrogatepass"))
        if size > MAX_BYTES:
            return HeaderTooLarge(f"{NAME} takes more than {MAX_BYTES} bytes")
        tokens += [item for item in (part.strip(" \t") for part in line.split(",")) if item]
        if len(tokens) > MAX_TOKENS:
            return HeaderTooLarge(f"{NAME} holds more than {MAX_TOKENS} tokens")
    return PresentedTokens(tuple(dict.fromkeys(tokens)))


def write_header(tokens: Iterable[str]) -> list[str]:
    """One line per token. Raises `ValueError` beyond the limits."""
    lines = list(tokens)
    if isinstance(read_header(lines), HeaderTooLarge):
        raise ValueError(f"{NAME} holds at most {MAX_TOKENS} tokens in {MAX_BYTES} bytes")
    return lines
