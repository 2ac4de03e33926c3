"""The claims of an execution context token: what each may be, in either dialect.

Revision 00 says `par` and `ext`, revision 01 `pred` and `ect_ext`; inside it is always `par` and `ext`.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

MAX_PARENTS: Final = 100
MAX_EXT_BYTES: Final = 4_096
MAX_EXT_DEPTH: Final = 5
_MAX_TIME: Final = 2**53 - 1
#: The dialects' names for the same claim.
DIALECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "00": {"typ": "wimse-exec+jwt", "par": "par", "ext": "ext"},
    "01": {"typ": "exec+jwt", "par": "pred", "ext": "ect_ext"},
}
TYPES: Final = frozenset(dialect["typ"] for dialect in DIALECTS.values())

_HEX: Final = "[0-9A-Fa-f]"
_ONE_UUID: Final = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_UUID: Final = re.compile(_ONE_UUID)
_UUIDS: Final = re.compile(f"{_ONE_UUID}(?:,{_ONE_UUID})*")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
# 32 bytes are 43 letters, of which the last has two bits to spare: only these are canonical.
_HASH: Final = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
_ext_encoder: Final = msgspec.json.Encoder(decimal_format="number")
_sorted_encoder: Final = msgspec.json.Encoder(decimal_format="number", order="sorted")
_NO_EXT: Final[Mapping[str, Json]] = {}


class InvalidClaims(ValueError):
    """A claim breaks its rule; the message names it."""


class InvalidAudience(InvalidClaims):
    pass


class Claims(msgspec.Struct, frozen=True, gc=False):
    """Claims that follow every rule; ids are in lower case, whoever wrote them."""

    iss: str
    aud: tuple[str, ...]
    iat: int
    exp: int
    jti: str
    exec_act: str
    par: tuple[str, ...]
    wid: str | None = None
    inp_hash: str | None = None
    out_hash: str | None = None
    ext: Mapping[str, Json] = _NO_EXT


def read(
    claims: Mapping[str, Json], aud: tuple[str, ...], span: tuple[int, int], written_bytes: int | None = None
) -> Claims:
    """The other claims, once audience and times are read. Raises `InvalidClaims`.

    Claims that the drafts do not name are let through, and say nothing. `written_bytes` is how long the
    JSON was, where that is known.
    """
    get = claims.get
    jti = identifier(get("jti"), "jti")
    return Claims(
        issuer(get("iss")),
        aud,
        span[0],
        span[1],
        jti,
        action(get("exec_act")),
        parents(_either(claims, "par", "pred"), jti),
        workflow(claims["wid"]) if "wid" in claims else None,
        sha256(claims["inp_hash"], "inp_hash") if "inp_hash" in claims else None,
        sha256(claims["out_hash"], "out_hash") if "out_hash" in claims else None,
        extensions(_either(claims, "ext", "ect_ext"), written_bytes),
    )


def issuer(value: Any) -> str:
    if not isinstance(value, str) or not _is_uri(value):
        raise InvalidClaims("iss is a URI")
    return value


# Few issuers, many tokens.
@functools.lru_cache(maxsize=256)
def _is_uri(text: str) -> bool:
    return len(text) <= 2_048 and _URI.fullmatch(text) is not None


def audience(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) and value:
        return (value,)
    if isinstance(value, list) and value and all(isinstance(item, str) and item for item in value):
        return tuple(value)
    raise InvalidAudience("aud is a string or an array of strings")


def times(iat: Any, exp: Any) -> tuple[int, int]:
    # A bool is an int to Python, and not to JSON.
    if type(iat) is not int or type(exp) is not int or not 0 <= iat < exp <= _MAX_TIME:
        raise InvalidClaims("iat and exp are integers, and exp is later")
    return iat, exp


def _either(claims: Mapping[str, Json], old: str, new: str) -> Any:
    if new not in claims:
        return claims.get(old, msgspec.UNSET)
    # Compared as JSON: to Python, true is equal to 1.
    if old in claims and _sorted_encoder.encode(claims[old]) != _sorted_encoder.encode(claims[new]):
        raise InvalidClaims(f"{old} and {new} differ")
    return claims[new]


def identifier(value: Any, name: str) -> str:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise InvalidClaims(f"{name} is a UUID")
    # Upper and lower case are one id: told apart, they would be a way to come twice.
    return value.lower()


def workflow(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidClaims("wid is a UUID")
    return _workflow(value)


# Few workflows, many tokens.
@functools.lru_cache(maxsize=256)
def _workflow(text: str) -> str:
    return identifier(text, "wid")


def action(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidClaims("exec_act is a non-empty string")
    return value


def parents(value: Any, jti: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_PARENTS:
        raise InvalidClaims(f"par is an array of at most {MAX_PARENTS} ids")
    if not value:
        return ()
    try:
        joined = ",".join(value)
    except TypeError:
        raise InvalidClaims("par holds ids") from None
    ids = tuple(joined.lower().split(","))
    # As many as there were: an item with a comma in it would else pass for two.
    if not _UUIDS.fullmatch(joined) or len(ids) != len(value):
        raise InvalidClaims("par holds UUIDs")
    if jti in ids or len(set(ids)) != len(ids):
        raise InvalidClaims("par names a token twice, or its own")
    return ids


def sha256(value: Any, name: str) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise InvalidClaims(f"{name} is a SHA-256 in unpadded base64url")
    return value


def extensions(value: Any, written_bytes: int | None = None) -> Mapping[str, Json]:
    if value is msgspec.UNSET:
        return _NO_EXT
    if not isinstance(value, dict):
        raise InvalidClaims("ext is an object")
    if not _is_within(value, MAX_EXT_DEPTH):
        raise InvalidClaims(f"ext is nested deeper than {MAX_EXT_DEPTH} levels")
    # A part is not longer than the whole it was read from.
    is_short = written_bytes is not None and written_bytes <= MAX_EXT_BYTES
    if not is_short and len(_ext_encoder.encode(value)) > MAX_EXT_BYTES:
        raise InvalidClaims(f"ext takes more than {MAX_EXT_BYTES} bytes")
    return value


def _is_within(value: dict[str, Json] | list[Any], depth: int) -> bool:
    if not depth:
        return False
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list) and not _is_within(item, depth - 1):
            return False
    return True
