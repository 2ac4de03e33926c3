"""The gateway as one observer of trust: its table, computed from the ledger, entry after entry.

Decisions are the tasks that it approved; what agents' tokens, outcomes and errors say about them moves the
score. Whoever reads the same ledger computes the same digits, so any number of processes agree, and what is
stored can be proven (`qwed trust replay`). The first question after a start reads the ledger from its
beginning; after that only what is new.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import msgspec

from qwed.assurance.assertions import Directory
from qwed.assurance.compliance import HOUR_SECONDS, ComplianceCheck, Watch
from qwed.assurance.explanations import Change
from qwed.assurance.scores import Event, InvalidScore, ScoreRules
from qwed.assurance.specs import BehaviourSpec, Frequency, InvalidSpec, read_spec
from qwed.assurance.trust_table import DECISION, TrustTable
from qwed.domain.decisions import Decision
from qwed.domain.nodes import NOTED, agent_did, exec_act_of, jti_of
from qwed.domain.policy import plain_amount
from qwed.ect import claims as rules
from qwed.ect import tokens
from qwed.ect.claims import Claims
from qwed.ect.tokens import DEFAULT_LIFETIME_SECONDS, Level
from qwed.gateway.ports import Evidence, Store
from qwed.gateway.records import Activity, LedgerItem, ScoreChange
from qwed.gateway.waiting import SingleFlight

STRETCH: Final = 1_000
SEED_TRUST: Final = "seed_trust"
REINSTATE_TRUST: Final = "reinstate_trust"
UPDATE_SPEC: Final = "update_spec"
CHECK_COMPLIANCE: Final = "check_compliance"
_RESULTS: Final = {
    "success": Event.TASK_SUCCESS,
    "partial": Event.TASK_PARTIAL,
    "failure": Event.TASK_FAILURE,
}


class Finding(msgspec.Struct, frozen=True):
    """Checks of one agent to be written down, under a name that says what they are about."""

    agent: str
    name: str
    at: int
    checks: tuple[ComplianceCheck, ...]


class _Parameters(msgspec.Struct):
    activity_id: str | None = None
    outcome: str | None = None
    score: str | None = None
    peer: str | None = None
    spec: Any = None
    violations: Any = msgspec.field(default=None, name="apae.violations")
    spec_hash: str | None = msgspec.field(default=None, name="apae.spec_hash")


class _Action(msgspec.Struct):
    parameters: _Parameters | None = None


class _Verification(msgspec.Struct):
    failure: str | None = None


class _Payload(msgspec.Struct):
    """What of an entry's text moves a score."""

    action: Any = None
    verification: _Verification | None = None
    attestation_invalid: bool = False
    requested_by: str = ""
    redacted: bool = False


class Scorekeeper:
    """`always_continuous`: tokens are checked as they come, whatever their agent's specification asks for.
    `directory` says whom assertions may come from and be about beside registered agents; None asks nobody.
    """

    def __init__(
        self,
        observer: str,
        score_rules: ScoreRules,
        verifiers: Collection[str] = (),
        *,
        directory: Directory | None = None,
        always_continuous: bool = False,
    ) -> None:
        self.observer = observer
        self._others = directory
        #: Agents that the ledger knows as registered, and those that are no longer.
        self._registered: set[str] = set()
        self._gone: set[str] = set()
        self._always_continuous = always_continuous
        self.table = TrustTable(
            observer,
            score_rules,
            verifiers=verifiers,
            directory=None if directory is None else self._is_listed,
            journal=self._note,
        )
        #: Agents with a specification; what their tokens broke and is not written down yet.
        self._watches: dict[str, Watch] = {}
        self._reported: dict[str, int] = {}
        self.findings: list[Finding] = []
        self._numbers: dict[str, int] = {}
        self._noted: list[ScoreChange] = []
        self.revoked: list[Change] = []
        self._seq = 0
        self._lock = threading.Lock()
        self._reading = SingleFlight()

    @property
    def read_up_to(self) -> int:
        return self._seq

    async def catch_up(self, store: Store, *, keep: bool = True) -> None:
        """Read what the ledger has become since; what moved is kept before anybody hears of it."""
        await self._reading.do("ledger", lambda: self._read_on(store, keep))

    async def _read_on(self, store: Store, keep: bool) -> None:
        while True:
            moved, count = await self._read_stretch(store.evidence)
            if keep and moved:
                await store.keep_scores(moved)
            if count < STRETCH:
                return

    async def _read_stretch(self, evidence: Evidence) -> tuple[list[ScoreChange], int]:
        stretch = await evidence.stretch(self._seq, STRETCH)
        with self._lock:
            for item in stretch:
                self._seq = item.seq
                self._learn(item)
            if stretch:
                self.table.settle(stretch[-1].at_ms // 1000)
            moved, self._noted = self._noted, []
        return moved, len(stretch)

    def _note(self, change: Change) -> None:
        number = self._numbers[change.peer] = self._numbers.get(change.peer, 0) + 1
        self._noted.append(
            ScoreChange(
                change.peer,
                number,
                change.event.value,
                change.evidence,
                plain_amount(change.before),
                plain_amount(change.after),
                change.at,
                change.revokes,
                self._seq,
            )
        )
        if change.revokes:
            self.revoked.append(change)

    def _learn(self, item: LedgerItem) -> None:
        at = item.at_ms // 1000
        if item.token is not None:
            claims, level = received_claims(item.token)
            self.table.observe(claims, at=at, level=level)
            self._check(claims, item.at_ms)
        elif item.activity is not None:
            self._learn_activity(item.activity, at)

    def _learn_activity(self, activity: Activity, at: int) -> None:
        payload = msgspec.json.decode(activity.payload, type=_Payload)
        peer, jti = agent_did(activity.agent_id), jti_of(activity.activity_id)
        self._list(activity, peer)
        self.table.observe(decided_claims(self.observer, activity), at=at, level=Level.L3)
        if payload.attestation_invalid:
            self.table.observe_invalid(peer, jti, at=at)
        is_forbidden = payload.verification is not None and payload.verification.failure == "forbidden"
        if activity.decision == Decision.DENIED and is_forbidden:
            self.table.apply(peer, Event.POLICY_VIOLATION, evidence=jti, task=jti, at=at)
        # An agent may call its own action what it likes; only what people and the gateway do is noted.
        learn = _LEARNERS.get(activity.action_type) if activity.decision == NOTED else None
        if learn is not None:
            learn(self, activity, payload, at)

    def _list(self, activity: Activity, peer: str) -> None:
        """Whoever is decided about is registered, also where the entry of its registration was erased."""
        is_noted = activity.decision == NOTED
        if is_noted and activity.action_type == "deregister_agent":
            self._gone.add(peer)
            self._registered.discard(peer)
        elif peer not in self._gone and (not is_noted or activity.action_type == "register_agent"):
            self._registered.add(peer)

    def _is_listed(self, uri: str) -> bool:
        return uri in self._registered or (self._others is not None and self._others(uri))

    def _outcome(self, activity: Activity, payload: _Payload, at: int) -> None:
        """A success counts only if somebody else than the agent reports it; its own failures do."""
        given = _parameters(payload)
        event = _RESULTS.get(given.outcome or "")
        is_own = payload.requested_by.startswith("agent:")
        if given.activity_id is None or event is None or (event.is_positive and is_own):
            return
        peer = agent_did(activity.agent_id)
        task, evidence = jti_of(given.activity_id), jti_of(activity.activity_id)
        self.table.report(peer, event, task, evidence, at=at)

    def _check(self, claims: Claims, at_ms: int) -> None:
        """A token that breaks its agent's specification is found as soon as it is on record."""
        watch = self._watches.get(claims.iss)
        if watch is None or not watch.see(claims, at_ms):
            return
        at = at_ms // 1000
        if self._always_continuous or watch.spec.verification_frequency is Frequency.CONTINUOUS:
            self.findings.append(Finding(claims.iss, claims.jti, at, tuple(watch.report(at))))

    def spec_of(self, agent: str) -> BehaviourSpec | None:
        watch = self._watches.get(agent)
        return watch.spec if watch is not None else None

    def reports(self, hour: int) -> list[Finding]:
        """What is to be said of every watched agent of which nothing was said in this hour."""
        due = []
        with self._lock:
            for agent, watch in self._watches.items():
                if self._reported.get(agent, hour - 1) >= hour:
                    continue
                self._reported[agent] = hour
                at = hour * HOUR_SECONDS
                due.append(Finding(agent, f"hour {hour}", at, tuple(watch.report(at))))
        return due

    def _specify(self, activity: Activity, payload: _Payload, at: int) -> None:
        """Only what was written as it was meant: the hash is that of the document."""
        given, agent = _parameters(payload), agent_did(activity.agent_id)
        try:
            spec = read_spec(given.spec)
        except InvalidSpec:
            return
        if spec.agent_id == agent and spec.hash == given.spec_hash:
            self._watches[agent] = Watch(spec, at, authorities=[self.observer])

    def _punish(self, activity: Activity, payload: _Payload, at: int) -> None:
        """The gateway's own findings: each offending token costs once, and is reported once."""
        peer, violations = agent_did(activity.agent_id), _parameters(payload).violations
        found = [item.get("jti") for item in violations or () if isinstance(item, dict)]
        jtis = [jti for jti in found if isinstance(jti, str)]
        for jti in jtis:
            self.table.apply(peer, Event.POLICY_VIOLATION, task=jti, at=at)
        if (watch := self._watches.get(peer)) is not None:
            watch.forget(jtis)

    def _seed(self, activity: Activity, payload: _Payload, at: int) -> None:
        given = _parameters(payload)
        try:
            self.table.seed(given.peer or "", given.score or "", at)
        except InvalidScore:
            return

    def _reinstate(self, activity: Activity, payload: _Payload, at: int) -> None:
        self.table.reinstate(_parameters(payload).peer or "")


_LEARNERS: Final[dict[str, Callable[[Scorekeeper, Activity, _Payload, int], None]]] = {
    "report_outcome": Scorekeeper._outcome,
    "settle_outcome": Scorekeeper._outcome,
    SEED_TRUST: Scorekeeper._seed,
    REINSTATE_TRUST: Scorekeeper._reinstate,
    UPDATE_SPEC: Scorekeeper._specify,
    CHECK_COMPLIANCE: Scorekeeper._punish,
}


def _parameters(payload: _Payload) -> _Parameters:
    """Nothing where the text was erased, or is not that of such an entry."""
    try:
        action = msgspec.convert(payload.action, _Action)
    except msgspec.ValidationError:
        return _Parameters()
    return action.parameters or _Parameters()


def received_claims(token: str) -> tuple[Claims, Level]:
    """Of a token that was verified when it came."""
    unverified = tokens.parse(token)
    given = unverified.claims
    span = rules.times(given.get("iat"), given.get("exp"))
    return rules.read(given, rules.audience(given.get("aud")), span), unverified.level


def decided_claims(observer: str, activity: Activity) -> Claims:
    """What the token of an entry says, as far as trust and graphs go."""
    issued = activity.at_ms // 1000
    return Claims(
        observer,
        (observer, agent_did(activity.agent_id)),
        issued,
        issued + DEFAULT_LIFETIME_SECONDS,
        jti_of(activity.activity_id),
        exec_act_of(activity.action_type, activity.decision),
        activity.par,
        activity.wid,
        ext={DECISION: activity.decision},
    )


class Proof(msgspec.Struct, frozen=True):
    """What a second computation of all scores says about those stored."""

    entries: int
    peers: int
    changes: int
    erased: int
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.differences


MAX_DIFFERENCES: Final = 20


async def replay(store: Store, observer: str, score_rules: ScoreRules, verifiers: Collection[str]) -> Proof:
    """Compute every score from the ledger, from nothing, and compare with what is stored, digit by digit."""
    keeper = _Recount(observer, score_rules, verifiers)
    await keeper.catch_up(store, keep=False)
    differences: list[str] = []
    peers = list(keeper.computed)
    async for peer in _stored_peers(store):
        if peer not in keeper.computed:
            peers.append(peer)
    for peer in peers:
        differences += await _compare(store, peer, keeper.computed.get(peer, []))
        if len(differences) >= MAX_DIFFERENCES:
            break
    count = sum(map(len, keeper.computed.values()))
    return Proof(keeper.read_up_to, len(peers), count, keeper.erased, tuple(differences[:MAX_DIFFERENCES]))


class _Recount(Scorekeeper):
    """Keeps everything that it computes."""

    def __init__(self, observer: str, score_rules: ScoreRules, verifiers: Collection[str]) -> None:
        super().__init__(observer, score_rules, verifiers)
        self.computed: dict[str, list[ScoreChange]] = {}
        self.erased = 0

    def _note(self, change: Change) -> None:
        super()._note(change)
        self.computed.setdefault(change.peer, []).append(self._noted[-1])

    def _learn(self, item: LedgerItem) -> None:
        if item.activity is not None:
            self.erased += msgspec.json.decode(item.activity.payload, type=_Payload).redacted
        elif item.token is None:
            self.erased += 1
        super()._learn(item)


async def _stored_peers(store: Store) -> Any:
    after: str | None = None
    while found := await store.scored_peers(after, STRETCH):
        for peer in found:
            yield peer
        after = found[-1]


async def _compare(store: Store, peer: str, computed: Sequence[ScoreChange]) -> list[str]:
    stored = {change.number: change for change in await store.score_changes(peer, None, 2**31)}
    told = []
    for change in computed:
        kept = stored.pop(change.number, None)
        if kept is None:
            told.append(f"{peer}: change {change.number} is not stored")
        elif kept != msgspec.structs.replace(change, seq=kept.seq):
            told.append(f"{peer}: change {change.number} is stored as {kept.after}, computed {change.after}")
    return [*told, *(f"{peer}: change {number} does not follow from the ledger" for number in sorted(stored))]
