"""`qwed ect` and `qwed attest`, as a user calls them."""

import json
import uuid

import pytest
from click.testing import CliRunner

from qwed.cli.attest import attest
from qwed.cli.ect import ect
from qwed.ect import KeyRing, NodeSigner, generate, hash_bytes, issue
from qwed.ect.keys import save

ISSUER, AUDIENCE, NOW = "did:qwed:node:cli", "urn:verifier", 1_800_000_000
KEY = generate()
RING = KeyRing(ISSUER, KEY)


def call(command, *arguments, **options):
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False, **options)
    return result.return_value if result.exception is None else result.exception, result.output


@pytest.fixture
def jwks(tmp_path):
    (tmp_path / "jwks.json").write_text(json.dumps(RING.jwks()))
    return str(tmp_path / "jwks.json")


def verify(jwks, token, *more, **options):
    return call(
        ect, "verify", token, "--jwks", jwks, "--issuer", ISSUER, "--audience", AUDIENCE, *more, **options
    )


@pytest.mark.parametrize("source", ["file", "env"])
def test_what_is_issued_is_accepted(source, jwks, tmp_path):
    save(KEY, tmp_path / "k")
    (tmp_path / "in").write_bytes(b"test")
    uri = f"file:{tmp_path / 'k'}" if source == "file" else "env:MY_SIGNING_KEY"
    options = ["--issuer", ISSUER, "--audience", AUDIENCE, "--action", "read", "--ext", '{"a": 1.50}']
    status, output = call(
        ect,
        *("issue", "--key", uri, *options, "--input", str(tmp_path / "in")),
        env={"MY_SIGNING_KEY": KEY.unsafe_pem().decode()},
    )
    token = output.strip()

    assert status == 0
    status, output = verify(jwks, "-", "--json", input=token + "\n")
    assert (status, json.loads(output)["accepted"]) == (0, True)
    assert json.loads(output)["claims"]["inp_hash"] == hash_bytes(b"test")
    assert verify(jwks, token, "--level", "L1")[0] == 0


def test_a_refusal_names_its_reason_and_leaves_status_1(jwks):
    status, output = verify(jwks, issue(RING, "read", "urn:other", NOW), "--at", str(NOW))

    assert status == 1
    assert output.startswith("REFUSED  audience")
    status, output = verify(jwks, "nonsense", "--json")
    assert (status, json.loads(output)["reason"]) == (1, "malformed")


def test_parents_can_be_presented(jwks):
    jti = str(uuid.uuid4())
    parent, child = issue(RING, "a", AUDIENCE, NOW, jti=jti), issue(RING, "b", AUDIENCE, NOW, par=[jti])

    assert verify(jwks, child, "--at", str(NOW), "--parent", parent)[0] == 0
    assert verify(jwks, child, "--at", str(NOW))[0] == 1


def test_inspecting_verifies_nothing_and_says_so():
    status, output = call(ect, "inspect", issue(RING, "read", AUDIENCE, 5))
    shown = json.loads(output)

    assert (status, shown["verified"], shown["level"]) == (0, False, "L2")
    assert (shown["header"]["typ"], shown["claims"]["exec_act"]) == ("wimse-exec+jwt", "read")
    assert call(ect, "inspect", "nonsense")[0] == 1


def test_what_can_not_be_carried_out_is_a_sentence_and_status_2(jwks, tmp_path):
    (tmp_path / "bad").write_text("[]")
    base = ("issue", "--issuer", ISSUER, "--audience", AUDIENCE)
    environment = {"K": KEY.unsafe_pem().decode()}
    failures = [
        call(ect, *base, "--action", "a", "--key", "file:/nowhere"),
        call(ect, *base, "--action", "", "--key", "env:K", env=environment),
        call(ect, *base, "--action", "a", "--ext", "{", "--key", "env:K", env=environment),
        verify("/nowhere", "x"),
        verify(str(tmp_path / "bad"), "x"),
        verify(jwks, "x", "--level", "L3"),
        verify(jwks, "x", "--algorithm", "none"),
    ]

    assert [getattr(error, "exit_code", None) for error, _ in failures] == [2] * len(failures)


def test_an_attestation_is_valid_or_uniformly_not(tmp_path):
    signer = NodeSigner(generate(), "n")
    (tmp_path / "jwks.json").write_text(json.dumps(signer.jwks()))
    claims = {
        "iss": signer.issuer,
        "sub": "sha256:" + "ab" * 32,
        "iat": NOW,
        "exp": NOW + 60,
        "jti": "att_1",
        "qwed": {},
    }
    token = signer.sign("qwed-attestation+jwt", claims)
    keys = ("--jwks", str(tmp_path / "jwks.json"))

    assert call(attest, "verify", token, *keys, "--at", str(NOW))[0] == 0
    assert call(attest, "verify", token, *keys, "--at", str(NOW), "--action-hash", "ab" * 32)[0] == 0
    refusals = [
        call(attest, "verify", token, *keys, "--at", str(NOW), "--action-hash", "cd" * 32),
        call(attest, "verify", token, *keys, "--at", str(NOW + 60)),
        call(attest, "verify", token[:-4] + "AAAA", *keys, "--at", str(NOW)),
        call(attest, "verify", "nonsense", *keys),
    ]
    assert set(refusals) == {(1, "not a valid attestation\n")}
