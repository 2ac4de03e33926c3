"""What stands where a credential stands is one, whatever it looks like: in a URL, after `Cookie`, after
`Authorization`.

For what is stored and shown, not for alarms: a placeholder is masked as well. Only what has the form of a
credential is taken, never the rest of a line, so that nobody can hide a command behind a header's name.
Every pattern starts at a literal and is bounded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

Span = tuple[str, int, int]

MAX_VALUE: Final = 4_096


def find_placed(text: str) -> list[Span]:
    """Kind, beginning and end of every credential that its place gives away; they may overlap."""
    found = _find_as_spelled(text)
    if is_respelled(text):
        plain = _PlainSpelling(text)
        found += [
            (kind, plain.place(start), plain.place(end)) for kind, start, end in _find_as_spelled(plain.text)
        ]
    return found


def _find_as_spelled(text: str) -> list[Span]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length, and positions with it
        lowered = text
    return [
        *_url_credentials(text),
        *_headers(text, lowered),
        *_cookie_jars(text, lowered),
        *_command_passwords(text, lowered),
    ]


# --- spellings -------------------------------------------------------------------------------------------

# Percent signs of a URL, slashes of JSON, full-width letters, and signs that nobody sees.
_OTHER_SPELLING = lazy_pattern(
    r"%[2-7][0-9A-Fa-f]|\\/|[\uff01-\uff5e]|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+"
)
_FULL_WIDTH: Final = 0xFEE0


def is_respelled(text: str) -> bool:
    return _OTHER_SPELLING.search(text) is not None


class _PlainSpelling:
    """The text in plain letters, and where each of them stands in the text itself."""

    def __init__(self, text: str) -> None:
        parts: list[str] = []
        # Where a piece begins here, and there.
        self._here, self._there = [0], [0]
        length = position = 0
        for found in _OTHER_SPELLING.finditer(text):
            plain = _plain(found.group())
            parts += (text[position : found.start()], plain)
            length += found.start() - position
            self._here += (length, length + len(plain))
            self._there += (found.start(), found.end())
            length += len(plain)
            position = found.end()
        self.text = "".join(parts) + text[position:]

    def place(self, position: int) -> int:
        piece = bisect_right(self._here, position) - 1
        return self._there[piece] + position - self._here[piece]


def _plain(spelled: str) -> str:
    if spelled[0] == "%":
        return chr(int(spelled[1:], 16))
    if spelled[0] == "\\":
        return "/"
    return chr(ord(spelled) - _FULL_WIDTH) if spelled[0] >= "\uff01" and spelled[0] <= "\uff5e" else ""


# --- URLs ------------------------------------------------------------------------------------------------

_URL = lazy_pattern(r"//([^\s\"'`<>|\\^]{1,1024})")
_AUTHORITY_END = lazy_pattern(r"[/?#]")
_PORT = lazy_pattern(r"[0-9]{0,5}\Z")
_COLON = lazy_pattern(r":|%3[aA]")
_AT = lazy_pattern(r"@|%40")
# `name:password@host:5432/db`, as some drivers take it.
_BARE = lazy_pattern(r"(?<![\w/@:.+-])[\w.+-]{1,64}:([^\s:@/\"'`]{6,128})@[\w.-]{1,253}(?=:[0-9]|/|\()")
_TOKEN = lazy_pattern(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w.~%+-]{16,512}\Z")


def _url_credentials(text: str) -> Iterator[Span]:
    if "@" not in text and "%40" not in text:
        return
    for found in _URL.finditer(text):
        if (span := _userinfo_secret(found.group(1))) is not None:
            yield "url_password", found.start(1) + span[0], found.start(1) + span[1]
    for found in _BARE.finditer(text):
        password = found.group(1)
        if any(map(str.isdigit, password)) and any(map(str.isalpha, password)):
            yield "url_password", found.start(1), found.end(1)


def _userinfo_secret(rest: str) -> tuple[int, int] | None:
    """Where, in what follows the slashes, the password or token stands."""
    end = _AUTHORITY_END.search(rest)
    authority = rest[: end.start()] if end else rest
    at = _last(_AT, authority)
    if at is None:
        # A password with a slash in it: what follows the colon is no port then.
        colon = _COLON.search(authority)
        if colon is None or authority.startswith("[") or _PORT.match(authority, colon.end()):
            return None
        at = _last(_AT, rest)
        return (colon.end(), at.start()) if at and rest[colon.end()] not in "{$<" else None
    colon = _COLON.search(authority, 0, at.start())
    if colon is not None:
        return (colon.end(), at.start()) if colon.end() < at.start() else None
    return (0, at.start()) if _TOKEN.match(authority[: at.start()]) else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return max(pattern.finditer(text), key=lambda found: found.start(), default=None)


# --- headers ---------------------------------------------------------------------------------------------

#: So begins what stands in a secret's place: its kind is no header.
_MASKED: Final = "[masked "
_NAMES: Final = ("cookie", "authorization", "authorisation")
# After the name: its plural or number, the quotation mark and bracket that close it, and what assigns.
_ASSIGNED = lazy_pattern(
    r"(?:s|2)?[\\\"'`\])]{0,6}[ \t]{0,8}(?:=>|:=|[:=,]|\()[ \t]{0,8}(?P<quote>\\{0,4}[\"'`])?"
)
_WORD: Final = r"[^\s\"'`,;<>\\(){}\[\]|&]"
_COOKIES = lazy_pattern(
    rf"[^\s=;,\"'`<>(){{}}|&]{{1,256}}=[^\s;\"'`<>|&]{{0,{MAX_VALUE}}}"
    rf"(?:;[ \t]{{0,8}}(?:[^\s=;,\"'`<>(){{}}|&]{{1,256}}=[^\s;\"'`<>|&]{{0,{MAX_VALUE}}}"
    r"|(?i:httponly|secure|partitioned)\b)){0,200}"
)
_SCHEMES: Final = (
    "basic|bearer|token|digest|negotiate|ntlm|kerberos|api[-_]?key|key|hawk|aws4?[\\w-]{0,20}|oauth|hmac[\\w-]{0,20}"
    "|signature|mac|scram-[\\w-]{1,20}|dpop|gnap|vapid|sso-key|geniekey|bot|ssws|sharedkey(?:lite)?|sharedaccesssignature"
)
_PARAMETER: Final = r"[\w-]{1,64}=(?:\\?\"[^\"\r\n]{0,2048}\"|[^\s,\"'`;|&]{0,2048})"
_CREDENTIAL = lazy_pattern(
    rf"(?:(?i:{_SCHEMES})(?:[ \t]|\r?\n[ \t]|\\r\\n[ \t]){{1,8}})?"
    rf"(?:{_PARAMETER}(?:,[ \t]{{0,8}}{_PARAMETER}){{0,20}}|{_WORD}{{1,{MAX_VALUE}}})"
)
_SCHEMED = lazy_pattern(rf"(?i:{_SCHEMES})[ \t]")
_FOLD = lazy_pattern(r"\r?\n[ \t]{1,8}")
_SCHEME_ALONE = lazy_pattern(rf"(?i:{_SCHEMES})\Z")
# A word of a sentence, a number, the name of a variable: the secret is elsewhere.
_ORDINARY = lazy_pattern(
    r"[A-Za-z][a-z]{0,15}|[0-9.]{1,16}|[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){1,4}|[$%][^\s]{0,64}"
)


def _headers(text: str, lowered: str) -> Iterator[Span]:
    for name in _NAMES:
        position = lowered.find(name)
        while position >= 0:
            end = position + len(name)
            is_mask = text.startswith(_MASKED, position - len(_MASKED))
            if not is_mask and (assigned := _ASSIGNED.match(text, end)) is not None:
                span = _value_span(name, text, assigned)
                if span is not None:
                    yield name, *span
                    end = max(end, span[1])
            position = lowered.find(name, end)


def _value_span(name: str, text: str, assigned: re.Match[str]) -> tuple[int, int] | None:
    start = assigned.end()
    if (folded := _FOLD.match(text, start)) is not None:
        # A header may go on in the next line; what else stands there is the next member of a list.
        start = folded.end()
        if name != "cookie" and _SCHEMED.match(text, start) is None:
            return None
    if name == "cookie" and (found := _COOKIES.match(text, start)) is not None:
        return found.span()
    found = _CREDENTIAL.match(text, start)
    if found is None or _SCHEME_ALONE.match(found.group()):
        return None
    following = text[found.end() : found.end() + 1]
    if assigned["quote"] is None and (following in ("(", "[") or _ORDINARY.fullmatch(found.group())):
        return None
    return None if following == " " and _ORDINARY.fullmatch(found.group()) else found.span()


# --- jars ------------------------------------------------------------------------------------------------

_JAR = lazy_pattern(r"s?[\\\"']{0,4}[ \t]{0,8}[:=][ \t]{0,8}\{([^{}]{0,4096})\}")
_QUOTED_VALUE = lazy_pattern(r"[:=][ \t]{0,8}(\\{0,2}[\"'])([^\"'\\]{1,2048})\1")
_OPTION = lazy_pattern(r"(?:[ \t]-b|--cookie)(?:[ \t=]{1,4})?[\"']?")


def _cookie_jars(text: str, lowered: str) -> Iterator[Span]:
    """`cookies={"sid": "…"}`, and what curl is given with `-b`."""
    position = lowered.find("cookie")
    while position >= 0:
        end = position + len("cookie")
        if (jar := _JAR.match(text, end)) is not None:
            for value in _QUOTED_VALUE.finditer(text, jar.start(1), jar.end(1)):
                yield "cookie", *value.span(2)
            end = jar.end()
        position = lowered.find("cookie", end)
    if "curl" in lowered:
        for option in _OPTION.finditer(text):
            if (found := _COOKIES.match(text, option.end())) is not None:
                yield "cookie", *found.span()


# --- commands --------------------------------------------------------------------------------------------

# No shell runs a part of it, so that no command is hidden behind an option's name.
_BARE_WORD: Final = r"(?!\[masked )[^\s'\"$\\;|&`()<>]"
_ARGUMENT: Final = (
    rf"(?:'(?!\[masked )([^'\n]{{1,256}})'|\"(?!\[masked )([^\"\n$`]{{1,256}})\"|({_BARE_WORD}{{1,256}}))"
)
# By the word that a command line with a password among its arguments holds.
_COMMAND_PASSWORDS: Final = (
    ("sshpass", lazy_pattern(rf"(?i)\bsshpass\s{{1,4}}(?:-[ev]\s{{1,4}}){{0,2}}-p\s{{0,4}}{_ARGUMENT}")),
    *(
        (name, lazy_pattern(rf"(?i:{name})[A-Za-z_-]{{0,16}}(?:\s[^\n|;]{{0,200}}?)?\s-p{_ARGUMENT}"))
        for name in ("mysql", "mariadb")
    ),
    (
        "sqlplus",
        lazy_pattern(
            r"(?i)\bsqlplus(?:\s{1,4}-\S{1,20}){0,6}\s{1,4}[\w$#]{1,64}/"
            r"((?!\[masked )[^\s@/\"'$;|&`()<>]{1,128})(?=@|\s|\Z)"
        ),
    ),
    ("thin:", lazy_pattern(r"(?i)\bthin:[^\s/@:]{1,64}/([^\s@/\"']{1,128})@")),
)


def _command_passwords(text: str, lowered: str) -> Iterator[Span]:
    """What a client of a database, or `sshpass`, is given on its command line; Oracle's thin addresses."""
    for word, pattern in _COMMAND_PASSWORDS:
        if word not in lowered:
            continue
        for found in pattern.finditer(text):
            yield "password", *found.span(found.lastindex or 0)
