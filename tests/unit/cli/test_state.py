"""`qwed state`: what it prints, and its exit codes."""

import json

import pytest
from click.testing import CliRunner

from qwed.cli.state import state

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "x": {"type": "number"}},
    "required": ["n"],
}
RULES = {"monotonic_integer_paths": ["$.n"]}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    (tmp_path / "one.json").write_text('{"n": 1, "x": 1.50}')
    (tmp_path / "two.json").write_text('{"n": 2}')
    (tmp_path / "bad.json").write_text('{"n": 1, "n": 2}')
    (tmp_path / "latin.json").write_bytes(b'{"n": "\xe9"}')

    def invoke(*arguments, stdin=None):
        files = [str(tmp_path / a) if a.endswith(".json") or a == "out" else a for a in arguments]
        return CliRunner().invoke(state, files, input=stdin)

    return invoke


def test_check_verifies_a_state(run):
    answer = run("check", "one.json", "--schema", "schema.json")

    assert answer.exit_code == 0
    assert answer.output.startswith("VERIFIED")
    assert "sha256:" in answer.output


@pytest.mark.parametrize("file, code", [("bad.json", "102"), ("latin.json", "102"), ("schema.json", "103")])
def test_check_blocks_with_the_code_and_exit_code_1(run, file, code):
    answer = run("check", file, "--schema", "schema.json")

    assert answer.exit_code == 1
    assert f"BLOCKED QWED-AGENT-STATE-{code}" in answer.stderr


def test_check_reads_standard_input(run):
    assert run("check", "-", "--schema", "schema.json", stdin='{"n": 5}').exit_code == 0
    assert run("check", "-", "--schema", "schema.json", stdin="").exit_code == 1


def test_check_with_a_current_state_checks_the_transition(run):
    options = ("--schema", "schema.json", "--rules", "rules.json")

    assert run("check", "two.json", "--current", "one.json", *options).exit_code == 0
    back = run("check", "one.json", "--current", "two.json", *options, "--json")
    assert back.exit_code == 1
    assert json.loads(back.output)["error_code"] == "QWED-AGENT-STATE-106"


def test_json_output_keeps_the_digits(run):
    answer = run("check", "one.json", "--schema", "schema.json", "--json")

    assert '"x":1.50' in answer.output


def test_commit_starts_continues_and_refuses_to_go_back(run, tmp_path):
    options = ("--schema", "schema.json", "--rules", "rules.json")

    first = run("commit", "one.json", "state.json", *options)
    assert (first.exit_code, (tmp_path / "state.json").read_text()) == (0, '{"n":1,"x":1.50}')
    assert "wrote" in first.output
    assert run("commit", "two.json", "state.json", *options).exit_code == 0
    assert run("commit", "one.json", "state.json", *options).exit_code == 1
    stale = run("commit", "two.json", "state.json", "--current", "one.json", *options)
    assert "stale" in stale.stderr
    assert (tmp_path / "state.json").read_text() == '{"n":2}'


def test_commit_outside_the_root_is_blocked(run, tmp_path):
    (tmp_path / "out").mkdir()
    options = ("--schema", "schema.json", "--rules", "rules.json", "--root", "out")

    answer = run("commit", "one.json", "state.json", *options)

    assert answer.exit_code == 1
    assert "QWED-AGENT-STATE-107" in answer.stderr


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("check", "missing.json", "--schema", "schema.json"), "No such file"),
        (("check", "one.json", "--schema", "bad.json"), "more than once"),
        (("check", "one.json", "--schema", "one.json"), "required_schema.type"),
        (("check", "one.json"), "--schema"),
        (("nonsense",), "there is no command 'nonsense'"),
    ],
)
def test_what_cannot_be_carried_out_is_exit_code_2_with_a_sentence(run, arguments, sentence):
    answer = run(*arguments)

    assert answer.exit_code == 2
    assert sentence in answer.output
