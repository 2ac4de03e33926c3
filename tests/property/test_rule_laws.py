"""Rules only tighten: no rule, no team and no grant makes an answer milder than it was without them."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.tiers import scale
from tests.support.world import World

from qwed.domain.actions import Action
from qwed.domain.decisions import Decision
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.domain.rules import PolicyRule, Then
from qwed.domain.verdicts import Verdict
from qwed.policy import load_policy
from qwed.rules.evaluate import RuleBook, RuleView

_WHENS = (
    "true",
    "false",
    "risk >= HIGH",
    "action.type == 'calculate'",
    "action.parameters.missing == 1",
    "agent.trust < 2",
    "finding.status == 'UNCERTAIN'",
)
_TIMES = ("", ", limit: {at_most: 0, within: 1h}", ", cooldown: {within: 1h}")
_rule = st.tuples(st.sampled_from(_WHENS), st.sampled_from(["deny", "ask", "note"]), st.sampled_from(_TIMES))


def _lines(rules, indent: str) -> str:
    return "".join(
        f'{indent}- {{id: r{number}, when: "{when}", then: {then}{time}}}\n'
        for number, (when, then, time) in enumerate(rules)
    )


def _decide(text: str, finding: tuple[Status, Risk], trust: str) -> Decision:
    world = World(policy=load_policy(text, "policy.yaml"))
    try:
        world.prover.says(*finding)
        return Decision(world.verify(world.register(type=trust))["decision"])
    finally:
        world.close()


def _is_as_strict(decision: Decision, other: Decision) -> bool:
    return Verdict(other).tighten(Verdict(decision)).decision is decision or decision is other


@settings(
    max_examples=scale(ci=10, nightly=200, long=2000),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    rules=st.lists(_rule, max_size=3),
    team=st.lists(_rule, max_size=3),
    status=st.sampled_from([Status.VERIFIED, Status.UNCERTAIN, Status.FAILED]),
    risk=st.sampled_from(list(Risk)),
    trust=st.sampled_from(["supervised", "autonomous", "trusted"]),
)
def test_rules_and_teams_never_loosen(rules, team, status, risk, trust):
    own = f"rules:\n{_lines(rules, '  ')}" if rules else ""
    overlay = f"teams:\n  a:\n    principals: [acme]\n    rules:\n{_lines(team, '      ')}" if team else ""
    plain = _decide("", (status, risk), trust)
    ruled = _decide(own, (status, risk), trust)
    both = _decide(own + overlay, (status, risk), trust)

    assert _is_as_strict(ruled, plain), (plain, ruled)
    assert _is_as_strict(both, ruled), (ruled, both)


_value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(2**62, 2**65),
    st.floats(allow_nan=True),
    st.sampled_from(["", "x", "1", "y" * 100, "z" * 20_000]),
    st.lists(st.integers(0, 1), max_size=2),
)
_remembered = tuple(
    PolicyRule(id=f"r{number}", when=when, then=Then.DENY)
    for number, when in enumerate(
        (
            "action.parameters.a == 1",
            "action.parameters.a == true",
            "has(action.parameters.a) && action.parameters.a != 'x'",
            "action.query == asked.query",
            "risk >= HIGH && agent.trust < 2",
            "context.b.c > 0.5",
        )
    )
)


@settings(max_examples=scale(ci=40, nightly=1_000, long=10_000), deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("ab"), _value), _value, st.integers(0, 3), st.integers(0, 3)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_remembered_of_rules_is_what_they_answer(calls):
    """One book that is asked everything, and one that is made anew for each."""
    book = RuleBook(_remembered)
    for parameters, inner, risk, trust in (*calls, *calls):
        view = RuleView(
            action=Action("calculate", query="x" if trust else None, parameters=parameters),
            asked=Action("calculate", query="x" if risk else None),
            agent={"trust": trust},
            context={"b": {"c": inner}} if risk else {"b": inner},
            risk=risk,
            finding={},
            charge=0.0,
            now_ms=0,
        )
        assert book.ask(view) == RuleBook(_remembered).ask(view)
