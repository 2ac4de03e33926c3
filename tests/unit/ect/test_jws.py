"""The door for any compact JWS."""

import hashlib
import hmac
import json
import math

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from tests.support import jose

from qwed.ect import jwk as jwks
from qwed.ect import jws

ALL = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]
RSA_KEY = jose.make_key("RS256")
KEYS = {name: RSA_KEY if name[:2] in ("PS", "RS") else jose.make_key(name) for name in ALL}
ES256 = KEYS["ES256"]
JWK = jose.public_jwk(ES256)


def refuses(token, jwk=JWK, algorithms=("ES256",)):
    with pytest.raises(jws.InvalidToken):
        jws.verify(token, jwk, algorithms)
    return True


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize("payload", [b"{}", b"", b"\x00\xff not JSON at all"], ids=["json", "empty", "bytes"])
def test_each_algorithm_returns_the_payload_it_signed(algorithm, payload):
    key = KEYS[algorithm]

    assert jws.verify(jose.sign(key, algorithm, payload), jose.public_jwk(key), [algorithm]) == payload


@pytest.mark.parametrize("algorithm", ALL)
def test_another_key_or_another_payload_is_refused(algorithm):
    key = KEYS[algorithm]
    token = jose.sign(key, algorithm, b"one")
    header, _, signature = token.split(".")

    assert refuses(f"{header}.{jose.b64(b'two')}.{signature}", jose.public_jwk(key), [algorithm])
    assert refuses(token, jose.public_jwk(jose.make_key(algorithm)), [algorithm])


def test_the_example_of_rfc_7515_is_accepted_although_its_s_is_high():
    token = (
        "eyJhbGciOiJFUzI1NiJ9"
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    )
    jwk = {
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    }

    assert json.loads(jws.verify(token, jwk, ["ES256"]))["iss"] == "joe"


def test_the_example_of_rfc_8037_is_accepted_under_both_names():
    token = (
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    )
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}

    assert jws.verify(token, jwk, ["EdDSA"]) == b"Example of Ed25519 signing"
    assert jws.verify(token, jwk | {"alg": "Ed25519"}, ["Ed25519"]) == b"Example of Ed25519 signing"
    assert jwks.read(jwk).thumbprint() == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@pytest.mark.parametrize(
    "header",
    [
        {"kid": "a"},
        {"typ": "JWT", "cty": "text/plain"},
        {"x5t": "abc", "x5t#S256": "abc"},
        {"iss": "someone", "nonce": "n", "https://example.com/x": {"deep": [1, 2.5, None]}},
        {"b64": True},
        {"jwk": JWK},
    ],
    ids=lambda header: "+".join(header),
)
def test_header_members_that_change_nothing_are_ignored(header):
    assert jws.verify(jose.sign(ES256, "ES256", b"p", **header), JWK, ["ES256"]) == b"p"


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"], "exp": 1},
        {"crit": []},
        {"crit": ["b64"], "b64": True},
        {"crit": ["b64"], "b64": False},
        {"b64": False},
        {"b64": None},
        {"zip": "DEF"},
        {"enc": "A256GCM"},
        {"jku": "https://example.com/keys"},
        {"x5u": "https://example.com/cert"},
        {"x5c": ["MIIB"]},
        {"jwk": jose.public_jwk(jose.make_key("ES256"))},
        {"jwk": 7},
        {"jwk": None},
        {"jwk": {"kty": "oct", "k": "AA"}},
        {"kid": 7},
        {"kid": None},
        {"typ": ["JWT"]},
        {"alg": None},
        {"alg": ["ES256"]},
        {"alg": "es256"},
        {"alg": "ES256 "},
        {"alg": "none"},
        {"alg": "None"},
        {"alg": "HS256"},
        {"alg": "ES384"},
        {"alg": "ES256K"},
    ],
    ids=lambda header: str(header)[:24],
)
def test_header_members_that_would_change_verification_are_refused_although_the_signature_fits(header):
    token = jose.sign(ES256, "ES256", b"p", **header)

    assert refuses(token, algorithms=["ES256", "ES384", "none", "HS256", "ES256K", "es256"])


@pytest.mark.parametrize(
    "text",
    [
        '{"alg":"ES256","alg":"ES256"}',
        '{"alg":"none","alg":"ES256"}',
        '{"alg":"ES256","\\u0061lg":"ES256"}',
        '{"alg":"ES256","kid":"a","kid":"a"}',
        '{"alg":"ES256","jwk":{"kty":"EC","kty":"EC"}}',
        '{"alg":"ES256","x":NaN}',
        '{"alg":"ES256","x":1e999999999}',
        '{"alg":"ES256","x":"\\ud800"}',
        '{"alg":"ES256"} x',
        '{"alg":"ES256"',
        "{'alg':'ES256'}",
        '["ES256"]',
        '"ES256"',
        "null",
        "{}",
        '\ufeff{"alg":"ES256"}',
        '{"alg":"ES256","x":' + "[" * 40 + "]" * 40 + "}",
        '{"alg":"ES256",}',
    ],
)
def test_a_header_that_is_not_one_strict_json_object_is_refused(text):
    assert refuses(jose.sign_text(ES256, "ES256", text, b"p"))


def test_a_header_may_be_spaced_as_json_may():
    text = '{"typ":"JWT",\r\n "alg" : "ES256"}'

    assert jws.verify(jose.sign_text(ES256, "ES256", text, b"p"), JWK, ["ES256"]) == b"p"


def test_no_signature_is_never_enough():
    header, payload = jose.b64(b'{"alg":"none"}'), jose.b64(b"{}")

    for signature in ("", "AA", jose.b64(bytes(64))):
        assert refuses(f"{header}.{payload}.{signature}", algorithms=["none", "ES256", ""])


def test_the_public_key_is_never_a_shared_secret():
    signing_input = f"{jose.b64(json.dumps({'alg': 'HS256'}).encode())}.{jose.b64(b'{}')}"
    for secret in (json.dumps(JWK).encode(), JWK["x"].encode(), b""):
        mac = hmac.new(secret, signing_input.encode(), hashlib.sha256).digest()

        assert refuses(f"{signing_input}.{jose.b64(mac)}", algorithms=["HS256", "ES256"])
        oct_key = {"kty": "oct", "k": jose.b64(secret), "alg": "HS256"}
        assert refuses(f"{signing_input}.{jose.b64(mac)}", oct_key, ["HS256"])


def test_an_algorithm_that_is_not_allowed_is_refused_and_none_allowed_refuses_all():
    token = jose.sign(ES256, "ES256")

    assert refuses(token, algorithms=["ES384", "EdDSA"])
    assert refuses(token, algorithms=[])
    with pytest.raises(TypeError):
        jws.verify(token, JWK, "ES256")


@pytest.mark.parametrize(
    ("algorithm", "foreign"), [("ES256", "ES384"), ("ES384", "ES256"), ("ES512", "ES384"), ("EdDSA", "ES256")]
)
def test_the_key_decides_the_algorithm_not_the_token(algorithm, foreign):
    key, other = KEYS[algorithm], KEYS[foreign]
    token = jose.sign(key, algorithm)

    assert refuses(token, jose.public_jwk(other), [algorithm, foreign])
    claimed = jose.sign_text(key, algorithm, json.dumps({"alg": foreign}), b"{}")
    assert refuses(claimed, jose.public_jwk(key), [algorithm, foreign])


def test_a_p256_signature_over_the_wrong_hash_is_refused():
    signing_input = jose.signing_input("ES256")
    der = ES256.sign(signing_input, ec.ECDSA(hashes.SHA384()))
    r, s = jose.decode_dss_signature(der)

    assert refuses(f"{signing_input.decode()}.{jose.b64(r.to_bytes(32) + s.to_bytes(32))}")


def with_signature(token, signature):
    return token.rpartition(".")[0] + "." + jose.b64(signature)


def test_ecdsa_signatures_in_any_form_but_r_and_s_are_refused():
    token = jose.sign(ES256, "ES256")
    raw = jose.base64.urlsafe_b64decode(token.rpartition(".")[2] + "==")
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:])
    order = jwks.CURVES["P-256"].order
    forms = {
        "DER": encode_dss_signature(r, s),
        "truncated": raw[:-1],
        "longer": raw + b"\0",
        "leading zero": b"\0" + raw,
        "r alone": raw[:32],
        "padded halves": bytes(1) + raw[:32] + bytes(1) + raw[32:],
        "zero r": bytes(32) + raw[32:],
        "zero s": raw[:32] + bytes(32),
        "zeros": bytes(64),
        "r is the order": order.to_bytes(32) + raw[32:],
        "s is the order": raw[:32] + order.to_bytes(32),
        "ones": b"\xff" * 64,
        "swapped": raw[32:] + raw[:32],
        "negated r": (order - r).to_bytes(32) + raw[32:],
        "P1363 of another curve": raw[:32].rjust(48, b"\0") + raw[32:].rjust(48, b"\0"),
    }

    assert [name for name, form in forms.items() if not refuses(with_signature(token, form))] == []


def test_ed25519_signatures_with_a_second_spelling_of_s_are_refused():
    key = KEYS["EdDSA"]
    token = jose.sign(key, "EdDSA")
    raw = jose.base64.urlsafe_b64decode(token.rpartition(".")[2] + "==")
    order = 2**252 + 27742317777372353535851937790883648493
    second = raw[:32] + (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")

    assert refuses(with_signature(token, second), jose.public_jwk(key), ["EdDSA"])
    assert refuses(with_signature(token, raw[:63]), jose.public_jwk(key), ["EdDSA"])


def test_rsa_salts_and_lengths_are_those_of_the_rfc():
    signing_input = jose.signing_input("PS256")
    digest = hashes.SHA256()
    for salt in (0, 20, 64):
        scheme = padding.PSS(padding.MGF1(digest), salt_length=salt)
        token = f"{signing_input.decode()}.{jose.b64(RSA_KEY.sign(signing_input, scheme, digest))}"
        assert refuses(token, jose.public_jwk(RSA_KEY), ["PS256"])
    scheme = padding.PSS(padding.MGF1(hashes.SHA1()), salt_length=32)
    token = f"{signing_input.decode()}.{jose.b64(RSA_KEY.sign(signing_input, scheme, digest))}"
    assert refuses(token, jose.public_jwk(RSA_KEY), ["PS256"])
    good = jose.sign(RSA_KEY, "PS256")
    raw = jose.base64.urlsafe_b64decode(good.rpartition(".")[2] + "==")
    assert refuses(with_signature(good, b"\0" + raw), jose.public_jwk(RSA_KEY), ["PS256"])
    assert refuses(with_signature(good, raw + b"\0"), jose.public_jwk(RSA_KEY), ["PS256"])


def test_an_rsa_key_that_names_its_algorithm_serves_no_other():
    token = jose.sign(RSA_KEY, "PS256")

    assert jws.verify(token, jose.public_jwk(RSA_KEY, alg="PS256"), ["PS256", "RS256"]) == b"{}"
    assert refuses(token, jose.public_jwk(RSA_KEY, alg="RS256"), ["PS256", "RS256"])
    assert refuses(token, jose.public_jwk(RSA_KEY, alg="RSA-OAEP"), ["PS256"])


@pytest.mark.parametrize(
    "extra",
    [
        {"use": "enc"},
        {"use": None},
        {"use": "SIG"},
        {"key_ops": ["sign"]},
        {"key_ops": []},
        {"key_ops": "verify"},
        {"key_ops": ["verify", "verify"]},
        {"key_ops": ["verify", 1]},
        {"key_ops": None},
        {"alg": "ES384"},
        {"alg": "HS256"},
        {"alg": 7},
        {"alg": None},
        {"kty": "oct"},
        {"kty": "RSA"},
        {"kty": "ec"},
        {"kty": None},
        {"kty": ["EC"]},
        {"crv": "P-384"},
        {"crv": "secp256k1"},
        {"crv": None},
        {"x": None},
        {"x": ""},
        {"x": JWK["x"] + "="},
        {"x": JWK["x"][:-1]},
        {"x": "A" + JWK["x"]},
        {"x": JWK["y"]},
        {"y": jose.b64(bytes(32))},
        {"x": jose.b64(bytes(32)), "y": jose.b64(bytes(32))},
        {"kid": 7},
        {"kid": "other"},
    ],
    ids=lambda extra: "+".join(map(str, extra)),
)
def test_a_key_meant_for_something_else_or_no_key_at_all_is_refused(extra):
    assert refuses(jose.sign(ES256, "ES256", kid="mine"), JWK | extra)


@pytest.mark.parametrize(
    "extra", [{"use": "sig"}, {"key_ops": ["verify", "sign"]}, {"alg": "ES256"}, {"kid": "k"}]
)
def test_a_key_that_says_it_verifies_is_accepted(extra):
    assert jws.verify(jose.sign(ES256, "ES256", b"p", kid="k"), JWK | extra, ["ES256"]) == b"p"


def test_a_private_jwk_without_its_public_half_is_refused():
    assert refuses(jose.sign(ES256, "ES256"), {"kty": "EC", "crv": "P-256", "d": jose.b64(b"\1" * 32)})


@pytest.mark.parametrize(
    "jwk", [None, [], "key", 7, {}, {"kty": "EC"}, {"keys": [JWK]}], ids=lambda jwk: str(jwk)[:12]
)
def test_what_is_not_a_jwk_is_refused(jwk):
    assert refuses(jose.sign(ES256, "ES256"), jwk)


def test_a_coordinate_beyond_the_field_is_refused():
    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    x5 = jose.b64((prime + 5).to_bytes(32))

    assert refuses(jose.sign(ES256, "ES256"), JWK | {"x": x5})


def test_weak_and_odd_rsa_keys_are_refused():
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    assert refuses(jose.sign(weak, "RS256"), jose.public_jwk(weak), ["RS256"])

    token, good = jose.sign(RSA_KEY, "RS256"), jose.public_jwk(RSA_KEY)
    n = RSA_KEY.public_key().public_numbers().n
    assert jws.verify(token, good, ["RS256"]) == b"{}"
    for extra in (
        {"e": jose.uint(1)},
        {"e": jose.uint(65536)},
        {"e": "AAEAAQ"},
        {"e": ""},
        {"e": jose.uint(2**70 + 1)},
        {"n": jose.b64(b"\0" + n.to_bytes(256))},
        {"n": jose.uint(n + 1)},
        {"n": "A" * 100_000},
        {"n": None},
    ):
        assert refuses(token, good | extra, ["RS256"])


def order_eight():
    """The y coordinates of the points of small order, by multiplying points of the curve with its order."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    order = 2**252 + 27742317777372353535851937790883648493

    def add(a, b):
        k = d * a[0] * b[0] * a[1] * b[1] % p
        return (
            (a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, p) % p,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, p) % p,
        )

    def root(square):
        candidate = pow(square, (p + 3) // 8, p)
        for r in (candidate, candidate * pow(2, (p - 1) // 4, p) % p):
            if r * r % p == square:
                return r
        return None

    found = set()
    for y in range(2, 80):
        x = root((y * y - 1) * pow(d * y * y + 1, -1, p) % p)
        if x is not None:
            total, power, rest = (0, 1), (x, y), order
            while rest:
                total = add(total, power) if rest & 1 else total
                power, rest = add(power, power), rest >> 1
            found.add(total[1])
    return found


def test_ed25519_keys_of_small_order_are_refused():
    small = order_eight()
    assert len(small) == 5
    for y in small:
        for sign in (0, 2**255):
            x = jose.b64((y | sign).to_bytes(32, "little"))
            with pytest.raises(jwks.InvalidKey):
                jwks.read({"kty": "OKP", "crv": "Ed25519", "x": x})


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token + "=",
        lambda token: token + "\n",
        lambda token: " " + token,
        lambda token: token.replace(".", ". ", 1),
        lambda token: token + ".",
        lambda token: "." + token,
        lambda token: token.rpartition(".")[0],
        lambda token: token.replace(".", "", 1),
        lambda token: token.replace(".", "..", 1),
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: "." + token.partition(".")[2],
        lambda token: token.replace("-", "+").replace("_", "/") + "+",
        lambda token: token + "é",
        lambda token: token.replace(".", "．"),
        lambda token: token + "\0",
        lambda token: json.dumps({"payload": token.split(".")[1], "signatures": []}),
        lambda token: "",
        lambda token: "..",
        lambda token: "A" * 300_000 + token,
        lambda token: token.encode(),
        lambda token: None,
    ],
)
def test_any_other_spelling_of_a_good_token_is_refused(change):
    assert refuses(change(jose.sign(ES256, "ES256", b'{"a":1}')))


def test_a_second_base64_spelling_of_the_last_letter_is_refused():
    token = jose.sign(ES256, "ES256", b"p")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = letters.index(token[-1])

    assert refuses(token[:-1] + letters[last ^ 1])


def test_a_kid_of_another_key_is_refused():
    assert refuses(jose.sign(ES256, "ES256", kid="theirs"), JWK | {"kid": "ours"})


@pytest.mark.parametrize(
    "header", [{}, {"kid": "k"}, {"typ": "t"}, {"kid": 1, "typ": "t"}, {"kid": "k", "typ": None}]
)
def test_our_own_kinds_of_token_name_alg_kid_and_typ(header):
    assert jws.parse(jose.sign(ES256, "ES256", kid="k", typ="t")).header == jws.Header("ES256", "k", "t")
    with pytest.raises(jws.InvalidToken):
        jws.parse(jose.sign(ES256, "ES256", **header))


@pytest.mark.parametrize("extra", [{"cty": "x"}, {"x5t#S256": "abc"}, {"nonce": [1]}, {"b64": True}])
def test_our_own_kinds_of_token_may_say_more_that_changes_nothing(extra):
    token = jose.sign(ES256, "ES256", kid="k", typ="t", **extra)

    assert jws.parse(token).header == jws.Header("ES256", "k", "t")


@pytest.mark.parametrize(
    "extra",
    [
        {"crit": ["x"], "x": 1},
        {"b64": False},
        {"zip": "DEF"},
        {"jku": "https://example.com/keys"},
        {"x5u": "https://example.com/cert"},
        {"x5c": ["MIIB"]},
        {"jwk": JWK},
        {"cty": 7},
    ],
    ids=lambda extra: str(extra)[:12],
)
def test_our_own_kinds_of_token_change_no_rule_and_bring_no_key(extra):
    with pytest.raises(jws.InvalidToken):
        jws.parse(jose.sign(ES256, "ES256", kid="k", typ="t", **extra))


def test_an_rsa_modulus_that_can_be_factored_is_refused():
    product = math.prod(n for n in range(2, 168) if all(n % d for d in range(2, n)))
    marked = pow(65_537, 12_345, product) + product * (2**2047 // product + 1)
    plain = jose.public_jwk(RSA_KEY)

    assert jwks.read(plain).jwk["kty"] == "RSA"
    with pytest.raises(jwks.InvalidKey, match="CVE-2017-15361"):
        jwks.read(plain | {"n": jose.uint(marked)})


def test_the_twin_of_a_signature_is_refused_where_the_signer_emits_the_lower_one():
    order = jwks.CURVES["P-256"].order
    key = jwks.read(JWK)
    token = jws.parse(jose.sign(ES256, "ES256", kid="k", typ="t"))
    r, s = token.signature[:32], int.from_bytes(token.signature[32:])
    verdicts = set()
    for value in (s, order - s):
        form = jws.Unverified(token.header, token.payload, token.signing_input, r + value.to_bytes(32))
        assert jws.verify_signature(form, key, ["ES256"]) == b"{}"
        try:
            jws.verify_signature(form, key, ["ES256"], low_s_only=True)
            verdicts.add("accepted")
        except jws.InvalidToken:
            verdicts.add("refused")

    assert verdicts == {"accepted", "refused"}


@pytest.mark.parametrize(
    "changes",
    [{"crv": "Ed448"}, {"crv": "X25519"}, {"crv": "P-256"}, {"x": "AAAA"}, {"x": jose.b64(b"\2" * 32)}],
)
def test_other_curves_and_points_off_the_curve_are_refused_for_eddsa(changes):
    key = KEYS["EdDSA"]

    assert refuses(jose.sign(key, "EdDSA"), jose.public_jwk(key) | changes, ["EdDSA", "ES256"])


def test_a_public_key_names_itself_by_its_thumbprint():
    assert repr(jwks.read(JWK)) == f"PublicKey(EC, {jwks.read(JWK).thumbprint()})"
