"""The partial sandbox: what it promises, by any kind of program; and what it says that it does not cover."""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys

import pytest
from tests.support.sandboxed import Gateway, commands

from qwed.coding import confined, partial, sandbox
from qwed.coding.models import find_model
from qwed.coding.sandbox import Box, CannotSandbox

needs_landlock = pytest.mark.skipif(
    confined.landlock_version() < confined.FIRST_VERSION, reason="the kernel of this machine has no Landlock"
)
C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/ioctl.h>
#include <unistd.h>
int main(void) {
  int kinds[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, 38, 40};
  for (int i = 0; i < 6; i++) {
    if (socket(kinds[i], SOCK_DGRAM, 0) >= 0) printf("SOCKET %d\n", kinds[i]);
    if (socket(kinds[i], SOCK_RAW, 0) >= 0) printf("SOCKET %d\n", kinds[i]);
  }
  if (syscall(0x40000000 | 41, AF_INET, SOCK_STREAM, 0) >= 0) puts("OTHER TABLE");
  char parameters[256] = {0};
  if (syscall(425, 4, parameters) >= 0) puts("IO_URING");
  if (syscall(SYS_keyctl, 0, -3, 0) >= 0) puts("KEYS");
  char letter = 'x';
  if (ioctl(0, TIOCSTI, &letter) >= 0) puts("TERMINAL");
  if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0) puts("UNIX");
}
"""


def run(home, gateway, command, **more):
    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}", **more)
    with sandbox.way_out(box.gateway) as sockets:
        line, environment = partial.prepare(box, sockets, command)
        return subprocess.run(
            line, env=environment, cwd=box.project, capture_output=True, text=True, timeout=120, check=False
        )


def python(home, gateway, code):
    return run(home, gateway, [sys.executable, "-c", code])


@needs_landlock
def test_no_program_reads_writes_or_connects_outside(home, gateway):
    listener = socket.create_server(("0.0.0.0", 0))
    elsewhere = str(listener.getsockname()[1])
    outside = home / "other" / "made.txt"

    for kind, command in commands(home / "project").items():
        for secret in (home / ".ssh" / "id_rsa", home / "other" / "notes.txt"):
            done = run(home, gateway, [*command, str(secret), str(outside), elsewhere, "127.0.0.1"])
            assert set(done.stdout.split()) == {"END"}, (kind, done.stdout, done.stderr)
            assert not outside.exists()
    listener.close()


@needs_landlock
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of the calls are those of x86-64")
def test_a_compiled_program_gets_no_socket_but_a_unix_one(home, gateway):
    if shutil.which("cc") is None:
        pytest.skip("there is no compiler")
    (home / "project" / "try.c").write_text(C_PROGRAM)
    subprocess.run(["cc", "-o", "try", "try.c"], cwd=home / "project", check=True)

    assert run(home, gateway, ["./try"]).stdout == "UNIX\n"


@needs_landlock
def test_a_file_outside_is_neither_cut_nor_moved_nor_removed(home, gateway):
    notes = home / "other" / "notes.txt"
    code = f"""
import os
for attempt in (lambda: os.truncate({str(notes)!r}, 0), lambda: os.unlink({str(notes)!r}),
                lambda: os.rename({str(notes)!r}, "stolen"),
                lambda: os.link({str(notes)!r}, "linked"),
                lambda: os.symlink({str(notes)!r}, "s") or open("s").read(),
                lambda: os.rename("mine", {str(home / "other" / "mine")!r}),
                lambda: os.listdir({str(home)!r})):
    try: attempt(); print("DONE")
    except OSError: pass
print("END")
"""
    (home / "project" / "mine").write_text("x")

    assert python(home, gateway, code).stdout == "END\n"
    assert notes.read_text() == "SECRET"
    assert (home / "project" / "mine").exists()


@needs_landlock
def test_the_project_and_a_scratch_folder_are_written_and_no_secret_is_passed_on(home, gateway):
    code = 'import os, tempfile; tempfile.mkstemp(); print(open("made.txt", "w").write("made"), os.environ)'
    done = python(home, gateway, code)

    assert (home / "project" / "made.txt").read_text() == "made", done.stderr
    assert "'QWED_SANDBOX': 'partial'" in done.stdout
    assert "SECRET" not in done.stdout


@needs_landlock
def test_the_gateway_answers_at_its_socket(home, gateway):
    code = (
        "import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ['QWED_HOOK_SOCKET']);"
        "print(s.recv(7).decode())"
    )

    assert python(home, gateway, code).stdout == "gateway\n"


@needs_landlock
def test_programs_outside_are_not_looked_into_and_the_rights_of_the_superuser_are_gone(home, gateway):
    code = f"""
import os
try: open("/proc/{os.getpid()}/environ").read(); print("READ")
except OSError: pass
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")])
"""
    assert python(home, gateway, code).stdout.strip() == str(["0" * 16] * 5)


@needs_landlock
@pytest.mark.skipif(confined.landlock_version() < 6, reason="this Landlock knows no scopes: the list says so")
def test_programs_outside_get_no_signals_and_abstract_sockets_are_closed(home, gateway):
    name = f"\0qwed-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        code = f"""
import os, socket
for attempt in (lambda: os.kill({os.getpid()}, 0), lambda: socket.socket(socket.AF_UNIX).connect({name!r})):
    try: attempt(); print("DONE")
    except OSError: pass
print("END")
"""
        assert python(home, gateway, code).stdout == "END\n"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_without_a_landlock_that_is_enough_nothing_is_started(version, monkeypatch, tmp_path):
    monkeypatch.setattr(confined, "landlock_version", lambda: version)

    with pytest.raises(CannotSandbox, match=r"no Landlock that is enough.*nothing was started"):
        partial.run(Box(tmp_path, "http://127.0.0.1:1"), ["touch", "ran"])
    assert not (tmp_path / "ran").exists()


def test_on_another_kind_of_machine_nothing_is_started(monkeypatch, tmp_path):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    with pytest.raises(CannotSandbox, match="needs Linux on x86_64 or aarch64"):
        partial.find_version()


@needs_landlock
def test_an_agent_that_knows_only_tcp_is_not_started(tmp_path):
    model = find_model("codex", {}, tmp_path)

    with pytest.raises(CannotSandbox, match="codex reaches its model over TCP alone"):
        partial.run(Box(tmp_path, "http://127.0.0.1:1"), ["codex"], model)


@needs_landlock
def test_an_agent_that_knows_a_socket_is_given_that_of_its_model(home, gateway):
    answering = Gateway()
    model = find_model("claude", {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{answering.port}"}, home)
    code = (
        "import os, socket; s = socket.socket(socket.AF_UNIX);"
        "s.connect(os.environ['ANTHROPIC_UNIX_SOCKET']);"
        "open('said', 'w').write(s.recv(7).decode())"
    )

    box = Box(home / "project", f"http://127.0.0.1:{gateway.port}")
    assert partial.run(box, [sys.executable, "-c", code], model) == 0
    assert (home / "project" / "said").read_text() == "gateway"
    answering.close()


@needs_landlock
def test_what_is_not_covered_is_listed_with_the_sockets_of_other_programs(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "0-open.sock"))
        listener.listen()
        listed = partial.list_open_ways()

    assert set(partial.NOT_COVERED) <= set(listed)
    assert any("Unix sockets of other programs" in way for way in listed), json.dumps(listed)


@needs_landlock
def test_the_sandbox_that_can_not_be_closed_starts_nothing(tmp_path):
    """A rule that the kernel refuses, as on a machine that was not foreseen."""
    made = tmp_path / "ran"
    code = (
        "import sys; from qwed.coding import confined; confined._ADD_RULE = 9999; sys.argv ="
        f"['x', 'start=/usr/bin/touch', 'read=/usr', '--', 'touch', {str(made)!r}]; confined.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "nothing was started" in done.stderr
    assert not made.exists()
