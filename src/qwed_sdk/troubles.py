"""Why there was no answer, in words that say what to do about it."""

import socket
import ssl
from collections.abc import Iterator
from typing import Final

import httpx2

from qwed_sdk.errors import GatewayUnavailable

_MAX_CAUSES: Final = 10


def describe_trouble(error: httpx2.HTTPError, base_url: str, seconds: float) -> GatewayUnavailable:
    """Without the words of the error itself: those may hold what was sent."""
    return GatewayUnavailable(f"no answer from {base_url}: {_reason(error, seconds)}", may_pass=True)


def _reason(error: httpx2.HTTPError, seconds: float) -> str:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its TLS certificate is not accepted ({cause.verify_message or cause.reason})"
        if isinstance(cause, ssl.SSLError):
            return f"it does not speak TLS as expected ({cause.reason or 'no reason given'})"
        if isinstance(cause, socket.gaierror):
            return "there is no host of that name"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "it is down: nothing listens there"
    if isinstance(error, httpx2.ProxyError):
        return "the proxy of the environment did not let it through (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY)"
    if isinstance(error, httpx2.TimeoutException):
        return f"nothing came within {seconds:g} seconds ({type(error).__name__})"
    return f"the connection broke ({type(error).__name__})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, whole: a group of attempts counts as all of them."""
    waiting: list[BaseException] = [error]
    for _ in range(_MAX_CAUSES):
        if not waiting:
            return
        current = waiting.pop(0)
        yield current
        waiting += [found for found in (current.__cause__, current.__context__) if found is not None]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
