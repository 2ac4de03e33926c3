"""What `/metrics` says: counts by closed sets of labels, and how long answers took."""

from qwed.http.counts import CountsFolder
from qwed.http.load_limit import EndedBy, RequestGate
from qwed.http.metrics import Metrics


def lines_of(metrics):
    return set(metrics.text().decode().splitlines())


def test_decisions_and_requests_are_counted_by_their_labels():
    metrics = Metrics("1.0", "sha256:00")
    metrics.decision("APPROVED", "")
    metrics.decision("APPROVED", "")
    metrics.request("/health", 200, 0.002)
    metrics.failed_authentication()

    assert lines_of(metrics) >= {
        'qwed_info{policy="sha256:00",version="1.0"} 1.0',
        'qwed_decisions_total{code="",decision="APPROVED"} 2.0',
        'qwed_requests_total{route="/health",status="200"} 1.0',
        "qwed_failed_authentications_total 1.0",
    }


def test_a_bucket_counts_everything_that_was_at_most_as_slow():
    metrics = Metrics("1.0", "sha256:00")
    for seconds in (0.001, 0.002, 60.0):
        metrics.request("/health", 200, seconds)

    assert lines_of(metrics) >= {
        'qwed_request_seconds_bucket{le="0.001",route="/health"} 1.0',
        'qwed_request_seconds_bucket{le="0.0025",route="/health"} 2.0',
        'qwed_request_seconds_bucket{le="2.5",route="/health"} 2.0',
        'qwed_request_seconds_bucket{le="+Inf",route="/health"} 3.0',
        'qwed_request_seconds_count{route="/health"} 3.0',
        'qwed_request_seconds_sum{route="/health"} 60.003',
    }


def test_what_the_gate_refused_is_shown():
    metrics, gate = Metrics("1.0", "sha256:00"), RequestGate()
    metrics.watch(gate)
    gate.refused = 7

    assert "qwed_shed_requests 7.0" in lines_of(metrics)


def test_connections_that_were_ended_are_shown_by_why_also_of_other_workers(tmp_path):
    metrics, gate = Metrics("1.0", "sha256:00"), RequestGate()
    metrics.watch(gate)
    gate.ended[EndedBy.CROWDED] += 2
    elsewhere = CountsFolder(tmp_path)
    elsewhere._own = tmp_path / "elsewhere.counts"
    elsewhere.write(metrics._counted())
    metrics.share(tmp_path)
    told = lines_of(metrics)
    metrics.close()

    assert told >= {
        'qwed_refused_connections_total{reason="crowded"} 4.0',
        'qwed_refused_connections_total{reason="too_slow"} 0.0',
    }


def test_of_several_workers_each_tells_what_all_of_them_counted(tmp_path):
    """Those of a worker that ended too, as it left them."""
    own, other = Metrics("1.0", "sha256:00"), Metrics("1.0", "sha256:00")
    for metrics, count in ((own, 1), (other, 2)):
        for _ in range(count):
            metrics.decision("APPROVED", "")
            metrics.request("/health", 200, 0.002)
            metrics.failed_authentication()
    other.request("/ready", 503, 3.0)
    elsewhere = CountsFolder(tmp_path)
    elsewhere._own = tmp_path / "elsewhere.counts"
    elsewhere.write(other._counted())
    own.share(tmp_path)
    told = lines_of(own)
    own.close()

    assert told >= {
        'qwed_info{policy="sha256:00",version="1.0"} 1.0',
        'qwed_decisions_total{code="",decision="APPROVED"} 3.0',
        'qwed_requests_total{route="/health",status="200"} 3.0',
        'qwed_requests_total{route="/ready",status="503"} 1.0',
        'qwed_request_seconds_bucket{le="0.0025",route="/health"} 3.0',
        'qwed_request_seconds_bucket{le="+Inf",route="/ready"} 1.0',
        "qwed_failed_authentications_total 3.0",
    }
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".counts", ".counts"]


def test_what_waits_for_a_person_is_told_and_left_out_where_nobody_can_say():
    metrics = Metrics("1.0", "sha256:00")
    assert not any("qwed_approvals_waiting" in line for line in lines_of(metrics))
    metrics.waiting = 3

    assert "qwed_approvals_waiting 3.0" in lines_of(metrics)
