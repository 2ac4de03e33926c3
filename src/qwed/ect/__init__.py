"""Execution context tokens: issued, read, verified, and the keys that sign them."""

from qwed.ect.claims import Claims, InvalidClaims
from qwed.ect.dag import Ancestors, BrokenDag, TokenNode, ancestors
from qwed.ect.header import HeaderTooLarge, PresentedTokens, read_header, write_header
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing, KeyUnusable, NodeSigner, generate, load
from qwed.ect.tokens import Ect, Level, UnverifiedToken, hash_bytes, issue, parse
from qwed.ect.verifier import (
    GENERIC_REFUSAL,
    Accepted,
    EvidenceUnavailable,
    KnownKey,
    Reason,
    RefusedToken,
    TokenMemory,
    TrustedKeys,
    Unavailable,
    Verifier,
)

__all__ = [
    "GENERIC_REFUSAL",
    "Accepted",
    "Ancestors",
    "BrokenDag",
    "Claims",
    "Ect",
    "EvidenceUnavailable",
    "HeaderTooLarge",
    "InvalidClaims",
    "InvalidToken",
    "KeyRing",
    "KeyUnusable",
    "KnownKey",
    "Level",
    "NodeSigner",
    "PresentedTokens",
    "Reason",
    "RefusedToken",
    "TokenMemory",
    "TokenNode",
    "TrustedKeys",
    "Unavailable",
    "UnverifiedToken",
    "Verifier",
    "ancestors",
    "generate",
    "hash_bytes",
    "issue",
    "load",
    "parse",
    "read_header",
    "write_header",
]
