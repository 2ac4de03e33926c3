"""RFC 8785's public vectors: byte equality."""

import json

import pytest
from tests.support.vectors import suite_folder

from qwed.domain.canonical import encode

VECTORS = suite_folder("jcs") / "testdata"
FILES = sorted((VECTORS / "input").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_canonical_bytes_are_those_of_the_vector(file):
    written = encode(json.loads(file.read_text(encoding="utf-8")))

    assert written == (VECTORS / "output" / file.name).read_bytes()
    assert written == bytes.fromhex((VECTORS / "outhex" / f"{file.stem}.txt").read_text())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_canonical_bytes_are_canonical_already(file):
    output = (VECTORS / "output" / file.name).read_bytes()

    assert encode(json.loads(output)) == output


def test_the_whole_suite_is_here():
    assert len(FILES) == 6
