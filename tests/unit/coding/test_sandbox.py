"""The full sandbox: nothing outside the project, and no address but the gateway, from any kind of program."""

import os
import shutil
import socket
import subprocess

import pytest
from tests.support.sandboxed import Gateway, commands

from qwed.broker.broker_runs import passing
from qwed.coding import sandbox
from qwed.coding.models import find_model
from qwed.coding.sandbox import Box, CannotSandbox

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and "CI" not in os.environ, reason="bubblewrap is not installed"
)


def run(home, gateway, command):
    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}")
    with sandbox.way_out(box.gateway) as sockets:
        line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


@needs_bubblewrap
def test_no_program_reads_writes_or_connects_outside(home, gateway):
    listener = socket.create_server(("0.0.0.0", 0))
    elsewhere = str(listener.getsockname()[1])
    outside = home / "other" / "made.txt"
    places = [(home / ".ssh" / "id_rsa", "127.0.0.1"), (home / "other" / "notes.txt", "1.1.1.1")]

    for kind, command in commands(home / "project").items():
        for secret, address in places:
            done = run(home, gateway, [*command, str(secret), str(outside), elsewhere, address])
            # What is written to a home that is not there goes with the sandbox; nothing arrives outside.
            said = set(done.stdout.split()) - {"WROTE", "OPENED", str(outside)}
            assert said == {"END"}, (kind, done.stdout, done.stderr)
            assert not outside.exists()
    listener.close()


@needs_bubblewrap
def test_the_gateway_answers_at_its_usual_address(home, gateway):
    done = run(home, gateway, ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{gateway.port}; head -c 7 <&3"])

    assert done.stdout == "gateway", done.stderr


@needs_bubblewrap
def test_the_project_is_written_and_the_environment_holds_no_secrets(home, gateway):
    done = run(home, gateway, ["bash", "-c", "echo made > made.txt; env; ls -A ~; ls -A ~/.. | wc -l"])

    assert (home / "project" / "made.txt").read_text() == "made\n"
    assert "SECRET" not in done.stdout
    assert ".ssh" not in done.stdout


@needs_bubblewrap
def test_the_settings_that_name_the_hooks_can_not_be_written(home, gateway):
    settings = home / "project" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")

    attempts = "echo gone > .claude/settings.json; rm -rf .claude; mv .claude x; mkdir .claude"
    run(home, gateway, ["bash", "-c", f"{attempts}; echo gone > .claude/settings.json; ls -A"])

    assert settings.read_text() == "{}"
    assert not (home / "project" / "x").exists()


@needs_bubblewrap
def test_a_model_of_this_machine_is_reached_at_its_port_and_no_other_port_is(home, gateway):
    model, other = Gateway(), Gateway()
    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}", ports=(model.port,))
    ask = "exec 3<>/dev/tcp/127.0.0.1/{}; head -c 7 <&3; "

    with sandbox.way_out(box.gateway, box.ports) as sockets:
        command = ["bash", "-c", ask.format(model.port) + ask.format(other.port)]
        line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == "gateway", done.stderr
    model.close()
    other.close()


@pytest.mark.parametrize(
    ("program", "environment", "hosts", "ports"),
    [
        ("/usr/bin/claude", {}, ("api.anthropic.com:443",), ()),
        ("claude", {"ANTHROPIC_BASE_URL": "http://localhost:11434"}, (), (11434,)),
        ("claude", {"ANTHROPIC_BASE_URL": "https://llm.example/v1"}, ("llm.example:443",), ()),
        ("bash", {"ANTHROPIC_BASE_URL": "https://llm.example/v1"}, (), ()),
    ],
)
def test_an_agent_is_given_the_way_to_its_own_model(program, environment, hosts, ports, tmp_path):
    given = {**environment, "ANTHROPIC_API_KEY": "key", "AWS_SECRET_ACCESS_KEY": "SECRET"}

    way = find_model(program, given, tmp_path)

    assert (way.hosts, way.ports) == (hosts, ports)
    assert "AWS_SECRET_ACCESS_KEY" not in way.environment
    assert ("ANTHROPIC_API_KEY" in way.environment) == (program != "bash")


@needs_bubblewrap
def test_the_broker_of_a_run_tunnels_to_the_model_alone(home, gateway):
    model, inside = Gateway(), f"127.0.0.1:{sandbox.PROXY_PORT}"
    with passing((f"127.0.0.1:{model.port}",), f"http://127.0.0.1:{gateway.port}", inside) as (broker, ways):
        box = Box(home / "project", f"http://127.0.0.1:{gateway.port}", (broker.parent,), broker, ways)

        def connect(address, *more):
            curl = ["curl", "-s", "-p", "--max-time", "5", "--noproxy", "", *more, "-x", ways["HTTPS_PROXY"]]
            with sandbox.way_out(box.gateway) as sockets:
                command = [*curl, "--http0.9", f"http://{address}/"]
                line = sandbox.arguments(sandbox.find_bubblewrap(), box, sockets, command)
                return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False).stdout

        assert "gateway" in connect(f"127.0.0.1:{model.port}")
        assert "gateway" not in connect(f"127.0.0.1:{gateway.port}")
    model.close()


@needs_bubblewrap
def test_the_exit_code_is_that_of_the_command(home, gateway):
    assert run(home, gateway, ["bash", "-c", "exit 7"]).returncode == 7
    assert run(home, gateway, ["no-such-program"]).returncode != 0


def test_without_bubblewrap_nothing_is_started_and_the_command_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)

    with pytest.raises(CannotSandbox, match="apt-get install bubblewrap"):
        sandbox.find_bubblewrap()


def test_where_namespaces_are_forbidden_the_setting_is_named(monkeypatch, tmp_path):
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(refusing))

    with pytest.raises(CannotSandbox, match="unprivileged_userns"):
        sandbox.find_bubblewrap()
