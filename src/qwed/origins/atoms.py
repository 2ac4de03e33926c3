"""The values in a text that can be recognised wherever they turn up again.

Two spellings of one value are one atom: letter case, Unicode forms, blanks, percent, base64 and hexadecimal
coding. All patterns are linear, and a text yields a bounded number of atoms.
"""

import enum
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import compact_skeleton, skeleton
from qwed.domain.text_forms import canonical, decodings, is_disguised
from qwed.engines.words import words
from qwed.origins.amounts import plain_amount, read_amount, read_amounts
from qwed.origins.spellings import decode_digits, fold_signs, loosen, plain_host, unwrap

#: A text says no more than this; the rest is not read.
MAX_ATOMS: Final = 20_000
#: What encodings hide is looked for in pieces of this length, which overlap.
WINDOW: Final = 65_536
_OVERLAP: Final = 4_096
MAX_NAME: Final = 80
MAX_WORDS: Final = 6


class AtomKind(enum.StrEnum):
    EMAIL = "email"
    HOST = "host"
    URL = "url"
    #: IBAN, card and account numbers, telephone numbers: letters and digits without what sets them apart.
    NUMBER = "number"
    #: A long word of letters and digits: a wallet, a key, an identifier.
    TOKEN = "token"  # noqa: S105  (a kind of value)
    AMOUNT = "amount"
    DATE = "date"
    PATH = "path"
    #: A name in quotation marks, a whole field of a record, or words that the user wrote in a row.
    NAME = "name"
    #: The last digits of a number that may be written with or without its country.
    TAIL = "tail"
    #: What a value with letters of other scripts looks like. It is never the value itself.
    LOOK = "look"


class Atom(NamedTuple):
    kind: AtomKind
    value: str


_EMAIL: Final = r"(?P<email>[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+)"
_LONG_WORD: Final = r"(?P<token>(?<!\w)(?=[A-Za-z]{0,24}\d)[A-Za-z0-9]{24,100}(?!\w))"
_URL: Final = r"(?P<url>[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s<>\"'`{}|\\^]{1,2048})"
_DATE: Final = r"(?P<date>(?<!\d)\d{4}-\d{2}-\d{2}(?!\d))"
_PATH: Final = r"(?P<path>(?<![\w/.~])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@+%-]+(?:[/\\][\w.@+%-]+)*[/\\]?)"
#: With a folder: a hidden one, or a file with an ending. Anything else is `and/or`.
_RELATIVE: Final = (
    r"(?P<relative>(?<![\w/\\.~@+%-])(?:\.[A-Za-z][\w.@+%-]{0,99}(?:[/\\][\w.@+%-]{1,100}){1,20}"
    r"|[\w@+%-][\w.@+%-]{0,99}(?:[/\\][\w.@+%-]{1,100}){0,20}[/\\][\w@+%-][\w.@+%-]{0,99}\.[A-Za-z]\w{0,7}))"
)
_IP: Final = (
    r"(?P<ip>(?<![\w.,])(?:\d{1,3}\.){3}\d{1,3}(?!\w|[.,]\d)(?::\d{1,5})?(?:/[^\s<>\"'`{}|\\^]{0,2048})?)"
)
_HOST: Final = (
    r"(?P<host>(?<![\w.-])(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}(?![\w-])(?::\d{1,5})?"
    r"(?:/[^\s<>\"'`{}|\\^]{0,2048})?)"
)
_IBAN: Final = (
    r"(?P<iban>(?<!\w)[A-Za-z]{2}\d{2}(?:[A-Za-z0-9]{8,30}(?!\w)"
    # In groups of four; only the first may be letters alone, so that no word behind it is taken along.
    r"|[ ._-][A-Za-z0-9]{4}(?:[ ._-](?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{4}){1,6}"
    r"(?:[ ._-](?=[A-Za-z]{0,2}\d)[A-Za-z0-9]{1,3})?(?!\w)))"
)
_DIGITS: Final = r"(?P<digits>(?<![\w.,])\+?\(?\d(?:[ ()/.-]{0,2}\d){6,22}(?![\w]))"
_CURRENCY: Final = r"(?:EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK)"
_AMOUNT: Final = (
    rf"(?P<amount>(?<![\w.,]){_CURRENCY}?(?:\d{{1,3}}(?:[,'’ _]\d{{2,3}})*[,'’ _]\d{{3}}(?:\.\d{{1,9}})?"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,9}|\d{1,3}(?:\.\d{3}){2,}"
    rf"|\d{{1,12}}(?:[.,]\d{{1,9}})?)(?:{_CURRENCY}|[kKmM])?(?!\w))"
)
_QUOTED: Final = r"(?P<quoted>['\"‘“«„](?P<inner>[^'\"’”»“\n]{2,80})['\"’”»“])"
_FORMS = lazy_pattern(
    "|".join((_EMAIL, _URL, _DATE, _PATH, _IP, _HOST, _RELATIVE, _IBAN, _LONG_WORD, _DIGITS, _AMOUNT))
)
_QUOTES = lazy_pattern(_QUOTED)
_WORD = lazy_pattern(r"\w+(?:[.@+%/:-]+\w+)*")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]{1,15}://")
_HINT = lazy_pattern(r"[\d@/\\]|\w\.\w")
#: Words and what ends a sentence: neither an atom nor an encoding stands in them, unless a dot is spelled
#: out. What mixes small letters and capitals in a long word may be base64.
_BARE_WORDS = lazy_pattern(
    r"(?:[a-z ,;:!?'\"()]++|(?<![A-Za-z]{16})\n|(?<=[A-Za-z])\.(?![A-Za-z])"
    r"|(?<![A-Za-z])(?:[A-Z]{2,11}(?![A-Za-z])|[A-Z](?![A-Za-z]{11})))*+"
)
#: An address as it is nearly always written; nothing else stands in it, and no part may be an encoding.
_SIMPLE_ADDRESS = lazy_pattern(
    r"[a-z0-9]{1,11}(?:\.[a-z0-9]{1,11}){0,3}@(?:[a-z0-9]{1,11}\.){1,4}[a-z]{2,11}"
)
#: Shorter runs of digits are no account and no telephone number.
_MIN_ACCOUNT: Final = 7
#: A dotted name that ends so is a file's, not a host's.
_FILE_ENDINGS: Final = words(
    "txt md doc docx xls xlsx ppt pptx pdf csv tsv json xml yaml yml html htm png jpg jpeg gif svg zip gz tar"
    " log ini cfg conf toml py js ts java rb go rs c h cpp sh bat ps eml ics vcf odt ods rtf mp3 mp4 wav mov"
    " bak tmp sql db"
)
#: `example.com.They wrote`: a sentence that begins without a blank.
_NEXT_SENTENCE = lazy_pattern(r"(?<=\.[a-z]{2})\.[A-Z][a-z]*$|(?<=\.[a-z]{3})\.[A-Z][a-z]*$")
_BANK_CODE: Final = 4
_TAIL: Final = 8
_PHONE: Final = 15
_MIN_DIGITS: Final = 4
_IBAN_APART = lazy_pattern(r"[ ._-]")
_HOST_END = lazy_pattern(r"[/?#:]")
_TRAILING: Final = ".,;:!?)]}>'\""


def atoms_in(text: str) -> Iterator[Atom]:
    """Every atom in a text, also in what its encodings hide; not always each once."""
    if (simple := _read_simple(text)) is not None:
        yield from simple
        return
    if _BARE_WORDS.fullmatch(text) is not None and "dot" not in text and "DOT" not in text:
        return
    folded = canonical(text)
    yield from _readings(folded)
    for start in range(0, len(folded), WINDOW):
        piece = unwrap(folded[max(0, start - _OVERLAP) : start + WINDOW])
        if is_disguised(piece):
            for decoded in decodings(piece):
                yield from _readings(decoded)


def _read_simple(text: str) -> Iterable[Atom] | None:
    if len(text) < _MIN_ACCOUNT and (amount := plain_amount(text)) is not None:
        return (Atom(AtomKind.AMOUNT, amount),)
    return _read_email(text) if "@" in text and _SIMPLE_ADDRESS.fullmatch(text) is not None else None


def _readings(text: str) -> list[Atom]:
    text = fold_signs(text)
    found = _plain_atoms(text)
    if (loose := loosen(text)) is not None:
        found += _plain_atoms(loose)
    if (decoded := decode_digits(text)) is not None:
        found += _plain_atoms(decoded)
    return found


def find_quoted_names(text: str) -> Iterator[Atom]:
    """The names that a text sets in quotation marks."""
    for match in _QUOTES.finditer(canonical(text)):
        if (atom := name_of(match.group("inner"))) is not None:
            yield atom


def name_of(text: str) -> Atom | None:
    """A short text as a name: what it looks like, without what sets its words apart."""
    if not 0 < len(text) <= MAX_NAME:
        return None
    folded = compact_skeleton(text.strip(_TRAILING + "@ \t\n"))
    return Atom(AtomKind.NAME, folded) if folded else None


def word_runs(text: str, limit: int) -> Iterator[Atom]:
    """Up to `MAX_WORDS` words of a text that follow each other, as names; of the first `limit` words."""
    words = [compact_skeleton(word) for word in _first_words(canonical(text), limit)]
    for start in range(len(words)):
        run = ""
        for word in words[start : start + MAX_WORDS]:
            run += word
            if len(run) > MAX_NAME:
                break
            if run:
                yield Atom(AtomKind.NAME, run)


def _first_words(text: str, limit: int) -> Iterator[str]:
    for count, match in enumerate(_WORD.finditer(text)):
        if count >= limit:
            return
        yield match.group()


def amount_of(number: object) -> Atom | None:
    """A number as JSON writes it."""
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        return None
    amount = Decimal(str(number))
    value = read_amount(f"{amount:f}") if abs(amount) < 10**24 else None
    return None if value is None else Atom(AtomKind.AMOUNT, value)


def number_of(number: object) -> Atom | None:
    """A whole number that is long enough for an account."""
    if isinstance(number, bool) or not isinstance(number, int) or not 10**6 <= abs(number) < 10**23:
        return None
    return Atom(AtomKind.NUMBER, str(abs(number)))


def atoms_of_number(number: object) -> Iterator[Atom]:
    """A number of a JSON text: an amount, and an account where it is long."""
    for atom in (amount_of(number), number_of(number)):
        if atom is not None:
            yield atom


def paths_inside(text: str) -> frozenset[str]:
    """The paths that stand in a text as plain relative ones, without hidden folders: they lead nowhere but to
    where the agent works. What an encoding hides is none of them."""
    inside: set[str] = set()
    outside: set[str] = set()
    for match in _matches(canonical(text)):
        found = {atom.value for atom in _read(match) if atom.kind is AtomKind.PATH}
        parts = match.group().replace("\\", "/").removeprefix("./").split("/")
        is_outside = any(part.startswith((".", "~")) or part == "" or ":" in part[:2] for part in parts)
        (outside if is_outside else inside).update(found)
    return frozenset(inside - outside)


def tail_of(digits: str) -> Atom | None:
    """Of a number as long as a telephone's."""
    return Atom(AtomKind.TAIL, digits[-_TAIL:]) if _TAIL < len(digits) <= _PHONE else None


def latin_of(value: str) -> str:
    """The value with each letter that is drawn like a Latin one as that letter."""
    return "".join(sign if sign.isascii() else skeleton(sign) for sign in value)


def look_of(atom: Atom) -> Atom:
    """What the atom looks like: heard of every value that is not plain, asked about for all."""
    return Atom(AtomKind.LOOK, f"{atom.kind.value} {latin_of(atom.value)}")


def host_of(url: str) -> str:
    """The host of a URL atom's value, without a port."""
    return url[: url.index("]") + 1] if url.startswith("[") and "]" in url else _HOST_END.split(url, 1)[0]


def _plain_atoms(text: str) -> list[Atom]:
    found: list[Atom] = []
    for match in _matches(text):
        for atom in _read(match):
            found.append(atom)
            if not atom.value.isascii():
                found.append(look_of(atom))
    return found


def _matches(text: str) -> Iterator[re.Match[str]]:
    if len(text) <= MAX_NAME and " " not in text and text.isprintable():
        # One word.
        return _FORMS.finditer(text) if _HINT.search(text) is not None else iter(())
    return _find_matches(text)


def _find_matches(text: str) -> Iterator[re.Match[str]]:
    left = MAX_ATOMS
    for line in text.splitlines():
        for stretch in _stretches(line):
            for match in _FORMS.finditer(stretch):
                left -= 1
                if left < 0:
                    return
                yield match


def _read(match: re.Match[str]) -> Iterable[Atom]:
    return _READERS[match.lastgroup or ""](match.group())


def _stretches(line: str) -> Iterator[str]:
    """The words of a line that may hold an atom, and their neighbours: most of prose does not."""
    run: list[str] = []
    between = ""
    for word in line.split():
        if not word.isalpha() and _HINT.search(word) is not None:
            # A bank's four letters stand between the digits of an account.
            run += [between, word] if between and run else [word]
            between = ""
        elif run and not between and len(word) <= _BANK_CODE:
            between = word
        elif run:
            yield " ".join(run)
            run, between = [], ""
    if run:
        yield " ".join(run)


def _read_email(text: str) -> Iterable[Atom]:
    folded = text.strip("'.").casefold()
    local, _, host = folded.rpartition("@")
    host = plain_host(host)
    return Atom(AtomKind.EMAIL, f"{local}@{host}"), Atom(AtomKind.HOST, host)


def _read_url(text: str) -> Iterator[Atom]:
    bare = _SCHEME.sub("", text, count=1).rstrip(_TRAILING)
    authority, slash, rest = bare.partition("/")
    authority = authority.rpartition("@")[2].casefold().removeprefix("www.")
    if not authority:
        return
    host = plain_host(host_of(authority).rstrip("."))
    path = f"{slash}{rest}".rstrip("/")
    yield Atom(AtomKind.HOST, host)
    yield Atom(AtomKind.URL, host + path if path else host)


def _read_host(text: str) -> Iterator[Atom]:
    head, _, rest = text.partition("/")
    if not rest and (joined := _NEXT_SENTENCE.search(head)) is not None:
        text = head = head[: joined.start()]
    name = head.partition(":")[0]
    if name.rpartition(".")[2].casefold() in _FILE_ENDINGS:
        # Without the line that a tool names (`round.py:7`).
        yield from _read_path(text if rest else name)
        return
    yield from _read_url(text if rest else text.rstrip(_TRAILING))


def _read_path(text: str) -> Iterator[Atom]:
    parts: list[str] = []
    for part in text.replace("\\", "/").rstrip(".,;:").split("/"):
        if part == ".." and parts and parts[-1] not in ("", ".."):
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if parts:
        yield Atom(AtomKind.PATH, "/".join(parts).casefold())


def _read_relative(text: str) -> Iterator[Atom]:
    """The path, and the name of the file alone."""
    bare = text.rstrip(".,;:").replace("\\", "/")
    yield from _read_path(bare)
    yield from _read_path(bare.rpartition("/")[2])


def _read_ip(text: str) -> Iterator[Atom]:
    numbers = _HOST_END.split(text, 1)[0].split(".")
    if all(number == str(int(number)) and int(number) < 256 for number in numbers):
        yield from _read_url(text.rstrip(_TRAILING))
    # Dots may set apart the digits of a telephone number as well.
    yield from _read_digits(_HOST_END.split(text, 1)[0])


def _read_iban(text: str) -> Iterator[Atom]:
    compact = _IBAN_APART.sub("", text).casefold()
    if sum(character.isdigit() for character in compact) >= 8:
        yield Atom(AtomKind.NUMBER, compact)


def _read_digits(text: str) -> Iterator[Atom]:
    digits = "".join(character for character in text if character.isdigit()).lstrip("0")
    yield Atom(AtomKind.NUMBER, digits or "0")
    if (tail := tail_of(digits)) is not None:
        yield tail
    # A long run may be a plain number all the same.
    if text.isdigit() and len(text) <= 12 and (amount := read_amount(text)) is not None:
        yield Atom(AtomKind.AMOUNT, amount)


def _read_token(text: str) -> Iterator[Atom]:
    if sum(character.isdigit() for character in text) >= _MIN_DIGITS:
        yield Atom(AtomKind.TOKEN, text.casefold())


def _read_amount(text: str) -> Iterator[Atom]:
    return (Atom(AtomKind.AMOUNT, amount) for amount in read_amounts(text))


def _read_date(text: str) -> Iterator[Atom]:
    yield Atom(AtomKind.DATE, text)


_READERS: Final = {
    "email": _read_email,
    "url": _read_url,
    "host": _read_host,
    "path": _read_path,
    "relative": _read_relative,
    "ip": _read_ip,
    "iban": _read_iban,
    "token": _read_token,
    "digits": _read_digits,
    "amount": _read_amount,
    "date": _read_date,
}
