"""Tables: whatever the terminal's width, an id stays one word and nothing is cut off."""

import re

import pytest

from qwed.cli.tables import print_table, when

AGENT = "agent_5f4102f5a58051d3"
ENTRY = "act_01a1eaec775477558b9ca4af7495119f"
COLUMNS = ["time", "decision", "action", "activity"]
ROW = ["2026-11-17 19:12:08", "CORRECTED", "calculate a sum of many numbers, one after the other", ENTRY]


@pytest.fixture
def terminal(monkeypatch, capsys):
    def table(width, *arguments, **options):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(*arguments, **options)
        return re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)

    return table


@pytest.mark.parametrize("width", [20, 80, 100, 200])
def test_an_id_is_never_broken(terminal, width):
    assert ENTRY in terminal(width, "Entries", COLUMNS, [ROW])


def test_what_does_not_fit_beside_stands_below(terminal):
    said = terminal(80, "Entries", COLUMNS, [ROW], below={"activity": "action"})

    assert "activity" not in said
    assert said.rstrip().splitlines()[-1].strip().endswith(ENTRY)
    assert max(len(line) for line in said.splitlines()) <= 80


def test_where_there_is_room_each_column_stands_alone(terminal):
    said = terminal(160, "Entries", COLUMNS, [ROW], below={"activity": "action"})

    assert "activity" in said
    assert len(said.strip().splitlines()) == 4


def test_long_data_folds_and_loses_nothing(terminal):
    data = "{" + ",".join(f'"{number}":{number}' for number in range(40)) + "}"
    said = terminal(60, "Policy", ["key", "in force"], [["limits.engine_seconds", data]])

    column = "".join(line[24:].strip() for line in said.splitlines()[3:])
    assert data in column


def test_a_pipe_gets_one_line_for_each_row(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    print_table("Entries", COLUMNS, [ROW, ROW], below={"activity": "action"})

    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [row[-1] for row in rows] == [ENTRY, ENTRY]


def test_a_table_without_rows_is_a_sentence(capsys):
    print_table("Approvals", ["approval"], [], empty="nothing waits for you")

    assert capsys.readouterr().out == "nothing waits for you\n"


def test_a_time_is_told_without_what_nobody_reads():
    assert when("2026-11-17T19:12:08.020Z") == "2026-11-17 19:12:08"
    assert when(None) == ""
