"""The hook that asks: at an address by name, over TLS, and of what it does not trust nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.receivers import Receiver, certificate, free_port
from tests.support.server import clean_environment

from qwed.coding import hook_install, hook_settings

SCRIPT = Path(hook_install.__file__).with_name("qwed_hook.py")


@pytest.fixture
def ask(tmp_path):
    def run(port, host="localhost", tls="no", **environment):
        lines = {"host": host, "port": port, "tls": tls, "token": "token-1", "seconds": 5}
        settings = tmp_path / "claude-code.settings"
        settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return subprocess.run(
            [sys.executable, "-I", "-S", str(SCRIPT), "claude-code", str(settings)], input=b"{}",
            env=clean_environment(**environment), cwd=tmp_path, capture_output=True, check=False, timeout=60,
        )  # fmt: skip

    return run


def test_of_several_addresses_of_a_host_the_one_that_answers_will_do(ask):
    with Receiver(lambda number, received: 200) as gateway:
        done = ask(gateway.port)

    assert done.returncode == 0, done.stderr
    assert [received.path for received in gateway.received] == ["/hooks/claude-code"]


def test_over_tls_a_gateway_that_is_trusted_is_asked_and_another_blocks(ask, tmp_path):
    trusted = certificate(tmp_path, "localhost")
    with Receiver(lambda number, received: 200, certificate=trusted) as gateway:
        done = ask(gateway.port, tls="yes", SSL_CERT_FILE=str(trusted))
        other = ask(gateway.port, tls="yes")

    assert done.returncode == 0, done.stderr
    assert other.returncode == 2
    assert b"CERTIFICATE_VERIFY_FAILED" in other.stderr
    assert len(gateway.received) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_where_nobody_answers_the_tool_is_blocked_with_a_reason(ask, host):
    done = ask(free_port(), host)

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the gateway could not be asked" in done.stderr


@pytest.mark.parametrize(
    "script",
    [
        "",
        "raise SystemExit(3)",
        "import os; os.kill(os.getpid(), 9)",
        "print('{}')",
        "print('well, yes')",
        "print('QWED yes')",
        "print('QWED <html>200</html>')",
        "print('{}'); print('QWED {}')",
        "print('QWED {}'); raise SystemExit(1)",
    ],
)
def test_a_script_that_gives_no_answer_blocks_with_a_reason(script, tmp_path):
    path = tmp_path / "qwed_hook.py"
    path.write_text(script)
    command = hook_settings.command_for(sys.executable, path, "codex", tmp_path / "codex.settings")

    done = subprocess.run(command, shell=True, input=b"{}", capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"QWED: the hook could not answer" in done.stderr


def test_an_answer_is_passed_on_as_it_is(tmp_path):
    path = tmp_path / "qwed_hook.py"
    path.write_text("import sys; sys.stdout.write('QWED ' + sys.stdin.read())")
    command = hook_settings.command_for(sys.executable, path, "codex", tmp_path / "codex.settings")
    said = b'{"reason": "100%s of $HOME `id` \\n"}'

    done = subprocess.run(command, shell=True, input=said, capture_output=True, check=True)

    assert done.stdout == said + b"\n"
