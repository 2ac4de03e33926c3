"""Personal data by kind: a signal for the common scan, a shape, and what proves the shape.

The signal is a simple RE2 pattern that occurs wherever the shape may: the words that must stand beside a
shape which alone could be anything, or a short piece of the shape itself.
"""

import functools
import re
from collections.abc import Callable
from typing import Final

import msgspec

from qwed_open_responses import street_forms
from qwed_open_responses.personal_checks import (
    Check,
    always,
    beside,
    has_digits,
    has_sixteen,
    is_aadhaar,
    is_birth_date,
    is_canadian_sin,
    is_card,
    is_home_address,
    is_iban,
    is_indian_pan,
    is_itin,
    is_nino,
    is_personal_email,
    is_personal_ip,
    is_routing_number,
    is_singapore_nric,
    is_spelled_email,
    is_ssn,
    is_ssn_after_words,
    is_unnamed,
    may_be_aadhaar,
    may_be_card,
    stdnum,
)
from qwed_open_responses.phone_checks import PHONE_NOUNS, is_called_a_phone, is_phone

MAX_PHONES: Final = 50
# How much of the text before and after a match is looked at.
WINDOW: Final = 64


# Nine digits, however they are set apart: one signal for everything that is mostly digits.
_NINE_DIGITS: Final = r"[0-9](?:[ .()/–-]{0,2}[0-9]){8}"


class Detector(msgspec.Struct, frozen=True):
    kind: str
    signal: str
    shape: str
    accept: Check
    # What must also occur for the shape to be tried.
    also: str = ""
    # What the match alone can show, asked before anything around it is looked at.
    may_be: Callable[[str], bool] | None = None


def _make_named(kind: str, words: str, shape: str, check: Check) -> Detector:
    """A shape that means nothing without one of the words before it."""
    return Detector(kind, rf"(?i)(?:\b|_)(?:{words})", shape, beside(words, check))


_MAILBOX = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]"
_AT = r"(?: ?(?:\(at\)|\[at\]|\{at\}|<at>|\(@\)|\[@\]) ?| at )"
_MARKED_AT = r" ?(?:\(at\)|\[at\]|\{at\}|<at>|\(@\)|\[@\]) ?"
_DOT = r"(?: ?(?:\(dot\)|\[dot\]|\{dot\}|<dot>|\(\.\)|\[\.\]) ?| dot )"
_ENDINGS = r"(?:com|org|net|edu|gov|io|co|uk|de|fr|es|it|nl|ch|in|us|ca|au|info|biz|me|dev|ai|app)"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]{0,6}"
_DATE = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[ -](?i:{_MONTH})\.?,?[ -]\d{{4}}"
    rf"|(?i:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})"
)
_STREETS = (
    r"(?:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|way|place|pl|terrace|circle"
    r"|cir|"
    r"parkway|pkwy|square|sq|highway|hwy|crescent|close|gardens|row|mews|walk)"
)
_COMPASS = r"(?:[NSEWnsew]\.? |(?i:north|south|east|west) )?"
_STREET_NAME = r"(?:[A-Z][A-Za-z'.-]{1,20} |[0-9]{1,3}(?:st|nd|rd|th) ){1,4}"
_DOCUMENT = r"\b[A-Z0-9][A-Z0-9-]{4,18}[A-Z0-9]\b"
_RECORDS = (
    r"(?i)\b(?:mrn|medical[ _]record(?:[ _](?:number|no\.?|#))?|patient[ _](?:id|number|no\.?)"
    r"|chart[ _](?:number|no\.?)|health[ _](?:card|insurance|plan)(?:[ _](?:number|no\.?|id))?"
    r"|medicare(?:[ _](?:number|id))?|medicaid(?:[ _]id)?)[\s:#=\"']{1,4}(?:is )?[A-Z0-9-]{5,20}\b"
)
_ILLNESS = (
    r"\b(?i:patient|pt\.?) (?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+ [A-Z][a-z'-]+\b[^\n]{0,80}"
    r"(?i:diagnos|prescribed|tested positive|suffers|hiv|cancer|treated for|medication|surgery|depression)"
)

_PEOPLE = (
    r"(?i)user|customer|client|visitor|member|subscriber|patient|employee|log(?:in|ged)|signed|\bhis\b"
    r"|\bher\b|their"
    r"|person|guest|resident|caller|remote_addr|ip.address|home ip|from ip|accessed|account"
)

DETECTORS: Final = (
    Detector(
        "email",
        r"[A-Za-z0-9._%+'-]@[A-Za-z0-9]",
        rf"{_MAILBOX}{{1,64}}@(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}[A-Za-z]{{2,24}}\b",
        is_personal_email,
    ),
    Detector(
        "email",
        r"(?i)[(\[{<]dot[)\]}>]| dot [a-z]",
        rf"(?i)\b[a-z0-9][a-z0-9._+-]{{0,40}}(?:{_DOT}[a-z0-9]{{1,30}}){{0,3}}{_AT}[a-z0-9-]{{2,40}}"
        rf"(?:(?:{_DOT}|\.)[a-z0-9-]{{2,30}}){{0,2}}{_DOT}{_ENDINGS}\b",
        is_spelled_email,
    ),
    Detector(
        "email",
        r"(?i)[(\[{<](?:at|@)[)\]}>]",
        rf"(?i)\b[a-z0-9][a-z0-9._+-]{{0,40}}{_MARKED_AT}(?:[a-z0-9-]{{1,63}}\.){{1,4}}[a-z]{{2,24}}\b",
        is_spelled_email,
    ),
    Detector(
        "phone",
        r"(?:\+|\b00)[1-9]",
        r"(?:\+|\b00)[1-9][0-9]{0,2}[ .()/-]{0,2}(?:[0-9][ .()/-]{0,2}){6,13}[0-9]\b",
        is_phone,
    ),
    Detector(
        "phone",
        _NINE_DIGITS,
        r"(?:\b1[ .-]?\(?|\(?\b)[2-9][0-9]{2}\)?[ .-]?[0-9]{3}[ .-]?[0-9]{4}\b",
        is_phone,
    ),
    Detector(
        "phone",
        PHONE_NOUNS,
        r"\(?\b[0-9][0-9 ()/.-]{5,17}[0-9]\b",
        is_called_a_phone,
    ),
    Detector("phone", r"\b0[1-9][0-9 ()/.-]{4}", r"\b0[1-9][0-9 ()/.-]{6,14}[0-9]\b", is_phone),
    Detector("us_ssn", _NINE_DIGITS, r"\b[0-9]{3}[- –][0-9]{2}[- –][0-9]{4}\b", is_ssn),
    Detector(
        "us_ssn",
        r"(?i)\bssn|\bsocial",
        r"(?i)\b(?:ssn|social(?: security)?)[^0-9\n]{0,24}[0-9](?:[ .-]{0,3}[0-9]){8}\b",
        is_ssn_after_words,
    ),
    Detector("us_itin", r"(?i)\bitin|taxpayer|tax id", r"\b9[0-9]{2}-[0-9]{2}-[0-9]{4}\b", is_itin),
    Detector("card", _NINE_DIGITS, r"\b[2-68](?:[ .–-]?[0-9]){11,18}\b", is_card, may_be=may_be_card),
    Detector(
        "iban",
        r"(?i)\b[A-Z]{2}[0-9]{2}[ -]?[A-Z0-9]{4}",
        r"(?i)\b[A-Z]{2}[0-9]{2}[ -]?(?:[A-Z0-9]{4}[ -]?){2,7}[A-Z0-9]{1,4}\b",
        is_iban,
    ),
    _make_named(
        "passport",
        "passport|reisepass|passeport|pasaporte",
        r"\b(?:[A-Z]{1,2}[0-9]{6,8}|[0-9]{9}|[0-9]{2}[A-Z]{2}[0-9]{5}|[CFGHJK][0-9CFGHJKLMNPRTVWXYZ]{8})\b",
        has_digits,
    ),
    _make_named(
        "driving_licence",
        r"driv(?:er'?s?|ers|ing)[ _-]?licen[sc]e|dl|licen[sc]e (?:no|number)|führerschein",
        _DOCUMENT,
        has_digits,
    ),
    Detector(
        "driving_licence",
        r"[A-Z9]{5}[0-9]{6}[A-Z9]{2}",
        r"\b[A-Z]{2,5}9{0,3}[0-9]{6}[A-Z9]{2}[0-9][A-Z]{2}\b",
        is_unnamed(has_sixteen),
    ),
    Detector(
        "uk_nino",
        r"[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]\b",
        r"(?i)\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b",
        is_nino,
    ),
    _make_named("uk_nhs", "nhs", r"\b[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}\b", stdnum("gb.nhs")),
    _make_named("ca_sin", "sin|social insurance", r"\b[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}\b", is_canadian_sin),
    # Bare digits are one only beside the word: without it not even their check digit is worked out.
    Detector(
        "in_aadhaar",
        r"[0-9]{4}[ -][0-9]",
        r"\b[2-9][0-9]{3}(?:[ -][0-9]{4}[ -]?[0-9]{4}|[0-9]{4}[ -][0-9]{4})\b",
        is_aadhaar,
        may_be=may_be_aadhaar,
    ),
    Detector(
        "in_aadhaar",
        r"(?i)(?:\b|_)(?:aadhaar|aadhar|uidai|uid)",
        r"\b[2-9][0-9]{11}\b",
        is_aadhaar,
        may_be=may_be_aadhaar,
    ),
    Detector(
        "in_pan", r"[A-Z]{5}[0-9]{4}[A-Z]", r"\b[A-Z]{3}[ABCFGHLJPT][A-Z][0-9]{4}[A-Z]\b", is_indian_pan
    ),
    Detector(
        "br_cpf",
        r"[0-9]\.[0-9]{3}\.[0-9]{3}-",
        r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b",
        stdnum("br.cpf"),
    ),
    _make_named("br_cpf", "cpf", r"\b[0-9]{11}\b", stdnum("br.cpf")),
    Detector(
        "es_dni",
        r"[0-9]{7}-?[A-Z]\b",
        r"\b(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-HJ-NP-TV-Z]\b",
        is_unnamed(stdnum("es.nif")),
    ),
    Detector(
        "it_fiscal_code",
        r"(?i)[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}",
        r"(?i)\b[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]\b",
        stdnum("it.codicefiscale"),
    ),
    Detector(
        "fr_nir",
        _NINE_DIGITS,
        r"\b[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}\b",
        is_unnamed(stdnum("fr.nir")),
    ),
    _make_named(
        "de_tax_id",
        "steuer|tax id|idnr|tin",
        r"\b[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}\b",
        stdnum("de.idnr"),
    ),
    _make_named("pl_pesel", "pesel", r"\b[0-9]{11}\b", stdnum("pl.pesel")),
    _make_named("nl_bsn", "bsn|burgerservicenummer|sofinummer", r"\b[0-9]{8,9}\b", stdnum("nl.bsn")),
    Detector(
        "se_personnummer",
        _NINE_DIGITS,
        r"\b(?:19|20)?[0-9]{6}[-+][0-9]{4}\b",
        is_unnamed(stdnum("se.personnummer")),
    ),
    Detector(
        "cn_resident_id",
        _NINE_DIGITS,
        r"\b[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9]{4}[0-9X]\b",
        stdnum("cn.ric"),
    ),
    _make_named("au_tfn", "tfn|tax file number", r"\b[0-9]{3} ?[0-9]{3} ?[0-9]{2,3}\b", stdnum("au.tfn")),
    _make_named("br_rg", "rg", r"\b[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Xx]\b", always),
    Detector(
        "ch_ahv", r"756\.[0-9]{4}\.", r"\b756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}\b", is_unnamed(stdnum("ch.ssn"))
    ),
    Detector(
        "cl_rut",
        r"[0-9]\.[0-9]{3}\.[0-9]{3}-[0-9Kk]\b",
        r"\b[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9Kk]\b",
        is_unnamed(stdnum("cl.rut")),
    ),
    Detector(
        "fi_hetu",
        r"[0-9]{6}[-+A][0-9]{3}[0-9A-Y]\b",
        r"\b[0-9]{6}[-+A][0-9]{3}[0-9A-Y]\b",
        is_unnamed(stdnum("fi.hetu")),
    ),
    Detector("kr_rrn", r"[0-9]{6}-[0-9]{7}", r"\b[0-9]{6}-[0-9]{7}\b", is_unnamed(stdnum("kr.rrn"))),
    Detector(
        "mx_curp",
        r"[A-Z]{4}[0-9]{6}[HM][A-Z]{5}",
        r"\b[A-Z]{4}[0-9]{6}[HM][A-Z]{5}[0-9A-Z][0-9]\b",
        stdnum("mx.curp"),
    ),
    Detector("sg_nric", r"\b[STFG][0-9]{7}[A-Z]\b", r"\b[STFG][0-9]{7}[A-Z]\b", is_singapore_nric),
    _make_named("dk_cpr", "cpr|personnummer", r"\b[0-9]{6}-?[0-9]{4}\b", stdnum("dk.cpr")),
    _make_named("ie_pps", "ppsn?", r"\b[0-9]{7}[A-W][A-IW]?\b", stdnum("ie.pps")),
    _make_named(
        "no_id",
        "fødselsnummer|fodselsnummer|personnummer",
        r"\b[0-9]{6} ?[0-9]{5}\b",
        stdnum("no.fodselsnummer"),
    ),
    _make_named("tr_id", "tckn|kimlik", r"\b[1-9][0-9]{10}\b", stdnum("tr.tckimlik")),
    _make_named("za_id", "id|identity", r"\b[0-9]{13}\b", stdnum("za.idnr")),
    Detector(
        "crypto_wallet",
        r"\b(?:[13][a-km-zA-HJ-NP-Z1-9]{25}|bc1[02-9ac-hj-np-z]{20})",
        r"\b(?:[13][a-km-zA-HJ-NP-Z1-9]{25,34}|bc1[02-9ac-hj-np-z]{20,60})\b",
        stdnum("bitcoin"),
    ),
    Detector(
        "maiden_name",
        r"(?i)maiden name",
        r"(?i:maiden[ _]name)(?: is| was|:| =)[\s:\"']{0,3}[A-Z][a-z]{2,20}\b",
        always,
    ),
    _make_named(
        "national_id",
        r"national[ _]id(?:entity)?(?: card)?(?: number| no)?|identity card(?: number)?|national insurance"
        r"|personalausweis|tax file number|tfn|ein",
        _DOCUMENT,
        has_digits,
    ),
    Detector(
        "postal_address",
        rf"(?i)[0-9a-z] {_STREETS}\b",
        rf"\b[0-9]{{1,5}}[A-Za-z]?,? {_COMPASS}{_STREET_NAME}(?i:{_STREETS})\b[^\n]{{0,60}}",
        is_home_address,
    ),
    *(Detector("postal_address", signal, shape, accept) for signal, shape, accept in street_forms.FORMS),
    Detector(
        "postal_address",
        r"(?i)p\.? ?o\.? box\b",
        r"(?i)\bp\.? ?o\.? box [0-9]{1,7}\b[^\n]{0,60}",
        is_home_address,
    ),
    Detector("date_of_birth", r"(?i)birth|\bdob\b|d\.o\.b|\bborn\b|geb|naissance|\bné", _DATE, is_birth_date),
    Detector(
        "ip_address",
        r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
        r"\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b",
        is_personal_ip,
        also=_PEOPLE,
    ),
    Detector(
        "ip_address",
        r"[0-9A-Fa-f]:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:",
        r"\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){3,7}\b",
        is_personal_ip,
        also=_PEOPLE,
    ),
    Detector(
        "health_record",
        r"(?i)\bmrn\b|medical.record|patient|chart|health.(?:card|insurance|plan)|medicare|medicaid",
        _RECORDS,
        has_digits,
    ),
    Detector("health_record", r"(?i)\b(?:patient|pt)\b", _ILLNESS, always),
    _make_named(
        "bank_account",
        r"(?:bank )?account[ _](?:number|no|num|#)|acct(?: no| number| #)?|kontonummer|bank account",
        r"\b[0-9][0-9 -]{6,18}[0-9]\b",
        has_digits,
    ),
    _make_named("bank_account", "routing(?:[ _]number| no)?|aba", r"\b[0-9]{9}\b", is_routing_number),
)


@functools.cache
def pattern_of(detector: Detector) -> re.Pattern[str]:
    """The shape for the standard library, which reads it in linear time because it is bounded. The one shape
    that does not begin at a boundary gets one."""
    if detector.shape.startswith(_MAILBOX):
        return re.compile(f"(?<!{_MAILBOX}){detector.shape.replace('{1,64}@', '{1,64}+@')}")
    return re.compile(detector.shape)


def signal(pattern: str) -> str:
    return f"personal:{pattern}"


SIGNALS: Final = {
    signal(pattern): pattern
    for detector in DETECTORS
    for pattern in (detector.signal, detector.also)
    if pattern
}


def masked(kind: str, value: str) -> str:
    """The last characters only, and of an e-mail address only its domain."""
    if kind == "email" and "@" in value:
        return "…@" + value.rpartition("@")[2]
    shown = value[-2:] if len(value) >= 8 else ""
    return f"…{shown} ({len(value)} characters)"
