"""One pass over all texts of an output, shared by the guards that look for shapes in them.

Every text becomes a line `name: value` of one long text, so that a value is read beside its name. A single
RE2 set tells in linear time which shapes occur at all; detectors run only for those. Where an encoding or
a disguise occurs, the texts are folded first and what they hide is scanned as lines of their own.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain import text_forms
from qwed_open_responses import injections, orders, personal_data, sql_fragments, suspicions, url_secrets
from qwed_open_responses.libraries import library
from qwed_open_responses.outputs import Output, OutputText

# A superset of what `qwed.domain.secrets` looks for; a test holds the two together.
SECRET_SIGNALS: Final = {
    "secret:vendor": (
        r"AKIA|ASIA|gh[pousr]_|github_pat_|gl(?:pat|ptt|rt|dt|cbt|soat|ft|imt|agent)-|glsa_|glc_"
        r"|xox[abeoprs]-|xapp-"
        r"|hooks\.slack\.com|/api/webhooks/|[sr]k_(?:live|test|prod)_|whsec_|sk-|AIza|ya29\.|GOCSPX-|SG\."
        r"|SK[0-9a-f]{4}"
        r"|key-[0-9a-z]{4}|[0-9a-f]-us[0-9]|npm_|pypi-|hf_|dckr_|do[opr]_v1_|shp(?:at|ca|pa|ss)_|sq0"
        r"|dapi[0-9a-f]|hv[sbr]\."
        r"|AGE-SECRET|[0-9]:[A-Za-z0-9_-]{4}|Key=|sig=|ATATT3|lin_|ntn_|PMAK-|NRAK-|\bdp\.|gsk_|r8_|sbp_"
        r"|sntry|eyJ|asic [A-Za-z0-9+/]{4}"
        r"|A3-[A-Z0-9]{6}-|p8e-|pat[A-Za-z0-9]{14}\.|AVNS_|LTAI|AKCp|cmVmd|[0-9]Q~|xkeysib-|bkua_|CCIPAT_"
        r"|4b1d[A-Za-z0-9]"
        r"|CLOJARS_|v1\.0-[0-9a-f]|CFPAT-|dnkey-|\bsl\.|duffel_|dt0[a-z][0-9]|EZ[AT]K|EAA[A-Z]|figd_|fo1_"
        r"|fm[12]|fio-u-"
        r"|HRKU-|pat-[ne]|ico-|jina_|lsv2_|mlsn\.|[ps]k\.|_mmk|nfp_|NR(?:II|AL|JS|RA)-|oy2[a-z0-9]|nvapi-"
        r"|API-[A-Z0-9]"
        r"|sha256~|pplx-|pcsk_|access-[sdp]|pscale_|pnu_|pul-|PuTTY-User|rdme_|rnd_|rubygems_|tk-us-"
        r"|shippo_|sq[apu]_"
        r"|sgp_|sb_secret_|tskey-|tvly-|webhook\.office|\.atlasv1\.|AAAAAAAAAAAA|tfp_|xai-|AQVN"
        r"|\$[a-z0-9]{1,8}\$"
        r"|\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]"
    ),
    "secret:key": r"-----BEGIN",
    "secret:url": r"://[^\s/@]*:[^\s/@]*@",
    "secret:named": (
        r"(?i)passw|passphrase|passcode|\bpass\b|\bpwd|\bpin\b|secret|token|credential|bearer"
        r"|[a-z0-9][ _-]?key|aws|(?:seed|recovery|mnemonic|wallet) phrase|\bcurl\b|-user\b|\b_?auth\b"
    ),
}  # fmt: skip


_MANY: Final = 200


class ScannedLine(msgspec.Struct, frozen=True, gc=False):
    """A reading of one text; `decoded` when it is what an encoding hides."""

    text: OutputText
    value: str
    decoded: bool = False


class TextScan(msgspec.Struct, frozen=True):
    """`blob[starts[i]:]` begins with the name and value of `lines[i]`; `signals` occur in the blob."""

    lines: list[ScannedLine]
    starts: list[int]
    blob: str
    signals: frozenset[str]

    def line_at(self, position: int) -> tuple[ScannedLine, int]:
        """The line that holds a place of the blob, and where that line begins."""
        index = bisect_right(self.starts, position) - 1
        return self.lines[index], self.starts[index]

    def find(
        self, name: str, shape: str, dense: re.Pattern[str] | None = None
    ) -> Iterator[tuple[ScannedLine, int, Any]]:
        """If the signal occurs: every match of the shape that it announces, with its line and that line's
        beginning.

        RE2 reads a text without matches ten times faster than the standard library, and hands out matches ten
        times more slowly: where there are many, `dense`, the same shape, goes on from there.
        """
        if name not in self.signals:
            return
        for count, match in enumerate(compiled(shape).finditer(self.blob)):
            if count == _MANY and dense is not None:
                for rest in dense.finditer(self.blob, match.start()):
                    yield *self.line_at(rest.start()), rest
                return
            yield *self.line_at(match.start()), match

    def lines_with(self, name: str) -> Iterator[tuple[ScannedLine, int]]:
        """Each line in which the signal occurs, once, with its beginning."""
        if name not in self.signals:
            return
        pattern = compiled(signals()[name])
        for line, start in zip(self.lines, self.starts, strict=True):
            if pattern.search(line.value):
                yield line, start


def scan(view: Output) -> TextScan:
    """Use through `view.once(scan)`, so that the guards share it."""
    lines = [ScannedLine(text, text.value) for text in view.texts]
    if all(is_word(line.value) for line in lines):
        return _join(lines, frozenset())
    first = _scan(lines)
    is_ascii = first.blob.isascii()
    if is_ascii and not first.signals & _FOLDING_NAMES:
        return first
    folded = list(_fold(first, is_ascii))
    known = set(map(id, lines))
    fresh = [line for line in folded if id(line) not in known]
    if not fresh:
        return first
    # Signals only announce: those of a line that was folded since may stay.
    return _join(folded, first.signals | _scan(fresh).signals)


def _fold(raw: TextScan, is_ascii: bool) -> Iterator[ScannedLine]:
    """Each line in its canonical form, then what is encoded in it."""
    for line in raw.lines:
        if is_ascii and not text_forms.is_disguised(line.value):
            yield line
            continue
        value = text_forms.canonical(line.value)
        yield line if value == line.value else ScannedLine(line.text, value)
        for decoded in text_forms.decodings(value):
            yield ScannedLine(line.text, decoded, decoded=True)


def is_word(value: str) -> bool:
    """One short word of letters: too little to be a secret, a person's data or an order, and not encoded."""
    return (
        len(value) <= 24 and value.isalpha() and value.isascii() and (value[1:].islower() or value.isupper())
    )


def _scan(lines: list[ScannedLine]) -> TextScan:
    joined = _join(lines, frozenset())
    return msgspec.structs.replace(joined, signals=_signals_in(joined.blob))


def _join(lines: list[ScannedLine], signals: frozenset[str]) -> TextScan:
    starts: list[int] = []
    parts: list[str] = []
    position = 0
    for line in lines:
        key = line.text.key
        part = f"{key}: {line.value}" if key else line.value
        starts.append(position)
        parts.append(part)
        position += len(part) + 1
    blob = "\n".join(parts)
    return TextScan(lines, starts, blob, signals)


def _signals_in(blob: str) -> frozenset[str]:
    present: list[str] = []
    encoded = blob.encode("utf-8", "replace")
    for names, matcher in _matchers():
        found = matcher.Match(encoded)
        # A set gives up, without a word, on a text that needs too many states. The empty pattern that every
        # set begins with is there to notice that; then every detector runs.
        if not found:
            present += names
        elif len(found) > 1:
            present += [names[index] for index in found]
    return frozenset(present)


@functools.cache
def signals() -> Mapping[str, str]:
    """What the scan looks for. A signal announces a shape and is simpler than it: words and short runs."""
    return {
        **text_forms.SIGNALS,
        **SECRET_SIGNALS,
        **url_secrets.SIGNALS,
        **personal_data.SIGNALS,
        **injections.SIGNALS,
        **orders.signals(),
        **sql_fragments.SIGNALS,
        **suspicions.SIGNALS,
    }


_SET_OF: Final = {"folding": "secret", "sql": "suspicion", "spelled": "personal"}
_FOLDING_NAMES: Final = frozenset(text_forms.SIGNALS)
_MEMORY: Final = 64 << 20


@functools.cache
def _matchers() -> list[tuple[list[str], Any]]:
    """One set for each family of signals: in one set for all, the states of each pattern would multiply with
    those of every other."""
    families: dict[str, list[str]] = {}
    for name in signals():
        family = name.partition(":")[0]
        if family == "personal" and "[0-9]" in name:
            family = "digits"
        families.setdefault(_SET_OF.get(name, _SET_OF.get(family, family)), []).append(name)
    return [_matcher(names) for names in families.values()]


def _matcher(names: list[str]) -> tuple[list[str], Any]:
    matcher = _re2().Set.SearchSet(_options())
    matcher.Add("")
    for name in names:
        matcher.Add(signals()[name])
    matcher.Compile()
    return ["", *names], matcher


@functools.cache
def compiled(pattern: str) -> Any:
    return _re2().compile(pattern, _options())


def _options() -> Any:
    options = _re2().Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


@functools.cache
def _re2() -> Any:
    return library("re2")
