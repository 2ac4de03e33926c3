"""A real gateway with an agent behind it, for each file that wants one."""

from collections.abc import Iterator

import pytest
from tests.support.protected import Protected


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Protected]:
    made = Protected(tmp_path_factory.mktemp("gateway"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def world(protected: Protected) -> Protected:
    """With an agent that did nothing yet."""
    protected.new_agent()
    return protected
