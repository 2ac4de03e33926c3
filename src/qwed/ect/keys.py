"""Where signing keys come from (`file:`, `env:`, an HSM, a cloud), and the ring of a node's keys over time.

A private key file is read by its owner alone; nothing here writes, logs or quotes what is in it.
"""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from qwed.ect import jwk, jws
from qwed.ect.jwk import PublicKey
from qwed.ect.remote_keys import KeyUnusable as KeyUnusable
from qwed.ect.remote_keys import is_remote, open_remote
from qwed.ect.signing_keys import SigningKey

_MAKERS: Final[Mapping[str, Callable[[], SigningKey]]] = {
    "ES256": lambda: SigningKey(ec.generate_private_key(ec.SECP256R1())),
    "ES384": lambda: SigningKey(ec.generate_private_key(ec.SECP384R1())),
    "Ed25519": lambda: SigningKey(ed25519.Ed25519PrivateKey.generate()),
}


#: What a record key follows from a signing key for.
RECORD_PURPOSE: Final = b"qwed-record-key"
#: What the ledger's Ed25519 key follows from it for.
LOG_PURPOSE: Final = b"qwed-log-key"


def generate(algorithm: str = "ES256") -> SigningKey:
    maker = _MAKERS.get(jwk.canonical_name(algorithm))
    if maker is None:
        raise KeyUnusable(f"keys are made for {', '.join(sorted(_MAKERS))}, not {algorithm!r}")
    return maker()


def load(uri: str, environ: Mapping[str, str]) -> SigningKey:
    """The key that a URI leads to: `file:PATH` or `env:NAME` of an unencrypted PEM, `pkcs11:` in an HSM,
    `awskms:` or `gcpkms:` in a cloud. Raises `KeyUnusable`."""
    if is_remote(uri):
        return try_key(SigningKey(open_remote(uri, environ)))
    scheme, _, rest = uri.partition(":")
    if scheme == "file" and rest:
        return load_file(Path(rest.removeprefix("//")))
    if scheme == "env" and rest:
        if rest not in environ:
            raise KeyUnusable(f"the environment has no {rest}")
        return _from_pem(environ[rest].encode(), f"the variable {rest}")
    # The URI itself may be a key, put there by mistake: it is not quoted.
    raise KeyUnusable("a signing key is given as file:PATH, env:NAME, pkcs11:…, awskms:… or gcpkms:…")


def try_key(key: SigningKey) -> SigningKey:
    """At the start, not at the first decision: may it sign, and is the public key the right one?"""
    if not key.public.verifies(key.algorithm, key.sign(LOG_PURPOSE), LOG_PURPOSE):
        raise KeyUnusable("what the key signs does not verify with the public key that was given for it")
    return key


def load_file(path: Path) -> SigningKey:
    """Raises `KeyUnusable`."""
    try:
        return _load(path)
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be read: {error.strerror}") from None


def load_or_create(path: Path) -> SigningKey:
    """The key in the file; made, and made durable, where there is none. Raises `KeyUnusable`."""
    try:
        return _load(path)
    except FileNotFoundError:
        return _create(path)
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be read: {error.strerror}") from None


def save(key: SigningKey, path: Path) -> None:
    """To a new file, mode 0600, durably. Raises `KeyUnusable`, also when there is a file already."""
    try:
        write_new(path, key.unsafe_pem())
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be written: {error.strerror}") from None


def _load(path: Path) -> SigningKey:
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    if not is_private(mode, found.st_uid, os.geteuid()):
        raise KeyUnusable(f"others can read the signing key {path} (mode {mode:03o}): chmod 600 it")
    return _from_pem(path.read_bytes(), str(path))


def is_private(mode: int, owner: int, reader: int) -> bool:
    """Only its owner may have a key, or, where root hands it to another user, the group that it is handed to.

    Kubernetes mounts a Secret that way: root owns the file, and the pod's group reads it.
    """
    handed_over = owner == 0 and reader != 0
    return not mode & (0o037 if handed_over else 0o077)


def _from_pem(pem: bytes, source: str) -> SigningKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyUnusable(f"{source} is not an unencrypted private key in PEM") from None
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return SigningKey(key)
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in ("secp256r1", "secp384r1"):
        return SigningKey(key)
    raise KeyUnusable(f"{source} is not a P-256, P-384 or Ed25519 key: move it away, and a new one is made")


def _create(path: Path) -> SigningKey:
    key = generate()
    try:
        write_new(path, key.unsafe_pem())
    except FileExistsError:
        # Of two processes that start together, one makes the key and the other reads it.
        return load_file(path)
    except OSError as error:
        raise KeyUnusable(f"the signing key {path} can't be written: {error.strerror}") from None
    return key


def write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RetiredKey(msgspec.Struct, frozen=True):
    """A key that signs no more. It stays published, so that what it signed can be verified, until revoked."""

    kid: str
    public: dict[str, str]
    retired_at: int
    revoked_at: int | None = None


class KeyRing:
    """One issuer's keys: one that signs, those that did. A value: changes make a new ring."""

    def __init__(
        self,
        issuer: str,
        active: SigningKey,
        retired: tuple[RetiredKey, ...] = (),
        log_seed: bytes | None = None,
        root: bytes | None = None,
    ) -> None:
        self.issuer = issuer
        self.active = active
        self._log_seed = log_seed
        #: What other keys follow from where the signing key itself is not here.
        self._root = root
        self.kid = f"{issuer}#{active.public.thumbprint()}"
        if any(old.kid == self.kid and old.revoked_at is not None for old in retired):
            raise KeyUnusable(f"{self.kid} was revoked: move its file away, and a new key is made")
        # A rotation that stopped half-way leaves the key that signs among the retired ones.
        self.retired = tuple(old for old in retired if old.kid != self.kid)
        self._public = {self.kid: active.public}
        self._public |= {old.kid: jwk.read(old.public) for old in self.retired if old.revoked_at is None}

    def __repr__(self) -> str:
        return f"KeyRing({self.kid!r}, {len(self.retired)} retired)"

    @property
    def is_remote(self) -> bool:
        return self.active.is_remote

    def sign(self, typ: str, claims: dict[str, Any]) -> str:
        return self.active.compact_claims(self.kid, typ, claims)

    def derive(self, purpose: bytes) -> bytes:
        """A secret of 32 bytes for one purpose, which ends with the key it follows from."""
        root = self._root or self.active.unsafe_pem()
        return HKDF(hashes.SHA256(), 32, salt=None, info=purpose).derive(root)

    def log_seed(self) -> bytes:
        """Of the Ed25519 key that signs the ledger for witnesses: it stays when the signing key changes."""
        return self._log_seed or self.derive(LOG_PURPOSE)

    def public(self, kid: str) -> PublicKey | None:
        """A key that signs or did, and is not revoked."""
        return self._public.get(kid)

    def known(self) -> dict[str, PublicKey]:
        """Every key that ever signed for this issuer, the revoked ones too."""
        return {**{old.kid: jwk.read(old.public) for old in self.retired}, **self._public}

    def jwks(self) -> dict[str, Any]:
        """The keys that sign or did. `exp` says since when a key signs no more."""
        ended = {old.kid: {"exp": old.retired_at} for old in self.retired}
        return {
            "keys": [{**key.publish(), "kid": kid, **ended.get(kid, {})} for kid, key in self._public.items()]
        }

    def verify(self, typ: str, token: str) -> dict[str, Any] | None:
        """The claims of a token that one of these keys signed, else None."""
        try:
            unverified = jws.parse(token)
            key = self.public(unverified.header.kid)
            if unverified.header.typ != typ or key is None:
                return None
            return jws.claims_of(jws.verify_signature(unverified, key, key.algorithms, low_s_only=True))
        except jws.InvalidToken:
            return None

    def forged(self, typ: str, token: str) -> dict[str, Any] | None:
        """The claims of a token that names one of these keys and that the key did not sign, else None."""
        try:
            unverified = jws.parse(token)
            if unverified.header.typ != typ or self.public(unverified.header.kid) is None:
                return None
            claims = jws.claims_of(unverified.payload)
        except jws.InvalidToken:
            return None
        return claims if self.verify(typ, token) is None else None

    def rotated(self, new: SigningKey, at: int) -> "KeyRing":
        """`new` signs from now on. Raises `KeyUnusable` for a key the ring has already seen."""
        kid = f"{self.issuer}#{new.public.thumbprint()}"
        if kid == self.kid or any(old.kid == kid for old in self.retired):
            raise KeyUnusable(f"{kid} is not a new key")
        old = RetiredKey(self.kid, self.active.public.jwk, at)
        return KeyRing(self.issuer, new, (*self.retired, old), self.log_seed())

    def revoked(self, kid: str, at: int) -> "KeyRing":
        """Nothing that `kid` signed is accepted any more. Raises `KeyUnusable`."""
        if kid == self.kid:
            raise KeyUnusable(f"{kid} signs: rotate it first, then revoke it")
        if not any(old.kid == kid for old in self.retired):
            raise KeyUnusable(f"the ring has no key {kid}")
        retired = (
            msgspec.structs.replace(old, revoked_at=at) if old.kid == kid and old.revoked_at is None else old
            for old in self.retired
        )
        return KeyRing(self.issuer, self.active, tuple(retired), self._log_seed, self._root)


def node_issuer(node_name: str) -> str:
    return f"did:qwed:node:{node_name}"


class NodeSigner(KeyRing):
    """The ring of one node of a deployment."""

    def __init__(self, key: SigningKey, node_name: str, retired: tuple[RetiredKey, ...] = ()) -> None:
        super().__init__(node_issuer(node_name), key, retired)
