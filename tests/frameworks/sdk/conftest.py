"""One real gateway for the tests of every framework; each test has an agent of its own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Protected]:
    protected = Protected(tmp_path_factory.mktemp("frameworks"))
    protected.start()
    yield protected
    protected.stop()


@pytest.fixture
def world(running: Protected) -> Protected:
    running.new_agent()
    return running


@pytest.fixture
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Protected]:
    """A gateway that the test may kill."""
    protected = Protected(tmp_path_factory.mktemp("mortal"))
    protected.start()
    yield protected
    protected.stop()


@pytest.fixture
def shop() -> Shop:
    return Shop()


#: Way → test of the suite → whether it passed; kept for `scripts/write-frameworks-table`.
_results: dict[str, dict[str, bool]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    path, _, name = report.nodeid.partition("::")
    if report.when != "call" or not path.endswith("test_every_framework.py"):
        return
    test, _, way = name.rstrip("]").partition("[")
    _results.setdefault(way, {})[test] = report.passed


def pytest_sessionfinish() -> None:
    folder = os.environ.get("QWED_FRAMEWORK_RESULTS")
    if folder is not None and _results:
        path = Path(folder) / f"{os.environ['QWED_FRAMEWORKS']}.json"
        path.write_text(json.dumps(_results), encoding="utf-8")
