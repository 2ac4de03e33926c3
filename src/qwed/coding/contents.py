"""What a call that edits was allowed to leave in a file, compared with what is there.

Of a file that is written, the record's hash of the action is that of its content too: the action is put
together again with what the file holds now. Edits are made again on what the file held before, as long as no
command ran that may have changed it; else the text that the last one put in has to be there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from qwed.domain.actions import Action, action_hash
from qwed.domain.canonical import NotCanonical

MAX_BYTES: Final = 1024 * 1024
#: An edit may mean the first place or all of them; so many texts are followed.
_MAX_TEXTS: Final = 16
#: Its cells are kept as JSON: no text that was put in stands in the file as it was.
_NOTEBOOK: Final = ".ipynb"


def was_left(
    call: Mapping[str, Any],
    path: str,
    now: bytes,
    before: bytes | None,
    edits: Sequence[Mapping[str, Any]] | None,
) -> bool:
    """Whether `now` is what the recorded call may have left; True where its content can't tell.

    `edits` are the calls that edited the file since it held `before`, in order; None where something else may
    have changed it in between.
    """
    try:
        text = now.decode("utf-8")
    except UnicodeDecodeError:
        return True
    action, told = call.get("action") or {}, call.get("action_hash")
    given = action.get("parameters") or {}
    if told is None or "corrected_action" in call or path.endswith(_NOTEBOOK):
        return True
    if action.get("type") == "file_write":
        return any(_hash_of("file_write", {**given, "content": each}) == told for each in _as_written(text))
    if "path" not in given or _hash_of("file_edit", given) != told:
        # A patch, or a record that does not hold the texts as they were.
        return True
    pairs = _pairs(given)
    if not pairs or pairs[-1][1] not in text:
        return False
    if edits is None:
        return True
    return text in _after((before or b"").decode("utf-8", "replace"), edits)


def _hash_of(kind: str, parameters: Mapping[str, Any]) -> str | None:
    try:
        return action_hash(Action(kind, parameters=parameters))
    except NotCanonical:
        return None


def _as_written(text: str) -> Iterable[str]:
    """A program that writes may end the last line, and all lines in its system's way."""
    yield text
    yield text.removesuffix("\n")
    yield text.replace("\r\n", "\n")


def _pairs(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    edits = given.get("edits")
    found = edits if isinstance(edits, list) else []
    return [
        (str(edit.get("old", "")), str(edit.get("new", ""))) for edit in found if isinstance(edit, Mapping)
    ]


def _after(text: str, calls: Iterable[Mapping[str, Any]]) -> set[str]:
    """Every text that these calls may have left. What does not fit was not made."""
    texts = {text}
    for call in calls:
        given = (call.get("action") or {}).get("parameters") or {}
        if (call.get("action") or {}).get("type") == "file_write":
            texts |= {str(given.get("content", ""))}
            continue
        for old, new in _pairs(given):
            texts = {made for each in texts for made in _edit_text(each, old, new)}
            if len(texts) > _MAX_TEXTS:
                texts = set(sorted(texts)[:_MAX_TEXTS])
    return texts


def _edit_text(text: str, old: str, new: str) -> set[str]:
    if old == "":
        return {new, text + new} if text else {new}
    return {text.replace(old, new), text.replace(old, new, 1)} if old in text else {text}
