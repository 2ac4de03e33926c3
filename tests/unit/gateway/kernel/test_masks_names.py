"""Conversations, action types and tools whose names look like secrets: masked everywhere, and still found."""

import json
import re
from urllib.parse import quote

import pytest
from tests.support.world import World, calculate, code_of

from qwed.domain.findings import Failure, Status
from qwed.domain.policy import Policy
from qwed.domain.risk import Risk
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.masks import conceal_name, keep_type
from qwed.gateway.kernel.records import SearchQuery

# Made up for this test, in the shapes that real ones have.
NAMES = {
    "forge token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "web token": "eyJhbGciOiJIUzI1NiJ9."
    "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "password in a URL": "https://bob:Hunter22secret@db.example/x",
    "password": "password: hunter2hunter2",
    "header": "Authorization: Bearer abcdef0123456789",
}
PIECES = ("ghp_a1B2", "eyJzdWIi", "Hunter22", "hunter2h", "abcdef01")


@pytest.fixture(params=NAMES, ids=str)
def name(request):
    return NAMES[request.param]


@pytest.fixture(params=[name for name in NAMES if "URL" not in name], ids=str)
def tool(request):
    """A name that can stand in an address."""
    return NAMES[request.param]


@pytest.fixture(params=["memory", "sqlite"])
def world(request, tmp_path):
    world = World(database=tmp_path / "qwed.db" if request.param == "sqlite" else None)
    yield world
    world.close()


def everything_of(world, agent):
    """All that is stored or shown of an agent, as text."""
    shown = [world.activity(agent, limit=1000)]
    for path in (
        "/approvals",
        "/ledger/entries?limit=1000",
        "/activity",
        f"/agents/{agent['agent_id']}/conversations",
    ):
        shown.append(world.call("GET", path).json())
    stored = run(world.services.store.search(SearchQuery(None, agent_id=agent["agent_id"], limit=1000)))
    metrics = world.call("GET", "/metrics").text
    world._events.flush()
    log = world.log.getvalue().decode()
    return json.dumps(shown) + repr(stored) + metrics + log


def assert_hidden(text):
    assert not [piece for piece in PIECES if piece in text]


def test_a_conversation_is_hidden_and_still_one_conversation(world, name):
    agent = world.register()
    first = world.verify(agent, calculate("1+1=2"), step=1, conversation=name)
    assert first["decision"] == "APPROVED"
    assert (
        code_of(world.verify(agent, calculate("2+2=4"), step=1, conversation=name)) == "QWED-AGENT-LOOP-002"
    )
    world.verify(agent, calculate("2+2=4"), step=2, conversation=name)
    world.verify(agent, calculate("2+2=4"), step=1, conversation="another")
    assert_hidden(everything_of(world, agent))
    found = world.activity(agent, conversation_id=name)["activities"]
    assert len(found) == 3
    kept = found[0]["context"]["conversation_id"]
    assert re.search(r"#[0-9a-f]{16}$", kept)
    assert world.activity(agent, conversation_id=kept)["activities"] == found


def test_two_names_that_look_alike_are_two_conversations(world, name):
    agent = world.register()
    assert world.verify(agent, conversation=name)["decision"] == "APPROVED"
    assert world.verify(agent, conversation=name + "0")["decision"] == "APPROVED"


def test_a_type_is_hidden_wherever_it_is_quoted_and_still_found(world, name):
    agent = world.register()
    answer = world.verify(agent, {"type": name, "query": "x"})
    assert code_of(answer) == "QWED-AGENT-ACTION-001"
    assert_hidden(json.dumps(answer))
    assert_hidden(everything_of(world, agent))
    assert len(world.activity(agent, action_type=name)["activities"]) == 1
    assert world.call("GET", "/activity", params={"action_type": name}).json()["activities"]


@pytest.mark.parametrize("permissions", [{}, "blocked", "allowed"])
def test_a_tool_is_hidden_in_answers_records_and_approvals(world, tool, permissions):
    given = {f"{permissions}_tools": [tool]} if permissions else {}
    agent = world.register(type="supervised", permissions=given)
    path = f"/agents/{agent['agent_id']}/tools/{quote(tool, safe='')}"
    context = {"conversation_id": "c", "step_number": 1}
    answer = world.call(
        "POST", path, json={"parameters": {"a": 1}, "context": context}, headers={"Idempotency-Key": "k"}
    )
    assert answer.status_code == 200
    again = world.call(
        "POST", path, json={"parameters": {"a": 1}, "context": context}, headers={"Idempotency-Key": "k"}
    )
    assert again.json() == answer.json()
    assert_hidden(answer.text)
    assert_hidden(everything_of(world, agent))
    assert len(world.activity(agent, action_type=tool)["activities"]) == 1


def test_a_conversation_that_is_to_be_erased_is_found_by_its_name(world):
    agent = world.register()
    name = NAMES["forge token"]
    world.verify(agent, conversation=name)
    body = {"conversation_id": name, "reason": "test"}
    erased = world.call("POST", f"/agents/{agent['agent_id']}/redact", json=body)
    assert erased.status_code == 200, erased.text
    assert world.activity(agent, conversation_id=name)["activities"] == []


def test_the_log_of_failed_authentications_hides_it_too(world_in_memory, tool):
    path = f"/agents/agent_1/tools/{quote(tool, safe='')}"
    assert world_in_memory.call("POST", path, key="qwed_agent_wrong").status_code == 401
    world_in_memory._events.flush()
    assert "failed_authentication" in world_in_memory.log.getvalue().decode()
    assert_hidden(world_in_memory.log.getvalue().decode())


def test_a_type_of_the_policy_keeps_its_name():
    assert keep_type(Policy(), "calculate") == "calculate"


@pytest.mark.parametrize(
    "ordinary",
    [
        "conv_1",
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "support-ticket-48213-2026-11-18",
        "user:42:session:7",
        "act_019d62a9fa007ae4b4b73fc0faee0e93",
        "refund order 12345 for Ann",
        "thread_abc123DEF456ghi789JKL",
        "01HZX3Y5J8K2M4N6P8Q0R2S4T6",
        "mailto:ann@example.com",
    ],
)
def test_ordinary_names_stay_as_they_are(ordinary):
    assert conceal_name(ordinary) == ordinary


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_concealing_twice_is_concealing_once(name):
    assert conceal_name(conceal_name(name)) == conceal_name(name)
    assert conceal_name(name) != conceal_name(name + "x")
    assert len(conceal_name(name)) <= 256


# --- evidence and headers -----------------------------------------------------------------------------------


def test_a_password_that_only_the_engine_put_together_is_masked(world_in_memory):
    world = world_in_memory
    agent = world.register()
    evidence = {
        "url": "https://bob:Hunter22secret@db.example/x",
        "problems": [{"value": "Cookie: sid=Hunter22"}],
    }
    world.prover.says(
        Status.FAILED, Risk.LOW, failure=Failure.FORBIDDEN, reason="calls Hunter22", evidence=evidence
    )
    answer = world.verify_response(agent, calculate("1+1"), headers={"Idempotency-Key": "k"})
    shown = json.dumps(
        [answer.json()["verification"]["evidence"], world.decisions(agent)[0]["verification"]["evidence"]]
    )
    assert "Hunter22secret" not in shown
    assert "sid=Hunter22" not in shown


@pytest.fixture
def world_in_memory():
    world = World()
    yield world
    world.close()


HEADERS = [
    {"Cookie": "sid=Hunter22"},
    {"cookie": "sid=Hunter22", "SET-COOKIE": "Hunter22"},
    {"Authorization": "Hunter22", "X-Authorization": "Hunter22", "proxy_authorization": "Hunter22"},
    {
        "HTTP_COOKIE": "Hunter22",
        "setCookie": "Hunter22",
        "Cookie2": "Hunter22",
        "cookies": {"sid": "Hunter22"},
    },
    {"Co\u200bokie": "Hunter22", "\uff21uthorization": "Hunter22"},
    [["Cookie", "sid=Hunter22"], ["Authorization", "Hunter22"]],
    [{"name": "Cookie", "value": "Hunter22"}, {"Key": "authorization", "Value": "Hunter22"}],
    ["Cookie", "sid=Hunter22", "Authorization", "Hunter22"],
    ["Cookie: sid=Hunter22", "authorization:Hunter22"],
    "Host: x\r\nCookie: sid=Hunter22\r\n",
    "curl -b 'sid=Hunter22' x",
]


@pytest.mark.parametrize("headers", HEADERS, ids=repr)
def test_headers_are_masked_however_they_are_given(world_in_memory, headers):
    world = world_in_memory
    agent = world.register()
    world.verify(agent, calculate(parameters={"headers": headers}))
    assert "Hunter22" not in json.dumps(world.decisions(agent))


def test_a_list_of_names_of_headers_stays(world_in_memory):
    world = world_in_memory
    agent = world.register()
    names = ["Authorization", "Content-Type", "Cookie", "X-Requested-With"]
    world.verify(agent, calculate(parameters={"allow_headers": names}))
    assert world.decisions(agent)[0]["action"]["parameters"]["allow_headers"] == names
