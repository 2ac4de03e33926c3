"""Answers and refusals as HTTP responses."""

from starlette.responses import Response

from qwed.domain.codes import CODES, Code, Refusal
from qwed.gateway.answers import Answer, RequestError
from qwed.gateway.records import Remembered
from qwed.gateway.wire import encode_json

JSON = "application/json"


def response_of(answer: Answer | Remembered) -> Response:
    headers = {}
    if answer.retry_after_seconds is not None:
        headers["Retry-After"] = str(answer.retry_after_seconds)
    if isinstance(answer, Remembered):
        return Response(answer.body, answer.status, {"Idempotency-Replayed": "true", **headers}, JSON)
    return Response(encode_json(answer.body), answer.status, headers, JSON)


def error_response(error: RequestError) -> Response:
    headers = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="qwed"'
    if error.status == 408:
        # Whoever is still sending the rest of it shall not keep the connection.
        headers["Connection"] = "close"
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return Response(encode_json({"error": error.refusal.to_wire()}), error.status, headers, JSON)


def refusal_response(code: Code, message: str, status: int | None = None) -> Response:
    body = encode_json({"error": Refusal(code, message).to_wire()})
    return Response(body, CODES[code].status if status is None else status, media_type=JSON)
