"""A policy proposed from what was refused: it says what it says, whatever names agents chose."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.risk import Risk
from qwed.policy import load_policy
from qwed.policy.proposals import MAX_PROPOSALS, fragment, learn, merged


def refused(name: str, agent: str = "agent_1", code: str = "QWED-AGENT-ACTION-001", **parameters: Any) -> Any:
    action = {"type": name, "parameters": parameters}
    return {"action_type": name, "error_code": code, "agent_id": agent, "action": action}


@pytest.mark.parametrize(
    ("name", "risk", "is_offered"),
    [
        ("lookup_order", Risk.LOW, True),
        ("getCustomer", Risk.LOW, True),
        ("summarise", Risk.MEDIUM, True),
        ("publish_page", Risk.MEDIUM, True),
        ("update_order", Risk.HIGH, True),
        ("get_payment", Risk.HIGH, True),
        ("transfer_funds", Risk.HIGH, True),
        ("delete_order", Risk.CRITICAL, False),
        ("run_shell", Risk.CRITICAL, False),
        ("get_admin_token", Risk.CRITICAL, False),
    ],
)
def test_how_risky_a_name_sounds_is_how_it_is_proposed(name: str, risk: Risk, is_offered: bool) -> None:
    proposal = learn([refused(name)], DEFAULT_POLICY).proposals[0]

    assert (proposal.risk, proposal.is_offered) == (risk, is_offered)


def test_parameters_can_make_a_harmless_name_dangerous() -> None:
    assert not learn([refused("get_thing", shell="ls")], DEFAULT_POLICY).proposals[0].is_offered


def test_what_is_proposed_has_the_stated_risk_once_it_is_loaded() -> None:
    entries = [refused("lookup_order", order=1), refused("lookup_order"), refused("delete_order")]
    text = fragment(learn(entries, DEFAULT_POLICY))
    policy = load_policy(text, "learned")

    assert policy.risk_of("lookup_order") is Risk.LOW
    assert not policy.is_registered("delete_order")
    assert "  # delete_order:" in text
    assert "refused 2 ×, 1 agent(s); parameters: order" in text


def test_only_what_was_refused_as_unknown_and_still_is_counts() -> None:
    entries = [
        refused("calculate"),
        refused("send_money", code="QWED-AGENT-004"),
        refused("lookup_order", code="QWED-AGENT-005"),
        refused("own_thing", code="QWED-AGENT-004"),
    ]

    assert [proposal.name for proposal in learn(entries, DEFAULT_POLICY).proposals] == ["own_thing"]


@pytest.mark.parametrize(
    "name",
    ["Send_Money", "send-money", "ｓend_email", "require_context", "a b", "a\nb: {}", "", "-x", "x" * 129],
)
def test_look_alikes_and_malformed_names_are_counted_and_never_written(name: str) -> None:
    learned = learn([refused(name)], DEFAULT_POLICY)

    assert learned.proposals == ()
    assert learned.unusable == 1
    assert name == "" or name not in fragment(learned)


def test_the_most_frequent_names_are_proposed_and_the_rest_counted() -> None:
    entries = [refused(f"tool_{n}") for n in range(MAX_PROPOSALS + 5)] + [refused("popular")] * 2
    learned = learn(entries, DEFAULT_POLICY)

    assert learned.proposals[0].name == "popular"
    assert len(learned.proposals) == MAX_PROPOSALS
    assert learned.left_out == 6


@given(
    st.lists(
        st.tuples(
            st.one_of(st.text(max_size=20), st.from_regex(r"[A-Za-z0-9_.:/-]{1,12}", fullmatch=True)),
            st.dictionaries(st.text(max_size=12), st.just(1), max_size=3),
        ),
        max_size=8,
    )
)
def test_no_name_and_no_parameter_can_write_into_the_policy(calls: list[tuple[str, dict[str, int]]]) -> None:
    entries = [
        {"action_type": name, "error_code": "QWED-AGENT-ACTION-001", "action": {"parameters": parameters}}
        for name, parameters in calls
    ]
    learned = learn(entries, DEFAULT_POLICY)
    policies = [load_policy(fragment(learned), "alone"), load_policy(merged("", learned), "merged")]
    offered = {proposal.name: proposal.risk for proposal in learned.proposals if proposal.is_offered}

    for policy in policies:
        new = {name: rule.risk for name, rule in policy.actions.items() if name not in DEFAULT_POLICY.actions}

        assert new == offered
        assert policy.tools_require_context is DEFAULT_POLICY.tools_require_context


EXISTING = """\
# my policy
actions:
  deploy: {engine: tool_control, risk: high}
tools:   # mine
    refund:
        group: dangerous   # never alone
limits:
  max_depth: 32
"""


def test_a_policy_file_keeps_what_it_says_and_how_it_says_it() -> None:
    learned = learn([refused("lookup_order"), refused("wipe_all")], DEFAULT_POLICY)
    text = merged(EXISTING, learned)
    policy = load_policy(text, "merged")

    assert set(EXISTING.splitlines()) <= set(text.splitlines())
    assert policy.risk_of("lookup_order") is Risk.LOW
    assert policy.risk_of("refund") is Risk.CRITICAL
    assert policy.limits.max_depth == 32


def test_a_policy_file_without_tools_gets_them() -> None:
    text = merged("default_price_usd: 0.02\n", learn([refused("lookup_order")], DEFAULT_POLICY))

    assert load_policy(text, "merged").is_registered("lookup_order")


def test_tools_written_on_one_line_are_left_to_the_person() -> None:
    with pytest.raises(ValueError, match="line 1"):
        merged("tools: {refund: {risk: high}}\n", learn([refused("lookup_order")], DEFAULT_POLICY))


def test_the_page_shows_what_is_proposed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "allow-new-tools.md").read_text(encoding="utf-8")
    entries = [
        *[refused("lookup_order", agent, order=1) for agent in ("a", "b", "a", "b", "a")],
        *[refused("update_order", order=1, status="new")] * 2,
        refused("delete_order", order=1),
    ]

    assert f"$ qwed tools learn\n{fragment(learn(entries, DEFAULT_POLICY))}```" in page
