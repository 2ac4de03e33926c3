"""The rules of a state in a page of plain Python, and random testing of the guard against it."""

import json
import random
import unicodedata
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.guards.agent_state import AgentStateGuard
from qwed.guards.agent_state.canonical_state import canonical_bytes
from qwed.guards.agent_state.state_text import normalize_text, read_state

# --- the reference model -------------------------------------------------------------------------

MISSING = ("missing",)


def model_equal(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(model_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(model_equal(a[k], b[k]) for k in a)
    both_numbers = type(a) in (int, Decimal) and type(b) in (int, Decimal)
    return (both_numbers or type(a) is type(b)) and a == b


def model_accepts(schema, value):
    kind = schema["type"]
    right_type = {
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | Decimal) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "null": value is None,
    }[kind]
    if not right_type or ("enum" in schema and not any(model_equal(value, e) for e in schema["enum"])):
        return False
    if kind == "array":
        return all(model_accepts(schema["items"], item) for item in value)
    if kind == "object":
        known = schema["properties"]
        return (
            all(name in value for name in schema.get("required", []))
            and all(name in known or schema.get("additionalProperties", False) for name in value)
            and all(model_accepts(known[name], value[name]) for name in value if name in known)
        )
    return True


def model_at(state, path):
    for name in path.split(".")[1:]:
        if not isinstance(state, dict) or name not in state:
            return MISSING
        state = state[name]
    return state


def model_allows(rules, before, after):
    def pair(path):
        return model_at(before, path), model_at(after, path)

    for path in rules.get("immutable_paths", []):
        a, b = pair(path)
        if MISSING in (a, b) or not model_equal(a, b):
            return False
    for path in rules.get("monotonic_integer_paths", []):
        a, b = pair(path)
        if type(a) is not int or type(b) is not int or b < a:
            return False
    for path, order in rules.get("ordered_enum_paths", {}).items():
        places = [[i for i, step in enumerate(order) if model_equal(step, v)] for v in pair(path)]
        if not all(places) or places[1] < places[0]:
            return False
    return all(
        model_keeps(rule, *pair(path)) for path, rule in rules.get("keyed_object_array_paths", {}).items()
    )


def model_keeps(rule, before, after):
    key, booleans = rule["key"], rule.get("monotonic_boolean_fields", [])
    for items in (before, after):
        if not isinstance(items, list) or not all(isinstance(item, dict) and key in item for item in items):
            return False
        keys = [item[key] for item in items]
        if any(isinstance(k, list | dict) for k in keys):
            return False
        if any(model_equal(a, b) for i, a in enumerate(keys) for b in keys[:i]):
            return False
    if len(after) < len(before) or (len(after) > len(before) and not rule.get("allow_new_items", True)):
        return False
    for a, b in zip(before, after, strict=False):
        for name in {*a, *b}:
            x, y = a.get(name, MISSING), b.get(name, MISSING)
            if name in booleans:
                forward = (x, y) in [
                    (False, False),
                    (False, True),
                    (True, True),
                    (MISSING, False),
                    (MISSING, True),
                ]
                if not forward or type(y) is not bool or (x is not MISSING and type(x) is not bool):
                    return False
            elif MISSING in (x, y) or not model_equal(x, y):
                return False
    return True


# --- random schemas, states and rules ------------------------------------------------------------

NAMES = ["a", "b", "id", "done", "é"]
SCALARS = st.sampled_from(
    [
        0,
        1,
        2,
        -1,
        True,
        False,
        None,
        "x",
        "y",
        "",
        "é",
        Decimal("1.50"),
        Decimal("1.5"),
        Decimal("1.0"),
        Decimal("1E+2"),
    ]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
)


def object_schema(properties, required, additional):
    schema = {"type": "object", "properties": properties, "additionalProperties": additional}
    return schema | {"required": sorted(name for name in required if name in properties)}


SCHEMAS = st.recursive(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")])
    | st.just({"type": "string", "enum": ["x", "y"]})
    | st.just({"type": "number", "enum": [1, Decimal("1.5")]}),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            object_schema,
            st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
            st.sets(st.sampled_from(NAMES)),
            st.booleans(),
        )
    ),
    max_leaves=6,
)

TYPED = {
    "string": st.sampled_from(["x", "y", "z"]),
    "integer": st.integers(-1, 2),
    "number": st.sampled_from([0, 1, Decimal("1.5"), Decimal("1.50")]),
    "boolean": st.booleans(),
    "null": st.none(),
}


def states_of(schema):
    """States the schema accepts, mostly: the interesting ones lie close to the border."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(states_of(schema["items"]), max_size=3)
    if schema["type"] == "object":
        required = {name: states_of(schema["properties"][name]) for name in schema["required"]}
        optional = {name: states_of(s) for name, s in schema["properties"].items() if name not in required}
        return st.fixed_dictionaries(required, optional=optional)
    return TYPED[schema["type"]]


ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["x", "y", "z", 1, True, Decimal("1.0"), None]),
        "done": st.booleans() | st.sampled_from([1, None]),
        "a": st.sampled_from([1, True, "x"]),
    },
)
TASKS = st.lists(ITEMS, max_size=4) | st.sampled_from([None, {}, "x", [1], [["id"]]])
WILD_STATES = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 2) | st.sampled_from([Decimal("1.0"), True, "1"]),
        "s": st.sampled_from(["x", "y", "z", 1, True, Decimal("1.0")]),
        "v": SCALARS | st.lists(SCALARS, max_size=2),
        "o": st.dictionaries(st.sampled_from(["n", "v"]), SCALARS, max_size=2),
        "t": TASKS,
    },
)
TIDY_STATES = st.fixed_dictionaries(
    {
        "n": st.integers(0, 2),
        "s": st.sampled_from(["x", "y", "z"]),
        "v": SCALARS,
        "o": st.fixed_dictionaries({"n": st.integers(0, 2), "v": SCALARS}),
        "t": st.lists(
            st.fixed_dictionaries(
                {"id": st.sampled_from(["x", "y", 1, True, None]), "done": st.booleans()},
                optional={"a": st.sampled_from([1, True, Decimal("1.0")])},
            ),
            max_size=3,
            unique_by=lambda item: repr(item["id"]),
        ),
    }
)
PATHS = st.sampled_from(["$.n", "$.s", "$.v", "$.o", "$.o.n", "$.o.v", "$.t", "$.gone", "$.n.x"])
INTEGER_PATHS = st.sampled_from(["$.n", "$.n", "$.o.n", "$.v"])
ENUM_PATHS = st.sampled_from(["$.s", "$.s", "$.v", "$.n"])
ORDERS = st.sampled_from(
    [["x", "y", "z"], ["x", "y", "z"], ["y", "x"], [1, "x", True], [Decimal("1.00"), "y"]]
)
KEYED = st.fixed_dictionaries(
    {"key": st.sampled_from(["id", "id", "a"])},
    optional={
        "monotonic_boolean_fields": st.sampled_from([[], ["done"]]),
        "allow_new_items": st.booleans(),
    },
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "immutable_paths": st.lists(PATHS, max_size=1),
        "monotonic_integer_paths": st.lists(INTEGER_PATHS, max_size=1),
        "ordered_enum_paths": st.dictionaries(ENUM_PATHS, ORDERS, max_size=1),
        "keyed_object_array_paths": st.dictionaries(st.just("$.t"), KEYED, max_size=1),
    },
)
ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


@st.composite
def steps(draw):
    """A state, and the same state after a few edits: independent states would rarely obey a rule."""
    if draw(st.integers(0, 3)) == 0:
        return draw(WILD_STATES), draw(WILD_STATES)
    before = draw(TIDY_STATES)
    edited = draw(st.sets(st.sampled_from(sorted(before)), max_size=2))
    after = before | {name: draw(TIDY_STATES)[name] for name in sorted(edited - {"t"})}
    if "t" in edited:
        after["t"] = [draw(edits_of(item)) for item in before["t"]] + draw(st.lists(ITEMS, max_size=1))
    return before, after


def edits_of(item):
    changes = [{}, {}, {"done": True}, {"done": False}, {"a": 1}, {"id": "w"}]
    return st.sampled_from(changes).map(lambda change: item | change)


def written(value):
    """JSON text, with decimals as the numbers they are."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


# --- the laws ------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(st.data(), SCHEMAS)
def test_the_guard_and_the_model_accept_the_same_states(data, schema):
    value = data.draw(states_of(schema) | VALUES)

    result = AgentStateGuard(schema).verify_state_payload(written(value))

    assert result["verified"] is model_accepts(schema, value), result
    assert result.get("error_code") in (None, "QWED-AGENT-STATE-103")


@settings(max_examples=800, deadline=None)
@given(RULES, steps())
def test_the_guard_and_the_model_allow_the_same_transitions(rules, step):
    before, after = step

    result = AgentStateGuard(ANYTHING, rules).verify_state_transition(written(before), written(after))

    if any(rules.values()):
        assert result["verified"] is model_allows(rules, before, after), result
        assert result.get("error_code") in (None, "QWED-AGENT-STATE-106")
    else:
        assert result["error_code"] == "QWED-AGENT-STATE-104"


@settings(max_examples=300, deadline=None)
@given(st.data(), SCHEMAS)
def test_random_schemas_and_rules_agree_together(data, schema):
    before, after = data.draw(states_of(schema)), data.draw(states_of(schema) | VALUES)
    names = list(schema.get("properties", {})) or ["a"]
    rules = {data.draw(st.sampled_from(["immutable_paths", "monotonic_integer_paths"])): ["$." + names[0]]}

    result = AgentStateGuard(schema, rules).verify_state_transition(written(before), written(after))

    expected = model_accepts(schema, after) and model_allows(rules, before, after)
    assert result["verified"] is expected, result


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_canonical_bytes_are_those_of_the_standard_library_and_read_back_to_themselves(value):
    text = json.dumps(value)
    result = AgentStateGuard(ANYTHING).verify_state_payload(text)
    if not result["verified"]:  # two keys that only NFC makes equal
        assert len({unicodedata.normalize("NFC", key) for key in value}) < len(
            value
        ) or "more than once" in str(result)
        return

    state = read_state(text, 10**9)
    canonical = canonical_bytes(state)

    assert canonical == json.dumps(state, sort_keys=True, separators=(",", ":")).encode()
    assert canonical_bytes(read_state(canonical.decode(), 10**9)) == canonical
    assert result["normalized_state"] == state


@settings(max_examples=300, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_a_decimal_keeps_its_value_and_its_digits(number):
    literal = str(number) if "." in str(number) or "E" in str(number) else f"{number}.0"
    state = read_state(f'{{"x":{literal}}}', 10**6)

    assert state["x"].as_tuple() == Decimal(literal).as_tuple()
    assert read_state(canonical_bytes(state).decode(), 10**6) == state


MARKS = "\u0301\u0323\u0345\u0f73\u0f71\u0f74\u3099\u094dae\u00e9\u1100\u1161\u11a8漢😀\u200d"


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet=MARKS, min_size=30, max_size=120))
def test_text_is_normalised_as_unicode_says(text):
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert normalize_text(text) == unicodedata.normalize("NFC", text)


# --- nothing raises ------------------------------------------------------------------------------

GUARD = AgentStateGuard(
    {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "t": {"type": "array", "items": {"type": "string"}}},
    },
    {"monotonic_integer_paths": ["$.n"]},
    ["/nonexistent"],
)
SOUND = '{"n": 1, "t": ["a", "\\u00e9", "\\ud83d\\ude00"], "x": [1.5e3, -0, null, true, NaN]}'
BOMBS = [
    "[" * 100_000,
    '{"a":' * 100_000,
    '{"n":' + "9" * 1_000_000 + "}",
    '{"n":1e' + "9" * 1_000 + "}",
    '{"n":"' + "x" * 10_000_000 + '"}',
    "\x00" * 1000,
    "\ud800",
    '{"n":"\udfff"}',
    '"' * 100_001,
]


def check_total(given):
    for result in (
        GUARD.verify_state_payload(given),
        GUARD.verify_state_transition(given, SOUND),
        GUARD.verify_state_transition('{"n":1}', given),
        GUARD.verify_transition_and_commit_state(given, given, given),
        GUARD.verify_transition_and_commit_state('{"n":1}', '{"n":2}', given),
    ):
        assert type(result) is dict
        assert result["status"] == ("VERIFIED" if result["verified"] else "BLOCKED")
        assert result["verified"] or (
            result["error_code"].startswith("QWED-AGENT-STATE-10") and result["message"]
        )


def test_bombs_are_blocked():
    for bomb in BOMBS:
        check_total(bomb)
        assert not GUARD.verify_state_payload(bomb)["verified"]


OBJECTS = (
    st.text(alphabet=st.characters(exclude_categories=()))
    | st.binary()
    | st.none()
    | st.floats()
    | st.integers()
    | st.lists(st.text())
    | st.dictionaries(st.text(), st.none())
    | st.text(alphabet='{}[]",:0123456789.eE+-\\untrfalse \n')
)


@settings(max_examples=500, deadline=None)
@given(OBJECTS)
def test_no_argument_makes_a_method_raise(given_value):
    check_total(given_value)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_no_mutation_of_a_sound_state_makes_a_method_raise(seed):
    chance = random.Random(seed)
    data = bytearray(SOUND.encode())
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                del data[at : at + chance.randrange(1, 9)]
            case 2:
                data[at:at] = bytes(chance.choices(b'{}[]",:\\0-9eE.\x00\xff', k=chance.randrange(1, 9)))
            case 3:
                data[at:at] = data[at : at + 20] * chance.randrange(1, 80)
        data = data or bytearray(b"{")

    check_total(data.decode("utf-8", "surrogateescape"))
    check_total(data.decode("latin-1"))
    check_total(data.decode("utf-8", "replace"))
