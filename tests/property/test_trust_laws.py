"""Laws of the trust score: the implementation agrees with a page of plain Python on any history, and no
sequence of tokens that a stranger can make moves anybody's score."""

import random
import tempfile
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import trust_model

from qwed.assurance import ScoreEvent, ScoreRules, TrustTable
from qwed.assurance.assertions import body_of
from qwed.ect.claims import Claims
from qwed.ect.tokens import Level
from qwed.stores.trust_memory import SqliteTrustMemory

OBSERVER = "spiffe://example.com/agent/observer"
VERIFIER = "spiffe://example.com/verifier"
PEERS = ["spiffe://example.com/agent/a", "spiffe://example.com/agent/b", "spiffe://example.com/agent/c"]
EVERYBODY = [OBSERVER, VERIFIER, *PEERS]
START = 1_800_000_000
PAUSES = [0, 0, 0, 1, 60, 299, 300, 599, 600, 601, 86_400, 8 * 86_400, 60 * 86_400]


def jti(number):
    return str(uuid.UUID(int=number + 1))


def make_token(chance, number, issuers, made):
    """A token that could be: mostly sensible, sometimes about nothing, or about what comes later."""
    is_request = number < 4 and chance.random() < 0.6
    issuer = OBSERVER if is_request else chance.choice(issuers)
    kinds = ["work", "work", "work", "atd:error", "atd:error", "atd:rollback_request", "check"]
    kind = "work" if is_request else chance.choice(kinds)
    named = {chance.randrange(4), chance.randrange(12), chance.randrange(max(1, made))}
    par = tuple(jti(other) for other in sorted(named) if other != number and chance.random() < 0.7)
    action, ext = kind, {}
    if kind == "work":
        action = chance.choice(["read_config", "update_rules"])
        result = chance.choice([None, None, None, "success", "partial", "failure", 7])
        ext = {} if result is None else {"apae.result": result}
    elif kind == "check":
        action = "apae:compliance_check"
        ext = {"apae.violations": [{"rule": "x", "jti": name, "detail": ""} for name in par]}
    elif kind == "atd:error":
        error = chance.choice([None, "constraint_violation", "timeout"])
        ext = {} if error is None else {"atd.error_type": error}
    if kind.startswith("atd:") and chance.random() < 0.3:
        ext["atd.target_agent"] = chance.choice([*PEERS, OBSERVER])
    audience = tuple(chance.sample([*PEERS, OBSERVER], chance.randint(1, 4)))
    return Claims(issuer, audience, START, START + 600, jti(number), action, par, ext=ext)


def make_history(seed, issuers=EVERYBODY, shift=0):
    """[(token, received at, is signed)], with tokens that come again, late, or before their parents."""
    chance = random.Random(seed)
    made = [make_token(chance, number + shift, issuers, number) for number in range(chance.randint(1, 14))]
    if chance.random() < 0.5:
        made += chance.choices(made, k=4)
    for _ in range(chance.randint(0, 3)):
        made.insert(chance.randrange(len(made)), made.pop(chance.randrange(len(made))))
    at, history = START, []
    for claims in made:
        at += chance.choice(PAUSES)
        history.append((claims, at, chance.random() < 0.95))
    return history


seeds = st.integers(0, 2**63)
histories = seeds.map(make_history)


RULES = st.builds(
    ScoreRules,
    initial=st.sampled_from([Decimal("0.5"), Decimal("0.1"), Decimal("0.95")]),
    settle_seconds=st.sampled_from([600, 0, 60]),
    alpha=st.sampled_from([Decimal("0.01"), Decimal("0.3")]),
    beta=st.sampled_from([Decimal("0.8"), Decimal("0.125"), Decimal(0)]),
)


def observed(history, rules, verifiers=(VERIFIER,), memory=None):
    table = TrustTable(OBSERVER, rules, verifiers=verifiers, memory=memory)
    for claims, at, is_signed in history:
        table.observe(claims, at=at, level=Level.L2 if is_signed else Level.L1)
    return table


@settings(max_examples=2_000, deadline=None)
@given(histories, RULES, st.sampled_from([0, 599, 600, 86_400, 9 * 86_400, 400 * 86_400]))
def test_any_history_gives_the_score_of_the_reference_model(history, rules, later):
    now = max(at for _, at, _ in history) + later
    table = observed(history, rules)

    for peer in PEERS:
        expected = trust_model.score(history, OBSERVER, peer, rules, now, (VERIFIER,))
        assert Fraction(table.score(peer, now)) == expected


@settings(max_examples=500, deadline=None)
@given(histories, RULES)
def test_every_change_is_written_down_with_its_evidence(history, rules):
    table = observed(history, rules)
    end = max(at for _, at, _ in history) + 601
    table.settle(end)

    for peer in PEERS:
        changes = table.explain(peer, end).changes
        told = [(change.at, change.event.value, change.evidence) for change in changes]
        assert told == trust_model.moves(history, OBSERVER, peer, rules, (VERIFIER,))


@settings(max_examples=200, deadline=None)
@given(histories, RULES)
def test_the_same_tokens_in_the_same_order_give_the_same_digits(history, rules):
    twice = [entry for entry in history for _ in (1, 2)]
    now = max(at for _, at, _ in history) + 700
    one, other = observed(history, rules), observed(twice, rules)

    for peer in PEERS:
        assert str(one.score(peer, now)) == str(other.score(peer, now))


@settings(max_examples=150, deadline=None)
@given(histories, RULES, st.integers(1, 8))
def test_what_is_remembered_on_disk_gives_the_same_digits(history, rules, generation):
    now = max(at for _, at, _ in history) + 700
    with tempfile.TemporaryDirectory() as folder:
        memory = SqliteTrustMemory(Path(folder), generation)
        one, other = observed(history, rules), observed(history, rules, memory=memory)
        assert list(Path(folder).iterdir()) == []

    for peer in PEERS:
        assert one.explain(peer, now) == other.explain(peer, now)


@settings(max_examples=200, deadline=None)
@given(histories, RULES, st.sampled_from([0, 600, 10**7]))
def test_reading_changes_nothing(history, rules, ahead):
    silent, asked = observed(history, rules), TrustTable(OBSERVER, rules, verifiers=[VERIFIER])
    for claims, at, is_signed in history:
        asked.observe(claims, at=at, level=Level.L2 if is_signed else Level.L1)
        for peer in PEERS:
            asked.score(peer, at + ahead)
            asked.explain(peer, at + ahead)
    now = max(at for _, at, _ in history) + 700

    assert [asked.score(peer, now) for peer in PEERS] == [silent.score(peer, now) for peer in PEERS]


STRANGERS = ("spiffe://evil.example/agent/1", "spiffe://evil.example/agent/2")


@settings(max_examples=500, deadline=None)
@given(histories, seeds)
def test_no_stranger_lowers_or_raises_anybodys_score_whatever_it_signs(honest, seed):
    """Strangers sign requests, answers, errors, checks and accusations that name real work."""
    rules, chance = ScoreRules(), random.Random(seed)
    attacks = [claims for claims, _, _ in make_history(seed, STRANGERS, shift=20)]
    mixed = []
    for entry in honest:
        while attacks and chance.random() < 0.5:
            mixed.append((attacks.pop(), entry[1], True))
        mixed.append(entry)
    mixed += [(claims, honest[-1][1], True) for claims in attacks]
    now = max(at for _, at, _ in honest) + 700
    before, after = observed(honest, rules), observed(mixed, rules)

    assert [after.score(peer, now) for peer in PEERS] == [before.score(peer, now) for peer in PEERS]


def assertion(number, asserter, subject, score, interactions=147, hops=0, par=(), lifetime=600, **changes):
    ext = body_of(subject, Decimal(score), interactions, hops) | changes
    return Claims(
        asserter, (OBSERVER,), START, START + lifetime, jti(number), "apae:trust_assertion", par, ext=ext
    )


@settings(deadline=None)
@given(st.integers(1, 80), st.decimals(0, 1, places=3), st.sampled_from(["0.5", "0.1", "1", "0"]))
def test_any_number_of_unknown_asserters_gains_nothing(count, score, initial):
    rules = ScoreRules(initial=Decimal(initial))
    table = TrustTable(OBSERVER, rules)
    for number in range(count):
        table.observe(assertion(number, f"spiffe://sybil.example/{number}", PEERS[0], score), at=START)

    assert table.score(PEERS[0], START) == rules.initial


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.decimals(0, 1, places=3)), min_size=1, max_size=12))
def test_assertions_do_not_add_up_the_best_one_counts(said):
    table = TrustTable(OBSERVER, ScoreRules(initial=Decimal("0.1")))
    friends = [f"spiffe://friend.example/{number}" for number in range(6)]
    latest = {}
    for friend in friends:
        table.seed(friend, Decimal("0.9"), START)
    for number, (friend, score) in enumerate(said):
        table.observe(assertion(number, friends[friend], PEERS[0], score), at=START)
        latest[friend] = score
    best = max(latest.values()) * Decimal("0.9") * Decimal("0.5")

    assert table.score(PEERS[0], START) == max(Decimal("0.1"), best)


@settings(deadline=None)
@given(st.integers(-2, 5), st.booleans(), st.decimals(0, 1, places=2))
def test_a_forged_hop_count_has_no_effect(hops, names_the_original, score):
    table = TrustTable(OBSERVER, ScoreRules(initial=Decimal("0.1")))
    relayer = "spiffe://friend.example/relayer"
    table.seed(relayer, 1, START)
    table.seed(PEERS[1], 1, START)
    original = assertion(0, PEERS[1], PEERS[0], "0.4")
    table.observe(original, at=START)
    par = (original.jti,) if names_the_original else ()
    table.observe(assertion(1, relayer, PEERS[0], score, hops=hops, par=par), at=START)
    is_honest = (names_the_original, hops) in ((True, 1), (False, 0)) and not (
        names_the_original and score > Decimal("0.4")
    )
    heard = [Decimal("0.4"), score] if is_honest else [Decimal("0.4")]

    assert table.score(PEERS[0], START) == max(Decimal("0.1"), max(heard) * Decimal("0.5"))


@given(st.sampled_from([event for event in ScoreEvent if not event.is_positive]), st.integers(1, 40))
def test_the_floor_revokes_exactly_once(event, count):
    table = TrustTable(OBSERVER)
    changes = [table.apply(PEERS[0], event, at=START) for _ in range(count)]

    crossed = [change for change in changes if change.revokes]
    assert len(crossed) == (1 if changes[-1].after < Decimal("0.2") else 0)
    assert table.is_revoked(PEERS[0]) == bool(crossed)
