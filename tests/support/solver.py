"""A solver that is bounded by what it does, not by the clock of a busy machine."""

from collections.abc import Iterator

import pytest

from qwed.engines.logic import smt


@pytest.fixture(scope="module", autouse=True)
def _solver_has_time() -> Iterator[None]:
    """Its resource limit is the bound that answers hang on; the time beside it is for a defect."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smt, "BACKSTOP_SECONDS", 60)
        yield
