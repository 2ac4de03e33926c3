"""How streets are written outside the English-speaking countries: a signal, a shape, and what proves it."""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.personal_checks import Check, TextPlace, always

# The street's kind ends its name: Lindenstraße, Keizersgracht, Storgatan.
_ENDINGS: Final = (
    r"(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|gracht|straat|laan|plein|kade|gatan|vägen|gata"
    r"|vej|gade|katu|veien|utca| Straße| Strasse| Allee| Platz)"
)
# It stands before the name: rue de la Paix, Calle Mayor, Via Roma.
_KINDS: Final = (
    r"(?:rue|avenue|boulevard|chemin|impasse|quai|calle|c/|avenida|plaza|paseo|via|viale|piazza|corso|rua|travessa"
    r"|praça|largo|strada|ulica|ul\.|aleja|al\.|bulevardul|jalan|jl\.)"
)
_POSTCODE: Final = (
    r"(?:[A-Z]{1,2}-)?(?:[0-9]{5}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{2}-[0-9]{3}|[0-9]{3} [0-9]{2}|[0-9]{4,6})"
    r"(?: [A-Z]{2})?"
)
# Four digits alone would be a year.
_LONG_POSTCODE: Final = r"(?:[0-9]{5}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{2}-[0-9]{3}|[0-9]{5,6})"
_HOUSE = lazy_pattern(r"(?:^|[\s,])[0-9]{1,4}[a-zA-Z]?(?: ?(?:bis|ter))?(?:[\s,]|$)")


def _has_house_number(place: TextPlace) -> bool:
    """A street and a postcode without the number of a house are a region."""
    return _HOUSE.search(place.before[-8:] + " " + place.match) is not None


FORMS: Final[tuple[tuple[str, str, Check], ...]] = (
    (
        rf"(?i){_ENDINGS} [0-9]",
        rf"\b[A-ZÄÖÜÅØ][a-zäöüßåøæéè.-]{{1,30}}{_ENDINGS} [0-9]{{1,4}} ?[a-zA-Z]?,? {_POSTCODE}"
        " [A-ZÄÖÜÅØ]",
        always,
    ),
    (
        rf"(?i)\b{_KINDS} ?[a-zà-ž]",
        rf"\b(?i:{_KINDS}) ?(?:(?:de|la|las|los|des|du|das|dos|da|del|di|della|le)[ '’]){{0,2}}[A-ZÀ-Ž]"
        rf"[^\n0-9,]{{1,40}},? ?(?:[0-9]{{1,5}}[a-zA-Z]?,? )?[^\n0-9]{{0,40}}\b{_LONG_POSTCODE}\b",
        _has_house_number,
    ),
    (r"〒 ?[0-9]{3}-", r"〒 ?[0-9]{3}-[0-9]{4}", always),
)
