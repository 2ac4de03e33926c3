"""Prometheus metrics. Labels come from closed sets only, so that no caller can grow them."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from qwed.http.shedding import Gate

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    def __init__(self, version: str, policy_version: str) -> None:
        self.registry = CollectorRegistry()
        Gauge(
            "qwed_info", "Version and policy in force", ["version", "policy"], registry=self.registry
        ).labels(version, policy_version).set(1)
        self._decisions = Counter(
            "qwed_decisions", "Decisions by outcome and code", ["decision", "code"], registry=self.registry
        )
        self._requests = Counter(
            "qwed_requests", "HTTP requests", ["route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "qwed_request_seconds", "Time to answer", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self._failed_auth = Counter(
            "qwed_failed_authentications", "Requests without a valid credential", registry=self.registry
        )
        self._known: dict[tuple[str, ...], Counter | Histogram] = {}

    def watch(self, gate: Gate) -> None:
        """Those refused before they were parsed, counted where it costs nothing."""
        shed = Gauge("qwed_shed_requests", "Refused because too many were at work", registry=self.registry)
        shed.set_function(lambda: gate.refused)

    def decision(self, decision: str, code: str) -> None:
        self._child(self._decisions, decision, code).inc()  # type: ignore[union-attr]

    def request(self, route: str, status: int, seconds: float) -> None:
        self._child(self._requests, route, str(status)).inc()  # type: ignore[union-attr]
        self._child(self._seconds, route).observe(seconds)  # type: ignore[union-attr]

    def failed_authentication(self) -> None:
        self._failed_auth.inc()

    def _child(self, metric: Counter | Histogram, *labels: str) -> Counter | Histogram:
        # labels() costs more than the count itself; the sets are small and closed.
        key = (metric._name, *labels)
        child = self._known.get(key)
        if child is None:
            child = self._known[key] = metric.labels(*labels)
        return child

    def text(self) -> bytes:
        return generate_latest(self.registry)
