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

IN_A_CLONE = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", "src")
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
