"""A scripted gateway that names the question in each of its answers, as the real one does."""

from collections.abc import Callable

import httpx2

from qwed_sdk.questions import BOUND, KEY, answer_name

Handler = Callable[[httpx2.Request], httpx2.Response]


def naming(handler: Handler) -> httpx2.MockTransport:
    def answer(request: httpx2.Request) -> httpx2.Response:
        response = handler(request)
        key = request.headers.get(KEY, "")
        response.headers[KEY] = key
        response.headers[BOUND] = answer_name(key, response.status_code, response.content)
        return response

    return httpx2.MockTransport(answer)
