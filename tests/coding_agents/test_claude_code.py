"""What only Claude Code was driven to do: sub-agents, and sessions that go on."""


def test_a_sub_agent_asks_too(claude):
    task = {"description": "go", "prompt": "go", "subagent_type": "general-purpose"}
    call = [{"name": "Bash", "input": {"command": "echo x > out.txt; rm -rf /nowhere-at-all"}}]

    claude.run([{"name": "Task", "input": task}], call, more=("--allowedTools", "Task"))

    assert not (claude.project / "out.txt").exists()
    assert "DENIED" in claude.decisions()


def test_a_session_that_goes_on_is_asked_about_too(claude):
    claude.run("echo one > one.txt")
    claude.run("echo two > two.txt; rm -rf /nowhere-at-all", more=("--continue",))

    assert (claude.project / "one.txt").exists()
    assert not (claude.project / "two.txt").exists()
