"""Tests against real agent frameworks, which live in environments of their own.

`scripts/test-frameworks` builds those environments and sets QWED_FRAMEWORKS to the one it runs in: `main`,
`crewai`, `more` or `litellm`. A test belongs to one of the last three when its file name says so, and to all
when it says every_framework. There a missing package is a failure. The ordinary test run leaves this folder
out.
"""

import os
from pathlib import Path

_ENVIRONMENT = os.environ.get("QWED_FRAMEWORKS")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if not collection_path.name.startswith("test_"):
        return None
    if "every_framework" in collection_path.name:
        return None if _ENVIRONMENT else True
    named = [name for name in ("crewai", "litellm", "more") if f"_{name}_" in collection_path.name]
    return None if [*named, "main"][0] == _ENVIRONMENT else True
