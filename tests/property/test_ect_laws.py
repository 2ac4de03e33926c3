"""Laws of execution context tokens: no mutated token passes, the fast reader is the strict one, the graph
agrees with its definition."""

import base64
import json
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support import jose

from qwed.domain import json_text
from qwed.ect import (
    Accepted,
    BrokenDag,
    KeyRing,
    Level,
    Reason,
    RefusedToken,
    TokenMemory,
    TokenNode,
    TrustedKeys,
    Verifier,
    ancestors,
    base64url,
    dag,
    generate,
    issue,
    jws,
    read_header,
)

NOW = 1_800_000_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
ODD = ".=+/ \n\0é" + LETTERS
KEYS = {name: jose.make_key(name) for name in ("ES256", "ES384", "Ed25519", "PS256")}
TOKENS = {name: jose.sign(key, name, b'{"a":1}', kid="k", typ="t") for name, key in KEYS.items()}
JWKS = {name: jose.public_jwk(key, kid="k") for name, key in KEYS.items()}
RING = KeyRing("did:qwed:node:law", generate())


def refuses(token, name):
    try:
        jws.verify(token, JWKS[name], list(KEYS))
    except jws.InvalidToken:
        return True
    return False


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(KEYS)), st.data())
def test_a_token_with_any_one_letter_changed_added_or_lost_is_refused(name, data):
    token = TOKENS[name]
    at = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from(ODD))
    how = data.draw(st.sampled_from(["change", "add", "lose", "swap", "cut"]))
    mutated = {
        "change": token[:at] + letter + token[at + 1 :],
        "add": token[:at] + letter + token[at:],
        "lose": token[:at] + token[at + 1 :],
        "swap": token[:at] + token[at : at + 2][::-1] + token[at + 2 :],
        "cut": token[:at],
    }[how]

    assert mutated == token or refuses(mutated, name)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(KEYS)), st.data())
def test_a_signature_with_any_bit_flipped_is_refused(name, data):
    head, _, last = TOKENS[name].rpartition(".")
    raw = bytearray(base64.urlsafe_b64decode(last + "=="))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8

    assert refuses(f"{head}.{jose.b64(bytes(raw))}", name)


@pytest.mark.parametrize("signer", sorted(KEYS))
@pytest.mark.parametrize("named", ["ES256", "ES384", "Ed25519", "EdDSA", "PS256", "RS256", "HS256", "none"])
@pytest.mark.parametrize("holder", sorted(KEYS))
def test_only_the_algorithm_of_the_key_is_ever_accepted(signer, named, holder):
    token = jose.sign_text(KEYS[signer], signer, json.dumps({"alg": named}), b"{}")
    is_right = signer == holder and (named == signer or (named, signer) == ("EdDSA", "Ed25519"))

    assert refuses(token, holder) is not is_right


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def json_texts(draw):
    """Objects in all kinds of spelling, with members that come twice."""
    spaces = st.sampled_from(["", " ", "\n", "\t ", "\r"])

    def write(value):
        if isinstance(value, dict):
            members = [f"{json.dumps(k)}{draw(spaces)}:{draw(spaces)}{write(v)}" for k, v in value.items()]
            if members and draw(st.booleans()):
                members.append(draw(st.sampled_from(members)))
            return "{" + ",".join(members) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(write, value)) + "]"
        if isinstance(value, int) and draw(st.booleans()):
            return f"{value}e{draw(st.integers(-2000, 2000))}"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    value = draw(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
    return write(value).encode("utf-8", "surrogatepass")


@settings(max_examples=400, deadline=None)
@given(json_texts())
@example(b'{"a":1,"a":2}')
@example(b'{"a" :1,"a" :2,"b":":"}')
@example(b'{"a":{"b":1,"b":1},"c":1}')
@example(b'{"a":1,"\\u0061":2}')
@example(b'{"a":NaN}')
@example(b'{"a":' + b"1" * 401 + b"}")
@example(b'{"a":1e1001}')
@example(b'{"a":"\\ud800"}')
@example(b"")
@example(b"[]")
def test_the_fast_reader_of_claims_accepts_nothing_that_the_strict_one_refuses(payload):
    fast = jws._plain_object(payload)
    try:
        strict = json_text.loads(payload, max_depth=16)
    except json_text.JsonError:
        strict = None
    if not isinstance(strict, dict) or jws.holds_unrepresentable(strict):
        assert fast is None
        with pytest.raises(jws.InvalidToken):
            jws.claims_of(payload)
    else:
        assert fast is None or fast == strict
        assert jws.claims_of(payload) == strict


@given(st.text(alphabet=ODD, max_size=12) | st.binary(max_size=9).map(lambda raw: jose.b64(raw)))
def test_base64url_has_one_spelling(text):
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
        is_canonical = jose.b64(raw) == text
    except ValueError:
        is_canonical = False
    try:
        decoded = base64url.decode(text)
    except base64url.NotBase64Url:
        decoded = None

    assert (decoded is not None) is is_canonical
    assert decoded is None or base64url.encode(decoded) == text


def ident(number):
    return str(uuid.UUID(int=number))


graphs = st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 8), max_size=3, unique=True), max_size=8)


def reference_ancestors(graph, start):
    """The smallest set that holds the parents, and the parents of all it holds."""
    reached = set(start)
    while True:
        more = {parent for node in reached if node in graph for parent in graph[node]}
        if more <= reached:
            return reached
        reached |= more


def has_cycle(graph, nodes):
    return any(node in reference_ancestors(graph, graph[node]) for node in nodes if node in graph)


@settings(max_examples=300)
@given(graphs, st.lists(st.integers(0, 8), max_size=3, unique=True), st.integers(0, 12))
def test_ancestors_are_those_of_the_definition(graph, start, bound):
    nodes = {ident(n): TokenNode(ident(n), NOW, tuple(map(ident, parents))) for n, parents in graph.items()}
    answer = ancestors(map(ident, start), nodes.get, bound)
    expected = reference_ancestors(graph, start)

    assert answer.is_bounded is (len(expected) > bound)
    if not answer.is_bounded:
        assert {node.jti for node in answer.nodes} == {ident(n) for n in expected if n in graph}
        assert set(answer.missing) == {ident(n) for n in expected if n not in graph}
        assert answer.is_acyclic is not has_cycle(graph, expected)
    if answer.is_complete:
        place = {node.jti: number for number, node in enumerate(answer.nodes)}
        assert all(place[parent] < place[node.jti] for node in answer.nodes for parent in node.par)


@settings(max_examples=300)
@given(
    graphs, st.lists(st.integers(0, 8), max_size=3, unique=True), st.lists(st.sampled_from(Level), min_size=9)
)
def test_a_token_joins_only_a_complete_acyclic_past_and_gets_its_weakest_level(graph, start, levels):
    nodes = {
        ident(n): TokenNode(ident(n), NOW, tuple(map(ident, parents)), None, levels[n])
        for n, parents in graph.items()
    }
    child = TokenNode(ident(8), NOW, tuple(ident(n) for n in start if n != 8))
    past = reference_ancestors(graph, [n for n in start if n != 8])
    fits = past <= set(graph) and not has_cycle(graph, past) and 8 not in past

    if fits:
        assert dag.join(child, nodes.get) == min((levels[n] for n in past), default=Level.L3)
    else:
        with pytest.raises(BrokenDag):
            dag.join(child, nodes.get)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2_000)), max_size=12))
def test_an_id_belongs_to_the_first_token_that_was_accepted_under_it(presented):
    memory = TokenMemory()
    verifier = Verifier(["urn:x"], TrustedKeys.of_ring(RING), memory, memory)
    made = {}
    model = {}
    for number, variant, later in presented:
        if (number, variant) not in made:
            made[number, variant] = issue(RING, "read", "urn:x", NOW, jti=ident(number), ext={"v": variant})
        answer = verifier.verify(made[number, variant], NOW + later)
        if number in model:
            expected = model[number] == variant
            is_late = later >= 600 and not expected
            assert isinstance(answer, Accepted if expected else RefusedToken)
            assert expected or answer.reason in (
                (Reason.EXPIRED, Reason.TOO_OLD) if is_late else (Reason.REPLAY,)
            )
        elif later < 600:
            assert answer.is_known is False
            model[number] = variant
        else:
            assert answer.reason is Reason.EXPIRED


claim_names = [
    "iss",
    "aud",
    "iat",
    "exp",
    "jti",
    "wid",
    "exec_act",
    "par",
    "pred",
    "inp_hash",
    "ext",
    "ect_ext",
]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(claim_names), json_values, max_size=4), st.booleans())
def test_whatever_the_claims_are_the_verifier_answers(changes, is_signed):
    memory = TokenMemory()
    verifier = Verifier(["urn:x"], TrustedKeys.of_ring(RING), memory, memory, minimum=Level.L1)
    content = {
        "iss": RING.issuer,
        "aud": "urn:x",
        "iat": NOW,
        "exp": NOW + 9,
        "jti": ident(1),
        "exec_act": "a",
    }
    payload = json.dumps(content | {"par": []} | changes).encode()
    token = RING.active.compact(RING.kid, "exec+jwt", payload) if is_signed else base64url.encode(payload)

    assert isinstance(verifier.verify(token, NOW), Accepted | RefusedToken)


@given(st.text(max_size=200))
def test_whatever_the_text_is_the_verifier_refuses(text):
    memory = TokenMemory()
    verifier = Verifier(["urn:x"], TrustedKeys.of_ring(RING), memory, memory, minimum=Level.L1)

    assert isinstance(verifier.verify(text, NOW), RefusedToken)


@given(st.lists(st.lists(st.text("ab", max_size=2), max_size=5), max_size=5))
def test_header_lines_say_the_same_joined_or_apart(lines):
    apart = [item for line in lines for item in line]

    assert read_header([",".join(line) for line in lines]) == read_header(apart)
