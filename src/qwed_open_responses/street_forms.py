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
    r"(?:rue|avenue|boulevard|chemin|impasse|quai|cours|allée|calle|c/|avenida|av\.|plaza|paseo|via|viale|piazza|corso|rua|travessa"
    r"|praça|largo|strada|ulica|ul\.|aleja|al\.|bulevardul|jalan|jl\.)"
)
_POSTCODE: Final = (
    r"(?:[A-Z]{1,2}-)?(?:[0-9]{5}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{2}-[0-9]{3}|[0-9]{3} [0-9]{2}|[0-9]{4,6})"
    r"(?: [A-Z]{2})?"
)
# Four digits alone would be a year.
_LONG_POSTCODE: Final = r"(?:[0-9]{5}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{2}-[0-9]{3}|[0-9]{5,6})"
# Of four digits, years are left out.
_ANY_POSTCODE: Final = (
    r"(?:[0-9]{4} [A-Z]{2}|[0-9]{3} [0-9]{2}|[0-9]{2}-[0-9]{3}|[0-9]{4}-[0-9]{3}|[0-9]{5}"
    r"|1[0-8][0-9]{2}|[3-9][0-9]{3})"
)
_THING = lazy_pattern(
    r"(?i)\b(?:section|chapter|building|room|figure|table|page|model|version|part|item|line|volume|number|no|step|hall"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|windows|level|top|type"
    r"|phase|day|week|q[1-4]|group|team|class|game|round|season|episode|article|paragraph|appendix"
    r"|results?) [0-9]"
)
_HOUSE = lazy_pattern(r"(?:^|[\s,])[0-9]{1,4}[a-zA-Z]?(?: ?(?:bis|ter))?(?:[\s,]|$)")


def _has_house_number(place: TextPlace) -> bool:
    """A street and a postcode without the number of a house are a region."""
    return _HOUSE.search(place.before[-8:] + " " + place.match) is not None


def _is_no_thing(place: TextPlace) -> bool:
    return _THING.search(place.match) is None


FORMS: Final[tuple[tuple[str, str, Check], ...]] = (
    (
        rf"(?i){_ENDINGS} [0-9]",
        rf"\b[A-ZÄÖÜÅØ][a-zäöüßåøæéè.-]{{1,30}}{_ENDINGS} [0-9]{{1,4}} ?[a-zA-Z]?,? {_POSTCODE}"
        " [A-ZÄÖÜÅØ]",
        always,
    ),
    (
        rf"(?i)\b{_KINDS} ?[a-zà-ž]",
        rf"\b(?i:{_KINDS}) ?(?:(?:de|la|las|los|des|du|das|do|dos|da|del|di|della|le)[ '’]){{0,2}}[A-ZÀ-Ž]"
        rf"[^\n0-9,]{{1,40}},? ?(?:[0-9]{{1,5}}[a-zA-Z]?,? )?[^\n0-9]{{0,40}}\b{_LONG_POSTCODE}\b",
        _has_house_number,
    ),
    # Any street: its name, the number of the house, a postcode, and a town at the end of the line or clause.
    (
        rf"[0-9][a-zA-Z]?, {_ANY_POSTCODE} [A-ZÀ-Ž]",
        rf"\b[A-ZÀ-Ž][^\W\d_][^\n0-9,;:.!?]{{1,40}} [0-9]{{1,4}} ?[a-zA-Z]?"
        rf"(?: ?[A-Z] [0-9]{{1,3}}| lgh [0-9]{{4}})?"
        rf", {_ANY_POSTCODE} [A-ZÀ-Ž][^\n0-9,.;!?]{{2,30}}(?: [0-9]{{1,2}})?(?:[.,;)\n]|$)",
        _is_no_thing,
    ),
    (r"〒 ?[0-9]{3}-", r"〒 ?[0-9]{3}-[0-9]{4}", always),
    (
        "[都道府県][一-鿿]{1,6}[区市町村]",
        "[都道府県][一-鿿]{1,6}[区市町村][ぁ-ヿ一-鿿]{1,12}[0-9]{1,3}(?:丁目|-)[0-9]{1,3}",
        always,
    ),
    ("[路街道巷弄][0-9]{1,5}号", "[市区县][一-鿿]{1,12}[路街道巷弄][0-9]{1,5}号", always),
    (
        "[가-힣](?:구|군|시) [가-힣]",
        "[가-힣]{1,6}[시도] [가-힣]{1,5}[구군시] [가-힣0-9]{1,12}[로길동] ?[0-9]{1,4}",
        always,
    ),
)
