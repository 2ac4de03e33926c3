"""One real gateway for the tests of every framework; each test has an agent of its own."""

from collections.abc import Iterator

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
