"""Execution context tokens through the verifier: each rule kept, each rule broken."""

import itertools
import json
import uuid

import pytest
from tests.support import jose

from qwed.ect import (
    Accepted,
    EvidenceUnavailable,
    InvalidClaims,
    InvalidToken,
    KeyRing,
    KnownKey,
    Level,
    Reason,
    RefusedToken,
    TokenMemory,
    TokenNode,
    TrustedKeys,
    Unavailable,
    Verifier,
    generate,
    hash_bytes,
    issue,
    parse,
)
from qwed.ect import jwk as jwks

NOW = 1_800_000_000
AUD = "https://verifier.example"
ISS = "spiffe://example.com/agent/a"
KEY = jose.make_key("ES256")
KNOWN = TrustedKeys({(ISS, "k1"): KnownKey(jwks.read(jose.public_jwk(KEY)), ISS)})
RING = KeyRing("did:qwed:node:test", generate())


class Ledger:
    def __init__(self, *hashes, is_down=False):
        self.hashes = hashes
        self.is_down = is_down

    def holds(self, jti, token_hash):
        if self.is_down:
            raise EvidenceUnavailable("the ledger is down")
        return token_hash in self.hashes


def make(memory=None, keys=KNOWN, **options):
    memory = memory if memory is not None else TokenMemory()
    return Verifier([AUD, "urn:other-name"], keys, memory, memory, options.pop("ledger", None), **options)


def claims(**changes):
    content = {
        "iss": ISS,
        "aud": AUD,
        "iat": NOW,
        "exp": NOW + 600,
        "jti": str(uuid.uuid4()),
        "exec_act": "read",
        "par": [],
    } | changes
    return {name: value for name, value in content.items() if value is not ...}


def signed(key=KEY, header=None, payload=None, **changes):
    members = {"alg": "ES256", "kid": "k1", "typ": "wimse-exec+jwt"} | (header or {})
    body = payload if payload is not None else json.dumps(claims(**changes), ensure_ascii=False).encode()
    return jose.sign_text(key, "ES256", json.dumps({k: v for k, v in members.items() if v is not ...}), body)


def unsigned(**changes):
    return jose.b64(json.dumps(claims(**changes), ensure_ascii=False).encode())


def reason(answer):
    assert isinstance(answer, RefusedToken), answer
    return answer.reason


def test_a_good_token_is_accepted_with_its_exact_bytes():
    token = signed(wid=str(uuid.uuid4()), ext={"a": {"b": 1}})
    answer = make().verify(token, NOW)

    assert isinstance(answer, Accepted)
    assert answer.ect.raw == token
    assert answer.ect.token_hash == hash_bytes(token.encode())
    assert (answer.level, answer.chain_level, answer.is_known) == (Level.L2, Level.L2, False)
    assert answer.ect.claims.ext == {"a": {"b": 1}}


@pytest.mark.parametrize("typ", ["wimse-exec+jwt", "exec+jwt"])
@pytest.mark.parametrize(("par", "ext"), list(itertools.product(["par", "pred"], ["ext", "ect_ext"])))
def test_both_dialects_are_read_under_either_type(typ, par, ext):
    memory = TokenMemory()
    parent = str(uuid.uuid4())
    memory.remember("h", TokenNode(parent, NOW, ()))
    changes = {"par": ..., par: [parent], ext: {"x": 1}}
    answer = make(memory).verify(signed(header={"typ": typ}, **changes), NOW)

    assert answer.ect.claims.par == (parent,)
    assert answer.ect.claims.ext == {"x": 1}


def test_both_names_with_one_value_are_accepted_and_with_two_refused():
    assert isinstance(make().verify(signed(pred=[], ext={"a": 1}, ect_ext={"a": 1}), NOW), Accepted)
    assert reason(make().verify(signed(pred=[str(uuid.uuid4())]), NOW)) is Reason.CLAIMS
    assert reason(make().verify(signed(ext={"a": 1}, ect_ext={"a": 2}), NOW)) is Reason.CLAIMS
    assert reason(make().verify(signed(ext={"a": 1}, ect_ext={"a": True}), NOW)) is Reason.CLAIMS
    turned = {"ext": {"a": 1, "b": 2}, "ect_ext": {"b": 2, "a": 1}}
    assert isinstance(make().verify(signed(**turned), NOW), Accepted)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"typ": "JWT"}, Reason.TYPE),
        ({"typ": "application/exec+jwt"}, Reason.TYPE),
        ({"typ": ...}, Reason.MALFORMED),
        ({"kid": ...}, Reason.MALFORMED),
        ({"alg": ...}, Reason.MALFORMED),
        ({"alg": "none"}, Reason.ALGORITHM),
        ({"alg": "HS256"}, Reason.ALGORITHM),
        ({"alg": "ES384"}, Reason.ALGORITHM),
        ({"alg": "Ed25519"}, Reason.ALGORITHM),
        ({"kid": "k2"}, Reason.KEY_UNKNOWN),
        ({"crit": ["x"]}, Reason.MALFORMED),
        ({"b64": False}, Reason.MALFORMED),
        ({"zip": "DEF"}, Reason.MALFORMED),
        ({"jwk": jose.public_jwk(KEY)}, Reason.MALFORMED),
        ({"jku": "https://example.com"}, Reason.MALFORMED),
        ({"x5c": []}, Reason.MALFORMED),
        ({"x5u": "https://example.com"}, Reason.MALFORMED),
    ],
)
def test_a_header_that_is_not_ours_is_refused(header, expected):
    assert reason(make().verify(signed(header=header), NOW)) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"iss": ...}, Reason.KEY_UNKNOWN),
        ({"iss": 7}, Reason.KEY_UNKNOWN),
        ({"iss": "spiffe://example.com/agent/b"}, Reason.KEY_UNKNOWN),
        ({"aud": ...}, Reason.AUDIENCE),
        ({"aud": []}, Reason.AUDIENCE),
        ({"aud": [AUD, 7]}, Reason.AUDIENCE),
        ({"aud": "https://elsewhere.example"}, Reason.AUDIENCE),
        ({"aud": AUD + "/"}, Reason.AUDIENCE),
        ({"iat": ...}, Reason.CLAIMS),
        ({"exp": ...}, Reason.CLAIMS),
        ({"iat": str(NOW)}, Reason.CLAIMS),
        ({"iat": float(NOW)}, Reason.CLAIMS),
        ({"iat": True}, Reason.CLAIMS),
        ({"iat": -1}, Reason.CLAIMS),
        ({"exp": NOW}, Reason.CLAIMS),
        ({"exp": 2**60}, Reason.CLAIMS),
        ({"iat": NOW + 31, "exp": NOW + 60}, Reason.NOT_YET),
        ({"iat": NOW - 901}, Reason.TOO_OLD),
        ({"iat": NOW - 10, "exp": NOW}, Reason.EXPIRED),
        ({"iat": NOW - 10, "exp": NOW - 1}, Reason.EXPIRED),
        ({"jti": ...}, Reason.CLAIMS),
        ({"jti": "1"}, Reason.CLAIMS),
        ({"jti": str(uuid.UUID(int=7)) + "\n"}, Reason.CLAIMS),
        ({"jti": uuid.UUID(int=7).hex}, Reason.CLAIMS),
        ({"wid": "w"}, Reason.CLAIMS),
        ({"wid": None}, Reason.CLAIMS),
        ({"exec_act": ...}, Reason.CLAIMS),
        ({"exec_act": ""}, Reason.CLAIMS),
        ({"exec_act": ["read"]}, Reason.CLAIMS),
        ({"par": ...}, Reason.CLAIMS),
        ({"par": None}, Reason.CLAIMS),
        ({"par": str(uuid.UUID(int=7))}, Reason.CLAIMS),
        ({"par": ["x"]}, Reason.CLAIMS),
        ({"par": [7]}, Reason.CLAIMS),
        ({"par": [str(uuid.UUID(int=1)), str(uuid.UUID(int=1))]}, Reason.CLAIMS),
        ({"par": [str(uuid.UUID(int=n)) for n in range(101)]}, Reason.CLAIMS),
        ({"jti": str(uuid.UUID(int=7)), "par": [str(uuid.UUID(int=7))]}, Reason.CLAIMS),
        ({"inp_hash": "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg="}, Reason.CLAIMS),
        ({"inp_hash": "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgh"}, Reason.CLAIMS),
        ({"out_hash": "n4bQ"}, Reason.CLAIMS),
        ({"out_hash": None}, Reason.CLAIMS),
        ({"ext": []}, Reason.CLAIMS),
        ({"ext": None}, Reason.CLAIMS),
        ({"ext": {"a": [[[[1]]]], "b": [[[[[]]]]]}}, Reason.CLAIMS),
        ({"ext": {"a": {"b": {"c": {"d": {"e": {}}}}}}}, Reason.CLAIMS),
        ({"ext": {"a": "x" * 4_090}}, Reason.CLAIMS),
        ({"par": [str(uuid.UUID(int=1))]}, Reason.PARENT_UNKNOWN),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_claim_that_breaks_its_rule_is_refused(changes, expected):
    assert reason(make().verify(signed(**changes), NOW)) is expected


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": [AUD, "https://elsewhere.example"]},
        {"aud": "urn:other-name"},
        {"iat": NOW + 30},
        {"iat": NOW - 900},
        {"exp": NOW + 1},
        {"exp": 2**53 - 1},
        {"inp_hash": "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"},
        {"jti": str(uuid.UUID(int=2**127)).upper()},
        {"ext": {"a": {"b": {"c": {"d": [1, "x", None]}}}}},
        {"ext": {}},
        {"ext": {"a": "x" * 4_088}},
        {"ext": {"a": "é" * 2_044}},
        {"unknown": {"claims": "are let through"}},
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_stays_just_within_the_rules_is_accepted(changes):
    assert isinstance(make().verify(signed(**changes), NOW), Accepted)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b'{"iss":"a:b","iss":"a:b"}',
        b'{"iss":NaN}',
        b"\xff",
        b'{"a":' + b"[" * 50 + b"]" * 50 + b"}",
        b'{"a":1e99999999}',
    ],
)
def test_a_payload_that_is_not_one_strict_object_is_refused(payload):
    assert reason(make().verify(signed(payload=payload), NOW)) is Reason.MALFORMED


def test_a_token_beyond_8_kib_is_refused_before_anything_else():
    assert reason(make().verify(signed(note="x" * 8_000), NOW)) is Reason.MALFORMED
    assert reason(make().verify("A" * 8_193, NOW)) is Reason.MALFORMED


def test_a_signature_by_another_key_is_refused():
    assert reason(make().verify(signed(key=jose.make_key("ES256")), NOW)) is Reason.SIGNATURE


def test_a_revoked_key_and_a_key_of_another_identity_are_refused():
    revoked = KNOWN.with_revoked(ISS, "k1")
    foreign = TrustedKeys({(ISS, "k1"): KnownKey(jwks.read(jose.public_jwk(KEY)), "spiffe://other")})

    assert reason(make(keys=revoked).verify(signed(), NOW)) is Reason.KEY_REVOKED
    assert reason(make(keys=foreign).verify(signed(), NOW)) is Reason.ISSUER


@pytest.mark.parametrize("algorithm", ["ES384", "Ed25519", "EdDSA", "PS256"])
def test_other_algorithms_work_once_they_are_allowed(algorithm):
    key = jose.make_key(algorithm)
    keys = TrustedKeys.from_jwks({ISS: {"keys": [jose.public_jwk(key, kid="k1")]}})
    header = json.dumps({"alg": algorithm, "kid": "k1", "typ": "exec+jwt"})
    token = jose.sign_text(key, algorithm, header, json.dumps(claims()).encode())

    assert isinstance(make(keys=keys, algorithms=[algorithm]).verify(token, NOW), Accepted)
    assert reason(make(keys=keys).verify(token, NOW)) is Reason.ALGORITHM


@pytest.mark.parametrize("algorithms", [["none"], ["HS256"], ["ES256", "HS512"], "ES256"])
def test_a_verifier_with_unsafe_algorithms_is_not_made(algorithms):
    with pytest.raises(ValueError, match="algorithms"):
        make(algorithms=algorithms)


def test_a_verifier_without_an_audience_or_l3_without_a_ledger_is_not_made():
    memory = TokenMemory()
    for audiences in ([], "https://one.example"):
        with pytest.raises(ValueError, match="audiences"):
            Verifier(audiences, KNOWN, memory, memory)
    with pytest.raises(ValueError, match="L3"):
        make(minimum=Level.L3)


def test_the_same_bytes_again_are_known_even_after_they_expired():
    verifier = make()
    token = signed()

    assert verifier.verify(token, NOW).is_known is False
    assert verifier.verify(token, NOW + 5).is_known is True
    assert verifier.verify(token, NOW + 100_000).is_known is True


def test_the_same_id_with_other_bytes_is_refused():
    verifier = make()
    jti = str(uuid.uuid4())
    verifier.verify(signed(jti=jti), NOW)

    assert reason(verifier.verify(signed(jti=jti, exec_act="write"), NOW)) is Reason.REPLAY
    assert reason(verifier.verify(signed(jti=jti.upper()), NOW)) is Reason.REPLAY
    assert reason(make().verify_all([signed(jti=jti), signed(jti=jti, exec_act="x")], NOW)) is Reason.REPLAY


def test_the_twin_of_a_known_token_is_refused_as_a_replay():
    verifier, token = make(), signed()
    verifier.verify(token, NOW)
    head, _, last = token.rpartition(".")
    raw = jose.base64.urlsafe_b64decode(last + "==")
    s = jwks.CURVES["P-256"].order - int.from_bytes(raw[32:])

    assert reason(verifier.verify(f"{head}.{jose.b64(raw[:32] + s.to_bytes(32))}", NOW)) is Reason.REPLAY


def test_a_refused_token_leaves_no_trace():
    memory = TokenMemory()
    parent, child = str(uuid.uuid4()), str(uuid.uuid4())
    orphan = signed(jti=child, par=[parent])
    assert reason(make(memory).verify(orphan, NOW)) is Reason.PARENT_UNKNOWN
    assert memory.recall(child) is None

    assert isinstance(make(memory).verify(orphan, NOW, alongside=[signed(jti=parent)]), Accepted)
    assert memory.recall(parent) is not None


def test_one_bad_token_refuses_everything_presented_with_it():
    memory = TokenMemory()
    good, bad = signed(), signed(exec_act="")

    assert reason(make(memory).verify_all([good, bad], NOW)) is Reason.CLAIMS
    assert memory.recall(parse(good).claims["jti"]) is None


def test_two_who_race_for_an_id_can_not_both_win():
    class Raced(TokenMemory):
        def recall(self, jti):
            return None

    memory = Raced()
    jti = str(uuid.uuid4())
    assert isinstance(make(memory).verify(signed(jti=jti), NOW), Accepted)
    assert reason(make(memory).verify(signed(jti=jti, exec_act="x"), NOW)) is Reason.REPLAY


def test_a_full_memory_takes_no_more_and_says_so():
    verifier = make(TokenMemory(limit=1))
    verifier.verify(signed(), NOW)

    assert isinstance(verifier.verify(signed(), NOW), Unavailable)


def test_hashes_are_compared_with_the_bytes_at_hand():
    token = signed(inp_hash=hash_bytes(b"test"))
    assert hash_bytes(b"test") == "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"

    assert make().verify(token, NOW, inp=b"test").matched == {"inp_hash"}
    assert make().verify(token, NOW, out=b"test").matched == frozenset()
    assert make().verify(token, NOW).matched == frozenset()
    assert reason(make().verify(token, NOW, inp=b"tests")) is Reason.HASH


def test_parents_may_come_in_any_order_and_twice():
    a, b, c = (str(uuid.uuid4()) for _ in range(3))
    tokens = [signed(jti=c, par=[a, b]), signed(jti=b, par=[a]), signed(jti=a)]
    answer = make().verify_all([*tokens, tokens[2]], NOW)

    assert [item.ect.claims.jti for item in answer] == [c, b, a, a]


def test_tokens_that_are_each_others_ancestors_are_refused():
    a, b = str(uuid.uuid4()), str(uuid.uuid4())

    assert reason(make().verify_all([signed(jti=a, par=[b]), signed(jti=b, par=[a])], NOW)) is Reason.CYCLE


@pytest.mark.parametrize(("ahead", "fits"), [(30, True), (31, False), (-100, True)])
def test_a_parent_is_at_most_half_a_minute_later_than_its_child(ahead, fits):
    memory = TokenMemory()
    parent = str(uuid.uuid4())
    memory.remember("h", TokenNode(parent, NOW + ahead, ()))
    answer = make(memory).verify(signed(par=[parent]), NOW)

    assert isinstance(answer, Accepted) if fits else reason(answer) is Reason.PARENT_LATER


@pytest.mark.parametrize(
    ("theirs", "ours", "fits"), [(1, 1, True), (1, 2, False), (None, 1, True), (1, None, True)]
)
def test_parent_and_child_share_their_workflow_where_both_have_one(theirs, ours, fits):
    memory = TokenMemory()
    parent = str(uuid.uuid4())
    workflow = {None: None, 1: str(uuid.UUID(int=1)), 2: str(uuid.UUID(int=2))}
    memory.remember("h", TokenNode(parent, NOW, (), workflow[theirs]))
    answer = make(memory).verify(signed(par=[parent], wid=workflow[ours] or ...), NOW)

    assert isinstance(answer, Accepted) if fits else reason(answer) is Reason.OTHER_WORKFLOW


def chain(memory, length):
    ids = [str(uuid.UUID(int=n)) for n in range(length)]
    for n, jti in enumerate(ids):
        memory.remember(f"h{n}", TokenNode(jti, NOW, (ids[n - 1],) if n else ()))
    return ids[-1]


def test_the_walk_to_the_roots_fails_closed_at_its_bound():
    within, beyond = TokenMemory(), TokenMemory()

    assert isinstance(make(within).verify(signed(par=[chain(within, 10_000)]), NOW), Accepted)
    answer = make(beyond).verify(signed(par=[chain(beyond, 10_001)]), NOW)
    assert reason(answer) is Reason.TOO_MANY_ANCESTORS


def test_an_ancestor_that_is_gone_refuses_its_descendants():
    memory = TokenMemory()
    lost, parent = str(uuid.uuid4()), str(uuid.uuid4())
    memory.remember("h", TokenNode(parent, NOW, (lost,)))

    assert reason(make(memory).verify(signed(par=[parent]), NOW)) is Reason.PARENT_UNKNOWN


def test_a_cycle_in_what_is_remembered_refuses():
    memory = TokenMemory()
    a, b = str(uuid.uuid4()), str(uuid.uuid4())
    memory.remember("a", TokenNode(a, NOW, (b,)))
    memory.remember("b", TokenNode(b, NOW, (a,)))

    assert reason(make(memory).verify(signed(par=[a]), NOW)) is Reason.CYCLE


def test_an_unsigned_token_is_l1_and_only_where_that_is_enough():
    token = unsigned()

    assert make(minimum=Level.L1).verify(token, NOW).level is Level.L1
    assert reason(make().verify(token, NOW)) is Reason.LEVEL
    assert reason(make(minimum=Level.L1).verify(unsigned(exec_act=...), NOW)) is Reason.CLAIMS
    assert reason(make(minimum=Level.L1).verify(unsigned(aud="x"), NOW)) is Reason.AUDIENCE


def test_a_broken_jws_never_falls_back_to_l1():
    relaxed = make(minimum=Level.L1)
    body = jose.b64(json.dumps(claims()).encode())
    none = jose.b64(b'{"alg":"none","kid":"k1","typ":"exec+jwt"}')

    for token in (
        f"{none}.{body}.",
        f"{none}.{body}.AA",
        f".{body}.",
        f"{body}.",
        f"..{body}",
        f"{body}..",
        "",
    ):
        assert isinstance(relaxed.verify(token, NOW), RefusedToken)


def test_a_chain_is_as_strong_as_its_weakest_token():
    memory = TokenMemory()
    parent = str(uuid.uuid4())
    child = signed(par=[parent])
    answer = make(memory, minimum=Level.L1).verify(child, NOW, alongside=[unsigned(jti=parent)])

    assert (answer.level, answer.chain_level) == (Level.L2, Level.L1)
    assert reason(make(memory).verify(signed(par=[parent]), NOW)) is Reason.LEVEL


def test_l3_means_that_the_ledger_holds_exactly_these_bytes():
    token = signed()
    ledger = Ledger(hash_bytes(token.encode()))

    assert make(ledger=ledger, minimum=Level.L3).verify(token, NOW).level is Level.L3
    assert reason(make(ledger=ledger, minimum=Level.L3).verify(signed(), NOW)) is Reason.LEVEL
    assert make(ledger=ledger).verify(signed(), NOW).level is Level.L2


def test_a_token_that_reached_the_ledger_later_lifts_its_chain():
    memory, ledger = TokenMemory(), Ledger()
    jti = str(uuid.uuid4())
    token = signed(jti=jti)
    make(memory, ledger=ledger).verify(token, NOW)
    child = signed(par=[jti])
    ledger.hashes = hash_bytes(token.encode()), hash_bytes(child.encode())
    answer = make(memory, ledger=ledger, minimum=Level.L3).verify(child, NOW, alongside=[token])

    assert answer.chain_level is Level.L3


def test_a_ledger_that_is_down_matters_where_it_is_required():
    down = Ledger(is_down=True)

    assert isinstance(make(ledger=down, minimum=Level.L3).verify(signed(), NOW), Unavailable)
    assert make(ledger=down).verify(signed(), NOW).level is Level.L2


@pytest.mark.parametrize("dialect", ["00", "01"])
@pytest.mark.parametrize("level", [Level.L1, Level.L2])
def test_what_is_issued_verifies(dialect, level):
    keys = TrustedKeys.of_ring(RING)
    token = issue(
        RING, "read", AUD, NOW, dialect=dialect, level=level, ext={"a": 1}, inp_hash=hash_bytes(b"i")
    )
    answer = make(keys=keys, minimum=Level.L1).verify(token, NOW, inp=b"i")
    content = parse(token).claims

    assert (answer.level, answer.matched) == (level, {"inp_hash"})
    assert answer.ect.claims.exp - answer.ect.claims.iat == 600
    assert ("par" in content, "pred" in content) == ((True, False) if dialect == "00" else (False, True))
    assert ("ext" in content) is (dialect == "00")


def test_an_issued_token_is_low_s_and_its_twin_is_refused():
    keys = TrustedKeys.of_ring(RING)
    token = issue(RING, "read", AUD, NOW)
    head, _, last = token.rpartition(".")
    raw = jose.base64.urlsafe_b64decode(last + "==")
    s = jwks.CURVES["P-256"].order - int.from_bytes(raw[32:])

    assert isinstance(make(keys=keys).verify(token, NOW), Accepted)
    assert (
        reason(make(keys=keys).verify(f"{head}.{jose.b64(raw[:32] + s.to_bytes(32))}", NOW))
        is Reason.SIGNATURE
    )


@pytest.mark.parametrize(
    "options",
    [
        {"exec_act": ""},
        {"par": ["x"]},
        {"dialect": "02"},
        {"lifetime_seconds": 0},
        {"lifetime_seconds": -5},
        {"ext": {"a": "x" * 5_000}},
        {"jti": "x"},
        {"aud": []},
        {"ext": {"a": [[[[[1]]]]]}},
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_no_verifier_would_accept_is_not_issued(options):
    with pytest.raises(InvalidClaims):
        issue(RING, **({"exec_act": "read", "aud": AUD, "now": NOW} | options))


def test_after_a_rotation_old_tokens_verify_and_after_revocation_they_do_not():
    ring = KeyRing("did:qwed:node:r", generate())
    token = issue(ring, "read", AUD, NOW)
    rotated = ring.rotated(generate("Ed25519"), NOW)
    options = {"algorithms": ["ES256", "EdDSA"]}

    assert isinstance(make(keys=TrustedKeys.of_ring(rotated), **options).verify(token, NOW), Accepted)
    fresh = issue(rotated, "read", AUD, NOW)
    assert parse(fresh).signed.header.alg == "Ed25519"
    assert isinstance(make(keys=TrustedKeys.of_ring(rotated), **options).verify(fresh, NOW), Accepted)
    gone = TrustedKeys.of_ring(rotated.revoked(ring.kid, NOW))
    assert reason(make(keys=gone, **options).verify(token, NOW)) is Reason.KEY_REVOKED


@pytest.mark.parametrize(
    "token", [None, 7, b"abc", "", ".", "..", "a.b.c", "é", "\0", "e30", "bnVsbA", "e30\n"]
)
def test_what_is_no_token_is_refused_and_never_raises(token):
    assert isinstance(make(minimum=Level.L1).verify(token, NOW), RefusedToken)
    with pytest.raises(InvalidToken):
        parse(token if token != "e30" else "e30=")


@pytest.mark.parametrize(
    "keys", [{}, {"keys": {}}, {"keys": [jose.public_jwk(KEY)]}, {"keys": [{"kty": "oct"}]}]
)
def test_a_key_set_that_can_not_be_used_is_refused(keys):
    with pytest.raises(jwks.InvalidKey):
        TrustedKeys.from_jwks({ISS: keys})


def test_everything_that_can_be_said_survives_the_way():
    keys = TrustedKeys.of_ring(RING).joined(KNOWN)
    wid = str(uuid.uuid4())
    token = issue(
        RING, "read", [AUD, "urn:b"], NOW, wid=wid.upper(), out_hash=hash_bytes(b"o"), ext={"a": {"b": [1]}}
    )
    read = make(keys=keys).verify(token, NOW, out=b"o").ect.claims

    assert (read.aud, read.wid, read.out_hash) == ((AUD, "urn:b"), wid, hash_bytes(b"o"))
    assert isinstance(make(keys=keys).verify(signed(), NOW), Accepted)


def test_a_token_that_would_be_too_long_is_not_issued():
    with pytest.raises(InvalidClaims, match="bytes"):
        issue(RING, "x" * 9_000, AUD, NOW)


def test_an_unsigned_token_stays_l1_whatever_the_ledger_says():
    token = unsigned()
    ledger = Ledger(hash_bytes(token.encode()))

    assert make(minimum=Level.L1, ledger=ledger).verify(token, NOW).level is Level.L1
