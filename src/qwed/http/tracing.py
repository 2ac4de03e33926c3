"""Traces, where somebody collects them. A refusal is an answer like any other, not an error.

Only the API of OpenTelemetry is used: who wants traces brings the SDK and an exporter, for instance with
`opentelemetry-instrument qwed serve`. Without it nothing is measured and nothing is paid.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

try:
    from opentelemetry import propagate, trace
except ImportError:
    trace = None


class Tracing:
    def __init__(self, version: str) -> None:
        self._tracer: Any = None
        # Without an SDK there is a provider that makes nothing: it is not even asked.
        if trace is not None and not type(trace.get_tracer_provider()).__module__.startswith(
            "opentelemetry.trace"
        ):
            self._tracer = trace.get_tracer("qwed", version)

    @property
    def is_on(self) -> bool:
        return self._tracer is not None

    @contextlib.contextmanager
    def request(self, method: str, route: str, headers: Mapping[str, str]) -> Iterator[Any]:
        """One span for a request, below the caller's own, if it named one."""
        with self._tracer.start_as_current_span(
            f"{method} {route}",
            context=propagate.extract(headers),
            kind=trace.SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield span

    @staticmethod
    def answered(span: Any, status: int, noted: Mapping[str, Any]) -> None:
        span.set_attribute("http.response.status_code", status)
        for name in ("decision", "code", "request_id"):
            if noted.get(name):
                span.set_attribute(f"qwed.{name}", noted[name])
        if status >= 500:
            # Only what the gateway could not do is an error.
            span.set_status(trace.Status(trace.StatusCode.ERROR))
