"""Where credentials come from, and what a program behind the broker is left with."""

import asyncio
import os
import sys

import pytest
from tests.support.payments import KEY

from qwed.broker.credentials import Credential, CredentialSource
from qwed.broker.refusals import BrokerRefused
from qwed.broker.surroundings import without_credentials


def read(source, environment=None, policy_file=None):
    async def work():
        return (await CredentialSource(source, environment or {}, policy_file).read()).reveal()

    return asyncio.run(work())


def refusal(*given):
    with pytest.raises(BrokerRefused) as found:
        read(*given)
    assert found.value.code == "QWED-BROKER-004"
    assert KEY not in found.value.message
    return found.value.message


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_variable_a_file_and_a_command_are_read(tmp_path):
    policy = write(tmp_path / "qwed.yaml", "")
    program = write(tmp_path / "show", f"#!{sys.executable}\nprint('{KEY}')\n", 0o700)

    assert read("env:KEY", {"KEY": KEY}) == KEY
    assert read(f"file:{write(tmp_path / 'key', KEY + chr(10))}") == KEY
    assert read(f"exec:{program} 'an argument'", {}, policy) == KEY


def test_a_command_gets_its_arguments_without_a_shell(tmp_path):
    policy = write(tmp_path / "qwed.yaml", "")
    source = f"#!{sys.executable}\nimport os, sys\nprint(sys.argv[1] + str(len(os.environ)))\n"
    program = write(tmp_path / "show", source, 0o700)
    shown = read(f"exec:{program} '$(id); `id`'", {"STRIPE_KEY": KEY, "PATH": os.defpath}, policy)

    assert shown.startswith("$(id); `id`")
    assert int(shown.removeprefix("$(id); `id`")) <= 2


def test_what_others_could_change_or_read_is_refused(tmp_path):
    policy = write(tmp_path / "qwed.yaml", "", 0o666)
    program = write(tmp_path / "show", "#!/bin/sh\necho long-enough-key\n", 0o700)

    assert "can be changed by others" in refusal(f"exec:{program}", {}, policy)
    policy.chmod(0o600)
    program.chmod(0o777)
    assert "can be changed by others" in refusal(f"exec:{program}", {}, policy)
    assert "policy file" in refusal(f"exec:{program}")
    assert "chmod 600" in refusal(f"file:{write(tmp_path / 'key', KEY, 0o644)}")


def test_what_is_missing_short_or_broken_is_said_without_its_value(tmp_path):
    policy = write(tmp_path / "qwed.yaml", "")
    failing = write(tmp_path / "fail", f"#!{sys.executable}\nprint('{KEY}')\nraise SystemExit(3)\n", 0o700)

    assert "not set" in refusal("env:KEY")
    assert "FileNotFoundError" in refusal(f"file:{tmp_path}/none")
    assert "FileNotFoundError" in refusal(f"exec:{tmp_path}/none", {}, policy)
    assert "ended with 3" in refusal(f"exec:{failing}", {}, policy)
    assert "8 to 4096" in refusal("env:KEY", {"KEY": "short"})
    assert "8 to 4096" in refusal("env:KEY", {"KEY": "x" * 5_000})
    assert "visible ASCII" in refusal("env:KEY", {"KEY": KEY + "\r\nX-Other: 1"})


def test_a_rotated_file_is_read_again_and_the_old_value_is_still_known(tmp_path, monkeypatch):
    monkeypatch.setattr("qwed.broker.credentials.KEPT_SECONDS", -1.0)
    file = write(tmp_path / "key", "the-first-value")

    async def work():
        source = CredentialSource(f"file:{file}", {}, None)
        first = await source.read()
        write(file, "the-second-value")
        return first, await source.read(), source.known

    first, second, known = asyncio.run(work())

    assert (first.reveal(), second.reveal()) == ("the-first-value", "the-second-value")
    assert [one.reveal() for one in known] == ["the-first-value", "the-second-value"]


def test_a_credential_shows_itself_to_nobody():
    assert KEY not in f"{Credential(KEY)!r} {Credential(KEY)}"


def test_a_program_is_left_with_nothing_that_holds_a_credential():
    environment = {"KEY": KEY, "COPY": f"Bearer {KEY}", "HOME": "/", "NO_PROXY": "*", "QWED_BROKER_KEY": "k"}
    kept, taken = without_credentials(environment, {"KEY", "QWED_BROKER_KEY"}, [KEY])

    assert kept == {"HOME": "/"}
    assert taken == ["COPY", "KEY", "QWED_BROKER_KEY"]
