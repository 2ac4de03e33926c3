"""The public vectors: data of others, no part of this repository. `QWED_VECTORS` names their folder."""

import os
from pathlib import Path
from typing import Final

import pytest

NEEDED: Final = (
    "the public vectors are not here: QWED_VECTORS must name the folder that holds"
    " jcs, json-parsing, json-schema and merkle"
)


def suite_folder(name: str) -> Path:
    """Where a suite lies. Where none is named its tests are skipped with one line, and fail in CI."""
    named = os.environ.get("QWED_VECTORS")
    if named and (Path(named) / name).is_dir():
        return Path(named) / name
    if named or os.environ.get("CI"):
        pytest.fail(f"{NEEDED}; it is {named!r}", pytrace=False)
    pytest.skip(NEEDED, allow_module_level=True)
