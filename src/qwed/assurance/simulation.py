"""What trust scores do to honest, careless and hostile agents over simulated weeks.

The table is the real one and is told real tokens; simulated are only the agents, the clock and chance,
which starts from a seed: the same numbers give the same result everywhere.
"""

import enum
import random
import statistics
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from qwed.assurance.accusations import ERROR, TRUST_ASSERTION
from qwed.assurance.assertions import body_of
from qwed.assurance.explanations import Thresholds
from qwed.assurance.scores import DAY_SECONDS, ONE, Confidence, ScoreRules
from qwed.assurance.trust_table import TrustTable
from qwed.ect.claims import Claims

OBSERVER: Final = "spiffe://simulation.example/observer"
_START: Final = 1_800_000_000
_FLAW_RATES: Final = {"honest": 0.005, "flaky": 0.15}


class SimulatedKind(enum.StrEnum):
    HONEST = "honest"
    FLAKY = "flaky"
    #: Works well until it is given something that matters, and abuses that.
    SLEEPER = "sleeper"
    #: Sleepers that praise each other every day.
    COLLUDING = "colluding"
    #: Abuses whatever it is given, and comes back under a new name when it is stopped.
    SYBIL = "sybil"


class Scenario(msgspec.Struct, frozen=True):
    """`detection` is the chance that an abuse is noticed within the settle window."""

    rules: ScoreRules = ScoreRules()
    sensitive: Thresholds = Thresholds(Decimal("0.7"), Confidence.MEDIUM)
    weeks: int = 8
    agents: int = 20
    tasks_per_day: int = 4
    sensitive_share: float = 0.25
    sensitive_value: int = 10
    detection: float = 0.9
    seed: int = 1


class Fate(msgspec.Struct, frozen=True):
    """One population, told in averages per agent. None where it never happened to any of them."""

    kind: SimulatedKind
    names: int
    good_tasks: float
    gained: float
    abuses: float
    refused: float
    days_to_sensitive: float | None
    days_to_stop: float | None
    revoked_share: float


class SimulationResult(msgspec.Struct, frozen=True):
    fates: tuple[Fate, ...]
    #: Per population, at the end of each day: the mean score, and what was gained by abuse so far.
    scores: Mapping[SimulatedKind, tuple[float, ...]]
    gains: Mapping[SimulatedKind, tuple[float, ...]]


class _Agent(msgspec.Struct):
    kind: SimulatedKind
    number: int
    name: str
    names: int = 1
    good_tasks: int = 0
    gained: int = 0
    abuses: int = 0
    refused: int = 0
    born: int = _START
    first_sensitive: int | None = None
    first_abuse: int | None = None
    stopped: int | None = None
    was_revoked: bool = False


def simulate(scenario: Scenario) -> SimulationResult:
    return _World(scenario).run()


class _World:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        # Reproducible on purpose; nothing secret is made of it.
        self._chance = random.Random(scenario.seed)  # noqa: S311
        self._now = _START
        self._table = TrustTable(OBSERVER, scenario.rules, clock=lambda: self._now)
        self._agents = [
            _Agent(kind, number, f"spiffe://simulation.example/{kind}/{number}")
            for kind in SimulatedKind
            for number in range(scenario.agents)
        ]
        self._serial = 0

    def run(self) -> SimulationResult:
        scores: dict[SimulatedKind, list[float]] = {kind: [] for kind in SimulatedKind}
        gains: dict[SimulatedKind, list[float]] = {kind: [] for kind in SimulatedKind}
        for day in range(self._scenario.weeks * 7):
            for agent, at in self._day(_START + day * DAY_SECONDS):
                self._now = at
                self._offer(agent)
            self._now = _START + (day + 1) * DAY_SECONDS - 1
            self._praise()
            for kind in SimulatedKind:
                own = [agent for agent in self._agents if agent.kind is kind]
                scores[kind].append(statistics.fmean(float(self._table.score(a.name)) for a in own))
                gains[kind].append(statistics.fmean(agent.gained for agent in own))
        return SimulationResult(
            tuple(self._fate(kind) for kind in SimulatedKind),
            {kind: tuple(values) for kind, values in scores.items()},
            {kind: tuple(values) for kind, values in gains.items()},
        )

    def _day(self, midnight: int) -> Iterator[tuple[_Agent, int]]:
        pause = DAY_SECONDS // (self._scenario.tasks_per_day + 1)
        for number in range(1, self._scenario.tasks_per_day + 1):
            yield from ((agent, midnight + number * pause) for agent in self._agents)

    def _offer(self, agent: _Agent) -> None:
        """One task: given if the agent is trusted enough for it."""
        if agent.kind is SimulatedKind.SYBIL and self._table.is_revoked(agent.name):
            agent.names += 1
            agent.name = f"spiffe://simulation.example/sybil/{agent.number}-{agent.names}"
        is_sensitive = self._chance.random() < self._scenario.sensitive_share
        if self._table.is_revoked(agent.name) or (is_sensitive and not self._is_admitted(agent)):
            agent.refused += 1
            return
        if is_sensitive and agent.first_sensitive is None:
            agent.first_sensitive = self._now
        self._perform(agent, is_sensitive)

    def _is_admitted(self, agent: _Agent) -> bool:
        is_admitted = self._table.meets(agent.name, self._scenario.sensitive)
        if not is_admitted and agent.first_abuse is not None and agent.stopped is None:
            agent.stopped = self._now
        return is_admitted

    def _perform(self, agent: _Agent, is_sensitive: bool) -> None:
        asked = self._token(OBSERVER, "task", aud=agent.name)
        answer = self._token(agent.name, "answer", asked.jti)
        if self._abuses(agent, is_sensitive):
            agent.abuses += 1
            agent.gained += self._scenario.sensitive_value if is_sensitive else 1
            agent.first_abuse = agent.first_abuse or self._now
            if self._chance.random() < self._scenario.detection:
                self._token(OBSERVER, ERROR, answer.jti, ext={"atd.error_type": "constraint_violation"})
        elif self._chance.random() < _FLAW_RATES.get(agent.kind, 0):
            self._token(OBSERVER, ERROR, answer.jti)
        else:
            agent.good_tasks += 1
        if self._table.is_revoked(agent.name):
            agent.was_revoked = True
            if agent.first_abuse is not None and agent.stopped is None:
                agent.stopped = self._now

    @staticmethod
    def _abuses(agent: _Agent, is_sensitive: bool) -> bool:
        return agent.kind is SimulatedKind.SYBIL or (
            is_sensitive and agent.kind in (SimulatedKind.SLEEPER, SimulatedKind.COLLUDING)
        )

    def _praise(self) -> None:
        """Whoever is in league says the best of the next one."""
        for kind in (SimulatedKind.COLLUDING, SimulatedKind.SYBIL):
            ring = [agent for agent in self._agents if agent.kind is kind]
            for agent, other in zip(ring, ring[1:] + ring[:1], strict=True):
                if agent is not other:
                    self._token(agent.name, TRUST_ASSERTION, ext=body_of(other.name, ONE, 147), days=7)

    def _token(
        self,
        iss: str,
        act: str,
        *par: str,
        aud: str = OBSERVER,
        ext: Mapping[str, object] | None = None,
        days: int = 1,
    ) -> Claims:
        self._serial += 1
        jti, exp = str(uuid.UUID(int=self._serial)), self._now + days * DAY_SECONDS
        claims = Claims(iss, (aud,), self._now, exp, jti, act, par, ext=ext or {})
        self._table.observe(claims, at=self._now)
        return claims

    def _fate(self, kind: SimulatedKind) -> Fate:
        own = [agent for agent in self._agents if agent.kind is kind]

        def mean(read: Callable[[_Agent], float]) -> float:
            return statistics.fmean(map(read, own))

        waits = [agent.first_sensitive - agent.born for agent in own if agent.first_sensitive is not None]
        stops = [
            agent.stopped - agent.first_abuse
            for agent in own
            if agent.stopped is not None and agent.first_abuse is not None
        ]
        return Fate(
            kind,
            names=sum(agent.names for agent in own),
            good_tasks=mean(lambda agent: agent.good_tasks),
            gained=mean(lambda agent: agent.gained),
            abuses=mean(lambda agent: agent.abuses),
            refused=mean(lambda agent: agent.refused),
            days_to_sensitive=statistics.median(waits) / DAY_SECONDS if waits else None,
            days_to_stop=statistics.median(stops) / DAY_SECONDS if stops else None,
            revoked_share=mean(lambda agent: agent.was_revoked),
        )
