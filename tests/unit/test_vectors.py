"""Public vectors are used where they are; where they are not, one line says what is needed."""

import pytest
from tests.support.vectors import suite_folder


@pytest.fixture(autouse=True)
def _nothing_is_named(monkeypatch):
    monkeypatch.delenv("QWED_VECTORS", raising=False)
    monkeypatch.delenv("CI", raising=False)


def test_a_suite_is_read_in_the_folder_that_is_named(monkeypatch, tmp_path):
    (tmp_path / "jcs").mkdir()
    monkeypatch.setenv("QWED_VECTORS", str(tmp_path))

    assert suite_folder("jcs") == tmp_path / "jcs"


def test_where_no_folder_is_named_the_tests_are_skipped_and_say_what_they_need():
    with pytest.raises(pytest.skip.Exception, match="QWED_VECTORS must name the folder"):
        suite_folder("jcs")


def test_in_ci_a_missing_folder_fails(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="QWED_VECTORS must name the folder"):
        suite_folder("jcs")


def test_a_folder_that_is_named_and_lacks_the_suite_fails_everywhere(monkeypatch, tmp_path):
    monkeypatch.setenv("QWED_VECTORS", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="jcs"):
        suite_folder("jcs")
