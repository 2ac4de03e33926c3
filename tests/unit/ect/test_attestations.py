"""Attestations, read with the key set alone."""

import pytest

from qwed.ect import InvalidToken, NodeSigner, generate
from qwed.ect.attestations import read_attestation
from qwed.ect.signatures import keys_of

NOW = 1_800_000_000
SIGNER = NodeSigner(generate(), "n")
KEYS = keys_of(SIGNER.jwks())


def claims(**changes):
    content = {
        "iss": SIGNER.issuer,
        "sub": "sha256:" + "ab" * 32,
        "iat": NOW,
        "exp": NOW + 3600,
        "jti": "att_1",
        "qwed": {"version": "1.0"},
    } | changes
    return {name: value for name, value in content.items() if value is not None}


def test_an_attestation_says_which_action_was_approved():
    read = read_attestation(SIGNER.sign("qwed-attestation+jwt", claims()), KEYS, NOW + 10)

    assert (read.iss, read.action_hash, read.qwed) == (SIGNER.issuer, "ab" * 32, {"version": "1.0"})


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "did:qwed:node:other"},
        {"iss": None},
        {"sub": "sha256:AB"},
        {"sub": None},
        {"iat": NOW + 31},
        {"exp": NOW},
        {"exp": None},
        {"jti": "x"},
        {"qwed": "yes"},
        {"qwed": None},
    ],
    ids=str,
)
def test_an_attestation_with_other_claims_is_refused(changes):
    with pytest.raises(InvalidToken):
        read_attestation(SIGNER.sign("qwed-attestation+jwt", claims(**changes)), KEYS, NOW)


def test_another_type_another_key_and_nonsense_are_refused():
    stranger = NodeSigner(generate(), "n")

    for token in (
        SIGNER.sign("wimse-exec+jwt", claims()),
        stranger.sign("qwed-attestation+jwt", claims()),
        "nonsense",
        "",
    ):
        with pytest.raises(InvalidToken):
            read_attestation(token, KEYS, NOW)
