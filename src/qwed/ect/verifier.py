"""Verification of execution context tokens, in the order of the specification.

 1. size and strict parsing      8. audience
 2. `typ`                        9. times (at first receipt only: an expired token stays evidence)
 3. `alg`                       10. the other claims
 4. the key for (`iss`, `kid`)  11. replay: the same bytes again are known, other bytes are refused
 5. the signature               12. hashes, against the bytes at hand
 6. the key is not revoked      13. the graph
 7. `iss` is bound to the key   14. level, and the ledger

Any failure refuses the token, and with it everything presented together with it.
"""

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from qwed.domain.json_types import Json
from qwed.ect import claims as rules
from qwed.ect import dag, jwk, jws, tokens
from qwed.ect.claims import TYPES, Claims, InvalidAudience, InvalidClaims
from qwed.ect.dag import CLOCK_SKEW_SECONDS, MAX_ANCESTORS, BrokenDag, TokenNode
from qwed.ect.jwk import PublicKey
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import Ect, Level, UnverifiedToken

MAX_AGE_SECONDS: Final = 900
DEFAULT_ALGORITHMS: Final = frozenset({"ES256"})
SUPPORTED_ALGORITHMS: Final = frozenset({"ES256", "ES384", "Ed25519", "PS256"})
#: All that the sender of a refused token is told.
GENERIC_REFUSAL: Final = "the execution context was not accepted"


class Reason(enum.StrEnum):
    """Why, for the log."""

    MALFORMED = "malformed"
    TYPE = "type"
    ALGORITHM = "algorithm"
    KEY_UNKNOWN = "key_unknown"
    SIGNATURE = "signature"
    KEY_REVOKED = "key_revoked"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    EXPIRED = "expired"
    TOO_OLD = "too_old"
    NOT_YET = "not_yet"
    CLAIMS = "claims"
    REPLAY = "replay"
    HASH = "hash"
    PARENT_UNKNOWN = "parent_unknown"
    PARENT_LATER = "parent_later"
    OTHER_WORKFLOW = "other_workflow"
    CYCLE = "cycle"
    TOO_MANY_ANCESTORS = "too_many_ancestors"
    LEVEL = "level"


class KnownKey(msgspec.Struct, frozen=True):
    """A key and the one identity that may sign with it. `low_s_only`: its owner signs as we do."""

    public: PublicKey
    issuer: str
    is_revoked: bool = False
    low_s_only: bool = False


class Keys(Protocol):
    def find(self, iss: str, kid: str) -> KnownKey | None: ...


class ReplayMemory(Protocol):
    """Tokens accepted so far. Both raise `EvidenceUnavailable` only."""

    def recall(self, jti: str) -> str | None:
        """The hash of the token accepted under this id."""
        ...

    def remember(self, token_hash: str, node: TokenNode) -> str:
        """The hash kept under the node's id: this one, unless another came first; of the same token the
        highest level is kept. Atomic for all who share the memory."""
        ...


class Parents(Protocol):
    def node(self, jti: str) -> TokenNode | None:
        """An accepted token. Raises `EvidenceUnavailable` only."""
        ...


class LedgerConfirmation(Protocol):
    def holds(self, jti: str, token_hash: str) -> bool:
        """Whether the ledger holds exactly these bytes. Raises `EvidenceUnavailable` only."""
        ...


class EvidenceUnavailable(Exception):
    """What has to be asked does not answer."""


class Accepted(msgspec.Struct, frozen=True, gc=False):
    ect: Ect
    level: Level
    #: The weakest of the token and all its ancestors.
    chain_level: Level
    #: Accepted before, byte for byte.
    is_known: bool
    #: The hash claims that were compared with bytes at hand: of `inp_hash`, `out_hash`.
    matched: frozenset[str] = frozenset()


class RefusedToken(msgspec.Struct, frozen=True):
    """`reason` and `says` are for the log; the sender reads `GENERIC_REFUSAL`."""

    reason: Reason
    says: str


class Unavailable(msgspec.Struct, frozen=True):
    """Neither: what would confirm the token does not answer (503)."""

    says: str


_NOTHING: Final[frozenset[str]] = frozenset()


class _Refusal(Exception):
    def __init__(self, reason: Reason, says: str) -> None:
        super().__init__(says)
        self.refused = RefusedToken(reason, says)


class _Checked(msgspec.Struct, frozen=True, gc=False):
    """A token that stood steps 1 to 12."""

    ect: Ect
    level: Level
    is_known: bool
    matched: frozenset[str]


class Verifier:
    def __init__(
        self,
        audiences: Collection[str],
        keys: Keys,
        memory: ReplayMemory,
        parents: Parents,
        ledger: LedgerConfirmation | None = None,
        *,
        minimum: Level = Level.L2,
        algorithms: Collection[str] = DEFAULT_ALGORITHMS,
        max_ancestors: int = MAX_ANCESTORS,
    ) -> None:
        names = {jwk.canonical_name(name) for name in algorithms}
        if isinstance(algorithms, str) or not names <= SUPPORTED_ALGORITHMS:
            raise ValueError(f"algorithms are among {', '.join(sorted(SUPPORTED_ALGORITHMS))}")
        if isinstance(audiences, str) or not audiences:
            raise ValueError("audiences are the names this verifier answers to: at least one")
        if minimum is Level.L3 and ledger is None:
            raise ValueError("level L3 needs a ledger that confirms")
        self._audiences = frozenset(audiences)
        self._keys = keys
        self._memory = memory
        self._parents = parents
        self._ledger = ledger
        self._minimum = minimum
        # Under each of its names.
        self._algorithms = frozenset(names) | {old for old, new in jwk.OLD_NAMES.items() if new in names}
        self._max_ancestors = max_ancestors

    def verify(
        self,
        token: str,
        now: int,
        *,
        alongside: Iterable[str] = (),
        inp: bytes | None = None,
        out: bytes | None = None,
    ) -> Accepted | RefusedToken | Unavailable:
        """One token; `alongside` are others of the request, among which its parents may be."""
        at_hand = {} if inp is out is None else {"inp_hash": inp, "out_hash": out}
        answer = self._answer([*alongside, token] if alongside else (token,), now, at_hand)
        return answer[-1] if isinstance(answer, list) else answer

    def verify_all(self, presented: Sequence[str], now: int) -> list[Accepted] | RefusedToken | Unavailable:
        """Every token of a request, in the order given, or the first reason to refuse them all."""
        return self._answer(presented, now, {})

    def _answer(
        self, presented: Sequence[str], now: int, at_hand: Mapping[str, bytes | None]
    ) -> list[Accepted] | RefusedToken | Unavailable:
        try:
            if len(presented) == 1:
                only = self._join(self._check(presented[0], now, at_hand), {})
                self._remember(only)
                return [only]
            return self._answer_several(presented, now, at_hand)
        except _Refusal as refusal:
            return refusal.refused
        except EvidenceUnavailable as error:
            return Unavailable(str(error))

    def _answer_several(
        self, presented: Sequence[str], now: int, at_hand: Mapping[str, bytes | None]
    ) -> list[Accepted]:
        last = len(presented) - 1
        checked = [
            self._check(token, now, at_hand if index == last else {}) for index, token in enumerate(presented)
        ]
        by_jti = self._join_tokens(checked)
        for item in by_jti.values():
            self._remember(item)
        return [by_jti[item.ect.claims.jti] for item in checked]

    def _check(self, raw: str, now: int, at_hand: Mapping[str, bytes | None]) -> _Checked:
        """Steps 1 to 12."""
        try:
            token = tokens.parse(raw)
        except jws.InvalidToken as error:
            raise _Refusal(Reason.MALFORMED, str(error)) from None
        signed = token.signed
        if signed is not None:
            self._check_signature(token, signed)
        try:
            return self._check_token(token, now, at_hand)
        except InvalidAudience as error:
            raise _Refusal(Reason.AUDIENCE, str(error)) from None
        except InvalidClaims as error:
            raise _Refusal(Reason.CLAIMS, str(error)) from None

    def _check_token(self, token: UnverifiedToken, now: int, at_hand: Mapping[str, bytes | None]) -> _Checked:
        """Steps 8 to 12. Raises `InvalidClaims` too."""
        given = token.claims
        aud = rules.audience(given.get("aud"))
        if self._audiences.isdisjoint(aud):
            raise _Refusal(Reason.AUDIENCE, "meant for others")
        span = rules.times(given.get("iat"), given.get("exp"))
        raw = token.raw.encode("ascii")
        token_hash = tokens.hash_bytes(raw)
        remembered = self._recall(given.get("jti"))
        if remembered != token_hash:
            _check_times(*span, now)
        claims = rules.read(given, aud, span, len(raw))
        if remembered is not None and remembered != token_hash:
            raise _Refusal(Reason.REPLAY, f"{claims.jti} was given to another token")
        matched = _match(claims, at_hand) if at_hand else _NOTHING
        signed = token.signed
        kid, level = (None, Level.L1) if signed is None else (signed.header.kid, Level.L2)
        return _Checked(Ect(claims, token.raw, token_hash, kid), level, remembered is not None, matched)

    def _recall(self, jti: Any) -> str | None:
        """Asked before the claims are checked: what is no id has no token."""
        return self._memory.recall(jti.lower()) if isinstance(jti, str) else None

    def _check_signature(self, token: UnverifiedToken, signed: jws.Unverified) -> None:
        """Steps 2 to 7."""
        header = signed.header
        if header.typ not in TYPES:
            raise _Refusal(Reason.TYPE, f"typ is {header.typ!r}")
        if header.alg not in self._algorithms:
            raise _Refusal(Reason.ALGORITHM, f"alg is {header.alg!r}")
        iss = token.claims.get("iss")
        key = self._keys.find(iss, header.kid) if isinstance(iss, str) else None
        if key is None:
            raise _Refusal(Reason.KEY_UNKNOWN, f"no key {header.kid!r} of that issuer")
        if key.low_s_only and not jws.is_low_s(header.alg, signed.signature):
            raise _Refusal(Reason.SIGNATURE, "the twin of a signature")
        if not key.public.verifies(header.alg, signed.signature, signed.signing_input):
            raise _Refusal(Reason.SIGNATURE, "wrong signature")
        if key.is_revoked:
            raise _Refusal(Reason.KEY_REVOKED, f"{header.kid!r} is revoked")
        if iss != key.issuer:
            raise _Refusal(Reason.ISSUER, f"{header.kid!r} belongs to another identity")

    def _join_tokens(self, checked: Sequence[_Checked]) -> dict[str, Accepted]:
        """Steps 13 and 14, parents first. The same token presented twice is one."""
        by_jti: dict[str, _Checked] = {}
        for item in checked:
            other = by_jti.setdefault(item.ect.claims.jti, item)
            if other.ect.token_hash != item.ect.token_hash:
                raise _Refusal(Reason.REPLAY, f"{item.ect.claims.jti} was given to two tokens")
            by_jti[item.ect.claims.jti] = item
        order = dag.in_order(_node(item, item.level) for item in by_jti.values())
        if order is None:
            raise _Refusal(Reason.CYCLE, "the tokens presented are each other's ancestors")
        accepted: dict[str, Accepted] = {}
        presented: dict[str, TokenNode] = {}
        for node in order:
            item = by_jti[node.jti]
            answer = accepted[node.jti] = self._join(item, presented)
            presented[node.jti] = _node(item, answer.level)
        return accepted

    def _join(self, item: _Checked, presented: Mapping[str, TokenNode]) -> Accepted:
        weakest = self._weakest_before(_node(item, item.level), presented) if item.ect.claims.par else None
        level = item.level if self._ledger is None else self._confirm(item, self._ledger)
        chain_level = level if weakest is None else min(level, weakest)
        if chain_level < self._minimum:
            raise _Refusal(Reason.LEVEL, f"{chain_level.name}, and {self._minimum.name} is asked for")
        return Accepted(item.ect, level, chain_level, item.is_known, item.matched)

    def _weakest_before(self, node: TokenNode, presented: Mapping[str, TokenNode]) -> Level:
        def find(jti: str) -> TokenNode | None:
            return presented.get(jti) or self._parents.node(jti)

        try:
            return dag.join(node, find, self._max_ancestors)
        except BrokenDag as error:
            raise _Refusal(Reason(error.rule), str(error)) from None

    def _confirm(self, item: _Checked, ledger: LedgerConfirmation) -> Level:
        if item.level is Level.L1:
            return Level.L1
        try:
            return Level.L3 if ledger.holds(item.ect.claims.jti, item.ect.token_hash) else Level.L2
        except EvidenceUnavailable:
            if self._minimum is Level.L3:
                raise
            return Level.L2

    def _remember(self, accepted: Accepted) -> None:
        ect = accepted.ect
        claims = ect.claims
        node = TokenNode(claims.jti, claims.iat, claims.par, claims.wid, accepted.level)
        if self._memory.remember(ect.token_hash, node) != ect.token_hash:
            raise _Refusal(Reason.REPLAY, f"{claims.jti} was given to another token meanwhile")


def _check_times(iat: int, exp: int, now: int) -> None:
    if iat > now + CLOCK_SKEW_SECONDS:
        raise _Refusal(Reason.NOT_YET, f"issued {iat - now} s ahead")
    if exp <= now:
        raise _Refusal(Reason.EXPIRED, f"expired {now - exp} s ago")
    if iat < now - MAX_AGE_SECONDS:
        raise _Refusal(Reason.TOO_OLD, f"issued {now - iat} s ago")


def _match(claims: Claims, at_hand: Mapping[str, bytes | None]) -> frozenset[str]:
    matched = set()
    for name, data in at_hand.items():
        claimed = getattr(claims, name)
        if data is None or claimed is None:
            continue
        if tokens.hash_bytes(data) != claimed:
            raise _Refusal(Reason.HASH, f"{name} is not that of the bytes at hand")
        matched.add(name)
    return frozenset(matched)


def _node(item: _Checked, level: Level) -> TokenNode:
    claims = item.ect.claims
    return TokenNode(claims.jti, claims.iat, claims.par, claims.wid, level)


class TrustedKeys:
    """Keys of several issuers, from their key sets."""

    def __init__(self, known: Mapping[tuple[str, str], KnownKey] | None = None) -> None:
        self._known = dict(known or {})

    def find(self, iss: str, kid: str) -> KnownKey | None:
        return self._known.get((iss, kid))

    def knows(self, iss: str) -> bool:
        """Whether the issuer has a key that is good."""
        return any(key.issuer == iss and not key.is_revoked for key in self._known.values())

    @classmethod
    def from_jwks(cls, sets: Mapping[str, Mapping[str, Json]]) -> "TrustedKeys":
        """Issuer → JWKS. Raises `InvalidKey` for a key that can't be used or has no `kid`."""
        known: dict[tuple[str, str], KnownKey] = {}
        for issuer, key_set in sets.items():
            keys = key_set.get("keys")
            if not isinstance(keys, list):
                raise jwk.InvalidKey("a JWKS has an array of keys")
            for item in keys:
                public = jwk.read(item)
                if public.kid is None or (issuer, public.kid) in known:
                    raise jwk.InvalidKey("each key of a JWKS has a kid of its own")
                known[issuer, public.kid] = KnownKey(public, issuer)
        return cls(known)

    @classmethod
    def of_ring(cls, ring: KeyRing) -> "TrustedKeys":
        """The keys of our own signer, revoked ones included: they are known, and refused as such."""
        known = {(ring.issuer, ring.kid): KnownKey(ring.active.public, ring.issuer, low_s_only=True)}
        for old in ring.retired:
            revoked = old.revoked_at is not None
            known[ring.issuer, old.kid] = KnownKey(jwk.read(old.public), ring.issuer, revoked, True)
        return cls(known)

    def with_revoked(self, iss: str, kid: str) -> "TrustedKeys":
        """Raises `KeyError`."""
        key = self._known[iss, kid]
        return TrustedKeys({**self._known, (iss, kid): msgspec.structs.replace(key, is_revoked=True)})

    def joined(self, other: "TrustedKeys") -> "TrustedKeys":
        return TrustedKeys({**self._known, **other._known})


class TokenMemory:
    """Accepted tokens, in this process: replay memory and parents in one."""

    def __init__(self, limit: int = 1_000_000) -> None:
        self._kept: dict[str, tuple[str, TokenNode]] = {}
        self._limit = limit

    def recall(self, jti: str) -> str | None:
        kept = self._kept.get(jti)
        return kept[0] if kept else None

    def remember(self, token_hash: str, node: TokenNode) -> str:
        # Forgetting would let a token come twice: a full memory takes no more.
        if len(self._kept) >= self._limit and node.jti not in self._kept:
            raise EvidenceUnavailable("the memory for tokens is full")
        kept_hash, kept = self._kept.setdefault(node.jti, (token_hash, node))
        if kept_hash == token_hash and kept.level < node.level:
            self._kept[node.jti] = token_hash, node
        return kept_hash

    def node(self, jti: str) -> TokenNode | None:
        kept = self._kept.get(jti)
        return kept[1] if kept else None
