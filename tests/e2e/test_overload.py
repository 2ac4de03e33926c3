"""Far more than the gateway can decide: it goes on deciding, refuses the rest at once, and keeps its memory.

How much of its peak it keeps is measured by `bench/overload.py`."""

from collections import Counter

import pytest
from bench.load import ROOMY
from bench.overload import Flood
from tests.support.server import OPERATOR_KEY, Server, verify_request
from tests.support.traffic import UNLIMITED

pytestmark = pytest.mark.xdist_group("crash")

OFFERED_PER_SECOND = 3_000


def test_what_is_too_much_is_refused_with_a_time_to_retry_and_the_rest_is_decided(tmp_path):
    # As many connections as this takes, all from one machine.
    with Server(tmp_path, environment=ROOMY) as server:
        agent = server.register(budget=UNLIMITED)["agent_id"]
        # Engines and parsers are loaded by the first that need them.
        server.together([verify_request({"agent_id": agent}, "1+1", 1, "warm")])
        # Once is enough, but for a machine that has other things to do.
        floods = [flooded(server, agent)]
        while len(floods) < 6 and not {200, 503} <= set(floods[-1].statuses):
            floods.append(flooded(server, agent))
        calm = server.call("GET", f"/agents/{agent}/activity").json()["summary"]
        metrics = server.call("GET", "/metrics").text

    statuses = sum((flood.statuses for flood in floods), Counter())
    sent = sum(flood.sent for flood in floods)
    # Each refusal carried Retry-After: the flood looks at every one.
    assert set(statuses) == {200, 503}
    # Nothing that was answered with an approval is missing, and nothing refused was decided.
    assert 1 + statuses[200] <= calm["approved"] <= 1 + sent - statuses[503]
    assert "qwed_shed_requests" in metrics


def flooded(server: Server, agent: str) -> Flood:
    port = int(server.base_url.rsplit(":", 1)[1])
    flood = Flood(port, [(agent, OPERATOR_KEY)], OFFERED_PER_SECOND, connections=900)
    flood.run(4.0)
    return flood
