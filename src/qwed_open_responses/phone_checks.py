"""What proves a number to be a phone's: its plan, the way it is written, the word beside it."""

import functools
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.libraries import library
from qwed_open_responses.personal_checks import TextPlace, digits_of, names_a_thing, words

_speaks_of_phones = words(
    r"phone|telephone|tel|mobile|mob|cell|cellphone|call|called|calling|fax|whatsapp|sms|text me|texted"
    r"|dial|ring|"
    r"reach|contact|handy|telefon|teléfono|téléphone|numéro|hotline|my number|phonenumber|msisdn|signal"
)
_NANP = lazy_pattern(r"^1?[2-9]\d{2}[2-9]\d{6}$")
# Numbers a business pays for: nobody's own.
_TOLL_FREE = lazy_pattern(r"^(?:00)?1?8(?:00|33|44|55|66|77|88)[2-9]\d{6}$")
_WRITTEN_AS_PHONE = lazy_pattern(
    r"^(?:1[ .-])?(?:\(\d{3}\) ?\d{3}[ .-]?\d{4}|\d{3}-\d{3}-\d{4}|\d{3}\.\d{3}\.\d{4})$"
)
_DATE_LIKE = lazy_pattern(
    r"(?:19|20)\d\d[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:[0-2]?\d|3[01])\b"
    r"|\b(?:[0-2]?\d|3[01])[-./](?:0?[1-9]|1[0-2])[-./](?:19|20)\d\d\b"
)
_REGIONS: Final = ("GB", "DE", "FR", "ES", "IT", "NL", "IN", "AU", "BR", "JP", "CN", "CH", "AT", "SE", "PL")


def may_be_phone(place: TextPlace) -> bool:
    """Worth a look at the numbering plans: international, named as a phone, or written as one."""
    raw = place.match
    digits = digits_of(raw)
    if not 7 <= len(digits) <= 15:
        return False
    # Without a word beside it, only the way phone numbers are written in North America is telling.
    is_written = _WRITTEN_AS_PHONE.match(raw) is not None and _NANP.match(digits) is not None
    if not is_written and not raw.startswith(("+", "00")) and not _is_named_phone(place):
        return False
    if _DATE_LIKE.search(raw):
        return False
    return not names_a_thing(place) or _speaks_of_phones(place.before[-20:])


def is_phone(place: TextPlace) -> bool:
    """In a numbering plan; a number that is called a phone may also be made up, as in examples."""
    raw = place.match
    digits = digits_of(raw)
    if _TOLL_FREE.match(digits):
        return False
    if raw.startswith(("+", "00")):
        return _is_in_plan("+" + digits.removeprefix("00"), None)
    if _is_named_phone(place):
        return len(digits) in (10, 11) or _is_in_some_plan(raw)
    return _is_in_plan(raw, "US")


# The word for it in the languages of fifty countries.
PHONE_NOUNS: Final = (
    r"(?i)(?:tele)?phone|\bmobile|\bmob\b|\btel\b|\bcell|\bfax|whatsapp|msisdn|handy|telefon|telefoon|mobil|m[oó]vil"
    r"|t[eé]l[eé]phone|t[eé]l[eé]fono|telefone|celular|cellulare|portable|puhelin|gsm|телефон|тел\b|τηλ|電話|电话|手机"
    r"|携帯|전화|휴대폰|هاتف|جوال|טלפון|फ़ोन|फोन|मोबाइल|โทร|điện thoại|puh\b"
)
_CALLED = lazy_pattern(
    r"(?i)(?:phone|mobile|mob|tel|cell|cellphone|fax|whatsapp|msisdn|handy|telefon\w*|telefoon\w*|mobil\w*|m[oó]vil"
    r"|t[eé]l[eé]phone|t[eé]l[eé]fono|telefone|celular|cellulare|portable|puhelin\w*|puh|gsm|телефон\w*|тел|τηλ\w*"
    r"|電話\w*|电话|手机|携帯\w*|전화\w*|휴대폰|هاتف|جوال|טלפון|फ़ोन|फोन|मोबाइल|โทร\w*|điện thoại)"
    r"(?:[ _]?(?:number|no|nr|num|n°|nummer|番号|번호|号码|号))?(?: is| was| ist| est| es)?"
    r"[\s:.#=\"'()-]{0,4}$"
)


def is_called_a_phone(place: TextPlace) -> bool:
    """Right behind the word for it, any number of a plan's length is one: national forms differ."""
    digits = digits_of(place.match)
    if not 7 <= len(digits) <= 15 or _TOLL_FREE.match(digits) or _DATE_LIKE.search(place.match):
        return False
    return _CALLED.search(place.before[-40:]) is not None


def _is_named_phone(place: TextPlace) -> bool:
    return _speaks_of_phones(place.before[-40:]) or _speaks_of_phones(place.after[:16])


@functools.lru_cache(maxsize=4096)
def _is_in_plan(text: str, region: str | None) -> bool:
    phonenumbers = _phonenumbers()
    try:
        number = phonenumbers.parse(text[:32], region)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(number))


def _is_in_some_plan(text: str) -> bool:
    return any(_is_in_plan(text, region) for region in _REGIONS)


@functools.cache
def _phonenumbers() -> Any:
    return library("phonenumbers")
