"""The gateway as one observer of trust: its table, computed from the ledger, entry after entry.

Decisions are the tasks that it approved; what agents' tokens, outcomes and errors say about them moves the
score. Whoever reads the same ledger computes the same digits, so any number of processes agree, and what is
stored can be proven (`qwed trust replay`). The first question after a start reads the ledger from its
beginning; after that only what is new. What moved is kept by the store, not here.
"""

import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.assurance.assertions import Directory
from qwed.assurance.compliance import HOUR_SECONDS, ComplianceCheck, Watch
from qwed.assurance.explanations import ScoreMove
from qwed.assurance.scores import InvalidScore, ScoreEvent, ScoreRules
from qwed.assurance.specs import BehaviourSpec, Frequency, InvalidSpec, read_spec
from qwed.assurance.trust_memory import InProcess, TrustMemory, TrustMemoryLost
from qwed.assurance.trust_table import DECISION, TrustTable
from qwed.domain.agents import GATEWAY
from qwed.domain.decisions import Decision
from qwed.domain.nodes import NOTED, agent_did, exec_act_of, jti_of
from qwed.domain.policy import plain_amount
from qwed.ect import claims as rules
from qwed.ect import tokens
from qwed.ect.claims import Claims
from qwed.ect.dag import TokenNode
from qwed.ect.tokens import DEFAULT_LIFETIME_SECONDS, Level
from qwed.gateway.kernel.coroutines import SingleFlight
from qwed.gateway.kernel.ports import Evidence, Records, StoreUnavailable
from qwed.gateway.kernel.records import Activity, LedgerItem, ScoreChange

STRETCH: Final = 1_000
SEED_TRUST: Final = "seed_trust"
REINSTATE_TRUST: Final = "reinstate_trust"
UPDATE_SPEC: Final = "update_spec"
CHECK_COMPLIANCE: Final = "check_compliance"
_RESULTS: Final = {
    "success": ScoreEvent.TASK_SUCCESS,
    "partial": ScoreEvent.TASK_PARTIAL,
    "failure": ScoreEvent.TASK_FAILURE,
}


class ScoreFinding(msgspec.Struct, frozen=True):
    """Checks of one agent to be written down, under a name that says what they are about."""

    agent: str
    name: str
    at: int
    checks: tuple[ComplianceCheck, ...]


class _Parameters(msgspec.Struct):
    activity_id: str | None = None
    observed: bool = False
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
    observed: bool = False
    requested_by: str = ""
    redacted: bool = False


class Scorekeeper:
    """`always_continuous`: tokens are checked as they come, whatever their agent's specification asks for.
    `directory` says whom assertions may come from and be about beside registered agents; None asks nobody.
    `strict_checkpoints`: a checkpoint has to be an ancestor of what it precedes. `new_memory` makes room for
    what the table never forgets.
    """

    def __init__(
        self,
        observer: str,
        score_rules: ScoreRules,
        verifiers: Collection[str] = (),
        *,
        directory: Directory | None = None,
        always_continuous: bool = False,
        strict_checkpoints: bool = False,
        new_memory: Callable[[], TrustMemory] = InProcess,
    ) -> None:
        self.observer = observer
        self.new_memory = new_memory
        self._memory = new_memory()
        self._strict_checkpoints = strict_checkpoints
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
            memory=self._memory,
            kept_changes=0,
        )
        #: Agents with a specification; what their tokens broke and is not written down yet.
        self._watches: dict[str, Watch] = {}
        self._reported: dict[str, int] = {}
        self.findings: list[ScoreFinding] = []
        self._numbers: dict[str, int] = {}
        self._noted: list[ScoreChange] = []
        self.revoked: list[ScoreMove] = []
        self._seq = 0
        self._lost: str | None = None
        self._lock = threading.Lock()
        self._reading = SingleFlight()

    @property
    def read_up_to(self) -> int:
        return self._seq

    async def catch_up(self, store: Records, *, keep: bool = True) -> None:
        """Read what the ledger has become since; what moved is kept before anybody hears of it."""
        await self._reading.do("ledger", lambda: self._read_on(store, keep))

    async def _read_on(self, store: Records, keep: bool) -> None:
        while True:
            moved, count = await self._read_stretch(store.evidence)
            if keep and moved:
                await store.keep_scores(moved)
            if count < STRETCH:
                return

    async def _read_stretch(self, evidence: Evidence) -> tuple[list[ScoreChange], int]:
        # What was learned half can't be told from what was learned: only a new start computes it again.
        if self._lost is not None:
            raise StoreUnavailable(f"trust can't be computed until the next start: {self._lost}")
        stretch = await evidence.stretch(self._seq, STRETCH)
        with self._lock:
            try:
                self._learn_all(stretch)
            except TrustMemoryLost as error:
                self._lost = str(error)
                raise StoreUnavailable(f"trust can't be computed: {error}") from None
            moved, self._noted = self._noted, []
        return moved, len(stretch)

    def _learn_all(self, stretch: Sequence[LedgerItem]) -> None:
        for item in stretch:
            self._seq = item.seq
            self._learn(item)
        if stretch:
            self.table.settle(stretch[-1].at_ms // 1000)

    def _note(self, change: ScoreMove) -> None:
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
            claims, level = read_received_claims(item.token)
            self.table.observe(claims, at=at, level=level)
            self._check(claims, item.at_ms)
        elif item.activity is not None:
            self._learn_activity(item.activity, at)

    def _learn_activity(self, activity: Activity, at: int) -> None:
        payload = msgspec.json.decode(activity.payload, type=_Payload)
        peer, jti = agent_did(activity.agent_id), jti_of(activity.activity_id)
        self._list(activity, peer)
        if payload.observed:
            # Nobody was told no: nothing about it is the agent's doing.
            return
        self.table.observe(read_decided_claims(self.observer, activity), at=at, level=Level.L3)
        if payload.attestation_invalid:
            self.table.observe_invalid(peer, jti, at=at)
        is_forbidden = payload.verification is not None and payload.verification.failure == "forbidden"
        if activity.decision == Decision.DENIED and is_forbidden:
            self.table.apply(peer, ScoreEvent.POLICY_VIOLATION, evidence=jti, task=jti, at=at)
        # An agent may call its own action what it likes; only what people and the gateway do is noted.
        learn = _LEARNERS.get(activity.action_type) if activity.decision == NOTED else None
        if learn is not None:
            learn(self, activity, payload, at)

    def _list(self, activity: Activity, peer: str) -> None:
        """Whoever is decided about is registered, also where the entry of its registration was erased."""
        is_noted = activity.decision == NOTED
        if activity.agent_id == GATEWAY:
            return
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
        if given.activity_id is None or given.observed or event is None or (event.is_positive and is_own):
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
            self.findings.append(ScoreFinding(claims.iss, claims.jti, at, tuple(watch.report(at))))

    def spec_of(self, agent: str) -> BehaviourSpec | None:
        watch = self._watches.get(agent)
        return watch.spec if watch is not None else None

    def reports(self, hour: int) -> list[ScoreFinding]:
        """What is to be said of every watched agent of which nothing was said in this hour."""
        due = []
        with self._lock:
            for agent, watch in self._watches.items():
                if self._reported.get(agent, hour - 1) >= hour:
                    continue
                self._reported[agent] = hour
                at = hour * HOUR_SECONDS
                due.append(ScoreFinding(agent, f"hour {hour}", at, tuple(watch.report(at))))
        return due

    def _specify(self, activity: Activity, payload: _Payload, at: int) -> None:
        """Only what was written as it was meant: the hash is that of the document."""
        given, agent = _parameters(payload), agent_did(activity.agent_id)
        try:
            spec = read_spec(given.spec)
        except InvalidSpec:
            return
        if spec.agent_id == agent and spec.hash == given.spec_hash:
            find = self._node if self._strict_checkpoints else None
            self._watches[agent] = Watch(spec, at, authorities=[self.observer], find=find)

    def _node(self, jti: str) -> TokenNode | None:
        """Of what came before, as far as a walk to ancestors goes."""
        seen = self._memory.seen(jti)
        return None if seen is None else TokenNode(jti, 0, seen.par)

    def _punish(self, activity: Activity, payload: _Payload, at: int) -> None:
        """The gateway's own findings: each offending token costs once, and is reported once."""
        peer, violations = agent_did(activity.agent_id), _parameters(payload).violations
        found = [item.get("jti") for item in violations or () if isinstance(item, dict)]
        jtis = [jti for jti in found if isinstance(jti, str)]
        for jti in jtis:
            self.table.apply(peer, ScoreEvent.POLICY_VIOLATION, task=jti, at=at)
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


def read_received_claims(token: str) -> tuple[Claims, Level]:
    """Of a token that was verified when it came."""
    unverified = tokens.parse(token)
    given = unverified.claims
    span = rules.times(given.get("iat"), given.get("exp"))
    return rules.read(given, rules.audience(given.get("aud")), span), unverified.level


def read_decided_claims(observer: str, activity: Activity) -> Claims:
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


class ScoreProof(msgspec.Struct, frozen=True):
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


async def replay(store: Records, keeper: Scorekeeper, verifiers: Collection[str]) -> ScoreProof:
    """Compute every score from the ledger, from nothing, and compare with what is stored, digit by digit."""
    recount = _Recount(keeper.observer, keeper.table.rules, verifiers, new_memory=keeper.new_memory)
    await recount.catch_up(store)
    peers = len(recount.totals)
    async for peer in _list_stored_peers(store):
        peers += peer not in recount.totals
        recount.differences += await _beyond(store, peer, recount.totals.get(peer, 0))
    changes = sum(recount.totals.values())
    told = tuple(recount.differences[:MAX_DIFFERENCES])
    return ScoreProof(recount.read_up_to, peers, changes, recount.erased, told)


class _Recount(Scorekeeper):
    """Compares what it computes with what is stored, stretch by stretch, and keeps neither."""

    erased = 0

    @property
    def totals(self) -> Mapping[str, int]:
        """Changes computed of each peer."""
        return self._numbers

    async def _read_on(self, store: Records, keep: bool) -> None:
        self.differences: list[str] = []
        while True:
            moved, count = await self._read_stretch(store.evidence)
            if len(self.differences) < MAX_DIFFERENCES:
                self.differences += await _differences(store, moved)
            if count < STRETCH:
                return

    def _learn(self, item: LedgerItem) -> None:
        if item.activity is not None:
            self.erased += msgspec.json.decode(item.activity.payload, type=_Payload).redacted
        elif item.token is None and not item.is_about_row:
            self.erased += 1
        super()._learn(item)


async def _differences(store: Records, computed: Sequence[ScoreChange]) -> list[str]:
    by_peer: dict[str, list[ScoreChange]] = {}
    for change in computed:
        by_peer.setdefault(change.peer, []).append(change)
    told: list[str] = []
    for peer, changes in by_peer.items():
        found = await store.score_changes(peer, changes[-1].number + 1, len(changes))
        stored = {change.number: change for change in found}
        told += filter(None, (_difference(change, stored.get(change.number)) for change in changes))
    return told


def _difference(computed: ScoreChange, kept: ScoreChange | None) -> str | None:
    name = f"{computed.peer}: change {computed.number}"
    if kept is None:
        return f"{name} is not stored"
    if kept != msgspec.structs.replace(computed, seq=kept.seq):
        return f"{name} is stored as {kept.after}, computed {computed.after}"
    return None


async def _beyond(store: Records, peer: str, total: int) -> list[str]:
    """Stored changes of a peer with higher numbers than were computed."""
    newest = await store.score_changes(peer, None, MAX_DIFFERENCES)
    more = sorted(change.number for change in newest if change.number > total)
    return [f"{peer}: change {number} does not follow from the ledger" for number in more]


async def _list_stored_peers(store: Records) -> AsyncIterator[str]:
    after: str | None = None
    while found := await store.list_scored_peers(after, STRETCH):
        for peer in found:
            yield peer
        after = found[-1]
