"""What proves a shape to be personal data: check digits, issued ranges, numbering plans, words beside it."""

import functools
import importlib
import ipaddress
from collections.abc import Callable
from typing import Any, Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.libraries import library


class TextPlace(msgspec.Struct, frozen=True):
    """A match and the words around it, its name included in those before."""

    match: str
    before: str
    after: str


Check = Callable[[TextPlace], bool]


def words(pattern: str) -> Callable[[str], bool]:
    """Whether one of the words stands in a text; `_` separates words, as in names of fields."""
    compiled = functools.cache(lambda: _re2().compile(rf"(?i)(?:^|[^a-z])(?:{pattern})(?:[^a-z]|$)"))
    return functools.lru_cache(maxsize=1024)(lambda text: compiled().search(text) is not None)


@functools.cache
def _re2() -> Any:
    return library("re2")


def always(place: TextPlace) -> bool:
    return True


def has_digits(place: TextPlace) -> bool:
    return sum(map(str.isdigit, place.match)) >= 5


def has_sixteen(place: TextPlace) -> bool:
    return len(place.match) == 16


def beside(pattern: str, check: Check) -> Check:
    """Only with one of the words before it."""
    speaks = words(pattern)
    return lambda place: speaks(place.before) and check(place)


def is_unnamed(check: Check) -> Check:
    """Unless the words before it say that it numbers a thing."""
    return lambda place: not names_a_thing(place) and check(place)


def stdnum(module: str) -> Check:
    """Checked by python-stdnum, which is imported on the first match."""

    def is_valid(place: TextPlace) -> bool:
        return bool(importlib.import_module(f"stdnum.{module}").is_valid(place.match))

    return is_valid


_THING = lazy_pattern(
    r"(?i)(?:\b|_)(?:order|invoice|ticket|ref|reference|case|tracking|track|sku|part|serial|model|isbn"
    r"|issn|doi|version|"
    r"build|po|item|product|batch|lot|shipment|confirmation|booking|reservation|rma|ups|fedex|commit|job"
    r"|run|request|"
    r"transaction|txn|catalog|article|barcode|upc|ean|gtin|asin|error|code|firmware|chapter|section|page"
    r"|room|"
    r"coordinates?|timestamp|epoch|id|uuid|pmid|patent|rfc|port|line|license plate|score|revision)s?"
    r"(?:[ _]?(?:number|no|num|nr|id|code|#))?(?: is| was)?[\s:#=.()\"'-]{0,6}$"
)  # fmt: skip


def names_a_thing(place: TextPlace) -> bool:
    """The words right before it say that it numbers an order, a part, a ticket, not a person."""
    return _THING.search(place.before[-40:]) is not None


def digits_of(text: str) -> str:
    return "".join(filter(str.isdigit, text))


# E-mail

_ROLES: Final = frozenset(
    """
    support info sales contact hello help noreply no-reply donotreply do-not-reply admin billing office team
    security privacy press jobs careers feedback webmaster postmaster hostmaster abuse newsletter service git
    notifications alerts root legal marketing media enquiries inquiries orders returns accounts service-desk
    customerservice customer-service helpdesk mailer-daemon news hr it ops devops dpo bot user name email
    someone accounting finance payroll invoices invoice reception bookings booking reservations procurement
    purchasing orders-desk dispatch community events partners""".split()  # noqa: SIM905 - a word list reads better than fifty quotes
)
_FILE_ENDINGS: Final = frozenset(
    {"png", "jpg", "jpeg", "gif", "svg", "webp", "js", "json", "css", "html", "txt", "pdf", "mp4", "tgz"}
)
_IN_A_URL = lazy_pattern(r"://[^\s/]*$")
_SPELLED_SIGN = lazy_pattern(r"(?i)[\[({<]?\s*\b(?:at|dot)\b\s*[\])}>]?|[\[({<][@.][\])}>]")
_NOT_MAILBOXES: Final = frozenset(
    {"is", "was", "arrive", "meet", "me", "us", "you", "look", "am", "are", "be"}
)


_OF_A_MACHINE = lazy_pattern(r":(?:[~/.]|[\w-]+/)")
_LOGS_IN = lazy_pattern(
    r"(?:^|[\s;|&:])(?:ssh|scp|sftp|rsync|mosh|sshfs|ssh-copy-id)\s(?:[^\s;|&@]+\s){0,8}$"
)


def is_personal_email(place: TextPlace) -> bool:
    mailbox, _, domain = place.match.rpartition("@")
    if domain.rpartition(".")[2].lower() in _FILE_ENDINGS or ".." in place.match:
        return False
    # user:password@host of a URL is a secret, not an address.
    if _IN_A_URL.search(place.before + mailbox):
        return False
    # `ssh deploy@host` and `deploy@host:/srv` name an account of a machine.
    if _OF_A_MACHINE.match(place.after) or _LOGS_IN.search(place.before):
        return False
    return mailbox.lower() not in _ROLES


def is_spelled_email(place: TextPlace) -> bool:
    mailbox = _SPELLED_SIGN.split(place.match, maxsplit=1)[0].strip().lower()
    return mailbox not in _ROLES and mailbox not in _NOT_MAILBOXES


# Numbers with issued ranges or check digits

_speaks_of_ssn = words(r"ssn|social security|soc sec|social|ss#|ss number|tin|taxpayer")
_speaks_of_itin = words(r"itin|taxpayer identification|tax id")
_speaks_of_cards = words(
    r"card|credit|debit|visa|mastercard|amex|american express|cc|pan|discover|maestro|cardnumber"
)


def is_ssn(place: TextPlace) -> bool:
    digits = digits_of(place.match)
    if len(digits) != 9:
        return False
    area, group, serial = int(digits[:3]), int(digits[3:5]), int(digits[5:])
    if area in (0, 666) or area >= 900 or not group or not serial:
        return False
    if _speaks_of_ssn(place.before):
        return True
    return place.match[3] in "- –" and not names_a_thing(place) and len(set(digits)) > 1


def is_ssn_after_words(place: TextPlace) -> bool:
    """The match begins with the words themselves."""
    return is_ssn(TextPlace(digits_of(place.match), f"{place.before} ssn", place.after))


def is_itin(place: TextPlace) -> bool:
    group = int(digits_of(place.match)[3:5])
    issued = 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99
    return issued and _speaks_of_itin(place.before)


def passes_luhn(digits: str) -> bool:
    doubled = sum(map(_DOUBLED.__getitem__, digits[-2::-2]))
    return (sum(map(int, digits[::-2])) + doubled) % 10 == 0


_DOUBLED: Final = {str(digit): digit * 2 - 9 if digit > 4 else digit * 2 for digit in range(10)}


@functools.lru_cache(maxsize=4096)
def may_be_card(match: str) -> bool:
    digits = digits_of(match)
    return _is_issued(digits) and passes_luhn(digits) and len(set(digits)) > 1


def is_card(place: TextPlace) -> bool:
    return _speaks_of_cards(place.before) or not names_a_thing(place)


# First digits, and the lengths used with them.
_ISSUERS: Final = (
    (range(4, 5), (13, 16, 19)),
    (range(51, 56), (16,)),
    (range(2221, 2721), (16,)),
    (range(34, 35), (15,)),
    (range(37, 38), (15,)),
    (range(6011, 6012), (16, 19)),
    (range(65, 66), (16, 19)),
    (range(644, 650), (16, 19)),
    (range(36, 37), (14, 16, 19)),
    (range(38, 40), (14, 16, 19)),
    (range(300, 306), (14, 16, 19)),
    (range(3528, 3590), (16, 17, 18, 19)),
    (range(62, 63), (16, 17, 18, 19)),
    (range(8100, 8172), (16, 17, 18, 19)),
    *(
        (range(first, first + 1), tuple(range(12, 20)))
        for first in (5018, 5020, 5038, 5893, 6304, 6759, 6761)
    ),
)
_LENGTHS: Final = {str(first): lengths for firsts, lengths in _ISSUERS for first in firsts}


def _is_issued(digits: str) -> bool:
    """Whether an issuer has the range and uses this length."""
    return any(len(digits) in _LENGTHS.get(digits[:size], ()) for size in (1, 2, 3, 4))


_IBAN_LENGTHS: Final = {
    code[:2]: int(code[2:])
    for code in """
        AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29
        ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
        LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25
        QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
    """.split()  # noqa: SIM905 - a table
}


def is_iban(place: TextPlace) -> bool:
    compact = place.match.replace(" ", "").replace("-", "").upper()
    length = _IBAN_LENGTHS.get(compact[:2])
    if length is None or len(compact) < length:
        return False
    rearranged = compact[4:length] + compact[:4]
    return int("".join(str(int(character, 36)) for character in rearranged)) % 97 == 1


_NINO_UNUSED: Final = frozenset({"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})
_speaks_of_aadhaar = words("aadhaar|aadhar|uidai|uid")
_speaks_of_pan = words("pan|permanent account")


def is_nino(place: TextPlace) -> bool:
    return place.match[:2].upper() not in _NINO_UNUSED and not names_a_thing(place)


def is_indian_pan(place: TextPlace) -> bool:
    # The fourth letter P is a person's.
    return place.match[3] == "P" or _speaks_of_pan(place.before)


def is_aadhaar(place: TextPlace) -> bool:
    if place.match.isdigit() and not _speaks_of_aadhaar(place.before):
        return False
    return not names_a_thing(place)


@functools.lru_cache(maxsize=4096)
def may_be_aadhaar(match: str) -> bool:
    return bool(library("stdnum.verhoeff").is_valid(digits_of(match)))


def is_canadian_sin(place: TextPlace) -> bool:
    return passes_luhn(digits_of(place.match))


def is_singapore_nric(place: TextPlace) -> bool:
    first, digits, last = place.match[0].upper(), place.match[1:8], place.match[8].upper()
    total = sum(int(digit) * weight for digit, weight in zip(digits, (2, 7, 6, 5, 4, 3, 2), strict=True))
    letters = "JZIHGFEDCBA" if first in "ST" else "XWUTRQPNMLK"
    return letters[(total + (4 if first in "TG" else 0)) % 11] == last and not names_a_thing(place)


def is_routing_number(place: TextPlace) -> bool:
    digits = [int(digit) for digit in digits_of(place.match)]
    weighted = 3 * sum(digits[0::3]) + 7 * sum(digits[1::3]) + sum(digits[2::3])
    return any(digits) and weighted % 10 == 0


# Where and when a person lives

_speaks_of_home = words(
    r"address|lives?|living|resides?|residing|residence|home|house|apartment|ship(?:ping|ped)? to|"
    r"deliver(?:ed|y)? to|mail(?:ing)?|send (?:it )?to|moved to|street|domicile|anschrift|wohnt|adresse|addr"
)
_POSTCODE = lazy_pattern(
    r"\b[A-Z]{2},? \d{5}(?:-\d{4})?\b|\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|\b\d{5}\b"
    r"|\b[A-Z]\d[A-Z] ?\d[A-Z]\d\b"
)


def is_home_address(place: TextPlace) -> bool:
    return _speaks_of_home(place.before) or _POSTCODE.search(place.match[5:] + place.after) is not None


_NAME = lazy_pattern(r"\b[A-Z][a-z]+(?: [A-Z]\.)? (?:[A-Z][a-z']+|[A-Z]{2,})\b")
_BIRTH_DATE_IS = lazy_pattern(
    r"(?i)(?:date of birth|d\.?o\.?b\.?|birth[ _]?date|date_of_birth|birthday|geburtsdatum|date de naissance)"
    r"[\s:\"'=]{0,6}(?:is|was|on)?[\s:]{0,4}$"
)
_WAS_BORN = lazy_pattern(r"(?i)(?:born|né|née|geboren)(?: on| am| le)?[\s:]{0,4}$")
_YEAR = lazy_pattern(r"(?:19|20)\d\d|\b\d\d$")


def is_birth_date(place: TextPlace) -> bool:
    if _YEAR.search(place.match) is None:
        return False
    if _BIRTH_DATE_IS.search(place.before):
        return True
    is_birth = _WAS_BORN.search(place.before) is not None
    return is_birth and (_NAME.search(place.before) or _NAME.search(place.after[:40])) is not None


_speaks_of_a_person = words(
    r"user|customer|client|visitor|member|subscriber|patient|employee|login|logged|signed|his|her|their"
    r"|person|guest|"
    r"resident|caller|remote_addr|ip_address|ip address|home ip|from ip|accessed|account"
)
_LOCAL_NETWORKS: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
        "224.0.0.0/3", "::/127", "fc00::/7", "fe80::/10", "ff00::/8",
    )
)  # fmt: skip


def is_personal_ip(place: TextPlace) -> bool:
    if not (_speaks_of_a_person(place.before) or _speaks_of_a_person(place.after[:24])):
        return False
    try:
        address = ipaddress.ip_address(place.match)
    except ValueError:
        return False
    return not any(address in network for network in _LOCAL_NETWORKS if network.version == address.version)
