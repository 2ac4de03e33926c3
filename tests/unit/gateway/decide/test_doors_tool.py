"""Section 6: three groups of tools, the documents' sentences, and a door never wider than `/verify`."""

import pytest
from tests.support.world import World, calculate, code_of

from qwed.domain.findings import Failure, Status
from qwed.domain.policy import Policy
from qwed.domain.registry import DANGEROUS_TOOLS, SAFE_TOOLS
from qwed.domain.risk import Risk

CONTEXT = {"conversation_id": "c", "step_number": 1}


def call_response(world, agent, tool, **body):
    return world.call("POST", f"/agents/{agent['agent_id']}/tools/{tool}", json=body)


def call(world, agent, tool, **body):
    return call_response(world, agent, tool, **body).json()


@pytest.mark.parametrize("tool", sorted(SAFE_TOOLS))
def test_a_safe_tool_is_approved(world, tool):
    answer = call(world, world.register(), tool, parameters={"q": "weather"})

    assert (answer["approved"], answer["decision"]) == (True, "APPROVED")
    assert answer["tool_name"] == tool
    assert "blocked_reason" not in answer


def test_a_tool_without_arguments_needs_no_body(world):
    agent = world.register()
    path = f"/agents/{agent['agent_id']}/tools/get_weather"
    answer = world.call("POST", path)
    without_credential = world.call("POST", path, key=None)

    assert (answer.status_code, answer.json()["approved"]) == (200, True)
    assert without_credential.status_code == 401


def test_a_call_repeated_under_its_key_gets_the_recorded_answer(world):
    agent = world.register()

    def ask(tool, key):
        path = f"/agents/{agent['agent_id']}/tools/{tool}"
        headers = {} if key is None else {"Idempotency-Key": key}
        return world.call("POST", path, json={"context": CONTEXT}, headers=headers).json()

    first = ask("get_weather", "k")

    assert first["approved"] is True
    assert ask("get_weather", "k") == first
    assert code_of(ask("get_weather", "another")) == "QWED-AGENT-LOOP-002"
    assert code_of(ask("get_weather", None)) == "QWED-AGENT-LOOP-002"
    assert code_of(ask("search_web", "k")) == "QWED-AGENT-LOOP-002"


def test_a_supervised_agents_email_waits_for_a_person(world):
    answer = call(world, world.register(type="supervised"), "send_email")

    assert (answer["approved"], answer["decision"]) == (False, "PENDING")
    assert answer["approval"]["status"] == "open"
    assert answer["risk_assessment"]["requires_approval"] is True


@pytest.mark.parametrize("tool", sorted(DANGEROUS_TOOLS))
def test_a_dangerous_tool_waits_for_a_person_even_at_full_trust(world, tool):
    answer = call(world, world.register(type="trusted"), tool)

    assert (answer["approved"], answer["decision"]) == (False, "PENDING")
    assert answer["approval"]["status"] == "open"
    assert world.call("GET", answer["approval"]["url"]).json()["risk_level"] == "critical"


@pytest.mark.parametrize("kind", ["supervised", "autonomous"])
def test_a_dangerous_tool_is_denied_where_verify_would_deny_it(world, kind):
    agent = world.register(type=kind)
    answer = call(world, agent, "drop_table")

    assert (answer["approved"], code_of(answer)) == (False, "QWED-AGENT-TRUST-001")
    assert code_of(world.verify(agent, {"type": "drop_table"})) == "QWED-AGENT-TRUST-001"


def test_an_unknown_tool_is_blocked_in_the_documents_words(world):
    answer = call(world, world.register(type="trusted"), "my_custom_tool")

    assert (answer["approved"], answer["decision"]) == (False, "DENIED")
    assert answer["blocked_reason"] == (
        "Unknown tool 'my_custom_tool' requires explicit allowlisting (risk_score=0.2)"
    )
    assert answer["risk_score"] == answer["risk_assessment"]["final_risk"] == 0.2
    assert world.prover.asked == []


def test_an_allowed_tool_joins_the_agents_safe_group_and_nobody_elses(world):
    agent, other = world.register(permissions={"allowed_tools": ["fetch_report"]}), world.register()

    assert call(world, agent, "fetch_report")["approved"] is True
    assert call(world, other, "fetch_report")["approved"] is False


@pytest.mark.parametrize("lookalike", ["Fetch_Report", "ｆetch_report", "fetch_repоrt", "fetch\u200b_report"])
def test_a_look_alike_of_a_safe_name_is_unknown(world, lookalike):
    agent = world.register(type="trusted", permissions={"allowed_tools": ["fetch_report"]})
    answer = call(world, agent, lookalike)

    assert answer["approved"] is False
    assert answer["blocked_reason"].startswith("Unknown tool")


@pytest.mark.parametrize(
    "lookalike", ["Drop_Table", "ｄrop_table", "drop\u200b_table", "drоp_table", "DROP-TABLE"]
)
def test_a_look_alike_of_a_dangerous_name_is_dangerous_even_when_it_was_allowed(world, lookalike):
    agent = world.register(type="trusted", permissions={"allowed_tools": [lookalike]})
    answer = call(world, agent, lookalike)

    assert (answer["approved"], answer["decision"]) == (False, "PENDING")


def test_a_look_alike_of_a_dangerous_name_that_nobody_allowed_is_unknown_at_every_trust(world):
    answer = call(world, world.register(type="trusted"), "drоp_table")

    assert (answer["approved"], answer["decision"], code_of(answer)) == (False, "DENIED", "QWED-AGENT-004")
    assert "looks like a dangerous one" in answer["blocked_reason"]


@pytest.mark.parametrize("written", ["get_weather", "GET_WEATHER", "gеt_weather"])
def test_a_blocked_tool_stays_blocked_whoever_else_allows_it(world, written):
    agent = world.register(
        type="trusted", permissions={"allowed_tools": ["get_weather"], "blocked_tools": [written]}
    )
    answer = call(world, agent, "get_weather")

    assert (answer["approved"], code_of(answer)) == (False, "QWED-AGENT-004")


def test_hostile_parameters_make_a_safe_tool_unsafe(world):
    world.prover.says(Status.FAILED, Risk.CRITICAL, failure=Failure.FORBIDDEN, reason="it climbs out")
    agent = world.register(type="trusted")
    answer = call(world, agent, "read_database", parameters={"path": "../../etc/passwd"})

    assert (answer["approved"], code_of(answer)) == (False, "QWED-AGENT-005")
    assert answer["blocked_reason"] == "it climbs out"
    engine, action = world.prover.asked[0]
    assert engine == "tool_control"
    assert action.parameters == {"path": "../../etc/passwd"}


def test_what_could_not_be_proven_waits_for_a_person(world):
    world.prover.says(Status.UNCERTAIN)

    assert call(world, world.register(type="trusted"), "get_weather")["decision"] == "PENDING"


def test_without_a_context_the_answer_says_what_it_is_worth(world):
    agent = world.register()

    assert call(world, agent, "get_weather")["advisory"] is True
    assert "advisory" not in call(world, agent, "get_weather", context=CONTEXT)


def test_with_a_context_the_step_is_used_and_loops_are_stopped(world):
    agent = world.register()
    codes = [
        code_of(call(world, agent, "get_weather", context={**CONTEXT, "step_number": step}))
        for step in (1, 1, 2, 3)
    ]

    assert codes == [None, "QWED-AGENT-LOOP-002", None, "QWED-AGENT-LOOP-003"]
    assert code_of(world.verify(agent, calculate(), 2)) == "QWED-AGENT-LOOP-002"


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ({}, "QWED-AGENT-CTX-001"),
        ({"conversation_id": "c"}, "QWED-AGENT-CTX-001"),
        ({"conversation_id": "c", "step_number": 0}, "QWED-AGENT-CTX-002"),
        ({"conversation_id": "c", "step_number": 51}, "QWED-AGENT-LOOP-001"),
        ({**CONTEXT, "state_source": "custom"}, "QWED-AGENT-STATE-001"),
    ],
)
def test_a_context_is_checked_as_verify_checks_it(world, context, code):
    answer = call(world, world.register(), "get_weather", context=context)

    assert (answer["approved"], code_of(answer)) == (False, code)


def test_the_policy_can_make_the_context_mandatory():
    world = World(policy=Policy(tools_require_context=True))
    agent = world.register()
    without, given = call(world, agent, "get_weather"), call(world, agent, "get_weather", context=CONTEXT)
    world.close()

    assert code_of(without) == "QWED-AGENT-CTX-001"
    assert given["approved"] is True


def test_a_tool_call_is_counted_charged_and_limited(world):
    agent = world.register(budget={"max_requests_per_hour": 2})
    answers = [call_response(world, agent, "get_weather") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["decision"] == "BUDGET_EXCEEDED"
    assert answers[2].json()["approved"] is False
    assert world.budget(agent)["cost"]["current_daily_usd"] == 0.02


def test_a_suspended_agent_calls_no_tool(world):
    agent = world.register()
    world.call("POST", f"/agents/{agent['agent_id']}/suspend")
    response = call_response(world, agent, "get_weather")

    assert (response.status_code, code_of(response.json())) == (403, "QWED-AGENT-003")


@pytest.mark.parametrize("parameters", ['{"a":NaN}', "[1]", '"x"'])
def test_parameters_must_be_deterministic_with_or_without_a_context(world, parameters):
    agent = world.register()
    body = f'{{"parameters":{parameters}}}'
    answer = world.call("POST", f"/agents/{agent['agent_id']}/tools/get_weather", content=body).json()

    assert (answer["approved"], code_of(answer)) == (False, "QWED-AGENT-STATE-004")


def test_both_shapes_of_the_request_say_the_same(world):
    agent = world.register()
    nested = call(world, agent, "get_weather", tool_call={"tool_name": "get_weather", "parameters": {"a": 1}})
    flat = call(world, agent, "get_weather", parameters={"a": 1}, justification="the user asked")

    assert nested["approved"] is flat["approved"] is True
    assert [action.parameters for _, action in world.prover.asked] == [{"a": 1}, {"a": 1}]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tool_call": {"tool_name": "other"}}, "tool_call.tool_name"),
        ({"tool_call": {"tool_name": "get_weather"}, "parameters": {}}, "parameters"),
        ({"tool_call": {"parameters": {}}}, "tool_call.tool_name"),
        ({"surprise": 1}, "surprise"),
        ({"justification": 7}, "justification"),
        ({"usage": {"tokens": "many"}}, "usage.tokens"),
        ({"agent_id": "agent_other"}, "agent_id"),
    ],
)
def test_a_wrong_shape_is_named(world, body, field):
    response = call_response(world, world.register(), "get_weather", **body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field


def test_the_answer_explains_its_score_and_its_checks(world):
    answer = call(world, world.register(), "delete_everything", parameters={"password": "x"})
    assessment = answer["risk_assessment"]
    total = assessment["base_risk"] + sum(factor["weight"] for factor in assessment["factors"])

    assert {factor["factor"] for factor in assessment["factors"]} == {"name:delete", "parameters:password"}
    assert answer["risk_score"] == pytest.approx(min(1.0, total))
    assert all(check.keys() == {"policy", "passed"} for check in answer["policy_checks"])
    assert {"policy": "known_tool", "passed": False} in answer["policy_checks"]


def test_the_score_never_passes_one(world):
    answer = call(world, world.register(), "drop_delete_destroy_wipe_purge", parameters={"shell": "sudo"})

    assert answer["risk_score"] == 1.0
    assert "(risk_score=1.0)" in answer["blocked_reason"]


def test_every_call_is_recorded_whatever_its_answer(world):
    agent = world.register(type="trusted")
    for tool in ("get_weather", "drop_table", "my_custom_tool"):
        call(world, agent, tool)

    recorded = [(entry["action_type"], entry["decision"]) for entry in world.decisions(agent)]
    assert recorded == [
        ("my_custom_tool", "DENIED"),
        ("drop_table", "PENDING"),
        ("get_weather", "APPROVED"),
    ]


def test_an_open_approval_for_each_of_a_hundred_calls_and_no_more(world):
    agent = world.register(type="trusted")
    answers = [call_response(world, agent, "send_money", parameters={"n": n}) for n in range(101)]
    last = answers[-1].json()

    assert {answer.json()["decision"] for answer in answers[:100]} == {"PENDING"}
    assert (answers[-1].status_code, code_of(last)) == (429, "QWED-AGENT-BUDGET-002")
    assert last["error"]["details"]["scope"] == "approvals"
    world.clock.advance(15 * 60_000)
    assert call(world, agent, "send_money")["decision"] == "PENDING"


def test_what_the_store_refuses_at_the_last_moment_is_not_called_approved(world):
    """The lease runs out while the engine works, and another request takes the step."""
    agent = world.register()
    context = {"conversation_id": "c", "step_number": 1}
    path = f"/agents/{agent['agent_id']}/tools/get_weather"
    prove, others = world.prover.prove, []

    async def outlast_the_lease(engine, action, client):
        world.prover.prove = prove
        world.clock.advance(60_000)
        async with world.client(None) as another:
            body = {"parameters": {"city": "Bern"}, "context": context}
            headers = {"Authorization": f"Bearer {agent['agent_token']}"}
            others.append((await another.post(path, json=body, headers=headers)).json())
        return await prove(engine, action, client)

    world.prover.prove = outlast_the_lease
    late = world.call("POST", path, json={"parameters": {"city": "Ulm"}, "context": context}).json()

    assert (late["decision"], late["approved"]) == ("DENIED", False)
    assert late["blocked_reason"] == late["error"]["message"]
    assert others[0]["approved"] is True
