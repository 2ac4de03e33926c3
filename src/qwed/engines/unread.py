"""Which texts of an action an engine did not read, said in its evidence."""

from typing import Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding
from qwed.domain.texts import collect_texts

_MAX_SHOWN: Final = 20


def name_unread(finding: Finding, action: Action, read: frozenset[str]) -> Finding:
    """The finding, with the texts that stand in other slots than those read (a slot holds all below it)."""
    if not action.parameters and (action.code, action.target) == (None, None):
        return finding
    unread = [text.where for text in collect_texts(action).values if not _is_read(text.slot, read)]
    if not unread:
        return finding
    evidence = {**finding.evidence, "not_read": unread[:_MAX_SHOWN]}
    return msgspec.structs.replace(finding, evidence=evidence)


def _is_read(slot: str, read: frozenset[str]) -> bool:
    return slot in read or any(slot.startswith(f"{each}.") for each in read)
