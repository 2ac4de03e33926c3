"""Laws of the policy file, under generated files."""

import io
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.registry import ENGINE_NAMES
from qwed.domain.risk import RISK_NAMES
from qwed.policy import PolicyError, explain, load_policy

names = st.from_regex(r"\A[a-z][a-z0-9_]{2,12}\Z").filter(lambda name: name not in DEFAULT_POLICY.actions)
amounts = st.decimals(0, 1000, places=4).map(str)
counts = st.integers(0, 10_000)


def some(**readers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=readers)


files = some(
    actions=st.dictionaries(
        names.map("a_{}".format), st.fixed_dictionaries({"engine": st.sampled_from(ENGINE_NAMES)}), max_size=3
    ),
    tools=st.dictionaries(
        names.map("t_{}".format), some(risk=st.sampled_from(RISK_NAMES), price_usd=amounts), max_size=3
    ),
    prices=st.dictionaries(st.sampled_from(ENGINE_NAMES), amounts),
    default_price_usd=amounts,
    loops=some(
        max_steps=st.integers(1, 100),
        window=st.integers(5, 100),
        cross_conversation=st.none() | counts.map(lambda n: n + 1),
    ),
    budgets=some(max_daily_cost_usd=st.none() | amounts, max_requests_per_hour=st.none() | counts),
    principals=some(max_agents=counts, named=st.dictionaries(names, some(max_agents=counts), max_size=2)),
    trust=some(denied_cells=st.sampled_from(["deny", "pending"])),
    urls=some(
        allow=st.lists(st.sampled_from(["a.example", "*.b.example"]), max_size=2), credentials=st.booleans()
    ),
)


def shuffled(value: Any, draw: Any) -> Any:
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return value


def as_block_yaml(value: Any) -> str:
    stream = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(value, stream)
    return stream.getvalue()


@settings(deadline=None, max_examples=60)
@given(files, st.data())
def test_the_order_and_the_style_of_a_file_do_not_change_the_policy(
    file: dict[str, Any], data: st.DataObject
):
    compact = load_policy(json.dumps(file), "f")
    block = load_policy(as_block_yaml(shuffled(file, data.draw)), "f")

    assert compact == block
    assert compact.version == block.version


@settings(deadline=None, max_examples=60)
@given(files)
def test_a_policy_is_the_default_exactly_when_nothing_is_said_to_differ(file: dict[str, Any]):
    policy = load_policy(json.dumps(file), "f")
    explanation = explain(policy)

    assert explanation.is_default == (policy.version == DEFAULT_POLICY.version) == (policy == DEFAULT_POLICY)


@settings(deadline=None, max_examples=60)
@given(files, files)
def test_two_policies_share_a_version_only_if_they_are_the_same(one: dict[str, Any], other: dict[str, Any]):
    first, second = load_policy(json.dumps(one), "f"), load_policy(json.dumps(other), "f")

    assert (first.version == second.version) == (first.to_wire() == second.to_wire())


@settings(deadline=None, max_examples=60)
@given(files)
def test_every_registered_type_has_an_engine_a_price_and_a_risk_or_an_engine_that_tells(file: dict[str, Any]):
    policy = load_policy(json.dumps(file), "f")
    for name, rule in policy.actions.items():
        assert policy.engine_of(name) in ENGINE_NAMES
        assert policy.price_of(name) >= 0
        assert policy.risk_of(name) is not None or rule.engine in ("sql", "code", "workspace")
    assert not policy.safe_tools & policy.dangerous_tools


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=200) | st.text(alphabet="{}[]:,-&*!|>'\"%@ \n\tab1?#~", max_size=80))
def test_any_text_is_a_policy_or_a_list_of_mistakes(text: str):
    try:
        policy = load_policy(text, "f")
    except PolicyError as error:
        assert error.mistakes
        assert all(mistake.line >= 1 and mistake.message for mistake in error.mistakes)
    else:
        assert policy.version.startswith("sha256:")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["risk", "engine", "x", "named", "checks", "limit"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(st.dictionaries(st.sampled_from([*DEFAULT_POLICY.to_wire(), "trust"]), json_values, max_size=4))
def test_any_values_under_known_keys_are_a_policy_or_mistakes_that_name_their_key(file: dict[str, Any]):
    try:
        load_policy(json.dumps(file), "f")
    except PolicyError as error:
        assert all(mistake.path.partition(".")[0].partition("[")[0] in file for mistake in error.mistakes)
