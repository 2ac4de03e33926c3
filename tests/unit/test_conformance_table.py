"""The table of `make conformance` counts what was run, and hides nothing that failed."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.conformance_table import rows_of, table


def report(nodeid, outcome="passed", when="call", **properties):
    return SimpleNamespace(
        nodeid=f"tests/conformance/{nodeid}", outcome=outcome, when=when, user_properties=properties.items()
    )


def test_a_test_is_a_case_of_its_page_or_vector():
    rows = rows_of(
        [
            report("test_readme.py::test_a"),
            report("test_readme.py::test_b", "failed"),
            report("test_jcs_vectors.py::test_bytes[french]"),
            report("test_json_text_vectors.py::test_refused[n_array_x]"),
            report("test_merkle_vectors.py::test_an_inclusion_proof_holds_or_not[3/happy]"),
        ]
    )

    assert (rows["snippets/readme"].cases, rows["snippets/readme"].failed) == (2, 1)
    assert set(rows) == {
        "snippets/readme", "jcs/french", "json-parsing/n_* (requests)", "merkle/inclusion/3"
    }  # fmt: skip


def test_a_test_that_runs_many_says_how_many_held():
    rows = rows_of(
        [report("test_json_schema_suite.py::t[x]", "failed", row="json-schema/x.json", cases=9, held=7)]
    )

    assert (rows["json-schema/x.json"].passed, rows["json-schema/x.json"].failed) == (7, 2)


def test_what_passes_before_and_after_a_test_is_no_case_but_an_error_there_is():
    rows = rows_of(
        [
            report("test_a.py::t", when="setup"),
            report("test_a.py::t", when="teardown"),
            report("test_b.py::t", "failed", when="setup"),
            report("test_c.py::t", "skipped", when="setup"),
        ]
    )

    assert "snippets/a" not in rows
    assert (rows["snippets/b"].failed, rows["snippets/c"].skipped) == (1, 1)


def test_what_failed_is_marked_and_what_is_optional_is_counted_apart():
    shown = table(
        rows_of(
            [
                report("test_a.py::t", "failed"),
                report("test_b.py::t[x]", row="json-schema/optional/x.json", cases=4, held=1, optional=True),
            ]
        )
    )

    assert next(line for line in shown.splitlines() if line.endswith("FAILED")).split()[0] == "snippets/a"
    assert shown.splitlines()[-1].split()[-4:] == ["4", "1", "3", "0"]
    assert shown.splitlines()[-2].split() == ["required", "1", "0", "1", "0", "FAILED"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("def test_it(): pass", 0),
        ("def test_it(): assert False", 1),
        ("import pytest\ndef test_it(): pytest.skip('the vectors are not here')", 1),
        ("import pytest\npytest.skip('the vectors are not here', allow_module_level=True)", 5),
    ],
    ids=["held", "failed", "left out", "left out as a whole"],
)
def test_what_failed_and_what_was_left_out_fail_the_run(tmp_path, body, status):
    (tmp_path / "test_jcs_vectors.py").write_text(body)
    command = [sys.executable, "-m", "pytest", str(tmp_path), "-q", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-p", "tests.support.conformance_table", "-p", "no:cacheprovider"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == status, done.stdout + done.stderr
    assert ("NOT ALL OF IT WAS RUN" in done.stdout) == ("skip" in body)
