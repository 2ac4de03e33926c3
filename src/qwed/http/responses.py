"""Answers and refusals as HTTP responses."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from qwed.domain.codes import CODES, Code, Refusal
from qwed.domain.json_types import Json
from qwed.gateway.kernel.answers import Answer, RequestError
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.wire import encode_json

JSON = "application/json"
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
#: How many a `JsonResponse` has that was given none: its length and its type.
PLAIN_HEADERS: Final = 2
_QUESTION: Final = re.compile(rb"[\x21-\x7e]{1,255}")


class JsonResponse(Response):
    """A finished JSON text. The general constructor works out what is known here: type and length."""

    media_type = JSON

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [
            *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()),
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
        ]


def response_of(answer: Answer | Remembered) -> Response:
    seconds = answer.retry_after_seconds
    headers = _NO_HEADERS if seconds is None else {"Retry-After": str(seconds)}
    if isinstance(answer, Remembered):
        return JsonResponse(answer.body, answer.status, {"Idempotency-Replayed": "true", **headers})
    return JsonResponse(encode_json(answer.body), answer.status, headers)


def error_response(error: RequestError) -> Response:
    headers = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="qwed"'
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return JsonResponse(encode_json({"error": error.refusal.to_wire()}), error.status, headers)


def refusal_response(
    code: Code, message: str, status: int | None = None, *, details: Mapping[str, Json] | None = None
) -> Response:
    body = encode_json({"error": Refusal(code, message, details).to_wire()})
    return JsonResponse(body, CODES[code].status if status is None else status)


def name_question(
    asked_with: Iterable[tuple[bytes, bytes]], response: Response
) -> tuple[tuple[bytes, bytes], ...]:
    """Headers by which an answer names its question: the key that the question came with, and a hash that
    binds that key to this status and body. Whoever mixes answers up on the way is found out."""
    key = next((value for name, value in asked_with if name == b"idempotency-key"), None)
    if key is None or not _QUESTION.fullmatch(key):
        return ()
    body = getattr(response, "body", None)
    if body is None:
        # A stream has no body yet; what it is for can be said all the same.
        return ((b"idempotency-key", key),)
    bound = hashlib.sha256(b"%b\n%d\n%b" % (key, response.status_code, body)).hexdigest()
    return ((b"idempotency-key", key), (b"qwed-answer", bound.encode()))
