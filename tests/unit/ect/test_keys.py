"""Keys: made, loaded by URI, rotated, revoked, published, and never shown."""

import copy
import io
import logging
import pickle
import stat
import traceback

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from qwed.ect import jwk, jws
from qwed.ect.key_files import open_ring, revoke, rotate
from qwed.ect.keys import KeyRing, KeyUnusable, NodeSigner, generate, load, load_file, load_or_create, save

ISSUER = "did:qwed:node:test"


def pem(key, encryption=None):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        encryption or serialization.NoEncryption(),
    )


def private_number(key):
    return str(key._private.private_numbers().private_value)


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "Ed25519", "EdDSA"])
def test_a_key_comes_back_from_a_file_and_from_the_environment(algorithm, tmp_path):
    key = generate(algorithm)
    save(key, tmp_path / "k")

    assert load(f"file:{tmp_path / 'k'}", {}).public.jwk == key.public.jwk
    assert load(f"file://{tmp_path / 'k'}", {}).public.jwk == key.public.jwk
    assert load("env:SIGNING_KEY", {"SIGNING_KEY": key.unsafe_pem().decode()}).public.jwk == key.public.jwk
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    assert key.algorithm == ("Ed25519" if algorithm == "EdDSA" else algorithm)


@pytest.mark.parametrize(
    "uri", ["", "file:", "env:", "env:MISSING", "http://example.com/key", "/a/path", "kms:x"]
)
def test_a_uri_that_leads_to_no_key_is_refused(uri):
    with pytest.raises(KeyUnusable):
        load(uri, {})


def test_a_key_given_where_its_address_belongs_is_not_quoted():
    text = generate().unsafe_pem().decode()

    with pytest.raises(KeyUnusable) as refused:
        load(text, {})
    assert text.splitlines()[1] not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o660])
def test_a_file_that_others_can_read_is_refused(mode, tmp_path):
    load_or_create(tmp_path / "k")
    (tmp_path / "k").chmod(mode)

    with pytest.raises(KeyUnusable, match="chmod 600"):
        load_file(tmp_path / "k")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a key",
        pem(ec.generate_private_key(ec.SECP256K1())),
        pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)),
        pem(ec.generate_private_key(ec.SECP256R1()), serialization.BestAvailableEncryption(b"x")),
    ],
    ids=["empty", "text", "another curve", "RSA", "encrypted"],
)
def test_a_file_without_a_usable_key_is_refused_in_a_sentence(content, tmp_path):
    (tmp_path / "k").write_bytes(content)
    (tmp_path / "k").chmod(0o600)

    with pytest.raises(KeyUnusable) as refused:
        load_file(tmp_path / "k")
    assert str(tmp_path / "k") in str(refused.value)


def test_saving_over_a_key_is_refused(tmp_path):
    save(generate(), tmp_path / "k")

    with pytest.raises(KeyUnusable):
        save(generate(), tmp_path / "k")
    with pytest.raises(KeyUnusable):
        save(generate(), tmp_path / "missing" / "k")


def test_a_private_key_shows_itself_nowhere():
    key = generate()
    ring = NodeSigner(key, "n")
    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.error("%r %s %r %s", key, key, ring, ring.jwks())
    try:
        key.sign(None)
    except TypeError:
        stream.write(traceback.format_exc())
    body = key.unsafe_pem().decode().splitlines()[1]

    assert "SigningKey(ES256" in stream.getvalue()
    assert body not in stream.getvalue()
    assert private_number(key) not in stream.getvalue()
    assert '"d"' not in str(ring.jwks()).replace("'", '"')
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copying(key)


def test_what_a_key_signed_before_a_rotation_verifies_until_it_is_revoked():
    first = KeyRing(ISSUER, generate())
    old_token = first.sign("t", {"a": 1})
    second = first.rotated(generate("Ed25519"), at=100)
    third = second.revoked(first.kid, at=200)

    assert second.verify("t", old_token) == {"a": 1}
    assert second.verify("t", second.sign("t", {"b": 2})) == {"b": 2}
    assert [key["kid"] for key in second.jwks()["keys"]] == [second.kid, first.kid]
    assert third.verify("t", old_token) is None
    assert [key["kid"] for key in third.jwks()["keys"]] == [second.kid]
    assert third.retired[0].revoked_at == 200
    assert third.revoked(first.kid, at=300).retired[0].revoked_at == 200


def test_the_key_that_signs_is_not_revoked_and_no_key_comes_twice():
    key = generate()
    ring = KeyRing(ISSUER, key)

    with pytest.raises(KeyUnusable, match="rotate it first"):
        ring.revoked(ring.kid, 1)
    with pytest.raises(KeyUnusable, match="has no key"):
        ring.revoked("other", 1)
    with pytest.raises(KeyUnusable, match="not a new key"):
        ring.rotated(key, 1)
    with pytest.raises(KeyUnusable, match="not a new key"):
        ring.rotated(generate(), 1).rotated(key, 2)


def test_published_keys_verify_tokens_elsewhere():
    ring = NodeSigner(generate("Ed25519"), "n")
    (published,) = ring.jwks()["keys"]
    token = ring.sign("t", {"a": 1})

    assert jws.verify(token, published, ["EdDSA"]) == b'{"a":1}'
    assert published["alg"] == "Ed25519"
    assert (
        published["kid"]
        == f"did:qwed:node:n#{jwk.thumbprint({k: published[k] for k in ('kty', 'crv', 'x')})}"
    )


def test_another_type_and_another_issuers_token_are_refused():
    ring = NodeSigner(generate(), "n")

    assert ring.verify("u", ring.sign("t", {})) is None
    assert ring.verify("t", NodeSigner(generate(), "n").sign("t", {})) is None
    assert ring.verify("t", "nonsense") is None


def test_a_rotation_on_disk_survives_reopening_and_loses_the_old_private_key(tmp_path):
    path = tmp_path / "node.key"
    first = open_ring(path, ISSUER)
    token = first.sign("t", {"a": 1})
    old_pem = path.read_bytes()
    second = rotate(path, ISSUER, at=100)
    reopened = open_ring(path, ISSUER)

    assert reopened.kid == second.kid != first.kid
    assert reopened.verify("t", token) == {"a": 1}
    assert not any(file.read_bytes() == old_pem for file in tmp_path.iterdir())
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in tmp_path.iterdir())

    revoke(path, ISSUER, first.kid, at=200)
    assert open_ring(path, ISSUER).verify("t", token) is None


def test_a_rotation_that_stopped_half_way_can_be_repeated(tmp_path):
    path = tmp_path / "node.key"
    first = open_ring(path, ISSUER)
    old_pem = path.read_bytes()
    rotate(path, ISSUER, at=100)
    path.write_bytes(old_pem)
    (tmp_path / "node.key.new").write_bytes(b"half")

    assert open_ring(path, ISSUER).kid == first.kid
    assert [old.kid for old in rotate(path, ISSUER, at=101).retired] == [first.kid]


def test_a_revoked_key_put_back_signs_nothing(tmp_path):
    path = tmp_path / "node.key"
    first = open_ring(path, ISSUER)
    old_pem = path.read_bytes()
    rotate(path, ISSUER, at=100)
    revoke(path, ISSUER, first.kid, at=200)
    path.write_bytes(old_pem)

    with pytest.raises(KeyUnusable, match="revoked"):
        open_ring(path, ISSUER)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b'[{"kid":"a","public":{"kty":"oct"},"retired_at":1}]']
)
def test_a_damaged_list_of_retired_keys_stops_the_ring(content, tmp_path):
    path = tmp_path / "node.key"
    open_ring(path, ISSUER)
    (tmp_path / "node.key.retired").write_bytes(content)

    with pytest.raises(KeyUnusable, match="retired"):
        open_ring(path, ISSUER)


def test_what_can_not_be_read_or_written_is_a_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "k"):
        with pytest.raises(KeyUnusable, match=str(path)):
            load_or_create(path)
    with pytest.raises(KeyUnusable, match="HS256"):
        generate("HS256")


def test_of_two_who_start_together_one_makes_the_key_and_the_other_reads_it(tmp_path, monkeypatch):
    path = tmp_path / "k"
    other = generate()

    def late(*arguments):
        monkeypatch.undo()
        save(other, path)
        return generate()

    monkeypatch.setattr("qwed.ect.keys.generate", late)

    assert load_or_create(path).public.jwk == other.public.jwk


def test_a_ring_that_can_not_be_written_says_so(tmp_path, monkeypatch):
    path = tmp_path / "node.key"
    first = open_ring(path, ISSUER)
    rotate(path, ISSUER, at=100)

    def full(*arguments):
        raise OSError(28, "no space left")

    monkeypatch.setattr("qwed.ect.key_files.write_new", full)
    with pytest.raises(KeyUnusable, match="no space left"):
        rotate(path, ISSUER, at=200)
    with pytest.raises(KeyUnusable, match="no space left"):
        revoke(path, ISSUER, first.kid, at=200)
