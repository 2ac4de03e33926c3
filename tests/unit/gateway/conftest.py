"""One gateway on fakes for each test."""

import pytest
from tests.support.world import World


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()
