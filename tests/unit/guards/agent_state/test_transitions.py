"""Phase 2: the order of the checks, and every way a rule is broken."""

import json

import pytest

from qwed.guards.agent_state import AgentStateGuard
from qwed.guards.agent_state.values import identity

NO_RULES = "QWED-AGENT-STATE-104"
CURRENT_STATE = "QWED-AGENT-STATE-105"
TRANSITION = "QWED-AGENT-STATE-106"

OPEN = {"type": "object", "properties": {}, "additionalProperties": True}


def step(before, after, schema=OPEN, **rules):
    guard = AgentStateGuard(schema, rules)
    return guard.verify_state_transition(
        *(s if isinstance(s, str) else json.dumps(s) for s in (before, after))
    )


def broken(before, after, **rules):
    result = step(before, after, **rules)
    assert result["verified"] or result["error_code"] == TRANSITION, result
    return not result["verified"]


@pytest.mark.parametrize(
    "rules",
    [
        None,
        {},
        {"immutable_paths": []},
        {"immutable_paths": [], "monotonic_integer_paths": (), "ordered_enum_paths": {}},
        {"keyed_object_array_paths": {}},
    ],
)
def test_without_a_single_rule_every_transition_is_104_before_anything_is_read(rules):
    guard = AgentStateGuard(OPEN, rules)

    assert guard.verify_state_transition("not json", None)["error_code"] == NO_RULES


@pytest.mark.parametrize("current", [None, "", "{", "[]", "[" * 70])
def test_an_unsound_current_state_is_105_before_the_proposed_one_is_read(current):
    assert step(current or "", "{", immutable_paths=["$.a"])["error_code"] == CURRENT_STATE


@pytest.mark.parametrize("proposed, code", [("", 101), ("{", 102), ("[]", 103)])
def test_an_unsound_proposed_state_keeps_its_own_code(proposed, code):
    result = step('{"a":1}', proposed, immutable_paths=["$.a"])

    assert result["error_code"] == f"QWED-AGENT-STATE-{code}"


def test_a_verified_transition_shows_both_states_and_proves_the_proposed_one():
    result = step('{"b":1,"a":1}', '{"b":2,"a":1}', immutable_paths=["$.a"])

    assert result["verified"]
    assert list(result["normalized_previous_state"]) == ["a", "b"]
    assert result["normalized_state"] == {"a": 1, "b": 2}
    assert result["proof_ref"] == AgentStateGuard(OPEN).verify_state_payload('{"a":1,"b":2}')["proof_ref"]


@pytest.mark.parametrize(
    "before, after, is_broken",
    [
        ('{"a":1.50}', '{"a":1.5}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ('{"a":1}', '{"a":2}', True),
        ('{"a":1}', '{"a":true}', True),
        ('{"a":0}', '{"a":false}', True),
        ('{"a":[{"b":1}]}', '{"a":[{"b":true}]}', True),
        ('{"a":[{"b":1}]}', '{"a":[{"b":1.0}]}', False),
        ('{"a":{"x":1,"y":2}}', '{"a":{"y":2,"x":1}}', False),
        ('{"a":[1,2]}', '{"a":[2,1]}', True),
        ('{"a":null}', "{}", True),
        ("{}", '{"a":null}', True),
        ("{}", "{}", True),
        ('{"a":"\\u00e9"}', '{"a":"e\\u0301"}', False),
    ],
)
def test_an_immutable_path_keeps_its_value(before, after, is_broken):
    assert broken(before, after, immutable_paths=["$.a"]) is is_broken


def test_a_path_leads_through_objects_only():
    assert not broken('{"a":{"b":{"c":1}}}', '{"a":{"b":{"c":1,"d":2}}}', immutable_paths=["$.a.b.c"])
    assert broken('{"a":{"b":1}}', '{"a":{"b":1}}', immutable_paths=["$.a.b.c"])
    assert broken('{"a":["x"]}', '{"a":["x"]}', immutable_paths=["$.a.0"])


@pytest.mark.parametrize(
    "before, after, is_broken",
    [
        ("1", "1", False),
        ("1", "2", False),
        ("2", "1", True),
        ("-2", "-1", False),
        ("1", "1.0", True),
        ("1.0", "2", True),
        ("1", "true", True),
        ("false", "true", True),
        ('"1"', '"2"', True),
        ("9" * 300, "1" + "0" * 300, False),
    ],
)
def test_a_monotonic_integer_never_decreases_and_is_an_integer(before, after, is_broken):
    rules = {"monotonic_integer_paths": ["$.n"]}

    assert broken(f'{{"n":{before}}}', f'{{"n":{after}}}', **rules) is is_broken


@pytest.mark.parametrize(
    "before, after, is_broken",
    [
        ('"a"', '"a"', False),
        ('"a"', '"c"', False),
        ('"b"', '"a"', True),
        ('"x"', '"a"', True),
        ('"a"', '"x"', True),
        ("1", "true", False),
        ("true", "1", True),
        ("1.00", "true", False),
    ],
)
def test_an_ordered_enum_moves_forward_through_its_own_values(before, after, is_broken):
    rules = {"ordered_enum_paths": {"$.s": ["a", "b", "c", 1, True]}}

    assert broken(f'{{"s":{before}}}', f'{{"s":{after}}}', **rules) is is_broken


def items(before, after, **rule):
    rule = {"key": "id", "monotonic_boolean_fields": ["done"]} | rule
    return broken({"t": before}, {"t": after}, keyed_object_array_paths={"$.t": rule})


A, B, C = {"id": "a", "done": False}, {"id": "b", "done": False}, {"id": "c", "done": True}


@pytest.mark.parametrize(
    "before, after, is_broken",
    [
        ([], [], False),
        ([], [A, B], False),
        ([A], [A, B], False),
        ([A, B], [A, B, C], False),
        ([A, B], [A], True),
        ([A, B], [B, A], True),
        ([A, B], [A, C, B], True),
        ([A], [C, A], True),
        ([A], [A, A], True),
        ([A, A], [A, A], True),
        ([A], [A, {"done": True}], True),
        ([{"done": True}], [{"done": True}], True),
        ([A], [A, 1], True),
        ([A], [A, None], True),
        ([A], {}, True),
        (None, [], True),
        ([{"id": ["x"]}], [{"id": ["x"]}], True),
        ([{"id": 1}], [{"id": 1.0}], False),
        ([{"id": 1}], [{"id": True}], True),
        ([{"id": 1}], [{"id": 1}, {"id": True}], False),
        ([{"id": 1}], [{"id": 1}, {"id": 1.0}], True),
    ],
)
def test_keyed_items_stay_in_their_order_and_new_ones_come_last(before, after, is_broken):
    assert items(before, after) is is_broken


@pytest.mark.parametrize(
    "before, after, is_broken",
    [
        ({"done": False}, {"done": True}, False),
        ({"done": True}, {"done": True}, False),
        ({"done": True}, {"done": False}, True),
        ({"done": False}, {}, True),
        ({"done": True}, {}, True),
        ({}, {"done": True}, False),
        ({}, {"done": False}, False),
        ({}, {"done": 1}, True),
        ({"done": False}, {"done": 1}, True),
        ({"done": 0}, {"done": True}, True),
        ({"done": "x"}, {"done": "x"}, True),
        ({"title": "t"}, {"title": "t"}, False),
        ({"title": "t"}, {"title": "u"}, True),
        ({"title": "t"}, {}, True),
        ({}, {"title": "t"}, True),
        ({"flag": False}, {"flag": True}, True),
        ({"n": 1}, {"n": True}, True),
        ({"deep": [{"x": 1}]}, {"deep": [{"x": 1}]}, False),
        ({"deep": [{"x": 1}]}, {"deep": [{"x": 2}]}, True),
    ],
)
def test_an_existing_item_changes_only_its_listed_booleans_and_only_forward(before, after, is_broken):
    assert items([{"id": "a"} | before], [{"id": "a"} | after]) is is_broken


def test_new_items_can_be_forbidden():
    assert not items([A], [A | {"done": True}], allow_new_items=False)
    assert items([A], [A, B], allow_new_items=False)


def test_every_rule_must_hold():
    rules = {"immutable_paths": ["$.id"], "monotonic_integer_paths": ["$.n", "$.m"]}

    assert not broken({"id": 1, "n": 1, "m": 1}, {"id": 1, "n": 2, "m": 1}, **rules)
    assert broken({"id": 1, "n": 1, "m": 1}, {"id": 1, "n": 2, "m": 0}, **rules)


def test_the_message_says_which_path_broke_which_rule():
    result = step({"n": 3}, {"n": 2}, monotonic_integer_paths=["$.n"])

    assert result["message"] == "transition refused: $.n: decreased from 3 to 2"


def test_rule_paths_are_nfc_like_the_states():
    assert not broken('{"é":1}', '{"e\\u0301":1}', immutable_paths=["$.e\u0301"])


@pytest.mark.parametrize(
    "rules, key",
    [
        ([], "transition_rules"),
        ("x", "transition_rules"),
        ({"immutable": ["$.a"]}, "'immutable'"),
        ({"immutable_paths": "$.a"}, "transition_rules.immutable_paths"),
        ({"immutable_paths": [1]}, "transition_rules.immutable_paths"),
        ({"immutable_paths": ["a"]}, "'a' is not a path"),
        ({"immutable_paths": ["$"]}, "'$' is not a path"),
        ({"immutable_paths": ["$."]}, "'$.' is not a path"),
        ({"immutable_paths": ["$.a..b"]}, "'$.a..b' is not a path"),
        ({"immutable_paths": ["$.a[0]"]}, "is not a path"),
        ({"monotonic_integer_paths": {"$.a": 1}}, "transition_rules.monotonic_integer_paths"),
        ({"ordered_enum_paths": ["$.a"]}, "transition_rules.ordered_enum_paths"),
        ({"ordered_enum_paths": {"$.a": []}}, "ordered_enum_paths.$.a"),
        ({"ordered_enum_paths": {"$.a": ["x", "y", "x"]}}, "ordered_enum_paths.$.a[2]"),
        ({"ordered_enum_paths": {"$.a": "xyz"}}, "ordered_enum_paths.$.a"),
        ({"keyed_object_array_paths": {"$.a": "id"}}, "keyed_object_array_paths.$.a"),
        ({"keyed_object_array_paths": {"$.a": {}}}, "$.a.key"),
        ({"keyed_object_array_paths": {"$.a": {"key": ""}}}, "$.a.key"),
        ({"keyed_object_array_paths": {"$.a": {"key": "id", "extra": 1}}}, "'extra'"),
        ({"keyed_object_array_paths": {"$.a": {"key": "id", "allow_new_items": 1}}}, "allow_new_items"),
        (
            {"keyed_object_array_paths": {"$.a": {"key": "id", "monotonic_boolean_fields": "done"}}},
            "monotonic_boolean_fields",
        ),
        (
            {"keyed_object_array_paths": {"$.a": {"key": "id", "monotonic_boolean_fields": ["id"]}}},
            "monotonic_boolean_fields",
        ),
    ],
)
def test_a_mistake_in_the_rules_raises_a_value_error_that_names_the_key(rules, key):
    with pytest.raises(ValueError) as raised:
        AgentStateGuard(OPEN, rules)

    assert key in str(raised.value)


def test_changing_the_rules_afterwards_changes_nothing():
    rules = {"immutable_paths": ["$.a"]}
    guard = AgentStateGuard(OPEN, rules)

    rules["immutable_paths"].clear()

    assert guard.verify_state_transition('{"a":1}', '{"a":2}')["error_code"] == TRANSITION
    with pytest.raises(TypeError):
        guard.transition_rules["immutable_paths"] = ()


def test_numbers_whose_hashes_collide_are_compared_by_keys_whose_hashes_do_not():
    numbers = [index * (2**61 - 1) for index in range(20_000)]
    tasks = [{"id": number} for number in numbers]

    assert len({hash(number) for number in numbers}) == 1
    assert len({hash(identity(number)) for number in numbers}) > 19_000
    assert not items(tasks, tasks)


def test_number_keys_are_the_same_when_their_values_are():
    same = [("1", "1.0"), ("100", "1e2"), ("0", "-0.00"), ("1.50", "1.5"), ("-1e-3", "-0.001")]
    for before, after in same:
        rule = {"keyed_object_array_paths": {"$.t": {"key": "id"}}}
        assert not broken(f'{{"t":[{{"id":{before}}}]}}', f'{{"t":[{{"id":{after}}}]}}', **rule)
        assert broken(f'{{"t":[{{"id":{before}}},{{"id":{after}}}]}}', '{"t":[]}', **rule)
    assert broken('{"t":[{"id":10}]}', '{"t":[{"id":1}]}', **rule)
    assert broken('{"t":[{"id":"1"}]}', '{"t":[{"id":1}]}', **rule)
