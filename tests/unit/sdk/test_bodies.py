"""What the SDK sends is what the caller gave, or nothing."""

import json
from decimal import Decimal
from typing import Any

import pytest

from qwed.domain import json_text
from qwed_sdk.bodies import encode


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"a": [1, 2.5, True, None, 'é\n"', {"b": []}], "c": {}},
        [[], {}, [{}]],
        {"n": 10**40, "m": -1e-7},
        "text",
    ],
)
def test_a_body_arrives_as_it_was_given(body: Any) -> None:
    assert json.loads(encode(body)) == body


def test_a_decimal_arrives_as_the_number_it_is() -> None:
    sent = encode({"cost_usd": Decimal("1.10"), "big": Decimal("1E+30")})

    assert sent == b'{"cost_usd":1.10,"big":1E+30}'
    assert json_text.loads(sent) == {"cost_usd": Decimal("1.10"), "big": Decimal("1E+30")}


def test_a_tuple_is_an_array() -> None:
    assert encode({"a": (1, 2)}) == b'{"a":[1,2]}'


def test_what_is_no_number_is_left_to_the_gateway_to_refuse() -> None:
    assert encode({"a": float("nan"), "b": Decimal("-Infinity")}) == b'{"a":NaN,"b":-Infinity}'
    sent = json_text.loads(encode({"a": Decimal("1e999"), "b": 10**309, "c": json.loads("1e999")}))
    assert all(isinstance(value, json_text.Unrepresentable) for value in sent.values())


def test_a_lone_surrogate_is_left_to_the_gateway_to_refuse() -> None:
    assert encode({"a": "x\ud800"}) == b'{"a":"x\\ud800"}'


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"action": {"parameters": {1: 2}}}, r"body\.action\.parameters: the keys .* not 1"),
        ({"a": [1, {2}]}, r"body\.a\[1\]: JSON has no set"),
        ({"a": b"x"}, r"body\.a: JSON has no bytes"),
        ({"a": {None: 1}}, r"body\.a: the keys"),
        ({"a": Decimal("sNaN")}, r"body\.a: JSON has no Decimal"),
    ],
)
def test_what_json_has_no_word_for_never_leaves(body: Any, place: str) -> None:
    with pytest.raises(TypeError, match=place):
        encode(body)


def test_a_body_that_holds_itself_never_leaves() -> None:
    body: dict[str, Any] = {}
    body["a"] = body

    with pytest.raises(ValueError, match="holds itself"):
        encode(body)
