"""Which action the SDK redeems: the one that the grant is for."""

from typing import Any

import pytest

from qwed.domain.actions import Action, action_hash
from qwed_sdk.calls import read_decision
from qwed_sdk.conversations import find_granted_action
from qwed_sdk.errors import GatewayUnavailable
from qwed_sdk.results import Approval, Decision

PROPOSED = {"type": "send_email", "parameters": {"body": "2+2=5", "password": "hunter2"}}
CORRECTED = {"type": "send_email", "parameters": {"body": "2+2=4", "password": "hunter2"}}
#: As a person sees it.
SHOWN = {"type": "send_email", "parameters": {"body": "2+2=4", "password": "[masked]"}}


def approval(granted: dict[str, Any] | None) -> Approval:
    digest = (
        None if granted is None else action_hash(Action(granted["type"], parameters=granted["parameters"]))
    )
    return Approval({"status": "approved", "action": SHOWN, "action_hash": digest})


def test_what_an_engine_corrected_is_redeemed_as_it_was_told_and_not_as_it_is_shown() -> None:
    assert find_granted_action(PROPOSED, approval(CORRECTED), CORRECTED) == CORRECTED


def test_what_was_proposed_is_redeemed_where_that_was_granted() -> None:
    assert find_granted_action(PROPOSED, approval(PROPOSED), None) == PROPOSED


def test_what_a_person_edited_is_redeemed_as_it_is_shown() -> None:
    edited = {"type": "send_email", "parameters": {"body": "2+2=4"}}
    granted = Approval({**approval(edited), "action": edited})
    assert find_granted_action(PROPOSED, granted, CORRECTED) == edited


def test_a_decision_names_the_corrected_action() -> None:
    assert Decision(decision="PENDING", corrected_action=CORRECTED).corrected_action == CORRECTED
    assert Decision(decision="PENDING").corrected_action is None


def test_a_corrected_action_that_is_no_object_is_no_answer() -> None:
    with pytest.raises(GatewayUnavailable, match="corrected action"):
        read_decision(Decision, "execute_code")(200, {"decision": "PENDING", "corrected_action": "rm"})
