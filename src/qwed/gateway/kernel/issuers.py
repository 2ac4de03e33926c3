"""Who may sign the tokens that requests bring."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.ect import jwk
from qwed.ect.signatures import keys_of
from qwed.ect.verifier import DEFAULT_ALGORITHMS, SUPPORTED_ALGORITHMS, TrustedKeys
from qwed.ledger.notes import COSIGNS, InvalidNote, NoteKey, read_vkey


class Issuers(msgspec.Struct, frozen=True):
    """Whose tokens are accepted beside those of registered agents, and in which algorithms."""

    keys: TrustedKeys = msgspec.field(default_factory=TrustedKeys)
    algorithms: frozenset[str] = DEFAULT_ALGORITHMS
    witnesses: Mapping[str, jwk.PublicKey] = msgspec.field(default_factory=dict)
    #: Those that sign notes (C2SP tlog-cosignature).
    note_witnesses: tuple[NoteKey, ...] = ()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    issuers: dict[str, dict[str, Any]] = {}
    algorithms: list[str] = msgspec.field(default_factory=lambda: sorted(DEFAULT_ALGORITHMS))
    witnesses: dict[str, Any] | None = None
    note_witnesses: list[str] = []


def read_issuers(text: str) -> Issuers:
    """From JSON: `issuers` (issuer → JWKS), `algorithms`, `witnesses` (a JWKS), `note_witnesses` (vkeys).

    Raises `ValueError`.
    """
    try:
        given = msgspec.json.decode(text, type=_File)
        keys = TrustedKeys.from_jwks(given.issuers)
        witnesses = keys_of(given.witnesses) if given.witnesses is not None else {}
        noting = tuple(read_vkey(text) for text in given.note_witnesses)
        if any(key.kind != COSIGNS for key in noting):
            raise InvalidNote("the key of a witness is of kind 4: `qwed witness key` prints it")
    except (msgspec.MsgspecError, jwk.InvalidKey, InvalidNote) as error:
        raise ValueError(str(error)) from None
    names = frozenset(map(jwk.canonical_name, given.algorithms))
    if not names or not names <= SUPPORTED_ALGORITHMS:
        raise ValueError(f"algorithms are among {', '.join(sorted(SUPPORTED_ALGORITHMS))}")
    return Issuers(keys, names, witnesses, noting)
