"""What holds for the whole run: Ctrl-C reaches its children, and it says which servers it started."""

import json
import signal

import pytest
from tests.support.services import folder_of, run_id


def pytest_configure() -> None:
    # A shell starts its background jobs with Ctrl-C ignored, and every process below would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    note = folder_of(run_id()) / "note.json"
    if note.exists():
        terminalreporter.write_line(f"started for this run: {json.loads(note.read_text())['says']}")
