"""Hashes, ciphers, keys and tokens that are weak whatever the input is."""

import re
from typing import Any, Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.values import Const, Items, PythonTable, PythonValue, Ref

_HARMLESS_HASH: Final = re.compile(
    r"checksum|etag|cache|finger_?print|dedup|gravatar|content|file|chunk|bucket|shard|short|color|"
    r"path|block|cksum|memo",
    re.I,
)


def weak_hash(run: Interpreter, call: PythonCall) -> PythonValue | None:
    name = call.path.rpartition(".")[2]
    if name == "new":
        algorithm = call.argument(0, "name")
        if not (
            isinstance(algorithm, Const)
            and str(algorithm.data).lower() in ("md4", "md5", "sha", "sha1", "ripemd160")
        ):
            return None
    used = call.kwargs.get("usedforsecurity")
    if isinstance(used, Const) and used.data is False:
        return None
    if _is_harmless_hash(run, call):
        return None
    run.harm("weak-hash", call.line)
    return None


def _is_harmless_hash(run: Interpreter, call: PythonCall) -> bool:
    around = f"{run.function_names[-1] if run.function_names else ''} {run.text(call.line)}"
    return _HARMLESS_HASH.search(around) is not None and not re.search(
        r"passw|secret|token|sign", around, re.I
    )


def salted_hash(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """A fast hash is no way to keep a password, however strong the hash."""
    data = call.argument(0)
    if data is not None and any(re.search(r"passw|pwd", origin.text, re.I) for origin in data.taint):
        run.harm("fast-password-hash", call.line, data.taint)
    return None


def key_derivation(run: Interpreter, call: PythonCall) -> PythonValue | None:
    rounds = call.argument(3, "iterations")
    salt = call.argument(2, "salt")
    if isinstance(rounds, Const) and isinstance(rounds.data, int) and rounds.data < 1000:
        run.harm("weak-key-derivation", call.line)
    if isinstance(salt, Const):
        run.harm("constant-salt", call.line)
    return None


def weak_cipher(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.harm("weak-cipher", call.line)
    return None


def cipher_mode(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`AES.new(key, mode, iv)`."""
    mode = call.argument(1, "mode")
    if isinstance(mode, Ref) and mode.path.endswith("MODE_ECB"):
        run.harm("weak-cipher", call.line)
    _judge_key(run, call, call.argument(0, "key"))
    iv = call.argument(2, "iv") or call.kwargs.get("nonce")
    if isinstance(iv, Const):
        run.harm("constant-iv", call.line)
    return None


def constant_iv(run: Interpreter, call: PythonCall) -> PythonValue | None:
    if isinstance(call.argument(0), Const):
        run.harm("constant-iv", call.line)
    return None


def constant_key(run: Interpreter, call: PythonCall) -> PythonValue | None:
    _judge_key(run, call, call.argument(0, "key"))
    return None


def _judge_key(run: Interpreter, call: PythonCall, key: PythonValue | None) -> None:
    if isinstance(key, Const) and isinstance(key.data, (str, bytes)) and key.data:
        run.harm("hard-coded-secret", call.line)


def key_size(run: Interpreter, call: PythonCall) -> PythonValue | None:
    sizes = [
        value.data for value in call.everything if isinstance(value, Const) and isinstance(value.data, int)
    ]
    sizes = [size for size in sizes if size != 65537 and size >= 256]
    if sizes and max(sizes) < 2048:
        run.harm("weak-key-size", call.line)
    return None


def jwt_decode(run: Interpreter, call: PythonCall) -> PythonValue | None:
    options = call.kwargs.get("options")
    verify = call.kwargs.get("verify")
    if isinstance(options, PythonTable):
        verify = options.entries.get("verify_signature", verify)
    if isinstance(verify, Const) and verify.data is False:
        run.harm("unverified-token", call.line)
    algorithms = call.argument(2, "algorithms")
    named = algorithms.items if isinstance(algorithms, Items) else [algorithms]
    if any(isinstance(name, Const) and str(name.data).lower() == "none" for name in named):
        run.harm("unverified-token", call.line)
    return None


def jwt_encode(run: Interpreter, call: PythonCall) -> PythonValue | None:
    key = call.argument(1, "key")
    algorithm = call.argument(2, "algorithm")
    if isinstance(algorithm, Const) and str(algorithm.data).lower() == "none":
        run.harm("unverified-token", call.line)
    _judge_key(run, call, key)
    return None


def unverified(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.harm("unverified-token", call.line)
    return None


def weak_curve(run: Interpreter, path: str, line: int) -> None:
    run.harm("weak-key-size", line)


_WEAK_CIPHERS: Final = (
    "Crypto.Cipher.DES.new",
    "Crypto.Cipher.DES3.new",
    "Crypto.Cipher.ARC4.new",
    "Crypto.Cipher.ARC2.new",
    "Crypto.Cipher.Blowfish.new",
    "Crypto.Cipher.XOR.new",
    "Crypto.Cipher.CAST.new",
    "cryptography.hazmat.primitives.ciphers.algorithms.ARC4",
    "cryptography.hazmat.primitives.ciphers.algorithms.Blowfish",
    "cryptography.hazmat.primitives.ciphers.algorithms.IDEA",
    "cryptography.hazmat.primitives.ciphers.algorithms.TripleDES",
    "cryptography.hazmat.primitives.ciphers.algorithms.CAST5",
    "cryptography.hazmat.primitives.ciphers.algorithms.SEED",
    "cryptography.hazmat.primitives.ciphers.modes.ECB",
    "pyDes.des",
    "crypt.crypt",
)
_WEAK_HASHES: Final = (
    "hashlib.md5",
    "hashlib.md4",
    "hashlib.sha1",
    "hashlib.new",
    "Crypto.Hash.MD5.new",
    "Crypto.Hash.MD4.new",
    "Crypto.Hash.MD2.new",
    "Crypto.Hash.SHA.new",
    "Crypto.Hash.SHA1.new",
    "cryptography.hazmat.primitives.hashes.MD5",
    "cryptography.hazmat.primitives.hashes.SHA1",
    "md5.new",
    "sha.new",
)
_WEAK_CURVES: Final = ("SECT163K1", "SECT163R2", "SECP192R1", "SECT233K1", "SECT233R1")
CALLS: dict[str, Rule] = {
    **dict.fromkeys(_WEAK_CIPHERS, weak_cipher),
    **dict.fromkeys(_WEAK_HASHES, weak_hash),
    "hashlib.sha256": salted_hash,
    "hashlib.sha512": salted_hash,
    "hashlib.sha224": salted_hash,
    "hashlib.pbkdf2_hmac": key_derivation,
    "Crypto.Cipher.AES.new": cipher_mode,
    "cryptography.hazmat.primitives.ciphers.modes.CBC": constant_iv,
    "cryptography.hazmat.primitives.ciphers.modes.CTR": constant_iv,
    "cryptography.hazmat.primitives.ciphers.modes.GCM": constant_iv,
    "cryptography.hazmat.primitives.ciphers.algorithms.AES": constant_key,
    "cryptography.fernet.Fernet": constant_key,
    "hmac.new": constant_key,
    "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key": key_size,
    "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key": key_size,
    "Crypto.PublicKey.RSA.generate": key_size,
    "Crypto.PublicKey.DSA.generate": key_size,
    "jwt.decode": jwt_decode,
    "jwt.encode": jwt_encode,
    "python_jwt.process_jwt": unverified,
    "jwt.get_unverified_claims": unverified,
    "jose.jwt.get_unverified_claims": unverified,
    "ssl._create_unverified_context": lambda run, call: None,
}
MENTIONS: dict[str, Any] = {
    **{f"cryptography.hazmat.primitives.asymmetric.ec.{curve}": weak_curve for curve in _WEAK_CURVES},
}
