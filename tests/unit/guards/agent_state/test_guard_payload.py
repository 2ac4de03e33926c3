"""Phase 1: what is strict JSON, what the schema accepts, and what the state then looks like."""

import enum
import json
from decimal import Decimal, localcontext

import pytest
from tests.corpora.hostile import STATES
from tests.support.calls import counted_calls

from qwed.guards.agent_state import AgentStateGuard

NOT_A_STRING = "QWED-AGENT-STATE-101"
NOT_JSON = "QWED-AGENT-STATE-102"
NOT_THE_SCHEMA = "QWED-AGENT-STATE-103"

ANY_OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


def verify(text, schema=None, **options):
    return AgentStateGuard(schema or ANY_OBJECT, **options).verify_state_payload(text)


def code(text, schema=None, **options):
    return verify(text, schema, **options).get("error_code")


def state(text, schema=None):
    result = verify(text, schema)
    assert result["verified"], result
    return result["normalized_state"]


class TextWithTraps(str):
    def isspace(self):
        raise RuntimeError

    def __len__(self):
        raise RuntimeError

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("given", [None, 1, 1.5, True, b"{}", bytearray(b"{}"), [], {}, object()])
def test_what_is_not_a_string_is_101(given):
    assert code(given) == NOT_A_STRING


def test_an_object_that_lies_about_its_class_is_101():
    class Lying:
        @property
        def __class__(self):
            return str

    class Raising:
        @property
        def __class__(self):
            raise RuntimeError

    assert code(Lying()) == NOT_A_STRING
    assert code(Raising()) == NOT_A_STRING


@pytest.mark.parametrize("blank", ["", " ", "\n\t \r", " " * 2_000_000], ids=len)
def test_a_blank_string_is_101_however_long(blank):
    assert code(blank) == NOT_A_STRING


def test_a_subclass_of_str_is_read_as_the_text_it_holds():
    assert state(TextWithTraps('{"a":1}')) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "nope",
        "{'a':1}",
        '{"a":1,}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        '{"a":1.}',
        '{"a":1} x',
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":-Infinity}',
        '{"a":"\x01"}',
        '\ufeff{"a":1}',
        "\x00",
        '{"a":1}\x00',
        '{"a":１}',
        '{"a":"\\x41"}',
    ],
)
def test_what_is_not_standard_json_is_102(text):
    assert code(text) == NOT_JSON


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":{"a":{},"a":[]}}', '{"a":null,"b":0,"a":true}']
)
def test_a_repeated_key_is_102_at_any_level(text):
    result = verify(text)

    assert result["error_code"] == NOT_JSON
    assert "'a' is given more than once" in result["message"]


def test_two_keys_that_are_equal_after_nfc_are_repeated():
    assert code('{"\u00e9":1,"e\u0301":2}') == NOT_JSON
    assert code('{"\\u00e9":1,"e\\u0301":2}') == NOT_JSON


@pytest.mark.parametrize("surrogate", ['"\\ud800"', '"\\udc00\\ud800"', '"\ud800"', '"a\udcffb"'])
def test_a_lone_surrogate_is_102_as_a_value_and_as_a_key(surrogate):
    assert code('{"a":' + surrogate + "}") == NOT_JSON
    assert code("{" + surrogate + ":1}") == NOT_JSON


def test_a_surrogate_pair_is_the_character_it_stands_for():
    assert state('{"a":"\\ud83d\\ude00"}') == {"a": "😀"}


def test_more_than_the_bound_is_102_measured_in_bytes():
    assert code('{"a":"' + "x" * 1_048_576 + '"}') == NOT_JSON
    assert code('{"a":"' + "é" * 600_000 + '"}') == NOT_JSON
    assert verify('{"a":"' + "x" * (1_048_576 - 8) + '"}')["verified"]
    assert code('{"a":1}', max_bytes=6) == NOT_JSON
    assert verify('{"a":1}', max_bytes=7)["verified"]


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("levels", [64, 65, 200_000])
def test_nesting_beyond_sixty_four_levels_is_103(opening, closing, levels):
    inner = levels - 1  # the object around it is a level too
    text = '{"x":' + opening * inner + "1" + closing * inner + "}"

    result = verify(text, max_bytes=10_000_000)

    assert result["verified"] == (levels <= 64)
    assert result.get("error_code") in (None, NOT_THE_SCHEMA)


def test_depth_is_measured_although_strings_hold_brackets_and_escaped_quotes():
    shallow = json.dumps({"a": '[[[["\\' * 100, "b": ["]]]"] * 100})
    deep = '{"a":["' + "]" * 100 + '\\"",' + "[" * 70 + "]" * 70 + "]}"

    assert verify(shallow)["verified"]
    assert code(deep) == NOT_THE_SCHEMA


def test_many_shallow_brackets_are_not_deep():
    assert verify(json.dumps({"a": [[{"b": []}]] * 5000}))["verified"]


def test_a_schema_deeper_than_the_bound_still_refuses_a_state_that_deep():
    schema = {"type": "integer"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}

    assert code("[" * 100 + "1" + "]" * 100, schema) == NOT_THE_SCHEMA
    assert verify("[" * 64 + "]" * 64, schema)["verified"]


@pytest.mark.parametrize(
    "number",
    ["9" * 401, "0." + "9" * 400, "9" * 1_000_000, "1e1001", "1E-1001", "1e" + "9" * 390],
    ids=lambda number: number[:9],
)
def test_a_number_beyond_its_bounds_is_102(number):
    assert code('{"a":' + number + "}") == NOT_JSON


def test_numbers_keep_their_digits():
    read = state('{"a":1.50,"b":-0.0,"c":1E400,"d":123456789012345678901234567890,"e":0.1000000000000000055}')

    assert [str(read[name]) for name in "abcde"] == [
        "1.50",
        "-0.0",
        "1E+400",
        "123456789012345678901234567890",
        "0.1000000000000000055",
    ]
    assert [type(read[name]) for name in "abcde"] == [Decimal, Decimal, Decimal, int, Decimal]


def test_strings_and_keys_are_nfc():
    assert state('{"e\u0301":"e\u0301"}') == {"é": "é"}
    assert state('{"e\\u0301":["e\\u0301"]}') == {"é": ["é"]}


def test_a_megabyte_of_disordered_combining_marks_is_put_in_order_as_one_run():
    run = "a" + "\u0301\u0323" * 150_000
    text = json.dumps({"x": run}, ensure_ascii=False)
    with counted_calls() as work:
        read = state(text)

    # One step for each mark would be 300 000; to sort them takes a key for each.
    assert work.calls < 700_000
    assert read["x"] == "ạ" + "\u0323" * 149_999 + "\u0301" * 150_000


@pytest.mark.parametrize("text", STATES, ids=lambda text: text[:9])
def test_unclosed_text_is_refused_without_a_step_per_character(text):
    with counted_calls() as work:
        assert code(text) in (NOT_JSON, NOT_THE_SCHEMA)

    assert work.calls < 1_000


def test_keys_come_out_sorted_at_every_level():
    read = state('{"b":{"z":1,"a":[{"y":1,"x":2}]},"a":0}')

    assert json.dumps(read) == '{"a": 0, "b": {"a": [{"x": 2, "y": 1}], "z": 1}}'


def test_the_proof_refers_to_the_canonical_bytes():
    result = verify('{"tasks":[],"n":2,"id":"a"}')

    assert result["status"] == "VERIFIED"
    assert result["proof_ref"] == "sha256:f7d69cec641158d57159cbdccbd52d112eb23da4bf21967ae86cba5a7ac8700e"
    assert result["proof"]


def test_the_proof_does_not_depend_on_the_hosts_decimal_context():
    text = '{"a":1e22}'
    usual = verify(text)["proof_ref"]

    with localcontext() as context:
        context.capitals = 0
        context.prec = 1
        assert verify(text)["proof_ref"] == usual


OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "gone": {"type": "null"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        "inner": {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"n"}',
        '{"name":"n","count":-3,"price":1,"open":false,"gone":null,"tags":["x","y","x"],"inner":{"k":0}}',
        '{"name":"","price":1.5e3,"tags":[]}',
    ],
)
def test_a_state_the_schema_describes_is_verified(text):
    assert verify(text, OBJECT)["verified"]


@pytest.mark.parametrize(
    "text, where",
    [
        ("[]", "$: expected object, not array"),
        ("{}", "$: missing required 'name'"),
        ('{"name":1}', "$.name: expected string, not integer"),
        ('{"name":null}', "$.name: expected string, not null"),
        ('{"name":"n","count":1.0}', "$.count: expected integer, not number"),
        ('{"name":"n","count":1e2}', "$.count: expected integer, not number"),
        ('{"name":"n","count":true}', "$.count: expected integer, not boolean"),
        ('{"name":"n","price":true}', "$.price: expected number, not boolean"),
        ('{"name":"n","open":1}', "$.open: expected boolean, not integer"),
        ('{"name":"n","gone":0}', "$.gone: expected null, not integer"),
        ('{"name":"n","tags":{}}', "$.tags: expected array, not object"),
        ('{"name":"n","tags":["x","z"]}', "$.tags[1]: the value is not one of the enum"),
        ('{"name":"n","extra":1}', "$: unexpected field 'extra'"),
        ('{"name":"n","inner":{}}', "$.inner: missing required 'k'"),
        ('{"name":"n","inner":{"k":1,"j":2}}', "$.inner: unexpected field 'j'"),
    ],
)
def test_a_state_the_schema_refuses_is_103_and_the_message_says_where(text, where):
    result = verify(text, OBJECT)

    assert result["error_code"] == NOT_THE_SCHEMA
    assert result["message"] == where
    assert result["status"] == "BLOCKED"


def test_a_message_quotes_a_foreign_name_short_and_printable():
    message = verify('{"name":"n","' + "\u202e" * 5000 + '":1}', OBJECT)["message"]

    assert message.isascii()
    assert len(message) < 1000


def test_enums_compare_by_value_and_never_take_true_for_one():
    numbers = {"type": "number", "enum": [1, 2.5]}
    boxes = {"type": "object", "properties": {}, "additionalProperties": True, "enum": [{"a": [1]}]}

    assert verify("1.0", numbers)["verified"]
    assert verify("2.50", numbers)["verified"]
    assert code("3", numbers) == NOT_THE_SCHEMA
    assert verify('{"a":[1.0]}', boxes)["verified"]
    assert code('{"a":[true]}', boxes) == NOT_THE_SCHEMA


@pytest.mark.parametrize("text", ["1", '"s"', "null", "true", "[1]", "1.5"])
def test_a_root_of_any_type_has_a_schema(text):
    kinds = {
        "1": "integer",
        '"s"': "string",
        "null": "null",
        "true": "boolean",
        "[1]": "array",
        "1.5": "number",
    }
    schema = {"type": kinds[text]} | ({"items": {"type": "integer"}} if text == "[1]" else {})

    assert verify(text, schema)["verified"]


@pytest.mark.parametrize(
    "schema, key",
    [
        (None, "required_schema"),
        ([], "required_schema"),
        ({}, "required_schema.type"),
        ({"type": "float"}, "required_schema.type"),
        ({"type": ["string"]}, "required_schema.type"),
        ({"type": "object"}, "required_schema.properties"),
        ({"type": "object", "properties": []}, "required_schema.properties"),
        ({"type": "object", "properties": {1: {"type": "null"}}}, "required_schema.properties"),
        (
            {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}},
            "properties.a: 'minLength'",
        ),
        ({"type": "object", "properties": {}, "required": ["a"]}, "required_schema.required"),
        ({"type": "object", "properties": {}, "required": "a"}, "required_schema.required"),
        (
            {"type": "object", "properties": {}, "additionalProperties": {}},
            "required_schema.additionalProperties",
        ),
        ({"type": "object", "properties": {}, "patternProperties": {}}, "patternProperties"),
        ({"type": "array"}, "required_schema.items"),
        ({"type": "array", "items": [{"type": "null"}]}, "required_schema.items"),
        ({"type": "string", "items": {"type": "null"}}, "'items'"),
        ({"type": "integer", "minimum": 0}, "'minimum'"),
        ({"type": "string", "description": "x"}, "'description'"),
        ({"type": "string", "enum": []}, "required_schema.enum"),
        ({"type": "string", "enum": "ab"}, "required_schema.enum"),
        ({"type": "string", "enum": ["a", 1]}, "required_schema.enum[1]"),
        ({"type": "integer", "enum": [True]}, "required_schema.enum[0]"),
        ({"type": "number", "enum": [float("nan")]}, "required_schema.enum[0]"),
        ({"type": "string", "enum": ["\ud800"]}, "required_schema.enum[0]"),
        ({"type": "string", "enum": [{1, 2}]}, "required_schema.enum[0]"),
        ({"type": "object", "properties": {"é": {"type": "null"}, "e\u0301": {"type": "null"}}}, "twice"),
    ],
)
def test_a_mistake_in_the_schema_raises_a_value_error_that_names_the_key(schema, key):
    with pytest.raises(ValueError) as raised:
        AgentStateGuard(schema)

    assert key in str(raised.value)


def test_members_of_an_enumeration_stand_for_their_values():
    class Status(str, enum.Enum):  # noqa: UP042 - the older spelling prints its name, not its value
        OPEN = "open"

    class Level(enum.IntEnum):
        LOW = 1

    assert verify('"open"', {"type": "string", "enum": [Status.OPEN]})["verified"]
    assert verify("1", {"type": "integer", "enum": [Level.LOW]})["verified"]


def test_a_schema_that_contains_itself_is_a_value_error():
    schema = {"type": "array"}
    schema["items"] = schema

    with pytest.raises(ValueError, match="nested too deeply"):
        AgentStateGuard(schema)


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, None, "1"])
def test_a_bound_that_is_no_positive_integer_is_a_value_error(bound):
    with pytest.raises(ValueError, match="max_bytes"):
        AgentStateGuard(ANY_OBJECT, max_bytes=bound)


def test_changing_the_schema_afterwards_changes_nothing():
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}, "required": ["a"]}
    guard = AgentStateGuard(schema)

    schema["additionalProperties"] = True
    schema["required"].clear()
    schema["properties"]["a"]["enum"].append("y")

    assert not guard.verify_state_payload("{}")["verified"]
    assert not guard.verify_state_payload('{"a":"y"}')["verified"]
    with pytest.raises(TypeError):
        guard.required_schema["type"] = "array"
    assert guard.required_schema["required"] == ("a",)
