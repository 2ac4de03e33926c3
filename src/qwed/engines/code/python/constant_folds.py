"""Constant evaluation, bounded: what a program spells out in pieces is put together before it is judged.

Only listed functions of the standard library, which can't reach anything, are ever applied, and only to
constants whose result is known to be small. Anything else raises `NotConstant`.
"""

import ast
import base64
import binascii
import codecs
import html
import operator
import re
import string
import urllib.parse
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_LENGTH: Final = 64 * 1024
MAX_BITS: Final = 4096
MAX_WIDTH: Final = 4096
MAX_MEMBERS: Final = 4096


class NotConstant(Exception):
    """The value is not constant, or is too large to be worth computing."""


_TEXT = (str, bytes)
_CONTAINERS: Final = (list, tuple, dict, set, frozenset)
_WIDE_FORMAT: Final = re.compile(r"\d{5,}|\*")
_NESTED_FIELD: Final = re.compile(r"\{[^{}]*\{")


def binary(node: ast.operator, left: Any, right: Any) -> Any:
    """`left op right` of two constants."""
    operation = _OPERATIONS.get(type(node))
    if operation is None:
        raise NotConstant
    return _check(operation, left, right)


def method(receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`receiver.name(*args)` of a string, bytes or integer constant."""
    allowed = _METHODS.get(type(receiver))
    if allowed is None or name not in allowed:
        raise NotConstant
    _refuse_growth(receiver, name, args)
    return _check(getattr(receiver, name), *args, **kwargs)


def function(path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A listed function of constants, by its dotted path."""
    found = FUNCTIONS.get(path)
    if found is None:
        raise NotConstant
    return _check(found, *args, **kwargs)


def subscript(container: Any, index: Any) -> Any:
    return _check(operator.getitem, container, index)


def _check(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    for value in (*args, *kwargs.values()):
        if _size(value) > MAX_LENGTH:
            raise NotConstant
    try:
        result = call(*args, **kwargs)
    except NotConstant:
        raise
    # The program's own constants decide what is raised; all of it means "no constant here".
    except Exception:  # noqa: BLE001
        raise NotConstant from None
    if _size(result) > MAX_LENGTH:
        raise NotConstant
    return result


def _size(value: Any) -> int:
    if isinstance(value, int):
        return 0 if value.bit_length() <= MAX_BITS else MAX_LENGTH + 1
    if isinstance(value, _CONTAINERS):
        return _deep_size(value)
    return len(value) if isinstance(value, (str, bytes, bytearray, range)) else 0


def _deep_size(container: Any) -> int:
    """All that a container holds, shared parts as often as they stand in it, as printing it would."""
    total = 0
    waiting = [container]
    while waiting and total <= MAX_LENGTH:
        current = waiting.pop()
        total += len(current)
        if total <= MAX_LENGTH and isinstance(current, _CONTAINERS):
            members = [*current, *current.values()] if isinstance(current, dict) else current
            waiting.extend(each for each in members if isinstance(each, (*_CONTAINERS, *_TEXT)))
    return total


def _refuse_growth(receiver: Any, name: str, args: list[Any]) -> None:
    if name in ("center", "ljust", "rjust", "zfill", "expandtabs") and args:
        if not isinstance(args[0], int) or args[0] > MAX_WIDTH:
            raise NotConstant
        if name == "expandtabs" and len(receiver) * args[0] > 16 * MAX_LENGTH:
            raise NotConstant
    elif name == "replace" and len(args) > 1 and isinstance(args[1], _TEXT):
        if (len(receiver) + 1) * (len(args[1]) + 1) > 16 * MAX_LENGTH:
            raise NotConstant
    elif name in ("format", "format_map"):
        _refuse_wide(receiver, args, "{")
        if "." in receiver or "[" in receiver or _NESTED_FIELD.search(receiver):
            raise NotConstant
    elif name == "translate":
        table = args[0] if args else None
        longest = max((_size(each) for each in table.values()), default=1) if isinstance(table, dict) else 1
        if len(receiver) * (longest + 1) > 16 * MAX_LENGTH:
            raise NotConstant
    elif name == "join" and args:
        if sum(len(item) + len(receiver) for item in args[0] if isinstance(item, _TEXT)) > MAX_LENGTH:
            raise NotConstant
    elif name in ("encode", "decode"):
        for encoding in args[:1]:
            _find_codec(encoding)
    elif name == "to_bytes" and args and (not isinstance(args[0], int) or args[0] > MAX_LENGTH):
        raise NotConstant


def _refuse_wide(template: str, given: Any, mark: str) -> None:
    """Each place of a template may show all that it is given."""
    if _WIDE_FORMAT.search(template) or (template.count(mark) + 1) * (_size(given) + 64) > 16 * MAX_LENGTH:
        raise NotConstant


def _multiply(left: Any, right: Any) -> Any:
    for sequence, count in ((left, right), (right, left)):
        sized = isinstance(sequence, (str, bytes, list, tuple))
        if sized and (not isinstance(count, int) or len(sequence) * count > MAX_LENGTH):
            raise NotConstant
    return left * right


def _power(left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and (right > MAX_BITS or left.bit_length() * max(right, 1) > MAX_BITS):
        raise NotConstant
    return left**right


def _shift(left: Any, right: Any) -> Any:
    if not isinstance(right, int) or right > MAX_BITS:
        raise NotConstant
    return left << right


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, _TEXT):
        given = right if isinstance(right, (tuple, dict)) else (right,)
        _refuse_wide(left if isinstance(left, str) else left.decode("latin-1"), given, "%")
    return left % right


_OPERATIONS: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
    ast.LShift: _shift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}

_SHARED_METHODS: Final = frozenset(
    [
        "capitalize",
        "center",
        "count",
        "endswith",
        "expandtabs",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdigit",
        "islower",
        "isspace",
        "istitle",
        "isupper",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "translate",
        "upper",
        "zfill",
    ]
)
_METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: _SHARED_METHODS | {"casefold", "encode", "format", "isdecimal", "isidentifier", "isnumeric"},
    bytes: _SHARED_METHODS | {"decode", "hex"},
    int: frozenset({"bit_length", "to_bytes", "conjugate"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}


def _range(*bounds: int) -> list[int]:
    made = range(*bounds)
    if len(made) > MAX_MEMBERS:
        raise NotConstant
    return list(made)


def _chr(code: int) -> str:
    return chr(code)


def _inflate(data: bytes, *_: Any) -> bytes:
    for wbits in (47, -15):
        engine = zlib.decompressobj(wbits)
        try:
            return _whole(engine, engine.decompress(data, MAX_LENGTH))
        except zlib.error:
            continue
    raise NotConstant


def _whole(engine: Any, made: bytes) -> bytes:
    # A decompression bomb is not unpacked further than the largest text we would read.
    if engine.unconsumed_tail:
        raise NotConstant
    return made


def _decode(data: Any, encoding: str = "utf-8", *_: Any) -> Any:
    name = encoding.lower().replace("-", "_")
    if name in ("zlib", "zip", "zlib_codec"):
        return _inflate(data)
    return codecs.decode(data, _find_codec(encoding))


def _encode(data: Any, encoding: str = "utf-8", *_: Any) -> Any:
    return codecs.encode(data, _find_codec(encoding))


def _find_codec(encoding: str) -> str:
    # An unlisted name would make the codec machinery import a module of that name.
    if encoding.lower().replace("-", "_") not in _CODECS:
        raise NotConstant
    return encoding


_CODECS: Final = frozenset(
    [
        "ascii",
        "utf_8",
        "utf8",
        "u8",
        "utf_8_sig",
        "utf_16",
        "utf_16_le",
        "utf_16_be",
        "utf_32",
        "utf_32_le",
        "utf_32_be",
        "utf_7",
        "latin_1",
        "latin1",
        "iso_8859_1",
        "iso8859_1",
        "cp1252",
        "cp437",
        "rot13",
        "rot_13",
        "hex",
        "hex_codec",
        "base64",
        "base_64",
        "base64_codec",
        "unicode_escape",
        "raw_unicode_escape",
    ]
)


def _int(value: Any = 0, base: Any = 10) -> int:
    if isinstance(value, _TEXT):
        if len(value) > 1000:
            raise NotConstant
        return int(value, base)
    return int(value)


def _bytes(value: Any = b"", encoding: str = "utf-8", *_: Any) -> bytes:
    if isinstance(value, int):
        if value > MAX_LENGTH:
            raise NotConstant
        return bytes(value)
    return value.encode(_find_codec(encoding)) if isinstance(value, str) else bytes(value)


def _str(value: Any = "", *encoding: str) -> str:
    return str(value, _find_codec(encoding[0])) if encoding else str(value)


def _format(value: Any, spec: str = "") -> str:
    if _WIDE_FORMAT.search(spec):
        raise NotConstant
    return format(value, spec)


def _round(value: Any, places: int | None = None) -> Any:
    if places is not None and abs(places) > MAX_BITS:
        raise NotConstant
    return round(value, places)


def _sum(values: Any, start: Any = 0) -> Any:
    if not all(isinstance(each, (int, float)) for each in (*values, start)):
        raise NotConstant
    return sum(values, start)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "builtins.abs": abs,
    "builtins.all": all,
    "builtins.any": any,
    "builtins.ascii": ascii,
    "builtins.bin": bin,
    "builtins.bool": bool,
    "builtins.bytearray": _bytes,
    "builtins.bytes": _bytes,
    "builtins.chr": _chr,
    "builtins.divmod": divmod,
    "builtins.float": float,
    "builtins.format": _format,
    "builtins.hex": hex,
    "builtins.int": _int,
    "builtins.len": len,
    "builtins.list": list,
    "builtins.max": max,
    "builtins.min": min,
    "builtins.oct": oct,
    "builtins.ord": ord,
    "builtins.range": _range,
    "builtins.repr": repr,
    "builtins.reversed": lambda value: list(reversed(value)),
    "builtins.round": _round,
    "builtins.slice": slice,
    "builtins.sorted": sorted,
    "builtins.str": _str,
    "builtins.sum": _sum,
    "builtins.tuple": tuple,
    "builtins.zip": lambda *values: list(zip(*values, strict=False)),
    "builtins.enumerate": lambda values, start=0: list(enumerate(values, start)),
    "builtins.bytes.fromhex": bytes.fromhex,
    "builtins.bytearray.fromhex": bytes.fromhex,
    "builtins.str.maketrans": str.maketrans,
    "builtins.bytes.maketrans": bytes.maketrans,
    "builtins.int.from_bytes": int.from_bytes,
    "base64.b64decode": lambda data, *_, **__: base64.b64decode(data),
    "base64.standard_b64decode": base64.standard_b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.decodebytes": base64.decodebytes,
    "base64.b32decode": lambda data, *_, **__: base64.b32decode(data),
    "base64.b16decode": lambda data, *_, **__: base64.b16decode(data, casefold=True),
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": lambda data, *_, **__: base64.a85decode(data),
    "base64.b64encode": base64.b64encode,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.a2b_hex,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.hexlify": binascii.hexlify,
    "codecs.decode": _decode,
    "codecs.encode": _encode,
    "html.unescape": html.unescape,
    "urllib.parse.unquote": urllib.parse.unquote,
    "urllib.parse.unquote_plus": urllib.parse.unquote_plus,
    "urllib.parse.quote": urllib.parse.quote,
    "zlib.decompress": _inflate,
    "gzip.decompress": _inflate,
}

CONSTANTS: Final[Mapping[str, Any]] = {
    "string.ascii_letters": string.ascii_letters,
    "Crypto.Cipher.AES.block_size": 16,
    "Crypto.Cipher.DES3.block_size": 8,
    "string.ascii_lowercase": string.ascii_lowercase,
    "string.ascii_uppercase": string.ascii_uppercase,
    "string.digits": string.digits,
    "string.hexdigits": string.hexdigits,
    "string.printable": string.printable,
    "string.punctuation": string.punctuation,
    "string.whitespace": string.whitespace,
    "os.sep": "/",
    "os.linesep": "\n",
    "os.curdir": ".",
    "os.pardir": "..",
    "os.name": "posix",
}
