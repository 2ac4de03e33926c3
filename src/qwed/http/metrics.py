"""Prometheus metrics. Labels come from closed sets only, so that no caller can grow them.

They are counted in plain dictionaries, on the event loop alone, and put into Prometheus's form when they
are asked for: its own counters take a lock and a dozen calls for every request. Of several workers, each
one tells what all of them counted.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from qwed.domain.permits import FindingKind
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ledger_watch import LedgerWatch
from qwed.http.counts import Counts, CountsFolder, CountsWriter
from qwed.http.load_limit import EndedBy, RequestGate

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class _Times:
    """How long one route took to answer: one count for each bucket and one for all that is above them."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(_BUCKETS, seconds)] += 1
        self.seconds += seconds


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    names = [*map(str, _BUCKETS), "+Inf"]
    return [(name, float(sum(counts[: at + 1]))) for at, name in enumerate(names)]


def _ledger_gauges(watch: LedgerWatch) -> Iterator[Metric]:
    lag = watch.lag
    yield GaugeMetricFamily(
        "qwed_ledger_lag_seconds", "Age of the oldest record without a place in the ledger", lag.seconds
    )
    yield GaugeMetricFamily(
        "qwed_ledger_waiting_entries", "Records without a place in the ledger", lag.entries
    )
    yield GaugeMetricFamily("qwed_ledger_leader", "Whether this process leads the ledger", int(lag.is_leader))
    yield GaugeMetricFamily(
        "qwed_ledger_refused_records",
        "Records that got no place in the ledger, since the start",
        watch.refused,
    )
    yield GaugeMetricFamily(
        "qwed_ledger_missing_records", "Numbers of records that never came, since the start", watch.missing
    )


class Metrics(Collector):
    def __init__(self, version: str, policy_version: str) -> None:
        self._version = version
        #: Of the policy in force, when somebody last asked.
        self.policy_version = policy_version
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, _Times] = {}
        self._failed_auth = 0
        #: Requests that wait for a person, when somebody last asked; None where nobody could say.
        self.waiting: int | None = None
        #: By kind, likewise.
        self.permit_findings: dict[str, int] | None = None
        self._gate: RequestGate | None = None
        self._integrity: Integrity | None = None
        self._ledger: LedgerWatch | None = None
        self._shadow: Mapping[tuple[str, str], int] | None = None
        self._folder: CountsFolder | None = None
        self._writer: CountsWriter | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def watch(self, gate: RequestGate) -> None:
        """Those refused before they were parsed, counted where it costs nothing."""
        self._gate = gate

    def watch_rows(self, integrity: Integrity) -> None:
        """Rows that are not as the ledger says: each worker tells of those that it found itself."""
        self._integrity = integrity

    def watch_ledger(self, ledger: LedgerWatch) -> None:
        self._ledger = ledger

    def watch_shadow(self, counted: Mapping[tuple[str, str], int]) -> None:
        """What a policy that only watches would have decided otherwise."""
        self._shadow = counted

    def share(self, folder: Path) -> None:
        """Count together with the other workers that share the folder."""
        self._folder = CountsFolder(folder)
        self._writer = CountsWriter(self._folder, self._counted)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def decision(self, decision: str, code: str) -> None:
        self._decisions[decision, code] += 1

    def request(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = _Times()
        times.observe(seconds)

    def failed_authentication(self) -> None:
        self._failed_auth += 1

    def _counted(self) -> Counts:
        """By this process, as a whole: asked for on another thread than the one that counts."""
        return Counts(
            dict(self._decisions),
            dict(self._requests),
            {route: (times.counts.copy(), times.seconds) for route, times in dict(self._times).items()},
            self._failed_auth,
            0 if self._gate is None else self._gate.refused,
            dict(self._shadow or {}),
            {} if self._gate is None else {why.value: count for why, count in self._gate.ended.items()},
        )

    def _count_by_all(self) -> Counts:
        counts = self._counted()
        for other in () if self._folder is None else self._folder.others():
            counts.add(other)
        return counts

    def collect(self) -> Iterator[Metric]:
        counts = self._count_by_all()
        info = GaugeMetricFamily("qwed_info", "Version and policy in force", labels=["version", "policy"])
        info.add_metric((self._version, self.policy_version), 1)
        yield info
        decisions = CounterMetricFamily(
            "qwed_decisions", "Decisions by outcome and code", labels=["decision", "code"]
        )
        for decided, count in counts.decisions.items():
            decisions.add_metric(decided, count)
        yield decisions
        if self._shadow is not None:
            shadow = CounterMetricFamily(
                "qwed_shadow_differences",
                "Decisions that the policy that only watches would have made otherwise",
                labels=["decision", "would"],
            )
            for changed, count in counts.shadow.items():
                shadow.add_metric(changed, count)
            yield shadow
        requests = CounterMetricFamily("qwed_requests", "HTTP requests", labels=["route", "status"])
        for (route, status), count in counts.requests.items():
            requests.add_metric((route, str(status)), count)
        yield requests
        seconds = HistogramMetricFamily("qwed_request_seconds", "Time to answer", labels=["route"])
        for route, (buckets, summed) in counts.times.items():
            seconds.add_metric((route,), _cumulative(buckets), summed)
        yield seconds
        yield CounterMetricFamily(
            "qwed_failed_authentications",
            "Requests without a valid credential",
            counts.failed_authentications,
        )
        if self.waiting is not None:
            yield GaugeMetricFamily("qwed_approvals_waiting", "Requests that wait for a person", self.waiting)
        if self.permit_findings is not None:
            findings = GaugeMetricFamily(
                "qwed_permit_findings",
                "Differences between what was approved and what was run",
                labels=["kind"],
            )
            for kind in FindingKind:
                findings.add_metric((kind.value,), self.permit_findings.get(kind.value, 0))
            yield findings
        if self._integrity is not None:
            yield GaugeMetricFamily(
                "qwed_state_differences",
                "Rows that decide and are not as the ledger says",
                len(self._integrity.differences),
            )
        if self._ledger is not None:
            yield from _ledger_gauges(self._ledger)
        if self._gate is not None:
            yield GaugeMetricFamily(
                "qwed_shed_requests", "Refused because too many were at work", counts.shed
            )
            ended = CounterMetricFamily(
                "qwed_refused_connections",
                "Connections ended before a request of theirs was judged, by why",
                labels=["reason"],
            )
            for why in EndedBy:
                ended.add_metric((why.value,), counts.ended.get(why.value, 0))
            yield ended

    def text(self) -> bytes:
        return generate_latest(self.registry)
