"""Coding agents ask in their own words, and are answered in them."""

import asyncio
from importlib import resources

import pytest
from tests.support.tiers import scale
from tests.support.world import World

from qwed import bootstrap
from qwed.gateway.hooks import answer_hook
from qwed.gateway.hooks.answer_hook import HookCall
from qwed.gateway.hooks.hook_words import ALLOW, ASK, say
from qwed.gateway.hooks.tools import DIALECTS
from qwed.policy import load_policy

ROOT = "/home/dev/shop"
CODING_TEXT = resources.files("qwed.policy.starters").joinpath("coding.yaml").read_text(encoding="utf-8")
CODING = load_policy(CODING_TEXT, "coding.yaml")


class Hooks:
    """One registered coding agent, asked through its hook."""

    def __init__(self, policy=CODING):
        self.built = bootstrap.build(None, policy=policy)
        self.world = World(policy=policy, prover=self.built.prover)
        self.agent = self.world.register(
            permissions={
                "allowed_engines": ["workspace", "sql"],
                "allowed_tools": ["file_edit", "file_search"],
            }
        )
        self.calls = 0

    def body(self, agent, tool, given, **more):
        dialect = DIALECTS[agent]
        self.calls += 1
        return {
            dialect.session: "session-1",
            dialect.call: f"call-{self.calls}",
            dialect.event: sorted(dialect.before)[-1],
            dialect.tool: tool,
            dialect.arguments: given,
            "cwd": ROOT,
            **more,
        }

    def send(self, agent, body, key=None):
        headers = {"QWED-Project": ROOT}
        token = key or self.agent["agent_token"]
        return self.world.call("POST", f"/hooks/{agent}", key=token, json=body, headers=headers)

    def ask(self, agent, tool, given, **more):
        answer = self.send(agent, self.body(agent, tool, given, **more))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def claude(self, command, **more):
        return self.ask("claude-code", "Bash", {"command": command}, **more)["hookSpecificOutput"]

    def close(self):
        self.world.close()
        bootstrap.close(self.built)


@pytest.fixture
def hooks():
    hooks = Hooks()
    yield hooks
    hooks.close()


def test_claude_code_is_told_to_allow_to_ask_or_to_deny_and_why(hooks):
    assert hooks.claude("pytest -q")["permissionDecision"] == "allow"
    assert hooks.claude("git push")["permissionDecision"] == "ask"
    denied = hooks.claude("rm -rf /")

    assert denied["permissionDecision"] == "deny"
    assert "destructive-command" in denied["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("agent", "tool", "given", "path", "allow", "deny"),
    [
        ("codex", "Bash", "command", ("hookSpecificOutput", "permissionDecision"), None, "deny"),
        ("gemini", "run_shell_command", "command", ("decision",), "allow", "deny"),
        ("cursor", "Shell", "command", ("permission",), "allow", "deny"),
        ("copilot", "bash", "command", ("permissionDecision",), "allow", "deny"),
    ],
)
def test_every_other_agent_is_told_in_its_own_words(hooks, agent, tool, given, path, allow, deny):
    def said(command):
        words = hooks.ask(agent, tool, {given: command})
        for member in path:
            words = words.get(member, {})
        return words or None

    assert said("ls") == allow
    assert said("rm -rf /") == deny


def test_arguments_as_json_text_are_read(hooks):
    assert hooks.ask("copilot", "bash", '{"command": "rm -rf /"}')["permissionDecision"] == "deny"
    assert hooks.ask("copilot", "bash", "{")["permissionDecision"] == "deny"


def test_files_are_judged_by_place_and_content(hooks):
    def write(path, content="x"):
        words = hooks.ask("claude-code", "Write", {"file_path": path, "content": content})
        return words["hookSpecificOutput"]["permissionDecision"]

    assert write(f"{ROOT}/src/app.py") == "allow"
    assert write("/home/dev/other/app.py") == "ask"
    assert write(f"{ROOT}/.claude/settings.json") == "deny"
    assert write(f"{ROOT}/run.sh", "rm -rf ~/*\n") == "ask"


def test_a_patch_is_judged_by_every_file_it_names(hooks):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x = 1\n*** Add File: .codex/hooks.json\n+{}\n"

    words = hooks.ask("codex", "apply_patch", {"command": patch})

    assert words["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("blanks", ["", " ", "\t  "])
def test_a_file_that_a_patch_names_after_blanks_is_judged_too(hooks, blanks):
    inside = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n"
    patch = f"{inside}{blanks}*** Add File: /home/dev/.bashrc\n+alias ls=true\n*** End Patch"

    assert hooks.ask("codex", "apply_patch", {"command": f"{inside}*** End Patch"}) == {}
    assert hooks.ask("codex", "apply_patch", {"command": patch}) != {}


def test_a_tool_that_nobody_knows_is_denied(hooks):
    words = hooks.ask("claude-code", "mcp__crm__wipe", {"all": True})

    assert words["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_tool_that_changes_nothing_is_not_asked_about(hooks):
    assert hooks.ask("claude-code", "TodoWrite", {"todos": []}) == {}


def test_the_same_call_twice_is_one_decision(hooks):
    body = hooks.body("claude-code", "Bash", {"command": "make"})
    first, second = hooks.send("claude-code", body), hooks.send("claude-code", body)

    activity = hooks.world.call("GET", f"/agents/{hooks.agent['agent_id']}/activity").json()
    assert first.json() == second.json()
    assert [entry["action_type"] for entry in activity["activities"]].count("shell") == 1


def test_the_same_id_with_another_command_is_another_decision(hooks):
    body = hooks.body("claude-code", "Bash", {"command": "make"})
    hooks.send("claude-code", body)

    other = hooks.send("claude-code", {**body, "tool_input": {"command": "rm -rf /"}}).json()

    assert other["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_what_a_person_granted_runs_once(hooks):
    command = "sudo apt-get install jq"
    first = hooks.claude(command)
    [waiting] = hooks.world.call("GET", "/approvals?status=open").json()["approvals"]
    hooks.world.call("POST", f"/approvals/{waiting['id']}/approve", json={})
    second, third = hooks.claude(command), hooks.claude(command)

    assert first["permissionDecision"] == "deny"
    assert waiting["id"] in first["permissionDecisionReason"]
    assert (second["permissionDecision"], third["permissionDecision"]) == ("allow", "deny")


def test_a_long_session_ten_calls_at_a_time_ends_without_a_loop():
    hooks, calls = Hooks(), scale(ci=120, nightly=500, long=500)
    bodies = [hooks.body("claude-code", "Bash", {"command": f"cat src/{n}.py"}) for n in range(calls)]
    headers = {"Authorization": f"Bearer {hooks.agent['agent_token']}", "QWED-Project": ROOT}

    async def send(client, limit, body):
        async with limit:
            return (await client.post("/hooks/claude-code", json=body, headers=headers)).json()

    async def send_all():
        limit = asyncio.Semaphore(10)
        async with hooks.world.client() as client:
            return await asyncio.gather(*(send(client, limit, body) for body in bodies))

    answers = hooks.world.run(send_all())
    hooks.close()

    said = [answer["hookSpecificOutput"]["permissionDecision"] for answer in answers]
    assert said == ["allow"] * calls, [answer for answer in answers if "LOOP" in str(answer)][:3]


def test_codex_is_given_the_corrected_command_and_is_never_told_to_ask():
    """It runs what it is told to ask about, and runs the command as it was where it is told nothing."""
    corrected = say("codex", ALLOW, "corrected", {"command": "ls"})["hookSpecificOutput"]

    assert (corrected["permissionDecision"], corrected["updatedInput"]) == ("allow", {"command": "ls"})
    assert say("codex", ASK, "why")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert say("codex", ALLOW, "fine") == {}


def test_a_report_of_copilot_which_names_no_event_is_no_second_decision(hooks):
    body = hooks.body("copilot", "bash", {"command": "make"})
    body.pop("hookEventName")
    hooks.send("copilot", body)

    told = hooks.send("copilot", {**body, "toolResult": {"resultType": "success"}})

    activity = hooks.world.call("GET", f"/agents/{hooks.agent['agent_id']}/activity").json()
    assert told.json() == {}
    assert [entry["action_type"] for entry in activity["activities"]].count("shell") == 1


def test_a_report_after_the_tool_is_the_outcome_of_its_decision(hooks):
    body = hooks.body("claude-code", "Bash", {"command": "make"})
    hooks.send("claude-code", body)

    told = hooks.send("claude-code", {**body, "hook_event_name": "PostToolUse", "tool_response": {"ok": 1}})

    assert (told.status_code, told.json()) == (200, {})


@pytest.mark.parametrize(
    "change",
    [
        {"hook_event_name": "Whatever"},
        {"hook_event_name": None},
    ],
)
def test_an_event_that_nobody_knows_is_an_error_and_so_blocks(hooks, change):
    body = {**hooks.body("claude-code", "Bash", {"command": "ls"}), **change}

    assert hooks.send("claude-code", body).status_code == 422


@pytest.mark.parametrize(
    "change",
    [
        {"session_id": ""},
        {"session_id": 7},
        {"tool_name": None},
        {"tool_input": [1]},
        {"tool_name": "x" * 999},
    ],
)
def test_a_call_that_is_none_is_denied(hooks, change):
    body = {**hooks.body("claude-code", "Bash", {"command": "ls"}), **change}

    assert hooks.send("claude-code", body).json()["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_only_an_agent_asks_through_a_hook(hooks):
    body = hooks.body("claude-code", "Bash", {"command": "ls"})

    assert hooks.send("claude-code", body, key="nobody").status_code == 401
    assert hooks.world.call("POST", "/hooks/claude-code", json=body).status_code == 403
    assert hooks.send("emacs", body).status_code == 404


def test_a_suspended_agent_is_denied(hooks):
    hooks.world.call("POST", f"/agents/{hooks.agent['agent_id']}/suspend", json={})

    assert hooks.claude("ls")["permissionDecision"] == "deny"


def work_at(hooks, agent, tool, given, cwd):
    return str(hooks.ask(agent, tool, given, cwd=cwd))


@pytest.mark.parametrize("cwd", ["/home/dev/other", "/home/dev", "/"])
def test_a_folder_outside_the_project_is_no_project_of_its_own(hooks, cwd):
    """Codex says the folder of the call as the folder that it is in."""
    assert "deny" in work_at(hooks, "codex", "Bash", {"command": "rm -rf src"}, cwd)
    assert "deny" in work_at(hooks, "codex", "Bash", {"command": "echo x > a.txt"}, cwd)
    assert work_at(hooks, "codex", "Bash", {"command": "rm -rf build"}, f"{ROOT}/web") == "{}"


@pytest.mark.parametrize("folder", ["../other", "/home/dev/other", "..", 7])
def test_a_folder_that_the_call_names_is_where_it_runs(hooks, folder):
    given = {"command": "rm -rf src", "dir_path": folder}

    assert hooks.ask("gemini", "run_shell_command", given)["decision"] == "deny"
    assert hooks.ask("gemini", "run_shell_command", {**given, "dir_path": "web"})["decision"] == "allow"


@pytest.mark.parametrize("agent, tool", [("claude-code", "Grep"), ("gemini", "grep_search")])
@pytest.mark.parametrize("name", ["glob", "include", "include_pattern"])
def test_a_search_in_files_by_name_is_judged_by_that_name(hooks, agent, tool, name):
    assert "allow" in str(hooks.ask(agent, tool, {"pattern": "x", name: "*.py"}))
    assert "allow" not in str(hooks.ask(agent, tool, {"pattern": "=", name: ".env"}))


def entries_of(hooks):
    path = f"/agents/{hooks.agent['agent_id']}/activity"
    return hooks.world.call("GET", path).json()["activities"]


def test_what_was_allowed_at_the_terminal_is_closed_as_answered_by_nobody_we_can_name(hooks):
    body = hooks.body("claude-code", "Bash", {"command": "git push"})
    assert "ask" in str(hooks.send("claude-code", body).json())
    hooks.send("claude-code", {**body, "hook_event_name": "PostToolUse", "tool_response": {}})

    [closed] = hooks.world.call("GET", "/approvals").json()["approvals"]
    told = next(entry for entry in entries_of(hooks) if entry["action_type"] == "answer_approval")
    answer = hooks.world.call("POST", f"/approvals/{closed['id']}/approve", json={})
    assert (closed["status"], closed["votes"]) == ("expired", [])
    assert "nobody we can name" in told["action"]["parameters"]["status"]
    assert answer.status_code == 409 or answer.status_code == 410, answer.text


def test_what_nobody_reports_stays_open_until_it_expires(hooks):
    hooks.claude("git push")

    [waiting] = hooks.world.call("GET", "/approvals").json()["approvals"]
    assert waiting["status"] == "open"


@pytest.mark.parametrize("agent, tool", [("gemini", "run_shell_command"), ("copilot", "bash")])
def test_an_agent_that_does_not_name_its_calls_reports_too(hooks, agent, tool):
    dialect = DIALECTS[agent]
    body = hooks.body(agent, tool, {"command": "make"})
    body.pop(dialect.call)
    hooks.send(agent, body)
    after = {**body, dialect.event: sorted(dialect.after)[0], "tool_response": {}, "toolResult": {}}
    hooks.send(agent, after)

    assert [entry["action_type"] for entry in entries_of(hooks)].count("report_outcome") == 1


def test_where_people_sign_in_they_answer_in_the_inbox(hooks):
    call = HookCall(
        "claude-code", hooks.body("claude-code", "Bash", {"command": "git push"}), ROOT, has_sign_in=True
    )
    pending = {"decision": "PENDING", "verification": {"risk_level": "high"}, "approval": {"id": "apr_1"}}

    words = answer_hook._words(CODING, DIALECTS["claude-code"], call, {}, pending)["hookSpecificOutput"]

    assert words["permissionDecision"] == "deny"
    assert "apr_1" in words["permissionDecisionReason"]


def test_cursor_is_never_told_to_ask(hooks):
    assert hooks.ask("cursor", "Shell", {"command": "git push"})["permission"] == "deny"


def test_a_statement_is_corrected_in_the_member_that_held_it():
    text = CODING_TEXT.replace("actions:\n", "actions:\n  mcp__shop__ask: {engine: sql}\n")
    policy = load_policy(f"{text}\nsql: {{correct_missing_limit: 100}}\n", "coding.yaml")
    hooks = Hooks(policy)
    try:
        given = {"statement": "SELECT name FROM users", "database": "shop"}
        told = hooks.ask("claude-code", "mcp__shop__ask", given)["hookSpecificOutput"]
        both = hooks.ask("claude-code", "mcp__shop__ask", {**given, "query": "SELECT 1"})[
            "hookSpecificOutput"
        ]
    finally:
        hooks.close()

    assert told["updatedInput"] == {**given, "statement": "SELECT name FROM users LIMIT 100"}
    assert both["permissionDecision"] == "deny"
