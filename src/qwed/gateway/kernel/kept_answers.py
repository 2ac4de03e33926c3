"""Answers that are kept for a retry, sealed: whoever else writes to the store answers nobody."""

import functools
import hmac
import re
from typing import Final

import msgspec

from qwed.gateway.kernel.ports import Signer, SigningFailed, StoreUnavailable
from qwed.gateway.kernel.records import Remembered

_PURPOSE: Final = b"qwed kept answers"
#: It ends the answer's own object, so that an earlier version, which knows of no seal, reads JSON, too.
_SEALED: Final = re.compile(rb'(?s)(.*),"seal":"([0-9a-f]{64})"\}')
_encoder: Final = msgspec.msgpack.Encoder()


def seal_answer(signer: Signer, kept: Remembered) -> Remembered:
    sealed = b'%s,"seal":"%s"}' % (kept.body.removesuffix(b"}"), _mac(signer, kept).encode())
    return msgspec.structs.replace(kept, body=sealed)


def open_answer(signer: Signer, found: Remembered) -> Remembered:
    """As it was given. Raises `StoreUnavailable` where no gateway wrote it for this key, until this time."""
    try:
        match = _SEALED.fullmatch(found.body)
        if match is not None:
            kept = msgspec.structs.replace(found, body=match[1] + b"}")
            if hmac.compare_digest(_mac(signer, kept).encode(), match[2]):
                return kept
    except (TypeError, OverflowError, UnicodeError):
        # Whoever edits a row may leave what the gateway would not write.
        pass
    raise StoreUnavailable("what is kept under this Idempotency-Key was not written by this deployment")


def _mac(signer: Signer, kept: Remembered) -> str:
    facts = (
        kept.agent_id,
        kept.key_hash,
        kept.status,
        kept.body,
        kept.expires_ms,
        kept.retry_after_seconds,
    )
    return hmac.digest(_key(signer), _encoder.encode(facts), "sha256").hex()


@functools.lru_cache(maxsize=4)
def _key(signer: Signer) -> bytes:
    try:
        return signer.derive(_PURPOSE)
    except SigningFailed as error:
        raise StoreUnavailable("no answer can be kept: the signing key can't be used") from error
