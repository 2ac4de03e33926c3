"""Traces, where somebody collects them. A refusal is an answer like any other, not an error.

The gateway starts OpenTelemetry itself where `OTEL_EXPORTER_OTLP_ENDPOINT` says where to send: the usual
`opentelemetry-instrument` puts a start-up hook in front of Python, which the start-up guard refuses. Where
nobody collects, nothing is measured and nothing is paid.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from qwed.domain.json_types import Json

try:
    from opentelemetry import propagate, trace
except ImportError:
    trace = None


SERVICE_NAME: Final = "qwed"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
#: What a request notes, by the name of its attribute.
_ATTRIBUTES: Final = {
    "decision": "qwed.decision",
    "code": "qwed.code",
    "request_id": "qwed.request_id",
    "activity_id": "qwed.activity_id",
}


class CannotTrace(RuntimeError):
    """Traces are asked for, and can't be made. The message says what to do."""


def start_traces(environ: Mapping[str, str], version: str) -> Callable[[], None] | None:
    """What sends the last spans at the end; None where nobody asked for traces. Raises `CannotTrace`."""
    is_off = (
        environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or environ.get("OTEL_TRACES_EXPORTER") == "none"
    )
    if is_off or not any(environ.get(name) for name in _ENDPOINTS):
        return None
    try:
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        exporting = importlib.import_module("opentelemetry.sdk.trace.export")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ModuleNotFoundError as missing:
        message = f"traces need {missing.name}: pip install 'qwed-gateway[otel]', or unset {_ENDPOINTS[1]}"
        raise CannotTrace(message) from None
    # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say wins over these.
    named = {"service.name": environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME, "service.version": version}
    provider = sdk.TracerProvider(resource=resources.Resource.create(named))
    provider.add_span_processor(exporting.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    end: Callable[[], None] = provider.shutdown
    return end


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
    def answered(
        span: Any, status: int, noted: Mapping[str, Json], parameters: Mapping[str, str] | None = None
    ) -> None:
        span.set_attribute("http.response.status_code", status)
        for name, attribute in _ATTRIBUTES.items():
            if noted.get(name):
                span.set_attribute(attribute, noted[name])
        if noted.get("decision"):
            # The names that OpenTelemetry has for what agents do.
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            for name, attribute in (("agent_id", "gen_ai.agent.id"), ("tool", "gen_ai.tool.name")):
                if parameters and parameters.get(name):
                    span.set_attribute(attribute, parameters[name])
        if status >= 500:
            # Only what the gateway could not do is an error.
            span.set_status(trace.Status(trace.StatusCode.ERROR))
