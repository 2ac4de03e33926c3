"""A signing key that is elsewhere, such as in a cloud: it signs when the test lets it."""

import threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature


class SlowKey:
    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        #: Set when somebody waits for a signature.
        self.asked = threading.Event()
        self.may_sign = threading.Event()

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._private.public_key()

    def sign_digest(self, digest: bytes) -> tuple[int, int]:
        self.asked.set()
        self.may_sign.wait()
        return decode_dss_signature(self._private.sign(digest, ec.ECDSA(Prehashed(hashes.SHA256()))))
