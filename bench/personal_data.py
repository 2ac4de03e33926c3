# ruff: noqa: E501 - tables
"""Personal data by kind and country: how much of it is found, and how much that is none."""

import random
from collections.abc import Iterator
from typing import Any

import phonenumbers
from tests.corpora.homes import HOMES, NO_HOMES

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard

COUNTRIES = ["US", "CA", "MX", "BR", "AR", "CL", "CO", "PE", "GB", "IE", "FR", "DE", "AT", "CH", "NL", "BE", "LU", "ES", "PT", "IT", "GR", "SE", "NO", "DK", "FI", "IS", "PL", "CZ", "SK", "HU", "RO", "BG", "HR", "RS", "UA", "RU", "TR", "IL", "AE", "SA", "EG", "ZA", "NG", "KE", "IN", "PK", "CN", "JP", "KR", "TH", "VN", "ID", "AU", "NZ", "SG"]  # fmt: skip
ADDRESSES = {
    "US": "742 Evergreen Terrace, Springfield, IL 62704",
    "GB": "10 Downing Street, London SW1A 2AA",
    "CA": "24 Sussex Drive, Ottawa, ON K1M 1M4",
    "AU": "5 Collins Street, Melbourne VIC 3000",
    "DE": "Lindenstraße 12, 10969 Berlin",
    "AT": "Mariahilfer Straße 45, 1060 Wien",
    "CH": "Bahnhofstrasse 7, 8001 Zürich",
    "FR": "12 rue de la Paix, 75002 Paris",
    "ES": "Calle Mayor 25, 28013 Madrid",
    "IT": "Via Roma 14, 00184 Roma",
    "NL": "Keizersgracht 123, 1015 CJ Amsterdam",
    "PT": "Rua Augusta 50, 1100-053 Lisboa",
    "BR": "Rua das Flores, 123, São Paulo - SP, 01310-100",
    "PL": "ul. Marszałkowska 10, 00-590 Warszawa",
    "SE": "Storgatan 5, 114 51 Stockholm",
    "JP": "〒150-0002 東京都渋谷区渋谷2-21-1",
}
NO_NUMBERS = (
    "order 20451187733", "ISBN 978-3-16-148410-0", "version 10.4.22631", "2026-11-18 05:30:00", "coordinates 52.5200, 13.4050",
    "invoice no 000123456789", "tracking 1Z999AA10123456784", "part number 100-200-3000", "score 1 234 567 points",
    "population 8 336 817", "RFC 2822 section 3.4.1", "ticket #448812903", "port 8080", "batch 5567-8890-12", "0.000123456",
)  # fmt: skip


def _findings(text: str, guard: SafetyGuard) -> set[str]:
    result = ResponseVerifier().verify_tool_call("save", {"text": text}, guards=[guard])
    details: Any = result.guard_results[0].details
    return {finding["kind"] for finding in (details or {}).get("findings", ())}


def phones(country: str) -> Iterator[tuple[str, str]]:
    """The form, and a text with a number in it."""
    for kind in (phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE):
        number = phonenumbers.example_number_for_type(country, kind)
        if number is None:
            continue
        written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
        yield "international", f"You reach her at {written} after five."
        yield "e164", phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
        yield "national, named", f"Phone: {national}"


def main() -> None:
    guard = SafetyGuard(max_calls=None)
    for form in ("international", "e164", "national, named"):
        found = {
            country: [("phone" in _findings(text, guard)) for name, text in phones(country) if name == form]
            for country in COUNTRIES
        }
        missed = [country for country, hits in found.items() if not all(hits)]
        total = sum(len(hits) for hits in found.values())
        print(
            f"phone, {form}: {sum(map(sum, found.values()))} of {total}; missed in {' '.join(missed) or 'none'}"
        )
    hits = {
        country: "postal_address" in _findings(f"She lives at {text}.", guard)
        for country, text in ADDRESSES.items()
    }
    print(
        f"postal_address: {sum(hits.values())} of {len(hits)}; missed in {' '.join(c for c, hit in hits.items() if not hit)}"
    )
    written = {
        country: sum("postal_address" in _findings(f"My home: {home}", guard) for home in homes)
        for country, homes in HOMES.items()
    }
    print("postal_address, of two a country:", written, sum(written.values()), "of", 2 * len(written))
    print("no address:", [text for text in NO_HOMES if _findings(text, guard)], "of", len(NO_HOMES))
    rng = random.Random(5)
    addresses = [".".join(str(rng.randint(1, 223)) for _ in range(4)) for _ in range(200)]
    public = [one for one in addresses if not one.startswith(("10.", "127.", "172.", "192.", "169."))]
    print(
        "ip_address:",
        sum("ip_address" in _findings(f"the user logged in from {one}", guard) for one in public),
        "of",
        len(public),
    )
    print("alarms:", [text for text in NO_NUMBERS if _findings(text, guard)], "of", len(NO_NUMBERS))


if __name__ == "__main__":
    main()
