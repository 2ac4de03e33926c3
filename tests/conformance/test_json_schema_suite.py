"""The JSON Schema test suite, draft 2020-12: every required test; the optional ones are counted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.vectors import suite_folder

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SchemaGuard

VECTORS = suite_folder("json-schema")
REQUIRED = sorted((VECTORS / "tests" / "draft2020-12").glob("*.json"))
OPTIONAL = sorted((VECTORS / "tests" / "draft2020-12" / "optional").rglob("*.json"))
#: A reference to another draft, whose files are not given; vocabularies that turn `format` on by
#: themselves; and `{}` as a URI template.
KNOWN_MISSES = {"cross-draft": 1, "format-assertion": 2, "uri-template": 1}


def references() -> dict[str, Any]:
    remotes = VECTORS / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(remotes).as_posix()}": json.loads(path.read_text())
        for path in sorted(remotes.rglob("*.json"))
    }


def test_the_suite_is_there() -> None:
    assert len(REQUIRED) > 40


@pytest.mark.parametrize("path", REQUIRED, ids=lambda path: path.stem)
def test_every_required_test_of(path: Path, record_property: Callable[[str, object], None]) -> None:
    wrong = []
    cases = 0
    for group in json.loads(path.read_text()):
        guard = SchemaGuard(group["schema"], references=references())
        verifier = ResponseVerifier([guard])
        for test in group["tests"]:
            cases += 1
            direct = guard.check(test["data"]).passed
            verified = verifier.verify_structured_output(test["data"]).verified
            if {direct, verified} != {test["valid"]}:
                wrong.append(f"{group['description']}: {test['description']}")
    record_property("row", f"json-schema/{path.name}")
    record_property("cases", cases)
    record_property("held", cases - len(wrong))

    assert wrong == []


@pytest.mark.parametrize("path", OPTIONAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_optional_test_never_raises_and_is_counted(
    path: Path, record_property: Callable[[str, object], None]
) -> None:
    asserts_formats = path.parent.name == "format"
    cases = held = 0
    for group in json.loads(path.read_text()):
        cases += len(group["tests"])
        try:
            guard = SchemaGuard(group["schema"], references=references(), validate_formats=asserts_formats)
        except ValueError:
            continue
        held += sum(guard.check(test["data"]).passed is test["valid"] for test in group["tests"])
    record_property("row", f"json-schema/{path.relative_to(VECTORS / 'tests' / 'draft2020-12').as_posix()}")
    record_property("cases", cases)
    record_property("held", held)
    record_property("optional", True)

    assert held >= cases - KNOWN_MISSES.get(path.stem, 0)


def test_a_reference_to_the_network_is_never_fetched() -> None:
    with pytest.raises(ValueError, match="schema"):
        SchemaGuard({"$ref": "http://localhost:1234/draft2020-12/integer.json"})
