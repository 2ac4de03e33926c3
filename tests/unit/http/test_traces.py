"""Traces go to whoever collects them; a refusal is not an error."""

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags
from tests.support.world import World

from qwed.http import traces


class Span(NonRecordingSpan):
    def __init__(self, name, attributes, context):
        super().__init__(SpanContext(1, 2, False, TraceFlags(1)))
        self.name, self.attributes, self.parent = name, dict(attributes), trace.get_current_span(context)
        self.status = StatusCode.UNSET

    def set_attribute(self, key, value):
        self.attributes[key] = value

    def set_status(self, status, description=None):
        self.status = status.status_code


class Tracer(trace.Tracer):
    def __init__(self):
        self.spans = []

    def start_span(self, name, context=None, *arguments, attributes=None, **more):
        self.spans.append(Span(name, attributes or {}, context))
        return self.spans[-1]

    def start_as_current_span(self, name, *arguments, context=None, attributes=None, **more):
        span = self.start_span(name, context, attributes=attributes)
        return trace.use_span(span, record_exception=False, set_status_on_exception=False)


class Provider(trace.TracerProvider):
    def __init__(self):
        self.tracer = Tracer()

    def get_tracer(self, *arguments, **more):
        return self.tracer


@pytest.fixture
def provider(monkeypatch):
    provider = Provider()
    monkeypatch.setattr(traces.trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(traces.trace, "get_tracer", provider.get_tracer)
    return provider


def test_a_refusal_is_a_span_without_an_error_and_an_outage_is_one(provider):
    world = World()
    try:
        agent = world.register()
        provider.tracer.spans.clear()
        traceparent = f"00-{7:032x}-{9:016x}-01"
        assert world.verify(agent, step=1, headers={"traceparent": traceparent})["decision"] == "APPROVED"
        assert world.verify(agent, step=1)["decision"] == "DENIED"
        world.services.store.close()
        world.call("GET", "/agents/nobody/unknown")
        approved, denied = provider.tracer.spans[:2]
    finally:
        world.close()

    assert approved.name == denied.name == "POST /agents/{agent_id}/verify"
    assert approved.attributes["qwed.decision"] == "APPROVED"
    assert approved.parent.get_span_context().trace_id == 7
    assert denied.attributes["qwed.code"] == "QWED-AGENT-LOOP-002"
    assert (approved.status, denied.status) == (StatusCode.UNSET, StatusCode.UNSET)


def test_only_what_the_gateway_could_not_do_is_an_error():
    span = Span("x", {}, None)
    traces.Tracing.answered(span, 429, {"code": "QWED-RATE-001"})
    assert span.status is StatusCode.UNSET
    traces.Tracing.answered(span, 503, {})
    assert span.status is StatusCode.ERROR


def test_without_a_collector_nothing_is_traced():
    assert not traces.Tracing("1").is_on
