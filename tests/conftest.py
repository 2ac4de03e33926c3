"""Says which servers the run started for itself."""

import json

import pytest
from tests.support.services import folder_of, run_id


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    note = folder_of(run_id()) / "note.json"
    if note.exists():
        terminalreporter.write_line(f"started for this run: {json.loads(note.read_text())['says']}")
