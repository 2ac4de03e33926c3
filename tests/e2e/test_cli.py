"""The `qwed` command: against a store, against a running gateway, and against people's mistakes."""

import json
import os
import re
import sqlite3
import stat
from contextlib import closing

import pytest
from tests.support.server import OPERATOR_KEY, Server, clean_environment, qwed, verify_request

from qwed import Gateway
from qwed.cli import COMMANDS
from qwed.cli.main import run

pytestmark = pytest.mark.xdist_group("cli")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Runs one command in this process: arguments in; exit code, output and errors out."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() - clean_environment().keys():
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.setenv(name, clean_environment()[name])
    # A port nobody listens on: without a store or a gateway nothing must answer.
    monkeypatch.setenv("QWED_PORT", "1")

    def call(*arguments, **environment):
        capfd.readouterr()
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                run(list(arguments))
        return Result(ended.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def database(tmp_path):
    """A store with one agent, one approval and one denial in it."""
    path = tmp_path / "qwed.db"
    with Gateway.open(path) as gateway:
        agent = gateway.register_agent(name="Anna", type="supervised", principal_id="acme")
        for step, kind in ((1, "calculate"), (2, "nonsense")):
            context = {"conversation_id": "c", "step_number": step}
            gateway.verify_action(agent["agent_id"], {"type": kind, "query": "2+2"}, context)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("cli")) as server:
        yield server


@pytest.fixture
def remote(call, server):
    def remote(*arguments, key=OPERATOR_KEY, **environment):
        return call(*arguments, QWED_BASE_URL=server.base_url, QWED_API_KEY=key, **environment)

    return remote


# --- help ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_worth_reading(call, command):
    result = call(command, "--help")

    assert result.code == 0
    assert len(result.out) > 150
    assert "Options" in result.out


def test_help_lists_every_command_and_the_version_is_told(call):
    shown = call("--help")

    assert all(re.search(rf"^  {command} ", shown.out, re.MULTILINE) for command in COMMANDS)
    assert re.fullmatch(r"qwed, version \d+\.\d+\.\d+\n", call("--version").out)


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("agents", "nonsense"), ("agents", "show"), ("--nonsense",)]
)
def test_a_wrong_command_line_is_code_2_and_points_to_help(call, arguments):
    result = call(*arguments)

    assert result.code == 2
    assert "--help" in result.err


# --- against a store -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("serv",), "did you mean 'serve'?"),
        (("agents", "lst"), "did you mean 'list'?"),
        (("verify", "maths", "2+2"), "did you mean 'math'?"),
        (("verify", "zzz", "2+2"), "the engines are math, logic, fact, sql, code, workspace, tool_control"),
    ],
)
def test_what_was_nearly_typed_right_is_named(call, arguments, meant):
    assert meant in call(*arguments).err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "serve"])
def test_no_sentence_of_the_help_is_cut_short(call, command):
    usage = re.compile(r"\[(ARGS|COMMAND)\]\.\.\.")
    assert "..." not in usage.sub("", call(command, "--help").out)


def test_agents_are_listed_shown_suspended_and_reactivated_in_a_store(call, database):
    agent_id = database_agent(call)
    shown = call("agents", "show", agent_id)
    assert "Anna" in shown.out and "spent today" in shown.out

    assert call("agents", "suspend", agent_id, "--reason", "maintenance").out.strip().endswith("is suspended")
    assert call("agents", "show", agent_id, "--json").json["status"] == "suspended"
    assert call("agents", "reactivate", agent_id).code == 0
    assert call("agents", "show", agent_id, "--json").json["status"] == "active"


def database_agent(call):
    (agent,) = call("agents", "list", "--json").json["agents"]
    return agent["agent_id"]


def test_an_agent_registered_on_the_command_line_shows_its_token_once(call, database):
    made = call("agents", "register", "Bob", "--principal", "acme", "--engine", "sql", "--json").json
    listed = call("agents", "list")

    assert made["agent_token"].startswith("qwed_agent_")
    assert made["permissions"]["allowed_engines"] == ["sql"]
    assert "Bob" in listed.out
    assert made["agent_token"] not in listed.out + listed.err


def test_keys_are_made_listed_and_revoked_in_a_store(call, database):
    made = call("keys", "create", "--principal", "acme", "--label", "ci")
    secret, key_id = made.out.strip(), made.err.split(":")[0]
    assert secret.startswith("qwed_live_")
    listed = call("keys", "list", "--json")
    (key,) = listed.json["keys"]

    assert (key["key_id"], key["label"]) == (key_id, "ci")
    assert key["scopes"] == ["verify", "register", "read"]
    assert secret not in listed.out
    assert call("keys", "revoke", key_id).out.strip() == f"{key_id} is revoked"
    assert call("keys", "list", "--json").json["keys"][0]["revoked_at"] is not None


def test_more_rights_have_to_be_asked_for(call, database):
    made = call("keys", "create", "--principal", "acme", "--scope", "approve", "--json").json
    operator = call("keys", "create", "--operator", "--json").json

    assert made["scopes"] == ["approve"]
    assert operator["roles"] == ["operator"]
    nobody = call("keys", "create")
    assert nobody.code == 2
    assert "--principal" in nobody.err
    odd = call("keys", "create", "--principal", "acme", "--scope", "everything")
    assert odd.code == 1
    assert "scopes" in odd.err


def test_activity_is_listed_filtered_paged_and_tailed(call, database):
    agent_id = database_agent(call)
    everything = call("activity", "list", agent_id, "--json").json
    denied = call("activity", "list", agent_id, "--decision", "DENIED", "--json").json
    page = call("activity", "list", agent_id, "--limit", "1", "--json").json
    rest = call("activity", "list", agent_id, "--cursor", page["next"], "--json").json
    pretty = call("activity", "list", agent_id)
    tail = call("activity", "tail", agent_id, "--once")

    assert everything["summary"]["approved"] == everything["summary"]["denied"] == 1
    assert [entry["error_code"] for entry in denied["activities"]] == ["QWED-AGENT-ACTION-001"]
    assert page["activities"] + rest["activities"] == everything["activities"]
    assert "calculate 2+2" in pretty.out and "DENIED" in pretty.out
    assert tail.out.splitlines()[-1].split()[1] == "DENIED"


def test_an_agents_words_cannot_write_to_the_terminal_that_follows_it(call, tmp_path):
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        agent = gateway.register_agent(name="red", type="supervised", principal_id="acme")
        context = {"conversation_id": "c", "step_number": 1}
        action = {"type": "calculate", "query": "1\x1b]0;owned\x07+1"}
        gateway.verify_action(agent["agent_id"], action, context)
    followed = call("activity", "tail", agent["agent_id"], "--once")

    assert "owned" in followed.out
    assert "\x1b" not in followed.out and "\x07" not in followed.out


def test_an_action_is_decided_and_recorded_for_an_agent(call, database):
    agent_id = database_agent(call)
    approved = call("verify", "calculate", "3+3", "--agent", agent_id, "--step", "5")

    assert (approved.code, approved.out.splitlines()[0]) == (0, "APPROVED")
    denied = call("verify", "nonsense", "x", "--agent", agent_id, "--step", "6")
    assert denied.code == 1
    assert "QWED-AGENT-ACTION-001" in denied.out
    assert call("verify", "calculate", "1", "--agent", agent_id).code == 2


def test_a_step_given_twice_on_the_command_line_is_a_replay(call, database):
    agent_id = database_agent(call)
    for expected in (None, "QWED-AGENT-LOOP-002"):
        answer = call("verify", "calculate", "8+8", "--agent", agent_id, "--step", "7", "--json").json
        assert answer.get("error", {}).get("code") == expected


@pytest.mark.parametrize("spelling", ["{path}", "sqlite:///{path}"])
def test_the_store_may_be_named_by_path_or_address(call, database, spelling):
    named = spelling.format(path=database)

    assert call("agents", "list", "--database", named, "--json").json["agents"]
    assert call("agents", "list", "--json", QWED_DATABASE=named).json["agents"]


# --- one engine ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("math", "15% of 200 = 30"), "VERIFIED", 0),
        (("math", "2+2=5"), "CORRECTED", 0),
        (("sql", "SELECT 1"), "VERIFIED", 0),
        (("calculate", "2+2=4"), "VERIFIED", 0),
        (("tool_control", "--parameters", '{"path": "../../etc/passwd"}'), "FAILED", 1),
    ],
)
def test_one_engine_is_asked_without_store_or_gateway(call, arguments, status, code, tmp_path):
    plain, machine = call("verify", *arguments), call("verify", *arguments, "--json")

    assert plain.code == machine.code == code
    assert plain.out.startswith(status)
    assert machine.json["status"] == status
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("parameters", ["[1]", "{", "nonsense", '{"a":1,"a":2}'])
def test_parameters_that_are_no_json_object_are_refused(call, parameters):
    result = call("verify", "math", "1", "--parameters", parameters)

    assert result.code == 2
    assert "--parameters" in result.err


# --- ledger, policy, doctor ------------------------------------------------------------------------------


def test_the_ledger_is_verified_and_a_change_is_found(call, database):
    sound = call("ledger", "verify", "--json")
    assert (sound.code, sound.json["valid"], sound.json["entries"]) == (0, True, 5)
    assert call("ledger", "verify").out.startswith("VALID")
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE activities SET payload = x'7b7d' WHERE seq = 4")
    connection.close()

    broken = call("ledger", "verify", "--json")
    assert (broken.code, broken.json["valid"]) == (1, False)
    assert "entry 4" in broken.json["reason"]
    assert call("ledger", "verify").out.startswith("BROKEN")


def test_a_row_changed_beside_the_gateway_is_named_and_so_is_a_counter(call, database):
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE days SET cost_nano = cost_nano + 1 WHERE kind = 'agent'")
    connection.close()
    counter = call("ledger", "verify", "--json")
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE agents SET principal_id = 'rival'")
    connection.close()
    row = call("ledger", "verify", "--json")

    assert (counter.code, row.code) == (1, 1)
    assert counter.json["reason"].startswith("days agent ")
    assert (row.json["kind"], row.json["reason"].startswith("agents agent_")) == ("edited", True)


def test_the_ledger_of_no_store_is_an_error(call):
    result = call("ledger", "verify")

    assert result.code == 2
    assert "qwed.db" in result.err


def test_an_export_is_verified_elsewhere_with_the_public_keys_alone(call, database, tmp_path):
    (tmp_path / "jwks.json").write_text(call("signing-key", "show", "--json").out)
    exported = call("ledger", "export", "--out", "ledger.jsonl")
    sound = call("ledger", "verify", "--export", "ledger.jsonl", "--jwks", "jwks.json", "--json")
    again = call("ledger", "export", "--out", "ledger.jsonl")
    text = (tmp_path / "ledger.jsonl").read_text()
    (tmp_path / "ledger.jsonl").write_text(text.replace('"seq":2', '"seq":7'))
    broken = call("ledger", "verify", "--export", "ledger.jsonl", "--jwks", "jwks.json")

    assert exported.code == 0
    assert (sound.code, sound.json["entries"], sound.json["compared"]) == (0, 5, 3)
    assert (again.code, broken.code) == (2, 1)
    assert "not overwritten" in again.err
    assert broken.out.startswith("BROKEN")


def test_an_export_without_payloads_verifies_too(call, database, tmp_path):
    (tmp_path / "jwks.json").write_text(call("signing-key", "show", "--json").out)
    call("ledger", "export", "--out", "ledger.jsonl", "--without-payloads")
    sound = call("ledger", "verify", "--export", "ledger.jsonl", "--jwks", "jwks.json", "--json")

    assert (sound.json["entries"], sound.json["compared"]) == (5, 0)
    assert call("ledger", "verify", "--export", "ledger.jsonl").code == 2


def test_an_entry_is_proven_on_the_command_line(call, database):
    found = call("ledger", "prove", "2", "--json").json
    named = call("ledger", "prove", found["entry"]["subject"], "--json").json

    assert named == found
    assert found["size"] == 5
    for seq in ("0", "99"):
        missing = call("ledger", "prove", seq)
        assert (missing.code, f"there is no entry {seq}" in missing.err) == (2, True)
    assert call("ledger", "prove", "act_none").code == 2


def test_a_witness_signs_once_and_refuses_an_older_ledger(call, database, tmp_path):
    (tmp_path / "jwks.json").write_text(call("signing-key", "show", "--json").out)
    checkpoint = call("ledger", "checkpoint").out.strip()
    arguments = ("--jwks", "jwks.json", "--witness-key", "witness.key")
    first = call("ledger", "witness", checkpoint, *arguments, "--json")
    kept = call("ledger", "verify", "--known", checkpoint)
    with Gateway.open(database) as gateway:
        gateway.register_agent(name="Bert", type="supervised", principal_id="acme")
    later = call("ledger", "checkpoint").out.strip()
    without_proof = call("ledger", "witness", later, *arguments)

    assert first.json["size"] == 5
    assert kept.code == 0
    assert without_proof.code == 1
    assert "inconsistent" in without_proof.out
    assert stat.S_IMODE((tmp_path / "witness.key").stat().st_mode) == 0o600


def test_a_shortened_ledger_is_found_with_a_checkpoint_kept_elsewhere(call, database, tmp_path):
    checkpoint = call("ledger", "checkpoint").out.strip()
    with sqlite3.connect(database) as connection:
        for table in ("ledger", "activities", "ects", "checkpoints"):
            column = "size" if table == "checkpoints" else "seq"
            connection.execute(f"DELETE FROM {table} WHERE {column} > 1")
    connection.close()

    found = call("ledger", "verify", "--known", checkpoint, "--json")

    assert found.code == 1


def test_the_signing_key_is_rotated_and_revoked_and_old_signatures_verify(call, database):
    before = call("signing-key", "show", "--json").json["keys"]
    call("signing-key", "rotate")
    with Gateway.open(database) as gateway:
        gateway.register_agent(name="Bert", type="supervised", principal_id="acme")
    after = call("signing-key", "show", "--json").json["keys"]
    verified = call("ledger", "verify")
    revoked = call("signing-key", "revoke", before[0]["kid"])

    assert len(after) == 2
    assert before[0]["kid"] in {key["kid"] for key in after}
    assert verified.code == 0
    assert "revoked" in revoked.out
    assert call("signing-key", "revoke", "did:nobody#x").code == 2
    with Gateway.open(database):
        pass


def test_a_policy_is_checked_and_explained(call, tmp_path):
    assert "nothing differs" in call("policy", "check").out
    (tmp_path / "qwed.yaml").write_text("budgets:\n  max_requests_per_hour: 5\n")
    changed = call("policy", "check", "--json").json
    (tmp_path / "bad.yaml").write_text("budgets:\n  max_requests_per_hour: -5\nsurprise: 1\n")
    bad = call("policy", "check", "bad.yaml")

    assert [change["path"] for change in changed["changes"]] == ["budgets.max_requests_per_hour"]
    assert bad.code == 1
    assert "max_requests_per_hour" in bad.err and "surprise" in bad.err
    assert re.search(r"\b2\b", bad.err) and re.search(r"\b3\b", bad.err)
    missing = call("policy", "check", "none.yaml")
    assert missing.code == 1
    assert "none.yaml" in missing.err


def test_the_doctor_finds_what_is_wrong_and_says_how_to_fix_it(call, database):
    database.chmod(0o644)
    result = call("doctor", "--json")
    found = {(finding["check"], finding["state"]) for finding in result.json["findings"]}

    assert ("python", "ok") in found
    assert ("store", "warning") in found
    assert ("gateway", "warning") in found
    fixes = [finding["fix"] for finding in result.json["findings"] if finding["state"] != "ok"]
    assert all(fixes)
    assert f"chmod 600 {database.name}" in " ".join(fixes)


def test_the_doctor_looks_at_every_page_and_index_when_asked(call, database):
    def storage(*options):
        findings = call("doctor", "--json", *options).json["findings"]
        return [(finding["state"], finding["says"]) for finding in findings if finding["check"] == "storage"]

    assert storage() == []
    assert storage("--deep") == [("ok", "every page and index is sound")]
    with closing(sqlite3.connect(database, isolation_level=None)) as file:
        file.execute("CREATE INDEX elsewhere ON activities (agent_id)")
        file.execute("PRAGMA writable_schema = ON")
        file.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, 'agent_id', 'at_ms') WHERE name = 'elsewhere'"
        )
    [(state, says)] = storage("--deep")
    assert state == "wrong" and "elsewhere" in says


def test_the_doctor_ends_with_code_1_when_something_is_wrong(call, tmp_path):
    (tmp_path / "qwed.db").write_bytes(b"no database " * 500)
    broken = call("doctor")

    assert broken.code == 1
    assert "fix:" in broken.out
    misspelled = call("doctor", QWED_DATABSE="x")
    assert misspelled.code == 1
    assert "QWED_DATABSE" in misspelled.out


# --- against a running gateway ---------------------------------------------------------------------------


def test_commands_speak_to_a_running_gateway(remote, server):
    agent = server.register(name="Remote")
    server.call(**renamed(verify_request(agent, "2+2")))
    agent_id = agent["agent_id"]

    assert "Remote" in remote("agents", "list").out
    assert remote("agents", "show", agent_id, "--json").json["name"] == "Remote"
    assert remote("activity", "list", agent_id, "--json").json["summary"]["approved"] == 1
    assert remote("verify", "calculate", "5+5", "--agent", agent_id, "--step", "2").code == 0
    assert remote("agents", "suspend", agent_id).code == 0
    refused = remote("verify", "calculate", "6+6", "--agent", agent_id, "--step", "3")
    assert (refused.code, "QWED-AGENT-003" in refused.out) == (1, True)
    assert remote("agents", "reactivate", agent_id).code == 0
    made = remote("keys", "create", "--principal", "acme", "--json").json
    assert made["key_id"] in remote("keys", "list").out
    assert remote("keys", "revoke", made["key_id"]).code == 0


def renamed(request):
    return {"method": request["method"], "path": request["url"], "json": request["json"]}


def test_a_store_that_a_gateway_owns_is_reached_through_the_gateway(call, server):
    port = server.base_url.rpartition(":")[2]
    command = ("agents", "list", "--json", "--database", str(server.database))
    found = call(*command, QWED_PORT=port, QWED_API_KEY=OPERATOR_KEY)
    keyless = call(*command, QWED_PORT=port)

    assert found.code == 0 and "agents" in found.json
    assert keyless.code == 1
    assert "QWED_API_KEY" in keyless.err


def test_errors_of_a_gateway_are_sentences_with_their_code(remote, server, call):
    unknown = remote("agents", "show", "agent_none")
    wrong_key = remote("agents", "list", key="qwed_live_wrong-key-for-this-gateway")
    nobody = call("agents", "list", QWED_BASE_URL="http://127.0.0.1:1", QWED_API_KEY=OPERATOR_KEY)

    assert (unknown.code, "QWED-AGENT-001" in unknown.err) == (1, True)
    assert (wrong_key.code, "QWED-AUTH-001" in wrong_key.err) == (1, True)
    assert (nobody.code, "no gateway answers at http://127.0.0.1:1" in nobody.err) == (1, True)
    for result in (unknown, wrong_key, nobody):
        assert "Traceback" not in result.err
        assert OPERATOR_KEY not in result.err and "wrong-key" not in result.err


def test_without_store_and_gateway_the_message_says_what_to_do(call):
    result = call("agents", "list")

    assert result.code == 1
    assert "qwed serve" in result.err and "QWED_BASE_URL" in result.err


@pytest.mark.parametrize(
    ("variable", "value"), [("QWED_PORT", "many"), ("QWED_DATABSE", "x"), ("QWED_DATABASE", "mysql://x/y")]
)
def test_a_setting_that_cannot_be_read_stops_every_command_with_its_name(call, variable, value):
    result = call("agents", "list", **{variable: value})

    assert result.code == 1
    assert variable in result.err


# --- serve -----------------------------------------------------------------------------------------------


def test_the_first_start_prints_an_operator_key_once(tmp_path):
    first = Server(tmp_path, environment={"QWED_OPERATOR_KEY": ""})
    with first:
        key = re.search(r"Operator key\s+(qwed_live_\S+)", first.output + rest_of(first))[1]
        assert first.call("GET", "/agents", key=key).status_code == 200
    with Server(tmp_path, environment={"QWED_OPERATOR_KEY": ""}) as second:
        assert "Operator key" not in second.output + rest_of(second)
        assert second.call("GET", "/agents", key=key).status_code == 200
    assert key not in first.log()


def rest_of(server):
    """What came after the address; the announcement is written at once."""
    os.set_blocking(server.process.stdout.fileno(), False)
    return (server.process.stdout.read() or b"").decode()


def test_a_given_operator_key_is_taken_and_not_printed(server):
    assert OPERATOR_KEY not in server.output
    assert f"{server.base_url}/dashboard" in server.output
    assert server.call("GET", "/dashboard", key=None).status_code == 200
    mode = (server.folder / "qwed.db.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_serve_takes_its_place_from_the_environment(tmp_path):
    with Server(tmp_path, environment={"QWED_DATABASE": "ignored.db", "QWED_LOG_LEVEL": "error"}) as server:
        assert server.database.exists()
        assert not (tmp_path / "ignored.db").exists()
        server.call("GET", "/health", key=None)
    assert "request" not in server.log()


def test_a_policy_file_beside_the_gateway_is_in_force(tmp_path):
    (tmp_path / "qwed.yaml").write_text("budgets:\n  max_requests_per_hour: 1\n")
    with Server(tmp_path) as server:
        agent = server.register()
        answers = [server.call(**renamed(verify_request(agent, f"{n}+1", n))).json() for n in (1, 2)]

    assert [answer["decision"] for answer in answers] == ["APPROVED", "BUDGET_EXCEEDED"]


def test_a_policy_with_mistakes_stops_the_start_with_their_lines(tmp_path):
    (tmp_path / "qwed.yaml").write_text("surprise: 1\n")
    refused = qwed("serve", "--port", "0", "--database", "x.db", cwd=tmp_path)

    assert refused.returncode == 1
    assert "surprise" in refused.stderr
    assert not (tmp_path / "x.db").exists()


def test_an_agents_words_cannot_write_to_the_terminal(call, tmp_path):
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        agent = gateway.register_agent(name="\x1b[31mred", type="supervised", principal_id="acme")
        context = {"conversation_id": "c", "step_number": 1}
        gateway.verify_action(
            agent["agent_id"], {"type": "calculate", "query": "1\x1b]0;owned\x07+1"}, context
        )
    for command in (
        ("agents", "list"),
        ("agents", "show", agent["agent_id"]),
        ("activity", "list", agent["agent_id"]),
    ):
        shown = call(*command).out
        assert "\x1b" not in shown and "\x07" not in shown, command


def test_a_payload_changed_into_text_is_found_like_any_other(call, database):
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE activities SET payload = '{}' WHERE seq = 4")
    connection.close()
    assert call("ledger", "verify").out.startswith("BROKEN")


# --- reports ---------------------------------------------------------------------------------------------


def test_a_report_is_written_in_the_format_of_its_name_for_its_owner_alone(call, database, tmp_path):
    for form, first in (("json", b"{"), ("csv", b'"section"'), ("pdf", b"%PDF-")):
        out = tmp_path / f"report.{form}"

        result = call("report", "--database", str(database), "--out", str(out))

        assert result.code == 0, result.err
        assert f"bytes of {form}" in result.out
        assert out.read_bytes().startswith(first)
        assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_report_goes_to_the_terminal_and_keeps_to_an_agent_and_a_period(call, database):
    everything = call("report", "--database", str(database)).json
    [agent] = everything["figures"]["decisions"]["by_agent"]

    one = call("report", "--database", str(database), "--agent", agent["agent_id"]).json
    old = call("report", "--database", str(database), "--to", "2020-01-01T00:00:00Z").json

    assert everything["scope"]["kind"] == "deployment"
    assert one["scope"]["name"] == "Anna"
    assert one["figures"]["decisions"]["total"] == 2
    assert old["figures"]["decisions"]["total"] == 0


def test_a_running_gateway_makes_the_report_and_its_walls_hold(remote, server):
    agent = server.register(principal_id="reported")
    key = server.principal_key("reported")
    other = server.principal_key("somebody-else")

    mine = remote("report", "--format", "csv", "--agent", agent["agent_id"], key=key)
    refused = remote("report", "--agent", agent["agent_id"], key=other)
    wrong = remote("report", "--from", "yesterday")

    assert mine.code == 0 and mine.out.startswith('"section"')
    assert refused.code == 1 and "QWED-AGENT-001" in refused.err
    assert wrong.code == 1 and "ISO 8601" in wrong.err


def test_a_report_that_cannot_be_written_says_so(call, database, tmp_path):
    result = call("report", "--database", str(database), "--out", str(tmp_path / "no" / "report.json"))

    assert result.code == 1
    assert "can't be written" in result.err


# --- trust ----------------------------------------------------------------------------------------------


@pytest.fixture
def demoted(tmp_path):
    """A store with an agent that lost a level by the rules; its path and the agent's id."""
    path = tmp_path / "qwed.db"
    with Gateway.open(path) as gateway:
        agent = gateway.register_agent(
            name="Anna \x1b[31m",
            type="autonomous",
            principal_id="acme",
            budget={"max_requests_per_day": 1},
            permissions={"allowed_engines": ["math"]},
        )
        for step in range(1, 12):
            context = {"conversation_id": "c", "step_number": step}
            gateway.verify_action(agent["agent_id"], {"type": "calculate", "query": f"1+{step}"}, context)
    return path, agent["agent_id"]


def test_trust_is_shown_with_its_gauges(call, demoted):
    path, agent_id = demoted
    shown = call("trust", "show", agent_id, "--database", str(path))

    assert shown.code == 0, shown.err
    assert "1 supervised" in shown.out
    assert "3 of 3 today" in shown.out
    as_json = call("trust", "show", agent_id, "--database", str(path), "--json").json
    assert (as_json["trust_level"], as_json["may"]["medium"]) == (1, "PENDING")


def test_the_history_of_trust_is_a_table_or_json(call, demoted):
    path, agent_id = demoted
    table = call("trust", "history", agent_id, "--database", str(path)).out
    assert "budget_abuse" in table and "2 -> 1" in table and "registered" in table

    page = call("trust", "history", agent_id, "--database", str(path), "--limit", "1", "--json").json
    assert [change["cause"] for change in page["changes"]] == ["budget_abuse"]
    rest = call(
        "trust", "history", agent_id, "--database", str(path), "--cursor", page["next"], "--json"
    ).json
    assert [change["cause"] for change in rest["changes"]] == ["registered"]


def test_trust_explains_itself_in_sentences(call, demoted):
    path, agent_id = demoted
    said = call("trust", "explain", agent_id, "--database", str(path)).out

    assert f"{agent_id} is at trust level 1 (supervised) and active." in said
    assert "medium risk is put to a person" in said
    assert "it went on after its budget was exhausted" in said
    assert said.count("because of  act_") == 3


def test_a_person_sets_and_an_agent_is_asked_for(call, demoted):
    path, agent_id = demoted
    asked = call("trust", "request", agent_id, "2", "--justification", "better", "--database", str(path))
    assert asked.code == 0 and "apr_" in asked.out
    too_far = call("trust", "request", agent_id, "3", "--justification", "x", "--database", str(path))
    assert too_far.code == 1 and "one above from_level" in too_far.err
    without_reason = call("trust", "set", agent_id, "2", "--database", str(path))
    assert without_reason.code == 2
    done = call("trust", "set", agent_id, "autonomous", "--reason", "looked into", "--database", str(path))
    assert "is at trust level 2 (autonomous)" in done.out
    history = call("trust", "history", agent_id, "--database", str(path), "--json").json
    assert history["changes"][0]["reason"] == "looked into"
    wrong = call("trust", "set", agent_id, "9", "--reason", "x", "--database", str(path))
    assert wrong.code == 1 and "0 to 3" in wrong.err


def test_agents_are_listed_with_gauges_and_no_escape_of_theirs(call, demoted):
    path, agent_id = demoted
    table = call("agents", "list", "--database", str(path)).out
    assert "1 of 1000" in table and "0.01 of 100" in table and "\x1b" not in table
    one = call("agents", "show", agent_id, "--database", str(path)).out
    assert "1 of 1 requests" in one and "\x1b" not in one
    as_json = call("agents", "show", agent_id, "--database", str(path), "--json").json
    assert as_json["budget_status"]["requests"]["current_day"] == 1


def test_in_a_plain_terminal_gauges_are_ascii(demoted, tmp_path):
    path, agent_id = demoted
    for arguments in (("agents", "show", agent_id), ("trust", "show", agent_id)):
        shown = qwed(*arguments, "--database", str(path), cwd=tmp_path, PYTHONIOENCODING="ascii")
        assert shown.returncode == 0, shown.stderr
        assert "#" in shown.stdout and shown.stdout.isascii()


def test_trust_asks_a_running_gateway(call, tmp_path):
    with Server(tmp_path) as server:
        agent = server.register()
        reach = {"QWED_BASE_URL": server.base_url, "QWED_API_KEY": OPERATOR_KEY}
        agent_id = agent["agent_id"]
        assert call("trust", "set", agent_id, "3", "--reason", "known", **reach).code == 0
        assert call("trust", "explain", agent_id, "--json", **reach).json["trust_level"] == 3
        assert call("trust", "set", agent_id, "1", "--reason", "less", **reach).code == 0
        asked = call("trust", "request", agent_id, "2", "--justification", "x", "--json", **reach).json
        assert asked["decision"] == "PENDING"
        assert "known" in call("trust", "history", agent_id, **reach).out
        assert agent_id in call("agents", "list", **reach).out


# --- erasure ---------------------------------------------------------------------------------------------


def test_entries_are_erased_by_their_text_and_the_ledger_verifies(call, database):
    with Gateway.open(database) as gateway:
        [agent] = gateway.agents()["agents"]
    agent_id = agent["agent_id"]
    selection = ("--database", str(database), "--containing", "2+2", "--reason", "asked for")

    dry = call("redact", agent_id, *selection, "--dry-run")
    done = call("redact", agent_id, *selection, "--json")

    assert (dry.code, dry.out) == (0, "2 would be erased\n")
    assert done.json == {"redacted": 2, "skipped": []}
    assert call("ledger", "verify", "--database", str(database)).code == 0
    listed = call("activity", "list", agent_id, "--database", str(database), "--json").json["activities"]
    assert [entry.get("redacted", False) for entry in listed] == [False, True, True, False]


def test_one_entry_is_erased_by_its_id_over_http(remote, server):
    agent = server.register(principal_id="erased")
    [answer] = server.together([verify_request(agent, "3+3")])

    erased = remote("redact", agent["agent_id"], answer.json()["activity_id"], "--reason", "asked for")
    refused = remote("redact", agent["agent_id"], "act_nothing", "--reason", "asked for")
    mixed = remote("redact", agent["agent_id"], "act_x", "--reason", "r", "--containing", "y")

    assert (erased.code, erased.out) == (0, "1 erased\n")
    assert refused.code == 1 and "QWED-NOTFOUND-001" in refused.err
    assert mixed.code == 2


def test_a_complaint_suspends_and_is_part_of_the_history(call, demoted):
    path, agent_id = demoted
    done = call("agents", "complain", agent_id, "--reason", "it lied", "--database", str(path))
    assert "suspended for a violation" in done.out
    said = call("trust", "explain", agent_id, "--database", str(path)).out
    assert "its principal complained, which suspends" in said and "it lied" in said
    assert call("agents", "reactivate", agent_id, "--database", str(path)).code == 0
    assert "a person reactivated it" in call("trust", "explain", agent_id, "--database", str(path)).out
