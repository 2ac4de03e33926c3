"""A newcomer follows the README's first screen in a clone, in their own environment, and sees a denial."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.test_pages import blocks
from tests.support.documents import ROOT
from tests.support.server import clean_environment
from tests.support.tiers import scale

pytestmark = pytest.mark.xdist_group("distribution")

IN_A_CLONE = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "Makefile", "src")
#: uv takes from its cache what pip would fetch and unpack again. The larger tiers use pip itself.
QUICK_PIP = scale(ci='pip() { uv pip "$@"; }\n', nightly="", long="")


def clone(folder: Path) -> None:
    for name in IN_A_CLONE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.timeout(600)
def test_the_first_screen_ends_in_the_denial_that_it_prints(tmp_path: Path):
    commands = [block.body for block in blocks("README.md") if block.kind == ""]
    example = next(block.body for block in blocks("README.md") if block.kind == "python")
    printed = next(block.body for block in blocks("README.md") if block.kind == "text")
    clone(tmp_path)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    port = free_port()
    ready = f"http://127.0.0.1:{port}/ready"
    script = "\n".join(
        (
            QUICK_PIP,
            *commands,
            "gateway=$!",
            f"for _ in $(seq 600); do curl -sf {ready} >/dev/null && break; sleep 0.1; done",
            "echo '-- example --'",
            "python example.py",
            "kill -INT $gateway; wait $gateway",
        )
    )
    environment = clean_environment(
        PATH=f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}",
        HOME=str(tmp_path),
        QWED_PORT=str(port),
        QWED_BASE_URL=f"http://127.0.0.1:{port}",
        UV_CACHE_DIR=uv_cache(),
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=540
    )

    assert done.stdout.partition("-- example --\n")[2].startswith(printed), done.stdout + done.stderr


def install_commands(clone_at: Path) -> list[tuple[str, str]]:
    """Folder and command of each row of the install page that installs from what is here: the public index
    does not carry QWED."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2] for line in page.splitlines() if line.startswith(("| a ", "| the wheel"))]
    commands = [command for row in rows for command in re.findall(r"`((?:make dist|pip install)[^`]*)`", row)]
    local = [command for command in commands if "qwed-gateway[" not in command]
    return [
        ("dist" if "'./" in command else ".", command.replace("/path/to/the/clone", str(clone_at)))
        for command in local
    ]


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_every_command_of_the_install_page_and_the_tutorials_first_step_run_as_printed(tmp_path: Path):
    """`make dist`, each `pip install` in an environment of its own, `make serve`, and the second terminal."""
    clone(tmp_path)
    environment = clean_environment(
        PATH=os.environ["PATH"],
        HOME=str(tmp_path),
        QWED_PORT=str(port := free_port()),
        UV_CACHE_DIR=uv_cache(),
    )

    def run(script: str, folder: str = ".") -> str:
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=tmp_path / folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    commands = install_commands(tmp_path)
    assert len(commands) == 4 and commands[0] == (".", "make dist")
    run("make dist")
    for number, (folder, command) in enumerate(commands[1:]):
        own = f"{sys.executable} -m venv {tmp_path}/own-{number} && . {tmp_path}/own-{number}/bin/activate"
        assert "qwed" in run(f"{own}; {command}; qwed --version; qwed serve --help", folder)

    first, second = (block.body for block in blocks("docs/tutorial.md") if block.kind == "")
    second = second.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{port}")
    second = second.replace("qwed_live_…", "$(grep -o 'qwed_live_[A-Za-z0-9_.-]*' out.txt)")
    waiting = (
        f"for _ in $(seq 600); do curl -sf http://127.0.0.1:{port}/ready >/dev/null && break; sleep 0.1; done"
    )
    printed = run(
        f"set -m\n({first.strip()}) > out.txt 2>&1 & gateway=$!\n{waiting}\n{second}\n"
        "qwed doctor; kill -INT -- -$gateway; wait $gateway || true"
    )
    assert "API key: taken" in printed, printed


def uv_cache() -> str:
    """Where it is for this person: the test has another home."""
    uv = Path(sys.executable).parent / "uv"
    return subprocess.run([uv, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


def test_the_example_on_the_first_screen_is_the_file_that_it_names():
    shown = next(block.body for block in blocks("README.md") if block.kind == "python")
    file = (ROOT / "examples" / "first_denial.py").read_text(encoding="utf-8")

    assert file.partition('"""\n\n')[2] == shown


def test_the_pictures_that_the_readme_shows_are_there():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))

    assert [name for name in shown if not (ROOT / name).is_file()] == []
    assert "docs/images/terminal.svg" in shown
