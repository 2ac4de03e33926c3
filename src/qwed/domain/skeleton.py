"""What a name looks like, so that a disguised name can be recognised.

`skeleton` folds everything a reader would not see: compatibility forms (full width, mathematical,
circled letters), letter case, accents, invisible characters, and letters of other scripts that are
drawn like Latin ones. Words may be set apart by a hyphen, a blank, a dot or a slash as well as by an
underscore: runs of these become one underscore. `compact_skeleton` drops the underscores too, so that
`dropTable` meets `drop_table`; camel case is not split at capitals, because `dRoP_tAbLe` must fold as
`drop_table` does.

ASCII digits stay digits (`0` is not `o`): a plain ASCII name is only ever folded in case and separators.
Use a skeleton to recognise what is dangerous or blocked, never to decide that a name is safe.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

# Latin letter -> letters drawn like it. Lower-case Greek and Cyrillic letters that look like the
# *capital* of another Latin letter follow their capital only where the small letter is drawn alike.
_LOOK_ALIKES: Final[dict[str, str]] = {
    "a": "ɑαΑаАᴀᎪꓮⲁⲀ𐊠∀ɐ",
    "b": "ƀɓʙβΒвВьЬЪъᏴᏼꓐƅƄᗷꞴ𐊂𐊡Ᏸ",
    "c": "ƈɔϲϹсСᴄᏟꓚⲥⲤ𐊢ↄ",
    "d": "đÐðɖɗԁԀᴅᎠꓓժ",
    "e": "ǝəɛεΕеЕєЄᴇᎬꓰⴹ℮ҽҼ",
    "f": "ƒꜰϝϜꓝꞘꞙֆ",
    "g": "ɡɢɠցԍԌᏀᏳꓖᶃ",
    "h": "ħɦʜΗнНһҺհᎻꓧⲎⲏ",
    "i": "ıɨɩɪιΙіІїЇᎥꓲⲓⲒ",
    "j": "ʝȷјЈᴊϳᎫꓙ",
    "k": "ƙĸᴋκΚкКқҚᏦꓗⲕⲔ",
    "l": "łɫɭʟӏᏞꓡլԼⳑⳐǀӀ∣",
    "m": "ɱᴍΜмМᎷꓟⲙⲘϺϻ",
    "n": "ɲɳŋɴηΝпИиոռꓠⲚⲛᴎ",
    "o": "øɵοΟσоОᴏօՕⲟⲞꓳ๐০०੦૦௦౦೦൦๐໐၀ө",
    "p": "ƥᴘρΡрРᏢꓑⲣⲢϱ",
    "q": "ɋʠԛԚզգꞯ",
    "r": "ɍɾɼɽʀгГᴦᎡᏒꓣяЯɹ",
    "s": "ʂꜱѕЅՏᏕꓢʃ",
    "t": "ŧƭʈᴛτΤтТᎢꓔⲧⲦէ",
    "u": "ʉʊᴜυμսՍꓴцЦ∪ᑌ",
    "v": "ʋᴠνѵѴᏙꓦⱱ∨ⅴ",
    "w": "ɯʍᴡωшШԝԜᎳꓪա",
    "x": "χΧхХҳҲꓫⲭⲬ×",
    "y": "ɣʏƴγΥуУүҮᎽꓬⲩⲨч",
    "z": "ƶʐʑᴢΖᏃꓜⲍⲌ",
    "ae": "æÆ",
    "oe": "œŒ",
}
_SEPARATORS: Final = (
    "-./\\: \t\n\r\v\f"
    "\u1680\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00b7\u2024\u2027\u203f\u2040\u2044\u2215\u30fb"
)
_INVISIBLE_RANGES: Final = (
    (0x00, 0x08),
    (0x0E, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
# Coloured and boxed alphabets that Unicode gives no compatibility form.
_BOXED_ALPHABETS: Final = (0x1F150, 0x1F170, 0x1F1E6)


def _folding_table() -> dict[int, str | None]:
    table: dict[int, str | None] = {
        ord(look_alike): letter for letter, group in _LOOK_ALIKES.items() for look_alike in group
    }
    for first in _BOXED_ALPHABETS:
        table |= {first + index: chr(ord("a") + index) for index in range(26)}
    table |= {ord(separator): "_" for separator in _SEPARATORS}
    for first, last in _INVISIBLE_RANGES:
        table |= dict.fromkeys(range(first, last + 1))
    return table


_FOLDING: Final = _folding_table()
_INVISIBLE = lazy_pattern(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in _INVISIBLE_RANGES)}]+")
#: Of plain letters and signs, those that set words apart or do not show: folding does nothing else to them.
_DROPPED: Final = bytes([ord("_"), *(sign for sign in _FOLDING if sign < 128)])
_SEPARATOR_RUN: Final = re.compile("__+")


def skeleton(name: str) -> str:
    """The name as a reader sees it: `Ｄrор‑Ｔable` and `drop_table` have the same skeleton."""
    folded = name
    if not folded.isascii():
        # Compatibility decomposition leaves accents as separate marks, which are then dropped. The
        # look-alikes are folded before case, since a capital may look like another letter than its small one.
        decomposed = unicodedata.normalize("NFKD", folded)
        folded = "".join(filter(_is_not_a_mark, decomposed))
    folded = folded.translate(_FOLDING).casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded).translate(_FOLDING)
    if "__" in folded:
        folded = _SEPARATOR_RUN.sub("_", folded)
    return folded.strip("_")


def look_alikes(text: str) -> str:
    """The text with each letter that is drawn like a Latin one as that letter: one quick pass, for long texts
    whose compatibility forms are folded already."""
    return text.translate(_FOLDING)


def with_look_alikes(signs: Mapping[int, str]) -> Mapping[int, str | None]:
    """For `str.translate`: what `look_alikes` folds, and the given signs, in the same pass."""
    return {**_FOLDING, **signs}


def compact_skeleton(name: str) -> str:
    """The skeleton without separators: `dropTable`, `drop-table` and `DROP TABLE` are one name."""
    if name.isascii():
        return name.lower().encode().translate(None, _DROPPED).decode()
    return skeleton(name).replace("_", "")


def without_invisible(text: str) -> str:
    """The text without characters that have no shape: zero width, bidirectional marks, controls, tags."""
    return _INVISIBLE.sub("", text)


def _is_not_a_mark(character: str) -> bool:
    return not unicodedata.combining(character)
