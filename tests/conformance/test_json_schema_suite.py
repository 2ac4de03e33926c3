"""The JSON Schema test suite, draft 2020-12: every required test."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SchemaGuard

VECTORS = (
    Path(os.environ.get("QWED_VECTORS") or Path(__file__).parents[3] / "shared" / "vectors") / "json-schema"
)
REQUIRED = sorted((VECTORS / "tests" / "draft2020-12").glob("*.json"))


def references() -> dict[str, Any]:
    remotes = VECTORS / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(remotes).as_posix()}": json.loads(path.read_text())
        for path in sorted(remotes.rglob("*.json"))
    }


def test_the_suite_is_there() -> None:
    assert len(REQUIRED) > 40, f"no vectors in {VECTORS}; QWED_VECTORS names their folder"


@pytest.mark.parametrize("path", REQUIRED, ids=lambda path: path.stem)
def test_every_required_test_of(path: Path) -> None:
    wrong = []
    for group in json.loads(path.read_text()):
        guard = SchemaGuard(group["schema"], references=references())
        verifier = ResponseVerifier([guard])
        for test in group["tests"]:
            direct = guard.check(test["data"]).passed
            verified = verifier.verify_structured_output(test["data"]).verified
            if {direct, verified} != {test["valid"]}:
                wrong.append(f"{group['description']}: {test['description']}")

    assert wrong == []


def test_a_reference_to_the_network_is_never_fetched() -> None:
    with pytest.raises(ValueError, match="schema"):
        SchemaGuard({"$ref": "http://localhost:1234/draft2020-12/integer.json"})
