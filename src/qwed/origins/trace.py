"""Where a value comes from: one of four origins, with a witness.

A value's integrity is the best of its verbatim sources. A value that nobody said as it is may be put together
from others: then it is as good as its worst part, and of several ways the least trusted counts.
"""

import enum
import itertools
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import compact_skeleton
from qwed.origins.arguments import Argument
from qwed.origins.atoms import Atom, AtomKind, atoms_in, host_of, latin_of, look_of, tail_of
from qwed.origins.index import Index, OriginLevel, Sighting, Speaker

MIN_PART: Final = 4
MAX_PARTS: Final = 3
#: No field that is a name is longer.
MAX_PART: Final = 80
#: Of what stands behind the host of a link.
MAX_CARRIED: Final = 2_048
MAX_FOLDERS: Final = 16
_MAX_LABELS: Final = 16
_NAME_PARTS = lazy_pattern(r"[\s_.-]+")
_PIECES = lazy_pattern(r"[?&=#;]")
_LEADING: Final = frozenset({AtomKind.HOST, AtomKind.EMAIL, AtomKind.URL})


class Origin(enum.StrEnum):
    SAID = "said"
    ENDORSED = "endorsed"
    UNTRUSTED = "untrusted"
    UNSAID = "unsaid"


_ORIGINS: Final = {
    OriginLevel.USER: Origin.SAID,
    OriginLevel.TRUSTED: Origin.SAID,
    OriginLevel.APPROVED: Origin.ENDORSED,
    OriginLevel.ENDORSED: Origin.ENDORSED,
    OriginLevel.UNTRUSTED: Origin.UNTRUSTED,
}


class Traced(msgspec.Struct, frozen=True):
    """`says` is the sentence for people; `level` is None where nobody said it."""

    where: str
    slot: str
    role: str
    value: str
    origin: Origin
    says: str
    level: OriginLevel | None = None
    tool: str = ""
    step: int = 0
    #: A source to which the user pointed says it, and the user named no folder above it.
    is_pointed: bool = False


class TracedFinding(NamedTuple):
    level: OriginLevel
    witness: Sighting
    #: How it was put together, where it was.
    via: str = ""
    #: It is another value, which only looks like one that was said.
    is_look: bool = False


def trace(index: Index, argument: Argument) -> Traced:
    found = find(index, argument.atom)
    if found is None and index.is_forgetful:
        return _report_untraced(
            argument, Origin.UNTRUSTED, "not everything that was said is known any more, so a result may have"
        )
    if found is None:
        return _report_untraced(argument, Origin.UNSAID, "nobody said it")
    heard = found.witness.heard
    says = f"{argument.role} {argument.shown[:120]}: {_sentence(found)}"
    return Traced(
        argument.where,
        argument.slot,
        argument.role.value,
        argument.shown[:200],
        _ORIGINS[found.level],
        says,
        found.level,
        heard.tool,
        heard.step,
        heard.is_named and not _is_in_users_folder(index, argument.atom),
    )


def _is_in_users_folder(index: Index, atom: Atom) -> bool:
    folders = atom.value.split("/")[:-1][:MAX_FOLDERS] if atom.kind is AtomKind.PATH else []
    above = (
        _verbatim(index, Atom(AtomKind.PATH, folder))
        for folder in itertools.accumulate(folders, "{}/{}".format)
    )
    return any(found is not None and found.level is OriginLevel.USER for found in above)


def _report_untraced(argument: Argument, origin: Origin, why: str) -> Traced:
    says = f"{argument.role} {argument.shown[:120]}: {why}"
    return Traced(argument.where, argument.slot, argument.role.value, argument.shown[:200], origin, says)


def _sentence(found: TracedFinding) -> str:
    heard = found.witness.heard
    via = f" ({found.via})" if found.via else ""
    if found.is_look:
        whose = f"the result of {heard.tool}" if heard.speaker is Speaker.TOOL else f"the {heard.speaker}"
        return f"nobody said it; it looks like {found.via}, which stands in the words of {whose}"
    match heard.speaker:
        case Speaker.USER:
            return f"the user said it{via}"
        case Speaker.OPERATOR:
            return f"the policy says it{via}"
        case Speaker.ENGINE:
            return f"an engine proved it{via}"
        case Speaker.APPROVAL:
            return f"a person approved it in this conversation{via}"
    seen = f"first seen in the result of {heard.tool} at step {heard.step}{via}"
    match found.level:
        case OriginLevel.TRUSTED:
            return f"{seen}, which the policy trusts"
        case OriginLevel.ENDORSED if heard.is_named:
            return f"{seen}, to which the user pointed; the user did not say it"
        case OriginLevel.ENDORSED:
            return f"{seen}, in the record that the user's own word finds; the user did not say it"
    return f"{seen}; the user did not say it"


def find(index: Index, atom: Atom) -> TracedFinding | None:
    """The best verbatim source, else the least trusted derivation; None where nobody said it."""
    verbatim = _verbatim(index, atom)
    if verbatim is not None and verbatim.level is OriginLevel.UNTRUSTED and not index.is_forgetful:
        return _find_named(index, atom) or verbatim
    if verbatim is not None:
        return verbatim
    ways = itertools.chain(_looks(index, atom), _derivations(index, atom))
    return min(ways, key=lambda found: found.level, default=None)


def _find_named(index: Index, atom: Atom) -> TracedFinding | None:
    """What only a result spelled out, and the user named in other words."""
    match atom.kind:
        case AtomKind.PATH:
            return _find_file(index, atom)
        case AtomKind.URL:
            return _find_page(index, atom.value)
    return None


def _looks(index: Index, atom: Atom) -> Iterator[TracedFinding]:
    """Somebody said what this only looks like. That is no word for it, whoever said it."""
    latin = latin_of(atom.value)
    asked = [look_of(atom)] if latin == atom.value else [look_of(atom), Atom(atom.kind, latin)]
    for other in asked:
        if sightings := index.sightings(other):
            yield TracedFinding(OriginLevel.UNTRUSTED, sightings[0], latin, is_look=True)


def _verbatim(index: Index, atom: Atom) -> TracedFinding | None:
    best: TracedFinding | None = None
    for sighting in index.sightings(atom):
        level = index.level_of(sighting)
        if best is None or level > best.level:
            best = TracedFinding(level, sighting)
        if level is OriginLevel.USER:
            break
    return best


def _derivations(index: Index, atom: Atom) -> Iterator[TracedFinding]:
    match atom.kind:
        case AtomKind.URL:
            yield from _from_host(index, atom.value)
        case AtomKind.EMAIL:
            yield from _from_address(index, atom.value)
        case AtomKind.NUMBER | AtomKind.TOKEN:
            yield from _from_tail(index, atom)
            yield from _from_parts(index, atom.value)
        case AtomKind.AMOUNT:
            yield from _from_amounts(index, Decimal(atom.value))
        case AtomKind.DATE:
            yield from _from_date(index, atom.value)
        case AtomKind.PATH:
            yield from _from_file_name(index, atom.value)
            yield from _from_above(index, atom.value)
        case _:
            return


def _from_host(index: Index, url: str) -> Iterator[TracedFinding]:
    """The host of a link, or a domain above it; and what stands in the rest of the link."""
    host = host_of(url)
    labels = [host] if host.startswith("[") else host.split(".")
    for start in range(max(1, len(labels) - 1)):
        domain = ".".join(labels[start:])
        found = _verbatim(index, Atom(AtomKind.HOST, domain))
        if found is not None:
            yield found._replace(via=f"its host {domain}")
            break
    else:
        yield from _from_parts(index, host)
    yield from _trace_carried(index, url[len(host) :])


def _trace_carried(index: Index, rest: str) -> Iterator[TracedFinding]:
    """A link that leads on (`?next=evil.example`) is as bad as where it leads."""
    for piece in _PIECES.split(rest[:MAX_CARRIED]):
        for atom in atoms_in(piece):
            found = _verbatim(index, atom) if atom.kind in _LEADING else None
            if found is not None and found.level is OriginLevel.UNTRUSTED:
                yield found._replace(via=f"it carries {atom.value[:80]}")


def _from_address(index: Index, address: str) -> Iterator[TracedFinding]:
    local, _, host = address.rpartition("@")
    plain, tag, _ = local.partition("+")
    found = _verbatim(index, Atom(AtomKind.EMAIL, f"{plain}@{host}")) if tag else None
    if found is not None and found.level <= OriginLevel.ENDORSED:
        # Only against it: not every host has one mailbox for both.
        yield found._replace(via=f"the mailbox {plain}@{host}")
    whole = _verbatim(index, Atom(AtomKind.HOST, host)) or _from_domain_above(index, host)
    name = _verbatim(index, Atom(AtomKind.NAME, local.replace(".", "")))
    if whole is not None and name is not None:
        worst = min((whole, name), key=lambda part: part.level)
        yield worst._replace(via=f"put together from {local} and {host}")
    elif whole is not None and whole.level <= OriginLevel.ENDORSED:
        # Somebody at a place that only a result named. A host that the user said makes nobody's address.
        yield whole._replace(via=f"its host {host}")
    yield from _from_parts(index, address)


def _from_domain_above(index: Index, host: str) -> TracedFinding | None:
    """Only against it: a domain that somebody named makes no host below it theirs."""
    labels = host.split(".")
    above = (".".join(labels[start:]) for start in range(1, min(len(labels) - 1, _MAX_LABELS)))
    found = (_verbatim(index, Atom(AtomKind.HOST, domain)) for domain in above)
    return next((each for each in found if each is not None and each.level <= OriginLevel.ENDORSED), None)


def _from_tail(index: Index, atom: Atom) -> Iterator[TracedFinding]:
    """Maybe the number with its country, or without: only against it, since other accounts end so too."""
    tail = tail_of(atom.value) if atom.value.isdigit() else None
    found = None if tail is None else _verbatim(index, tail)
    if tail is not None and found is not None and found.level <= OriginLevel.ENDORSED:
        yield found._replace(via=f"a number that ends in {tail.value}")


def _from_parts(index: Index, value: str) -> Iterator[TracedFinding]:
    """At most three fields, one behind the other, of four characters at least; a name before the @ may be
    shorter."""
    parts = _parts(index, compact_skeleton(value), MAX_PARTS)
    if len(parts) > 1:
        shown = " and ".join(text for text, _ in parts)
        worst = min((found for _, found in parts), key=lambda found: found.level)
        yield worst._replace(via=f"put together from {shown}")


def _parts(index: Index, rest: str, left: int) -> list[tuple[str, TracedFinding]]:
    """The parts that make up the text, the longest first; empty where there are none."""
    for end in range(min(len(rest), MAX_PART), 0, -1):
        if end < MIN_PART and rest[end : end + 1] != "@":
            continue
        found = _part(index, rest[:end])
        behind = rest[end:].lstrip("@")
        if found is None or (behind and left == 1):
            continue
        others = _parts(index, behind, left - 1) if behind else []
        if others or not behind:
            return [(rest[:end], found), *others]
    return []


def _part(index: Index, text: str) -> TracedFinding | None:
    found = _verbatim(index, Atom(AtomKind.NAME, text.strip("@")))
    return found or (_verbatim(index, Atom(AtomKind.NUMBER, text.lstrip("0"))) if text.isdigit() else None)


def _from_amounts(index: Index, amount: Decimal) -> Iterator[TracedFinding]:
    """One sum or difference of two amounts that sources of the same class said."""
    for level in (OriginLevel.UNTRUSTED, OriginLevel.TRUSTED, OriginLevel.USER):
        known = index.amounts_by(level)
        for one in known:
            for other, sign in ((amount - one, "+"), (one - amount, "-")):
                if other > 0 and one > 1 and other > 1 and other in known and other != one:
                    part = _verbatim(index, Atom(AtomKind.AMOUNT, f"{one.normalize():f}"))
                    if part is not None:
                        first, second = (one, other) if sign == "-" else (other, one)
                        yield part._replace(via=f"{first} {sign} {second}")
                        return


def _from_date(index: Index, value: str) -> Iterator[TracedFinding]:
    """A date that was said, moved by a number of days that the user stated."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return
    stated = [
        number for number in index.amounts_by(OriginLevel.USER) if number == int(number) and 0 < number <= 366
    ]
    for number in stated[:32]:
        for moved in (day - timedelta(days=int(number)), day + timedelta(days=int(number))):
            found = _verbatim(index, Atom(AtomKind.DATE, moved.isoformat()))
            if found is not None:
                yield found._replace(via=f"{moved.isoformat()} moved by {number} days")


def _from_file_name(index: Index, path: str) -> Iterator[TracedFinding]:
    """The name of a file that was said. Its folder is a part of it too, where somebody said that."""
    folder, _, name = path.rpartition("/")
    if not folder or len(name) < MIN_PART:
        return
    found = _verbatim(index, Atom(AtomKind.PATH, name))
    if found is None:
        return
    inside = _verbatim(index, Atom(AtomKind.PATH, folder))
    worst = min((part for part in (found, inside) if part is not None), key=lambda part: part.level)
    yield worst._replace(via=f"the file name {name}" if worst is found else f"the folder {folder}")


def _from_above(index: Index, path: str) -> Iterator[TracedFinding]:
    """The way up to a folder is no part of where a path leads."""
    bare = path.lstrip("./")
    found = _verbatim(index, Atom(AtomKind.PATH, bare)) if bare != path else None
    if found is not None:
        yield found._replace(via=bare)


def _find_file(index: Index, atom: Atom) -> TracedFinding | None:
    """`/reports/q3.pdf` is the user's `q3 report`: its name and its kind or folder, side by side."""
    folder, _, name = atom.value.rpartition("/")
    stem, _, ending = name.rpartition(".")
    own = compact_skeleton("".join(_NAME_PARTS.split(stem)))
    kind = folder.rpartition("/")[2].removesuffix("s")
    for beside in filter(None, ("file", "document", ending, kind)):
        for words in (own + compact_skeleton(beside), compact_skeleton(beside) + own):
            found = _verbatim(index, Atom(AtomKind.NAME, words)) if own else None
            if found is not None and found.level is OriginLevel.USER:
                return found._replace(level=OriginLevel.ENDORSED, via=f"as {words}")
    return None


def _find_page(index: Index, url: str) -> TracedFinding | None:
    """A page of a site that the user named as a whole, and that leads nowhere else."""
    host = host_of(url)
    found = _verbatim(index, Atom(AtomKind.URL, host)) if host != url else None
    if found is None or found.level is not OriginLevel.USER or any(_trace_carried(index, url[len(host) :])):
        return None
    return found._replace(level=OriginLevel.ENDORSED, via=f"its host {host}")
