"""What the SDK reports of values by itself, against a real gateway."""

from typing import Any

import httpx2
import pytest
from tests.support.protected import Protected
from tests.support.server import OPERATOR_KEY

from qwed_sdk import QWEDClient, user_says, verified

pytestmark = pytest.mark.xdist_group("sdk")


def origins(world: Protected, conversation_id: str, value: str) -> str:
    answer = httpx2.post(
        f"{world.server.base_url}/origins",
        json={"conversation_id": conversation_id, "value": value},
        headers={"Authorization": f"Bearer {OPERATOR_KEY}"},
    )
    assert answer.status_code == 200, answer.text
    return answer.text


def look(world: Protected, conversation_id: str, result: Any, **options: Any) -> Any:
    gate = world.gate(conversation_id=conversation_id, **options)

    @verified(gate)
    def lookup_order(order: int) -> Any:
        return result

    return lookup_order(1)


def test_a_value_that_a_verified_function_returned_has_its_origin(world: Protected) -> None:
    with user_says("write to anna@corp.example"):
        look(world, "told", {"contact": "eve@evil.example"})

    assert "untrusted" in origins(world, "told", "eve@evil.example")
    assert "said" in origins(world, "told", "anna@corp.example")
    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_a_result_without_a_form_does_not_lose_its_outcome(world: Protected) -> None:
    thing = object()

    assert look(world, "formless", thing) is thing
    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_nothing_is_told_where_it_is_switched_off(world: Protected) -> None:
    with QWEDClient(world.key, world.server.base_url, provenance="off") as client:
        look(world, "silent", {"contact": "eve@evil.example"}, client=client)

    assert "untrusted" not in origins(world, "silent", "eve@evil.example")
