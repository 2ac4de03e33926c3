"""Hooks in the settings of coding agents: shown first, written once, given back as they were."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from qwed.coding import hook_install, hook_settings
from qwed.coding.hook_settings import AGENTS, Unreadable

ALL = sorted(AGENTS)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def install(agent, home, scope="user"):
    place = hook_install.place_of(agent, scope, home, home / "project")
    plan = hook_install.plan_install(place)
    hook_install.install(plan, "http://127.0.0.1:8000", "token-1")
    return place, plan


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("agent", ALL)
def test_an_installed_hook_blocks_when_it_fails_and_waits_longer_than_its_own_deadline(agent, scope, home):
    place, plan = install(agent, home, scope)
    text = place.file.read_text()

    assert "exit 2; }" in text
    assert str(hook_settings.TIME_OUT_SECONDS) in text
    assert plan.diff
    assert {
        "agent": agent,
        "scope": scope,
        "file": str(place.file),
        "state": "installed",
    } in hook_install.status(home, home / "project")


@pytest.mark.parametrize("agent", ALL)
def test_token_and_script_are_outside_the_project_and_private(agent, home):
    place, _ = install(agent, home, "project")

    assert home / "project" not in place.settings.parents
    assert place.settings.stat().st_mode & 0o077 == 0
    assert "token-1" in place.settings.read_text()
    assert "token-1" not in place.file.read_text()


@pytest.mark.parametrize("agent", ALL)
def test_uninstalling_gives_the_file_back_byte_by_byte(agent, home):
    place = hook_install.place_of(agent, "user", home, home)
    before = b'{ "theme":"dark",\n  "hooks": {"Other": [{"command": "mine"}]} }'
    place.file.parent.mkdir(parents=True)
    place.file.write_bytes(before)
    install(agent, home)
    install(agent, home)

    hook_install.uninstall(hook_install.plan_uninstall(place))

    assert place.file.read_bytes() == before
    assert not place.settings.exists()


@pytest.mark.parametrize("agent", ALL)
def test_what_the_person_changed_meanwhile_stays(agent, home):
    place, _ = install(agent, home)
    settings = json.loads(place.file.read_text())
    place.file.write_text(json.dumps({**settings, "theme": "light"}))

    hook_install.uninstall(hook_install.plan_uninstall(place))

    left = json.loads(place.file.read_text())
    assert left["theme"] == "light"
    assert "qwed_hook.py" not in str(left)


def test_installing_twice_writes_one_hook(home):
    place, _ = install("claude-code", home)
    _, plan = install("claude-code", home)

    assert plan.diff == ""
    assert place.file.read_text().count("qwed_hook.py") == 2


def test_settings_that_are_no_json_are_left_alone(home):
    place = hook_install.place_of("claude-code", "user", home, home)
    place.file.parent.mkdir(parents=True)
    place.file.write_text("{ // mine\n")

    with pytest.raises(Unreadable, match="mend it"):
        hook_install.plan_install(place)
    assert place.file.read_text() == "{ // mine\n"


@pytest.mark.parametrize("hooks", [[], "none", {"PreToolUse": "x"}])
def test_hooks_of_another_shape_are_left_alone(hooks, home):
    place = hook_install.place_of("claude-code", "user", home, home)
    place.file.parent.mkdir(parents=True)
    place.file.write_text(json.dumps({"hooks": hooks}))

    with pytest.raises(Unreadable):
        hook_install.plan_install(place)


def test_a_hook_that_somebody_edited_or_whose_script_is_gone_is_named(home):
    place, _ = install("claude-code", home)
    place.script.unlink()
    states = {(row["agent"], row["scope"]): row["state"] for row in hook_install.status(home, home / "p")}
    place.file.write_text(place.file.read_text().replace("exit 2; }", "true; }"))
    later = {(row["agent"], row["scope"]): row["state"] for row in hook_install.status(home, home / "p")}

    assert "missing" in states["claude-code", "user"]
    assert later["claude-code", "user"] == "changed"


def run_hook(place, folder, text=b"{}"):
    return subprocess.run(
        ["sh", "-c", place.command], input=text, cwd=folder, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("broken", ["no gateway", "no settings", "no script", "broken script", "no port"])
def test_a_hook_that_can_not_ask_blocks(broken, home, tmp_path):
    place, _ = install("claude-code", home)
    settings = place.settings.read_text().replace("port=8000", "port=1")
    place.settings.write_text(settings.replace("port=1", "") if broken == "no port" else settings)
    if broken == "no settings":
        place.settings.unlink()
    if broken == "no script":
        place.script.unlink()
    if broken == "broken script":
        place.script.write_text("raise SystemExit(1)")

    assert run_hook(place, tmp_path).returncode == 2


def test_the_script_needs_nothing_but_the_standard_library():
    script = Path(hook_install.__file__).with_name("qwed_hook.py")
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import runpy, sys; runpy.run_path({str(script)!r});"
         "print(*sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    assert not {"json", "http.client", "ssl", "asyncio", "subprocess", "email"} & set(loaded)
