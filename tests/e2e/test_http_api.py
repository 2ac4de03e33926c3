"""A running gateway over HTTP: the guide's conversation, bad input, crowds, wrong tokens, a stop."""

import asyncio
import json
import re
import signal
import socket
import sqlite3
import threading
import time
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.support.ledgers import verified_head
from tests.support.receivers import wait_for
from tests.support.server import OPERATOR_KEY, Server, json_lines, verify_request

pytestmark = pytest.mark.xdist_group("http-api")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("gateway")) as server:
        yield server


@pytest.fixture(scope="module")
def http(server):
    with server.client() as client:
        yield client


def verify(http, agent, action, step=1, conversation="c", **body):
    context = {"conversation_id": conversation, "step_number": step}
    return http.post(
        f"/agents/{agent['agent_id']}/verify", json={"action": action, "context": context, **body}
    ).json()


# --- the guide -------------------------------------------------------------------------------------------


def test_the_guides_conversation_goes_as_the_guide_says(http):
    agent = http.post(
        "/agents/register",
        json={
            "name": "DataAnalyst",
            "type": "supervised",
            "principal_id": "user_123",
            "permissions": {"allowed_engines": ["math", "logic", "sql"], "blocked_tools": ["execute_code"]},
            "budget": {"max_daily_cost_usd": 100, "max_requests_per_hour": 500},
        },
    ).json()
    assert agent["agent_id"].startswith("agent_")
    assert agent["agent_token"].startswith("qwed_agent_")

    sql = {"type": "execute_sql", "query": "SELECT * FROM users"}
    context = {"conversation_id": "conv_xyz", "step_number": 1, "user_intent": "Get user list"}
    path = f"/agents/{agent['agent_id']}/verify"
    assert http.post(path, json={"action": sql, "context": context}).json()["decision"] == "APPROVED"

    sum_up = {"type": "calculate", "query": "2+2"}
    assert verify(http, agent, sum_up, 1, "conv_1")["decision"] == "APPROVED"
    assert verify(http, agent, sum_up, 2, "conv_1")["decision"] == "APPROVED"
    third = verify(http, agent, sum_up, 3, "conv_1")
    assert (third["decision"], third["error"]["code"]) == ("DENIED", "QWED-AGENT-LOOP-003")
    logic = {"type": "verify_logic", "query": "x > 1"}
    assert verify(http, agent, logic, 3, "conv_1")["decision"] == "APPROVED"

    replay = verify(http, agent, sum_up, 1, "conv_1")
    assert (replay["decision"], replay["error"]["code"]) == ("DENIED", "QWED-AGENT-LOOP-002")

    for name in ("do_arbitrary_thing", "transfer_funds_internal_v2"):
        unknown = verify(http, agent, {"type": name, "query": "Move funds between ledgers"}, 1, "conv_42")
        assert unknown["decision"] == "DENIED"
        assert unknown["error"] == {
            "code": "QWED-AGENT-ACTION-001",
            "message": f"Unknown action_type '{name}' cannot be verified"
            " without explicit registered semantics",
        }
        assert "verification" not in unknown
    assert verify(http, agent, sum_up, 1, "conv_42")["decision"] == "APPROVED"

    budget = http.get(f"/agents/{agent['agent_id']}/budget").json()
    assert budget["cost"] == {"max_daily_usd": 100, "max_per_request_usd": 1, "current_daily_usd": 0.05}
    # The two unknown types were counted too: only their cost was returned.
    assert budget["requests"]["current_hour"] == 7
    activity = http.get(f"/agents/{agent['agent_id']}/activity", params={"limit": 10}).json()
    newest = activity["activities"][0]
    assert (newest["action_type"], newest["decision"]) == ("calculate", "APPROVED")
    assert {"timestamp", "activity_id", "verification", "cost"} <= newest.keys()
    assert activity["summary"]["approved"] == 5
    assert activity["summary"]["denied"] == 4

    tool = http.post(f"/agents/{agent['agent_id']}/tools/my_custom_tool", json={"parameters": {}}).json()
    assert tool["approved"] is False
    assert tool["blocked_reason"] == (
        "Unknown tool 'my_custom_tool' requires explicit allowlisting (risk_score=0.2)"
    )


def test_the_real_engines_decide_as_the_guides_matrix_says(server, http):
    agent = server.register()
    cases = [
        ({"type": "calculate", "query": "15% of 200 = 30"}, "APPROVED", "low"),
        ({"type": "execute_sql", "query": "DELETE FROM users WHERE id = 1"}, "PENDING", "high"),
        ({"type": "execute_sql", "query": "DROP TABLE users"}, "DENIED", "critical"),
        ({"type": "send_email", "parameters": {"to": "a@example.com"}}, "APPROVED", "medium"),
        ({"type": "file_write", "target": "notes.txt"}, "PENDING", "high"),
        ({"type": "file_delete", "target": "notes.txt"}, "DENIED", "critical"),
        ({"type": "file_read", "target": "notes.txt"}, "APPROVED", "low"),
    ]
    for step, (action, decision, risk) in enumerate(cases, start=1):
        answer = verify(http, agent, action, step, "matrix")
        assert (answer["decision"], answer["verification"]["risk_level"]) == (decision, risk), action
    climbing = verify(http, agent, {"type": "file_read", "target": "../../etc/passwd"}, 9, "matrix")
    assert (climbing["decision"], climbing["error"]["code"]) == ("DENIED", "QWED-AGENT-005")


def test_a_wrong_sum_is_corrected(server, http):
    answer = verify(http, server.register(), {"type": "calculate", "query": "2+2=5"})

    assert answer["decision"] == "CORRECTED"
    assert answer["corrected_action"] == {"type": "calculate", "query": "2+2=4"}


# --- bad input -------------------------------------------------------------------------------------------

ACTION = '"action":{"type":"calculate","query":"1"}'
CONTEXT = '"context":{"conversation_id":"bad","step_number":1}'


def with_parameters(text):
    return f'{{"action":{{"type":"calculate","query":"1","parameters":{text}}},{CONTEXT}}}'


def with_step(text):
    return f'{{{ACTION},"context":{{"conversation_id":"bad","step_number":{text}}}}}'


BAD = {
    "nothing": (b"", 400, "QWED-REQUEST-001"),
    "blank": (b"  \n", 400, "QWED-REQUEST-001"),
    "half an object": (b'{"action":', 400, "QWED-REQUEST-001"),
    "trailing comma": (b'{"action":{},}', 400, "QWED-REQUEST-001"),
    "two values": (b"{}{}", 400, "QWED-REQUEST-001"),
    "single quotes": (b"{'action':1}", 400, "QWED-REQUEST-001"),
    "not UTF-8": (b'{"action":"\xff"}', 400, "QWED-REQUEST-001"),
    "byte order mark": (b'\xef\xbb\xbf{"a":1}', 400, "QWED-REQUEST-001"),
    "NUL": (b"\0", 400, "QWED-REQUEST-001"),
    "UTF-16": ('{"action":1}'.encode("utf-16"), 400, "QWED-REQUEST-001"),
    "form": (b"action=calculate", 400, "QWED-REQUEST-001"),
    "array": (b"[]", 422, "QWED-REQUEST-001"),
    "string": (b'"x"', 422, "QWED-REQUEST-001"),
    "null": (b"null", 422, "QWED-REQUEST-001"),
    "number": (b"7", 422, "QWED-REQUEST-001"),
    "NaN alone": (b"NaN", 422, "QWED-REQUEST-001"),
    "repeated key": (f"{{{ACTION},{ACTION},{CONTEXT}}}".encode(), 422, "QWED-REQUEST-001"),
    "repeated step": (
        f'{{{ACTION},"context":{{"conversation_id":"bad","step_number":1,"step_number":2}}}}'.encode(),
        422,
        "QWED-REQUEST-001",
    ),
    "unknown field": (f'{{{ACTION},{CONTEXT},"surprise":1}}'.encode(), 422, "QWED-REQUEST-001"),
    "query is NaN": (b'{"action":{"type":"calculate","query":NaN}}', 422, "QWED-REQUEST-001"),
    "surrogate in query": (b'{"action":{"type":"calculate","query":"\\ud800"}}', 422, "QWED-REQUEST-001"),
    "surrogate in key": (b'{"\\ud800":1}', 422, "QWED-REQUEST-001"),
    "surrogate in type": (b'{"action":{"type":"\\udfff"}}', 422, "QWED-REQUEST-001"),
    "NaN parameter": (with_parameters('{"x":NaN}').encode(), 200, "QWED-AGENT-STATE-004"),
    "infinite parameter": (with_parameters('{"x":-Infinity}').encode(), 200, "QWED-AGENT-STATE-004"),
    "huge exponent": (with_parameters('{"x":1e999999999}').encode(), 200, "QWED-AGENT-STATE-004"),
    "endless integer": (with_parameters(f'{{"x":{"9" * 100_000}}}').encode(), 200, "QWED-AGENT-STATE-004"),
    "surrogate parameter": (with_parameters('{"x":"\\udc00"}').encode(), 200, "QWED-AGENT-STATE-004"),
    "list of parameters": (with_parameters("[1,2]").encode(), 200, "QWED-AGENT-STATE-004"),
    "NaN step": (with_step("NaN").encode(), 200, "QWED-AGENT-CTX-002"),
    "infinite step": (with_step("Infinity").encode(), 200, "QWED-AGENT-CTX-002"),
    "fractional step": (with_step("1.0").encode(), 200, "QWED-AGENT-CTX-002"),
    "endless step": (with_step("9" * 100_000).encode(), 200, "QWED-AGENT-CTX-002"),
    "large step": (with_step("9" * 30).encode(), 200, "QWED-AGENT-LOOP-001"),
    "depth bomb": (b"[" * 500_000, 413, "QWED-REQUEST-002"),
    "deep object": (b'{"a":' * 100 + b"1" + b"}" * 100, 413, "QWED-REQUEST-002"),
    "deep parameters": (with_parameters("[" * 80 + "]" * 80).encode(), 413, "QWED-REQUEST-002"),
    "two mebibytes": (b'{"a":"' + b"x" * 2 * 1024 * 1024 + b'"}', 413, "QWED-REQUEST-002"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_a_clear_answer_and_never_a_crash(server, http, case):
    content, status, code = BAD[case]
    agent = server.register()
    response = http.post(f"/agents/{agent['agent_id']}/verify", content=content)
    error = response.json()["error"]

    assert (response.status_code, error["code"]) == (status, code)
    assert len(error["message"]) > 10
    assert len(response.content) < 5_000


@pytest.mark.parametrize("case", ["nothing", "half an object", "two mebibytes", "depth bomb", "array"])
def test_bad_input_without_a_credential_is_a_401_first(server, case):
    content, _, _ = BAD[case]
    agent = server.register()
    response = server.call("POST", f"/agents/{agent['agent_id']}/verify", key=None, content=content)

    assert response.status_code == 401


@pytest.mark.parametrize("path", ["/agents/register", "/keys", "/webhooks", "/agents/{id}/tools/get_weather"])
@pytest.mark.parametrize("case", ["half an object", "array", "depth bomb", "two mebibytes", "repeated key"])
def test_every_door_reads_strictly(server, http, path, case):
    content, status, code = BAD[case]
    agent = server.register()
    response = http.post(path.format(id=agent["agent_id"]), content=content)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/agents?limit=0", "limit"),
        ("/agents?limit=1001", "limit"),
        ("/agents?limit=ten", "limit"),
        ("/agents?surprise=1", "surprise"),
        ("/approvals?status=maybe", "status"),
        ("/agents/{id}/activity?limit=-1", "limit"),
        ("/agents/{id}/activity?from=yesterday", "from"),
        ("/agents/{id}/activity?to=9999999-01-01", "to"),
        ("/agents/{id}/activity?cursor=%21%21", "cursor"),
        ("/agents/{id}/activity?cursor=" + "A" * 200, "cursor"),
        ("/agents/{id}/activity?decision=MAYBE", "decision"),
        ("/agents/{id}/activity?surprise=1", "surprise"),
    ],
)
def test_a_wrong_query_names_its_parameter(server, http, path, field):
    response = http.get(path.format(id=server.register()["agent_id"]))

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/agents/%00",
        "/agents/..%2f..%2fetc",
        "/agents/" + "x" * 4000,
        "/agents/%ff%fe",
        "/agents/agent_none/activity/%F0%9F%92%A9/outcome",
        "/static/..%2f..%2fapp.py",
        "/static/docs.html",
        "/keys/%F0%9F%92%A9",
    ],
)
def test_an_address_that_leads_nowhere_is_a_plain_error(http, path):
    for method in ("GET", "POST", "DELETE", "PUT"):
        response = http.request(method, path)
        assert response.status_code in (400, 404, 405, 422), (method, response.text)
        assert response.json()["error"]["code"].startswith("QWED-")


def raw(server, request: bytes) -> bytes:
    host, port = server.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def test_odd_bytes_on_the_wire_do_no_harm(server, http):
    agent = server.register()["agent_id"].encode()
    head = b"POST /agents/" + agent + b"/verify HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
    head += OPERATOR_KEY.encode() + b"\r\n"
    for request in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET /health\r\n\r\n",
        head + b"Content-Length: -5\r\n\r\n{}",
        head + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        head + b"Content-Length: 1000\r\n\r\n{}",
        head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        head + b"X-Request-Id: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
    ):
        answer = raw(server, request)
        assert b" 500 " not in answer[:40]
    assert http.get("/health").status_code == 200


def test_a_chunked_body_is_bounded_while_it_arrives(server, http):
    agent = server.register()

    def endless():
        for _ in range(64):
            yield b"x" * 65536

    response = http.post(f"/agents/{agent['agent_id']}/verify", content=endless())

    assert response.status_code == 413


# --- crowds ----------------------------------------------------------------------------------------------


def test_of_64_requests_for_one_step_exactly_one_is_approved(server):
    agent = server.register()
    responses = server.together([verify_request(agent, f"{n}+1") for n in range(64)])
    answers = [response.json() for response in responses]

    assert sum(answer["decision"] == "APPROVED" for answer in answers) == 1
    codes = {answer["error"]["code"] for answer in answers if answer["decision"] != "APPROVED"}
    assert codes == {"QWED-AGENT-LOOP-002"}
    recorded = server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["summary"]
    assert (recorded["approved"], recorded["denied"]) == (1, 63)


def test_of_200_requests_against_100_an_hour_exactly_100_pass(server):
    agent = server.register(budget={"max_requests_per_hour": 100})
    responses = server.together([verify_request(agent, f"{n}+1", conversation=f"c{n}") for n in range(200)])
    statuses = [response.status_code for response in responses]

    assert (statuses.count(200), statuses.count(429)) == (100, 100)
    assert all(int(r.headers["Retry-After"]) > 0 for r in responses if r.status_code == 429)
    budget = server.call("GET", f"/agents/{agent['agent_id']}/budget").json()
    assert budget["requests"]["current_hour"] == 100
    assert budget["cost"]["current_daily_usd"] == 1


def test_one_idempotency_key_sent_by_many_at_once_decides_once(server):
    agent = server.register()
    request = verify_request(agent, "1+1")
    request["headers"] = {"Idempotency-Key": "same"}
    responses = server.together([request] * 20)

    assert len({response.content for response in responses}) == 1
    summary = server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["summary"]
    assert summary["total_actions"] == 1


# --- wrong tokens ----------------------------------------------------------------------------------------


def test_wrong_tokens_by_the_hundred_change_nothing_and_cost_no_write(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register()
        path = f"/agents/{agent['agent_id']}"
        before = server.call("GET", path).json(), server.call("GET", f"{path}/budget").json()
        server.call("GET", "/ready")
        files = {f: f.stat().st_size for f in tmp_path.glob("qwed.db*")}
        head = verified_head(server.database)
        statuses = []
        body = verify_request(agent, "1")["json"]
        with server.client("qwed_agent_wrong") as client:
            for n in range(300):
                wrong = {"Authorization": f"Bearer qwed_agent_wrong{n}"}
                statuses.append(client.post(f"{path}/verify", json=body, headers=wrong).status_code)

        assert statuses[:20] == [401] * 20
        assert set(statuses[20:]) <= {401, 429} and statuses.count(429) > 200
        assert {f: f.stat().st_size for f in tmp_path.glob("qwed.db*")} == files
        assert verified_head(server.database) == head
        assert (server.call("GET", path).json(), server.call("GET", f"{path}/budget").json()) == before
        valid = server.call("POST", f"{path}/verify", key=agent["agent_token"], json=body)
        assert (valid.status_code, valid.json()["decision"]) == (200, "APPROVED")
        failed = [line for line in json_lines(server.log()) if line["event"] == "failed_authentication"]
    kept = [line for path in (tmp_path / "security-log").iterdir() for line in path.read_bytes().splitlines()]
    assert 20 <= len(failed) <= 60
    assert len(kept) == len(failed)
    assert b"qwed_agent_wrong" not in b"".join(kept)
    assert "qwed_agent_wrong" not in server.log()


# --- what surrounds the decisions ------------------------------------------------------------------------


def test_health_and_readiness_need_no_credential(server):
    health, ready = (server.call("GET", path, key=None) for path in ("/health", "/ready"))

    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert (ready.status_code, ready.json()["ready"]) == (200, True)


def test_metrics_count_decisions_by_outcome_and_code(server, http):
    agent = server.register()
    verify(http, agent, {"type": "calculate", "query": "1+1"})
    verify(http, agent, {"type": "nonsense"}, 2)
    text = server.call("GET", "/metrics", key=None).text

    assert re.search(r'^qwed_decisions_total{.*decision="APPROVED".*} [1-9]', text, re.MULTILINE)
    assert re.search(r'^qwed_decisions_total{.*code="QWED-AGENT-ACTION-001".*} [1-9]', text, re.MULTILINE)
    assert agent["agent_id"] not in text
    assert "nonsense" not in text


def test_head_is_get_without_a_body(server):
    for path, key in (
        ("/health", None),
        ("/openapi.json", None),
        ("/agents", OPERATOR_KEY),
        ("/agents", None),
    ):
        told, asked = (server.call(method, path, key=key) for method in ("GET", "HEAD"))

        assert (asked.status_code, asked.content) == (told.status_code, b"")
        assert asked.headers["content-length"] == told.headers["content-length"]
    assert server.call("HEAD", "/events").status_code == 405


def test_the_description_lists_every_endpoint_and_the_docs_page_shows_it(server):
    document = server.call("GET", "/openapi.json", key=None).json()
    page = server.call("GET", "/docs", key=None)
    documented = {
        "/agents/register",
        "/agents",
        "/agents/{agent_id}",
        "/agents/{agent_id}/verify",
        "/agents/{agent_id}/tools/{tool}",
        "/agents/{agent_id}/activity",
        "/agents/{agent_id}/activity/{activity_id}/outcome",
        "/agents/{agent_id}/budget",
        "/agents/{agent_id}/suspend",
        "/agents/{agent_id}/reactivate",
        "/agents/{agent_id}/rotate-token",
        "/agents/{agent_id}/complaint",
        "/approvals",
        "/approvals/{approval_id}",
        "/keys",
        "/webhooks",
        "/tools",
        "/actions",
        "/verify/{engine}",
        "/events",
        "/health",
        "/ready",
        "/metrics",
    }

    assert document["openapi"].startswith("3.")
    assert documented <= document["paths"].keys()
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]


def test_the_pages_ask_no_other_host_for_anything(server):
    for path in ("/docs", "/dashboard"):
        text = server.call("GET", path, key=None).text
        for asset in re.findall(r'(?:src|href)="([^"]+)"', text):
            assert not asset.startswith(("http:", "https:", "//")), asset
            if asset.startswith("/static/"):
                assert server.call("GET", asset, key=None).status_code == 200


def test_every_answer_has_a_request_id_and_a_sound_one_is_kept(http):
    given = http.get("/health", headers={"X-Request-Id": "my-id.42"})
    odd = http.get("/health", headers={"X-Request-Id": "a b\tc"})
    own = [http.get("/health").headers["X-Request-Id"] for _ in range(5)]

    assert given.headers["X-Request-Id"] == "my-id.42"
    assert odd.headers["X-Request-Id"] != "a b\tc"
    assert len(set(own)) == 5
    assert http.get("/nowhere").headers["X-Request-Id"]


def test_everything_is_served_under_v1_too(server, http):
    agent = server.register()
    body = verify_request(agent, "1+1")["json"]
    path = f"/v1/agents/{agent['agent_id']}"

    assert http.post(f"{path}/verify", json=body).json()["decision"] == "APPROVED"
    assert http.get(path).json()["agent_id"] == agent["agent_id"]
    assert http.get(f"{path}/budget").json() == http.get(f"/agents/{agent['agent_id']}/budget").json()
    assert http.get("/v1/agents").status_code == 200
    registered = http.post(
        "/v1/agents/register", json={"name": "v1", "type": "supervised", "principal_id": "acme"}
    )
    assert registered.status_code == 201


def test_the_registries_in_force_are_published(http):
    actions = {row["name"]: row for row in http.get("/actions").json()["actions"]}
    tools = {row["name"]: row for row in http.get("/tools").json()["tools"]}

    assert (actions["calculate"]["engine"], actions["calculate"]["risk_level"]) == ("math", "low")
    assert actions["execute_sql"]["risk_level"] is None
    assert (tools["drop_table"]["risk_level"], tools["drop_table"]["approval_required"]) == ("critical", True)
    assert tools["send_email"]["risk_level"] == "medium"


def test_one_engine_can_be_asked_alone_and_nothing_is_recorded(server, http):
    head = verified_head(server.database).seq
    finding = http.post("/verify/math", json={"query": "15% of 200 = 30"}).json()

    assert (finding["status"], finding["engine"]) == ("VERIFIED", "math")
    assert http.post("/verify/astrology", json={"query": "x"}).status_code == 404
    assert verified_head(server.database).seq == head


def test_the_log_holds_no_secret_and_no_body(server, http):
    agent = server.register()
    key = server.principal_key("acme")
    password = "correct-horse-battery-91"
    action = {
        "type": "calculate",
        "query": f"1+1 # {password}",
        "parameters": {"password": password, "deep": [{"api_key": password}]},
    }
    for credential in (agent["agent_token"], key):
        server.call("POST", f"/agents/{agent['agent_id']}/verify", key=credential, json={"action": action})
    server.call("GET", f"/agents/{agent['agent_id']}/activity?conversation_id={password}")
    server.call("GET", f"/{password}")
    wait_for(lambda: len(json_lines(server.log())) > 10, "log lines")
    time.sleep(0.5)
    log = server.log()

    assert len(json_lines(log)) > 10
    for secret in (OPERATOR_KEY, agent["agent_token"], key, password):
        assert secret not in log
    recorded = json.dumps(http.get(f"/agents/{agent['agent_id']}/activity").json())
    assert '"password": "[masked]"' in recorded


def test_credentials_are_stored_as_hashes_only(server):
    agent = server.register()
    key = server.principal_key("acme")
    with sqlite3.connect(f"{server.database.as_uri()}?mode=ro", uri=True) as connection:
        text = "\n".join(connection.iterdump())
    connection.close()

    for secret in (agent["agent_token"], key, OPERATOR_KEY):
        assert secret not in text
    assert agent["agent_id"] in text


def test_the_files_are_for_their_owner_alone(server):
    modes = {path.name: path.stat().st_mode & 0o777 for path in server.folder.glob("qwed.db*")}

    assert {"qwed.db", "qwed.db.key"} <= modes.keys()
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


# --- events ----------------------------------------------------------------------------------------------


async def listen(server, key, ready, seen, seconds):
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(base_url=server.base_url, headers=headers, timeout=60) as client,
        client.stream("GET", "/events") as response,
    ):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        try:
            async with asyncio.timeout(seconds):
                async for line in response.aiter_lines():
                    if line.startswith(":"):
                        ready.set()
                    if line.startswith("data: "):
                        seen.append(json.loads(line[6:]))
        except TimeoutError:
            return


def test_events_reach_whom_they_concern_and_nobody_else(server):
    agent, sibling = server.register(), server.register()
    foreign = server.register(principal_id="rival")
    keys = {
        "acme": server.principal_key("acme"),
        "rival": server.principal_key("rival"),
        "agent": agent["agent_token"],
        "operator": OPERATOR_KEY,
    }
    seen = {name: [] for name in keys}

    async def scenario():
        ready = {name: asyncio.Event() for name in keys}
        listeners = [
            asyncio.create_task(listen(server, key, ready[name], seen[name], 1.5))
            for name, key in keys.items()
        ]
        await asyncio.gather(*(event.wait() for event in ready.values()))
        async with httpx2.AsyncClient(
            base_url=server.base_url, headers={"Authorization": f"Bearer {OPERATOR_KEY}"}
        ) as client:
            for each in (agent, sibling, foreign):
                await client.request(**verify_request(each, "1+1"))
        await asyncio.gather(*listeners)

    asyncio.run(scenario())

    def decided(name):
        return {event["agent_id"] for event in seen[name] if event["type"] == "decision"}

    ids = [each["agent_id"] for each in (agent, sibling, foreign)]
    assert decided("agent") == {ids[0]}
    assert decided("acme") == {ids[0], ids[1]}
    assert decided("rival") == {ids[2]}
    assert set(ids) <= decided("operator")


# --- the end ---------------------------------------------------------------------------------------------


def test_a_stop_under_load_finishes_what_was_accepted_and_loses_nothing(tmp_path):
    server = Server(tmp_path).start()
    agent = server.register(budget={"max_requests_per_hour": None, "max_requests_per_day": None})
    answered, broken = [], []
    stopping = threading.Event()

    def load(worker):
        with server.client() as client:
            for number in range(10_000):
                request = verify_request(agent, f"{number}+1", conversation=f"w{worker}-{number}")
                try:
                    response = client.request(**request)
                except httpx2.HTTPError as error:
                    broken.append(error)
                    return
                if response.status_code == 200:
                    answered.append(response.json()["activity_id"])
                elif stopping.is_set():
                    broken.append(response)
                    return

    workers = [threading.Thread(target=load, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    while len(answered) < 100:
        time.sleep(0.01)
    stopping.set()
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)
    code = server.stop()
    for worker in workers:
        worker.join(60)

    assert code == 0
    with Server(tmp_path) as again:
        recorded, cursor = set(), None
        with again.client() as client:
            while True:
                query = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
                page = client.get(f"/agents/{agent['agent_id']}/activity", params=query).json()
                recorded |= {entry["activity_id"] for entry in page["activities"]}
                cursor = page.get("next")
                if cursor is None:
                    break
    assert set(answered) <= recorded
    # A request that was accepted gets its answer: what is recorded beyond it is the registration.
    assert len(recorded - set(answered)) == 1
    verified_head(tmp_path / "qwed.db")


@pytest.mark.parametrize("sent_before", ["", "GET /health HT"], ids=["nothing", "half a request"])
def test_who_connected_before_the_stop_is_answered(tmp_path, sent_before):
    server = Server(tmp_path).start()
    request = "GET /health HTTP/1.1\r\nhost: qwed\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port), 10) as connection:
        connection.sendall(sent_before.encode())
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.4)
        connection.sendall(request.removeprefix(sent_before).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).lower()

    assert answer.startswith(b"http/1.1 200 ")
    assert b"\r\nconnection: close\r\n" in answer
    assert server.stop() == 0


def test_an_event_stream_does_not_hold_up_a_stop(tmp_path):
    server = Server(tmp_path).start()
    with server.client() as client, client.stream("GET", "/events") as stream:
        assert next(stream.iter_lines()).startswith(":")
        code = server.stop()

    assert code == 0


def test_the_signing_key_is_kept_across_restarts(tmp_path):
    with Server(tmp_path) as server:
        first = server.call("GET", "/.well-known/jwks.json", key=None).json()
        agent = server.register(type="trusted")
        answer = server.call(**verify_request_with_attestation(agent)).json()
    with Server(tmp_path) as server:
        second = server.call("GET", "/.well-known/jwks.json", key=None).json()
        body = {"attestation": answer["attestation"]}
        checked = server.call("POST", "/attestations/verify", key=None, json=body)
        forged = server.call("POST", "/attestations/verify", key=None, json={"attestation": "a.b.c"})

    assert first == second
    assert (first["keys"][0]["kty"], first["keys"][0]["alg"]) == ("EC", "ES256")
    assert "d" not in first["keys"][0]
    assert (checked.status_code, checked.json()["valid"]) == (200, True)
    assert forged.status_code == 422


def verify_request_with_attestation(agent):
    request = verify_request(agent, "1+1", options={"require_attestation": True})
    return {"method": request["method"], "path": request["url"], "json": request["json"]}
