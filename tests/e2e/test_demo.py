"""The demo, from its first line to its last, as a visitor runs it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.server import clean_environment

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo.py"

pytestmark = pytest.mark.xdist_group("documents")


def environment(home: Path) -> dict[str, str]:
    """A visitor with settings of their own, which the demo must leave alone."""
    return clean_environment(
        HOME=str(home), TMPDIR=str(home), QWED_DATABASE=str(home / "mine.db"), QWED_API_KEY="qwed_live_mine"
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> str:
    home = tmp_path_factory.mktemp("visitor")
    done = subprocess.run(
        [sys.executable, str(DEMO), "--fast"],
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=150,
    )

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert list(home.iterdir()) == []
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "QWED-AGENT-LOOP-003",
        "QWED-AGENT-LOOP-002",
        "QWED-AGENT-TRUST-002",
        "QWED-APPROVAL-005",
        "QWED-AGENT-005",
        "QWED-AGENT-003",
    ],
)
def test_the_demo_shows_every_way_to_be_refused(shown, code):
    assert code in shown


def test_the_demo_corrects_asks_degrades_and_suspends(shown):
    assert "use this instead: 3 * 4.99 = 14.97" in shown
    assert "Mira approved: the weekly report" in shown
    assert "level 2 autonomous → level 0 untrusted" in shown
    assert "Otto is suspended" in shown
    assert "/dashboard" in shown


def test_the_demo_ends_with_a_verified_ledger_and_a_falsified_copy_that_is_found(shown):
    assert re.search(r"VALID +\d+ entries, all signed", shown)
    assert re.search(r"BROKEN +what entry \d+ \(act_", shown)
    assert "What happened" in shown


def test_an_interrupted_demo_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-u", str(DEMO)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    seen = b""
    while b"Sign in" not in seen:
        chunk = os.read(process.stdout.fileno(), 4096)
        assert chunk, seen
        seen += chunk
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "nothing is left behind" in rest.decode()
    assert list(tmp_path.iterdir()) == []
