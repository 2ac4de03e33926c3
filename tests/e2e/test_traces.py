"""A gateway that is told where to send traces sends them, started as the documents say."""

from tests.support.receivers import Receiver
from tests.support.server import Server, qwed, verify_request


def test_decisions_arrive_at_the_collector_with_their_entry_in_the_record(tmp_path):
    with Receiver(lambda number, received: 200) as collector:
        more = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url(""), "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        with Server(tmp_path, environment=more) as server:
            agent = server.register()
            (answer,) = server.together([verify_request(agent, "2+2")])
        sent = b"".join(received.body for received in collector.wait())

    assert answer.json()["activity_id"].encode() in sent
    assert b"POST /agents/{agent_id}/verify" in sent
    assert b"service.name" in sent and b"qwed" in sent
    assert b"gen_ai.agent.id" in sent and agent["agent_id"].encode() in sent


def test_a_gateway_that_cannot_make_traces_says_what_it_needs(tmp_path):
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("")
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PYTHONPATH": str(tmp_path)}
    done = qwed("serve", "--port", "0", "--database", str(tmp_path / "q.db"), cwd=tmp_path, **where)

    assert done.returncode == 1
    assert "traces need opentelemetry.sdk: pip install 'qwed-gateway[otel]'" in done.stderr
