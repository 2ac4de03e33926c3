"""One observer's trust in its peers, computed from verified tokens alone.

`observe` is told every verified token in the order of the ledger, with the time it was received, and is the
only thing that learns: the same tokens in the same order give the same scores, digit for digit. Reading
changes nothing. What is left out: signatures (tokens arrive verified), storage, and signing what is said
to others.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import Final

import msgspec

from qwed.assurance.accusations import (
    ABOUT_WORK,
    COMPLIANCE_CHECK,
    ERROR,
    ROLLBACK_REQUEST,
    TRUST_ASSERTION,
    Accusation,
    Seen,
    accusations,
    offenders,
)
from qwed.assurance.assertions import (
    Assertion,
    Directory,
    InvalidAssertion,
    body_of,
    read_assertion,
)
from qwed.assurance.explanations import BestWord, ScoreExplanation, ScoreMove, Thresholds, TrustStatement
from qwed.assurance.scores import Confidence, ScoreEvent, ScoreRules, as_score
from qwed.assurance.trust_memory import InProcess, Task, TrustMemory
from qwed.ect.claims import Claims
from qwed.ect.tokens import Level

#: Per subject; of more, those from the least trusted go first.
MAX_ASSERTIONS: Final = 32
RESULT: Final = "apae.result"
#: What a gateway's own token says it decided; only what was let through can be answered.
DECISION: Final = "qwed.decision"
_LETS_ACT: Final = ("APPROVED", "CORRECTED")
_RESULTS: Final = {"success": ScoreEvent.TASK_SUCCESS, "partial": ScoreEvent.TASK_PARTIAL}
#: Beside events, which count once per task (the two ways to succeed are one): evidence counts once, and a
#: spoilt task succeeds no more.
_SUCCESS: Final = ScoreEvent.TASK_SUCCESS.value
_EVIDENCE: Final = "evidence"
_SPOILT: Final = "spoilt"


def _system_seconds() -> int:
    return int(time.time())


class _Pending(msgspec.Struct, frozen=True, gc=False):
    """A success on probation: it counts at `due`, unless the task is found wanting before."""

    due: int
    event: ScoreEvent
    evidence: str
    task: str


class _Peer(msgspec.Struct):
    score: Decimal
    at: int
    changes: deque[ScoreMove]
    interactions: int = 0
    is_revoked: bool = False
    #: By the time they are due.
    pending: deque[_Pending] = msgspec.field(default_factory=deque)


class TrustTable:
    """Nothing here reads the table as a whole: every question names one peer.

    Of each peer the newest `kept_changes` can be explained; None keeps them all.
    """

    def __init__(
        self,
        observer: str,
        rules: ScoreRules | None = None,
        *,
        verifiers: Collection[str] = (),
        directory: Directory | None = None,
        clock: Callable[[], int] = _system_seconds,
        journal: Callable[[ScoreMove], None] | None = None,
        memory: TrustMemory | None = None,
        kept_changes: int | None = None,
    ) -> None:
        self.observer = observer
        self.rules = rules or ScoreRules()
        self._verifiers = frozenset(verifiers)
        self._directory = directory
        self._clock = clock
        self._journal = journal
        self._memory = InProcess() if memory is None else memory
        self._kept_changes = kept_changes
        self._peers: dict[str, _Peer] = {}
        #: When something is due, and of whom: in order, since received times only go forward.
        self._due: deque[tuple[int, str]] = deque()
        self._assertions: dict[str, dict[str, Assertion]] = {}
        self._heard: dict[str, Assertion] = {}
        self._latest = 0

    # Reading

    def score(self, peer: str, now: int | None = None) -> Decimal:
        """Decayed, with what has settled by now, and others' word where there is no experience."""
        at = self._at(now)
        own, interactions = self._own(peer, at)
        best = None if interactions else self._best_word(peer, at)
        return own if best is None else max(own, best.worth)

    def confidence(self, peer: str, now: int | None = None) -> Confidence:
        return Confidence.of(self._own(peer, self._at(now))[1])

    def is_revoked(self, peer: str) -> bool:
        known = self._peers.get(peer)
        return known is not None and known.is_revoked

    def meets(self, peer: str, thresholds: Thresholds, now: int | None = None) -> bool:
        """Both have to hold. Whoever is refused learns this and no more."""
        at = self._at(now)
        is_trusted = thresholds.min_trust is None or self.score(peer, at) >= thresholds.min_trust
        wanted = thresholds.min_confidence
        return is_trusted and (wanted is None or self.confidence(peer, at) >= wanted)

    def explain(self, peer: str, now: int | None = None) -> ScoreExplanation:
        at = self._at(now)
        known = self._peers.get(peer)
        own, interactions = self._own(peer, at)
        return ScoreExplanation(
            observer=self.observer,
            peer=peer,
            score=self.score(peer, at),
            own=own,
            stored=known.score if known else self.rules.initial,
            interactions=interactions,
            confidence=Confidence.of(interactions),
            is_revoked=self.is_revoked(peer),
            pending=sum(item.due > at for item in known.pending) if known else 0,
            word=None if interactions else self._best_word(peer, at),
            changes=tuple(known.changes) if known else (),
        )

    def _own(self, peer: str, now: int) -> tuple[Decimal, int]:
        """The score and the interactions as they are at that time; nothing is written down."""
        known = self._peers.get(peer)
        if known is None:
            return self.rules.initial, 0
        score, at, interactions = known.score, known.at, known.interactions
        for item in known.pending:
            if item.due > now:
                break
            score = self.rules.after(self.rules.decay(score, item.due - at), item.event)
            at, interactions = item.due, interactions + 1
        return self.rules.decay(score, now - at), interactions

    def _best_word(self, peer: str, now: int) -> BestWord | None:
        words = [
            BestWord(assertion.asserter, assertion.jti, self._worth(assertion, now))
            for assertion in self._assertions.get(peer, {}).values()
            if assertion.is_live(now) and not self.is_revoked(assertion.asserter)
        ]
        return max(words, key=lambda word: word.worth, default=None)

    def _worth(self, assertion: Assertion, now: int) -> Decimal:
        # Only our own experience of the asserter: what others say of it would let a chain of words grow.
        return self.rules.passed_on(assertion.score, self._own(assertion.asserter, now)[0])

    # Saying

    def assertion(self, peer: str, now: int | None = None) -> TrustStatement | None:
        """What we can say to others: our own experience, else the best word that may be passed on."""
        at = self._at(now)
        own, interactions = self._own(peer, at)
        if interactions:
            return TrustStatement((), body_of(peer, own, interactions))
        best = self._best_word(peer, at)
        heard = self._heard[best.jti] if best else None
        if best is None or heard is None or heard.hops + 1 > self.rules.max_hops:
            return None
        return TrustStatement(
            (heard.jti,), body_of(peer, best.worth, heard.interactions, heard.hops + 1), heard.exp
        )

    # Learning

    def seed(self, peer: str, value: Decimal | float | str, now: int | None = None) -> None:
        """An operator's word where to begin; it is not an interaction. Raises `InvalidScore`."""
        known = self._peer(peer)
        known.score, known.at = as_score(value), self._at(now)

    def apply(
        self,
        peer: str,
        event: ScoreEvent | str,
        *,
        evidence: str | None = None,
        task: str | None = None,
        at: int | None = None,
    ) -> ScoreMove | None:
        """The observer's own finding, at once. None where the evidence or the task counted already.

        Raises `ValueError` for an event that does not exist.
        """
        kind = ScoreEvent(event)
        moment = self._advance(self._at(at))
        known = self._peer(peer)
        self._settle(peer, known, moment)
        if evidence is not None and self._memory.has_counted((peer, _EVIDENCE, evidence)):
            return None
        return self._count(peer, known, kind, evidence, task, moment)

    def observe(self, claims: Claims, *, at: int, level: Level = Level.L2) -> tuple[ScoreMove, ...]:
        """A verified token, received at that time: what it changed. Unsigned ones change nothing."""
        if level < Level.L2 or self._memory.seen(claims.jti) is not None:
            return ()
        moment = self._advance(at)
        self._memory.see(claims.jti, Seen(claims.iss, claims.aud, claims.par))
        if claims.exec_act in (ERROR, ROLLBACK_REQUEST):
            return tuple(self._accuse(claims, moment))
        if claims.exec_act == COMPLIANCE_CHECK:
            return tuple(self._punish(claims, moment))
        if claims.exec_act == TRUST_ASSERTION:
            self._hear(claims, level)
        elif claims.exec_act not in ABOUT_WORK:
            return tuple(self._work(claims, moment))
        return ()

    def report(
        self, peer: str, event: ScoreEvent, task: str, evidence: str, *, at: int
    ) -> tuple[ScoreMove, ...]:
        """What somebody entitled to say so reports of a task of the observer's: a success settles first."""
        moment = self._advance(at)
        known = self._peer(peer)
        changes = self._settle(peer, known, moment)
        if not event.is_positive:
            change = self._count(peer, known, event, evidence, task, moment)
            return (*changes, *([change] if change is not None else []))
        asked = self._memory.task(task)
        if asked is not None and asked.answered_by is None and not self._is_spoilt(peer, task):
            self._memory.keep_task(task, Task(asked.at, evidence))
            self._await(peer, known, event, evidence, task)
            changes += self._settle(peer, known, moment)
        return tuple(changes)

    def observe_invalid(self, delivered_by: str | None, token_hash: str, *, at: int) -> ScoreMove | None:
        """A signature that is wrong is charged to whoever delivered it, if that is known, never to `iss`."""
        if delivered_by is None or delivered_by == self.observer:
            return None
        return self.apply(delivered_by, ScoreEvent.ATTESTATION_INVALID, evidence=token_hash, at=at)

    def settle(self, now: int | None = None) -> tuple[ScoreMove, ...]:
        """Write down what has settled by now."""
        moment = self._advance(self._at(now))
        settled: list[ScoreMove] = []
        while self._due and self._due[0][0] <= moment:
            _, peer = self._due.popleft()
            known = self._peers[peer]
            if known.pending:
                settled += self._settle(peer, known, moment)
        return tuple(settled)

    def reinstate(self, peer: str) -> bool:
        """An operator's decision; False where nothing was revoked."""
        known = self._peers.get(peer)
        if known is None or not known.is_revoked:
            return False
        known.is_revoked = False
        return True

    def _work(self, claims: Claims, at: int) -> Iterator[ScoreMove]:
        if claims.iss == self.observer:
            if claims.ext.get(DECISION, "APPROVED") in _LETS_ACT:
                self._memory.keep_task(claims.jti, Task(at))
            return
        result = claims.ext.get(RESULT, "success")
        event = _RESULTS.get(result) if isinstance(result, str) else None
        if event is None or (task := self._find_answered(claims)) is None:
            return
        jti, asked = task
        self._memory.keep_task(jti, Task(asked.at, claims.jti))
        self._memory.answers(claims.jti, jti)
        known = self._peer(claims.iss)
        yield from self._settle(claims.iss, known, at)
        if not self._is_spoilt(claims.iss, jti):
            self._await(claims.iss, known, event, claims.jti, jti)
            yield from self._settle(claims.iss, known, at)

    def _find_answered(self, claims: Claims) -> tuple[str, Task] | None:
        """The first task named that was given to the issuer and that nobody has answered."""
        for jti in claims.par:
            task = self._memory.task(jti)
            if task is None or task.answered_by is not None:
                continue
            request = self._memory.seen(jti)
            if request is not None and claims.iss in request.aud:
                return jti, task
        return None

    def _await(self, peer: str, known: _Peer, event: ScoreEvent, evidence: str, task: str) -> None:
        due = self._latest + self.rules.settle_seconds
        known.pending.append(_Pending(due, event, evidence, task))
        self._due.append((due, peer))

    def _is_spoilt(self, peer: str, task: str) -> bool:
        return self._memory.has_counted((peer, _SPOILT, task))

    def _accuse(self, claims: Claims, at: int) -> Iterator[ScoreMove]:
        for accusation in accusations(claims, self.observer, self._verifiers, self._memory.seen):
            if accusation.peer == self.observer or not self._holds(accusation, at):
                continue
            known = self._peer(accusation.peer)
            yield from self._settle(accusation.peer, known, at)
            if not self._memory.has_counted((accusation.peer, _EVIDENCE, claims.jti)):
                change = self._count(
                    accusation.peer, known, accusation.event, claims.jti, accusation.task, at
                )
                if change is not None:
                    yield change

    def _punish(self, claims: Claims, at: int) -> Iterator[ScoreMove]:
        """Each token that a verifier found in violation costs once, however many checks report it."""
        if claims.iss != self.observer and claims.iss not in self._verifiers:
            return
        for offender in offenders(claims):
            work = self._memory.seen(offender)
            if work is None or work.iss == self.observer:
                continue
            known = self._peer(work.iss)
            yield from self._settle(work.iss, known, at)
            change = self._count(work.iss, known, ScoreEvent.POLICY_VIOLATION, claims.jti, offender, at)
            if change is not None:
                yield change

    def _holds(self, accusation: Accusation, at: int) -> bool:
        """A time-out holds only for a task of the observer's that is overdue and unanswered."""
        if accusation.event is not ScoreEvent.TASK_TIMEOUT:
            return True
        task = self._memory.task(accusation.task)
        return task is not None and task.answered_by is None and at - task.at >= self.rules.timeout_seconds

    def _count(
        self, peer: str, known: _Peer, event: ScoreEvent, evidence: str | None, task: str | None, at: int
    ) -> ScoreMove | None:
        """Each (task, event) once; the two ways to succeed are one; a negative spoils the task."""
        memory = self._memory
        if task is not None:
            task, is_positive = memory.answered(task) or task, event.is_positive
            mark = peer, _SUCCESS if is_positive else event.value, task
            if memory.has_counted(mark) or (is_positive and self._is_spoilt(peer, task)):
                return None
            memory.count(mark)
            if not is_positive:
                memory.count((peer, _SPOILT, task))
                known.pending = deque(item for item in known.pending if item.task != task)
        if evidence is not None:
            memory.count((peer, _EVIDENCE, evidence))
        return self._write(peer, known, event, evidence, at)

    def _settle(self, peer: str, known: _Peer, now: int) -> list[ScoreMove]:
        settled = []
        while known.pending and known.pending[0].due <= now:
            item = known.pending.popleft()
            change = self._count(peer, known, item.event, item.evidence, item.task, item.due)
            if change is not None:
                settled.append(change)
        return settled

    def _write(self, peer: str, known: _Peer, event: ScoreEvent, evidence: str | None, at: int) -> ScoreMove:
        before = self.rules.decay(known.score, at - known.at)
        known.score, known.at = self.rules.after(before, event), at
        known.interactions += 1
        revokes = known.score < self.rules.floor and not known.is_revoked and not event.is_positive
        known.is_revoked = known.is_revoked or revokes
        change = ScoreMove(peer, event, evidence, before, known.score, at, revokes)
        known.changes.append(change)
        if self._journal is not None:
            self._journal(change)
        return change

    def _hear(self, claims: Claims, level: Level) -> None:
        """An assertion that breaks a rule says nothing; of each asserter the latest word is kept."""
        if claims.iss == self.observer:
            return
        original = next((found for jti in claims.par if (found := self._heard.get(jti)) is not None), None)
        try:
            heard = read_assertion(
                claims,
                level,
                max_hops=self.rules.max_hops,
                directory=self._directory,
                original=original,
            )
        except InvalidAssertion:
            return
        words = self._assertions.setdefault(heard.subject, {})
        earlier = words.get(heard.asserter)
        if heard.subject == self.observer or (earlier is not None and earlier.iat > heard.iat):
            return
        if earlier is not None:
            self._forget(words, earlier)
        words[heard.asserter] = heard
        self._heard[heard.jti] = heard
        for assertion in [word for word in words.values() if not word.is_live(self._latest)]:
            self._forget(words, assertion)
        if len(words) > MAX_ASSERTIONS:
            self._forget(words, min(words.values(), key=lambda word: self._worth(word, self._latest)))

    def _forget(self, words: dict[str, Assertion], assertion: Assertion) -> None:
        del words[assertion.asserter]
        del self._heard[assertion.jti]

    def _peer(self, peer: str) -> _Peer:
        known = self._peers.get(peer)
        if known is None:
            changes: deque[ScoreMove] = deque(maxlen=self._kept_changes)
            known = self._peers[peer] = _Peer(self.rules.initial, self._latest, changes)
        return known

    def _at(self, now: int | None) -> int:
        return self._clock() if now is None else now

    def _advance(self, at: int) -> int:
        # Received times only go forward; a clock set back must not let a success settle twice.
        self._latest = max(self._latest, at)
        return self._latest
