"""Behaviour specifications: what an agent is permitted to do, as a document that is versioned and signed."""

import enum
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.json_types import Json
from qwed.ect import jws
from qwed.ect.claims import InvalidClaims
from qwed.ect.claims import issuer as check_issuer
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.verifier import DEFAULT_ALGORITHMS, Keys

SPEC_TYPE: Final = "apae-behavior-spec+jwt"
MAX_ITEMS: Final = 1_000
MAX_TEXT: Final = 256
# What a report has to name in every token must leave room for what it reports.
MAX_VERSION: Final = 64
MAX_AGENT_ID: Final = 512
MAX_SPEC_BYTES: Final = 131_072
_MAX_RATE: Final = 1_000_000


class InvalidSpec(ValueError):
    """The specification can't be followed; the message says why."""


class Frequency(enum.StrEnum):
    CONTINUOUS = "continuous"
    PERIODIC = "periodic"


class SpecConstraints(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    max_actions_per_minute: int | None = None
    forbidden_targets: tuple[str, ...] = ()
    require_checkpoint_before: tuple[str, ...] = ()


class BehaviourSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An empty list of actions allows nothing."""

    spec_version: str
    agent_id: str
    allowed_actions: tuple[str, ...]
    constraints: SpecConstraints = SpecConstraints()
    verification_frequency: Frequency = Frequency.CONTINUOUS

    @property
    def hash(self) -> str:
        return sha256_hex(encode_exact(msgspec.to_builtins(self)))


class SignedSpec(msgspec.Struct, frozen=True):
    """`signer` is None for a document that nobody signed."""

    spec: BehaviourSpec
    signer: str | None


def read_spec(document: Any) -> BehaviourSpec:
    """Raises `InvalidSpec`. A constraint nobody knows is refused: it could not be checked."""
    try:
        spec = msgspec.convert(document, BehaviourSpec)
    except msgspec.ValidationError as error:
        raise InvalidSpec(str(error)) from None
    constraints = spec.constraints
    lists = (spec.allowed_actions, constraints.forbidden_targets, constraints.require_checkpoint_before)
    if any(len(items) > MAX_ITEMS for items in lists):
        raise InvalidSpec(f"a list has at most {MAX_ITEMS} items")
    if not all(0 < len(text) <= MAX_TEXT for items in lists for text in items):
        raise InvalidSpec(f"actions and targets have 1 to {MAX_TEXT} characters")
    if not 0 < len(spec.spec_version) <= MAX_VERSION:
        raise InvalidSpec(f"spec_version has 1 to {MAX_VERSION} characters")
    rate = constraints.max_actions_per_minute
    if rate is not None and not 0 <= rate <= _MAX_RATE:
        raise InvalidSpec(f"max_actions_per_minute is between 0 and {_MAX_RATE}")
    try:
        check_issuer(spec.agent_id)
    except InvalidClaims:
        raise InvalidSpec("agent_id is the URI that the agent's tokens name as iss") from None
    if len(spec.agent_id) > MAX_AGENT_ID:
        raise InvalidSpec(f"agent_id has at most {MAX_AGENT_ID} characters")
    return spec


def sign_spec(ring: KeyRing, spec: BehaviourSpec, now: int) -> str:
    return ring.sign(SPEC_TYPE, {"iss": ring.issuer, "iat": now, "spec": msgspec.to_builtins(spec)})


def read_signed_spec(token: str, keys: Keys, algorithms: Collection[str] = DEFAULT_ALGORITHMS) -> SignedSpec:
    """Raises `InvalidSpec`, also for a signature that does not hold: it is never read as unsigned."""
    try:
        unverified = jws.parse(token, MAX_SPEC_BYTES)
        if unverified.header.typ != SPEC_TYPE:
            raise InvalidToken(f"typ is {unverified.header.typ!r}, not {SPEC_TYPE!r}")
        claims = jws.claims_of(unverified.payload)
        iss = claims.get("iss")
        key = keys.find(iss, unverified.header.kid) if isinstance(iss, str) else None
        if key is None or key.is_revoked or key.issuer != iss:
            raise InvalidToken("no valid key of that issuer")
        jws.verify_signature(unverified, key.public, algorithms, low_s_only=key.low_s_only)
    except InvalidToken as error:
        raise InvalidSpec(f"the signature does not hold: {error}") from None
    return SignedSpec(read_spec(claims.get("spec")), iss)


def update_body(spec: BehaviourSpec, previous: BehaviourSpec | None) -> dict[str, Json]:
    """The `ext` of the `apae:spec_update` that is written before a specification takes effect.

    Raises `InvalidSpec` for another text under the version in force.
    """
    if previous is not None and previous.agent_id != spec.agent_id:
        raise InvalidSpec("a specification is replaced by one of the same agent")
    if previous is not None and previous.spec_version == spec.spec_version and previous != spec:
        raise InvalidSpec(f"version {spec.spec_version!r} is in force with another content: name a new one")
    body: dict[str, Json] = {
        "apae.subject": spec.agent_id,
        "apae.spec_version": spec.spec_version,
        "apae.spec_hash": spec.hash,
    }
    if previous is not None:
        body["apae.previous_spec_hash"] = previous.hash
    return body


def document_of(spec: BehaviourSpec) -> Mapping[str, Json]:
    document: dict[str, Json] = msgspec.to_builtins(spec)
    return document
