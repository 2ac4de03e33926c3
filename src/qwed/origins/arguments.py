"""The values of an action that decide where something goes: recipients, hosts, accounts, amounts, written
paths.

What a text says in passing is content, and no business of this room; a link in it is one, and in programs so
is every address, host, path and account.
"""

import enum
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from qwed.domain.actions import Action
from qwed.domain.text_forms import canonical
from qwed.domain.texts import Text, Texts, collect_texts
from qwed.engines.words import words
from qwed.origins.atoms import Atom, AtomKind, amount_of, atoms_in, name_of, number_of, paths_inside
from qwed.origins.results import PROSE
from qwed.origins.spellings import join_literals, loosen

MAX_ARGUMENTS: Final = 256
_MAX_KEPT: Final = 64
_SCIENTIFIC: Final = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?[eE][+-]?\d{1,2}")
#: A text that is too long for a name, or has no letter: nobody said it as one.
_NO_NAME: Final = Atom(AtomKind.NAME, "")
_NAMED_ADDRESS: Final = re.compile(r"[^@]{0,80}[<(][^<>()\s]+[>)]\s*")
_SET_APART: Final = re.compile(r"[\s,;<>()/+-]")
_SPLIT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class ArgumentRole(enum.StrEnum):
    #: Whom something goes to; also a host that something is sent to, or run from.
    RECIPIENT = "recipient"
    #: A page that is only looked at, or a link that a file holds.
    LINK = "link"
    #: A link in a text that goes to somebody: who reads it may follow it.
    SENT_LINK = "link in a message"
    ACCOUNT = "account"
    AMOUNT = "amount"
    PATH = "path"
    #: Nothing by itself; a policy may name it as a sink.
    VALUE = "value"


class Argument(NamedTuple):
    """One value: where it stands, what it would do there, and how it is shown."""

    where: str
    slot: str
    role: ArgumentRole
    atom: Atom
    shown: str


_SENDING: Final = words(
    "send post put upload publish share forward notify submit transmit push export invite add reply webhook"
    " mail email message transfer pay comment answer respond announce broadcast tweet sms chat call"
)
#: What only looks. A tool of any other name may write.
_READING: Final = words(
    "read get list search find view open fetch show look lookup browse visit download check cat scrape"
)
_DESTROYING: Final = words("delete remove move rename overwrite truncate unlink erase purge wipe rm mv")
_KEYS: Final = words("key keys pubkey publickey password passphrase secret credential credentials")
#: What people read and no program does.
_PROSE_ENDINGS: Final = words("md markdown doc docx rtf odt pdf")
_ACCOUNTS: Final = words(
    "account iban bic payee beneficiary card recipient destination to sender routing wallet"
)
_ADDRESSEES: Final = words(
    "to cc bcc recipient recipients email emails mail address addresses attendee attendees participant"
    " participants invitee invitees member members receiver receivers destination with signer signers guest"
    " guests collaborator collaborators subscriber subscribers"
)
_PHONES: Final = words("phone mobile tel telephone fax sms whatsapp number contact callback to recipient")
_AMOUNTS: Final = words("amount sum total price value cost fee payment usd eur limit budget")
_PATHS: Final = words("path file filename filepath destination target output directory folder dir")
_RUNS: Final = words("code script command cmd sql query statement shell program source")


@functools.lru_cache(1_024)
def _find_known_words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _SPLIT.findall(name))


def words_of(name: str) -> frozenset[str]:
    """Names of tools and members come again and again; long ones are not kept."""
    return _find_known_words(name) if len(name) <= _MAX_KEPT else _find_known_words.__wrapped__(name)


def only_looks(tool: str) -> bool:
    """Whether a tool of this name answers with what stands somewhere, and does nothing else."""
    name = words_of(tool)
    return not name.isdisjoint(_READING) and name.isdisjoint(_SENDING)


class _Doing(NamedTuple):
    """What the action does with its values, as far as names tell."""

    is_sending: bool
    is_reading: bool
    is_destroying: bool
    #: Its texts are kept for people to read.
    is_prose: bool


class ActionValues(NamedTuple):
    """`is_complete` is false where the action holds more values than are read."""

    arguments: tuple[Argument, ...]
    is_complete: bool


def read_values(action: Action) -> ActionValues:
    """Every value that a rule or a default may ask about, each once per place."""
    texts = collect_texts(action)
    doing = _doing(words_of(action.type), texts.values)
    found = tuple(itertools.islice(_all_arguments(action, texts, doing), MAX_ARGUMENTS + 1))
    return ActionValues(found[:MAX_ARGUMENTS], texts.is_complete and len(found) <= MAX_ARGUMENTS)


def _all_arguments(action: Action, texts: Texts, doing: _Doing) -> Iterator[Argument]:
    for text in texts.values:
        yield from _in_text(text.where.removeprefix("parameters."), text.slot, text.value, doing)
    yield from _numbers(action.parameters, "", doing, 0)


def _doing(tool: frozenset[str], texts: Sequence[Text]) -> _Doing:
    slots = [(words_of(text.slot.rpartition(".")[2]), text.value) for text in texts]
    is_sending = not tool.isdisjoint(_SENDING) or any(not slot.isdisjoint(_ADDRESSEES) for slot, _ in slots)
    endings = [
        value.strip().rpartition(".")[2].casefold() for slot, value in slots if not slot.isdisjoint(_PATHS)
    ]
    return _Doing(
        is_sending,
        is_reading=not is_sending and not tool.isdisjoint(_READING),
        is_destroying=not tool.isdisjoint(_DESTROYING),
        is_prose=not is_sending and _PROSE_ENDINGS.issuperset(endings),
    )


def _in_text(where: str, slot: str, value: str, doing: _Doing) -> Iterator[Argument]:
    slot_words = words_of(slot.rpartition(".")[2])
    is_program = not slot_words.isdisjoint(_RUNS)
    atoms = list(dict.fromkeys(atoms_in(value)))
    if is_program and (joined := join_literals(canonical(value))) is not None:
        atoms = list(dict.fromkeys((*atoms, *atoms_in(joined))))
    inside: frozenset[str] | None = None
    is_short = len(value) <= PROSE and "\n" not in value.strip()
    if value.strip():
        yield Argument(where, slot, ArgumentRole.VALUE, name_of(value) or _NO_NAME, value)
    for atom in atoms:
        is_whole = is_short and _is_whole(value, atom, atoms)
        is_whole = is_whole or (not is_program and _is_meant(atom, slot_words, is_short=is_short))
        role = _role(atom, slot_words, doing, is_whole=is_whole, is_program=is_program)
        if role is ArgumentRole.PATH and not doing.is_destroying:
            inside = paths_inside(value) if inside is None else inside
            role = ArgumentRole.VALUE if atom.value in inside else role
        if role is not None:
            yield Argument(where, slot, role, atom, atom.value)


def _is_meant(atom: Atom, slot: frozenset[str], *, is_short: bool) -> bool:
    """The member's name says what its text is for, whatever stands around the value."""
    match atom.kind:
        case AtomKind.EMAIL:
            return not slot.isdisjoint(_ADDRESSEES)
        case AtomKind.NUMBER:
            return not slot.isdisjoint(_ACCOUNTS)
        case AtomKind.TOKEN:
            return not slot.isdisjoint(_ACCOUNTS | _KEYS)
        case AtomKind.AMOUNT:
            return is_short and not slot.isdisjoint(_AMOUNTS)
    return False


def _is_whole(value: str, atom: Atom, atoms: list[Atom]) -> bool:
    """Nothing but atoms and what sets them apart; or an address with a name before it."""
    if atom.kind is AtomKind.EMAIL and _NAMED_ADDRESS.fullmatch(value):
        return True
    bare = canonical(value).strip()
    bare = loosen(bare) or bare
    if " " not in bare:
        return True
    longest = sum(len(each.value) for each in atoms if each.kind is atom.kind)
    return len(_SET_APART.sub("", bare)) <= longest + 2


def _role(
    atom: Atom, slot: frozenset[str], doing: _Doing, *, is_whole: bool, is_program: bool
) -> ArgumentRole | None:
    match atom.kind:
        case AtomKind.EMAIL:
            return ArgumentRole.RECIPIENT if is_whole or is_program else None
        case AtomKind.URL:
            return _role_of_link(doing, is_whole=is_whole, is_program=is_program)
        case AtomKind.NUMBER:
            return _role_of_number(atom, slot, is_whole=is_whole, is_program=is_program)
        case AtomKind.TOKEN:
            meant = _ACCOUNTS if doing.is_reading else _ACCOUNTS | _KEYS
            return ArgumentRole.ACCOUNT if is_whole and not slot.isdisjoint(meant) else None
        case AtomKind.AMOUNT:
            return ArgumentRole.AMOUNT if is_whole and not slot.isdisjoint(_AMOUNTS) else None
        case AtomKind.PATH:
            is_written = not slot.isdisjoint(_PATHS) and not doing.is_reading
            return ArgumentRole.PATH if is_program or (is_whole and is_written) else None
    return None


def _role_of_link(doing: _Doing, *, is_whole: bool, is_program: bool) -> ArgumentRole | None:
    if doing.is_reading:
        return ArgumentRole.LINK
    if is_whole or is_program:
        return ArgumentRole.RECIPIENT
    if doing.is_sending:
        return ArgumentRole.SENT_LINK
    return None if doing.is_prose else ArgumentRole.LINK


def _role_of_number(
    atom: Atom, slot: frozenset[str], *, is_whole: bool, is_program: bool
) -> ArgumentRole | None:
    if not atom.value.isdigit():
        return ArgumentRole.ACCOUNT if is_whole or is_program else None
    if not is_whole:
        return None
    if not slot.isdisjoint(_ACCOUNTS):
        return ArgumentRole.ACCOUNT
    return ArgumentRole.RECIPIENT if not slot.isdisjoint(_PHONES) else None


def _numbers(value: Any, slot: str, doing: _Doing, depth: int) -> Iterator[Argument]:
    """Numbers that are written as numbers, where the member says what they are; and members that are named by
    a value."""
    if depth > 32:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if depth and not str(key).isidentifier():
                yield from _in_text(slot, slot, str(key), doing)
            yield from _numbers(inner, f"{slot}.{key}" if slot else str(key), doing, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, slot, doing, depth + 1)
    else:
        yield from _number(value, slot)


def _number(value: Any, slot: str) -> Iterator[Argument]:
    if isinstance(value, str):
        # As a program writes it: `1e3`.
        if len(value) > _MAX_KEPT or _SCIENTIFIC.fullmatch(value.strip()) is None:
            return
        value = Decimal(value.strip())
    slot_words = words_of(slot.rpartition(".")[2])
    if (atom := amount_of(value)) is not None:
        is_amount = not slot_words.isdisjoint(_AMOUNTS)
        yield Argument(slot, slot, ArgumentRole.AMOUNT if is_amount else ArgumentRole.VALUE, atom, str(value))
    if (atom := number_of(value)) is not None:
        role = _role_of_number(atom, slot_words, is_whole=True, is_program=False)
        if role is not None:
            yield Argument(slot, slot, role, atom, str(value))
