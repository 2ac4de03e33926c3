"""transparency-dev/merkle: which inclusion and consistency proofs hold, and which do not."""

import base64
import json

import pytest
from tests.support.vectors import suite_folder

from qwed.ledger.merkle import verify_consistency, verify_inclusion

VECTORS = suite_folder("merkle")
INCLUSION = sorted((VECTORS / "testdata" / "inclusion").rglob("*.json"))
CONSISTENCY = sorted((VECTORS / "testdata" / "consistency").rglob("*.json"))


def load(file):
    vector = json.loads(file.read_text())
    hashes = {
        name: base64.b64decode(vector[name] or "")
        for name in ("root", "leafHash", "root1", "root2")
        if name in vector
    }
    return vector, hashes, [base64.b64decode(item) for item in vector["proof"] or []]


def name(file):
    return f"{file.parent.name}/{file.stem}"


@pytest.mark.parametrize("file", INCLUSION, ids=name)
def test_an_inclusion_proof_holds_or_not(file):
    vector, hashes, proof = load(file)
    holds = verify_inclusion(hashes["leafHash"], vector["leafIdx"], vector["treeSize"], proof, hashes["root"])

    assert holds is not vector["wantErr"]


@pytest.mark.parametrize("file", CONSISTENCY, ids=name)
def test_a_consistency_proof_holds_or_not(file):
    vector, hashes, proof = load(file)
    holds = verify_consistency(vector["size1"], vector["size2"], hashes["root1"], hashes["root2"], proof)

    assert holds is not vector["wantErr"]


def test_the_whole_suite_is_here():
    assert len(INCLUSION) + len(CONSISTENCY) == 196
