"""What conversations have heard: kept sealed in the store, and put together here.

A conversation's key is made from the deployment's secret and a salt of its own. Whoever erases the salt makes
what was kept unreadable, and no two conversations have hashes that compare.
"""

import asyncio
import functools
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from qwed.domain.agents import AgentId
from qwed.domain.provenance_rules import ProvenanceRules
from qwed.gateway.kernel.coroutines import Ticket, wake
from qwed.gateway.kernel.ports import Records, Signer, StoreUnavailable
from qwed.gateway.kernel.reports import ReportedResult, Reports
from qwed.origins.atoms import Atom
from qwed.origins.index import (
    MAX_INDEX_ATOMS,
    Heard,
    Index,
    Speaker,
    hear_atoms,
    hear_nothing,
    hear_result,
    hear_user,
)
from qwed.origins.named import names_source
from qwed.rules.sources import label_source

#: How many conversations, and how many values of all of them together, one process has at hand.
MAX_CONVERSATIONS: Final = 2_000
MAX_ATOMS_AT_HAND: Final = 400_000
#: What one conversation may have kept; after that nothing new is kept, and nothing counts as unheard.
MAX_REPORTS: Final = 500
_QUICK: Final = 8_192
_NONCE: Final = 12
_FULL: Final = "full"
_START: Final = -(2**62)
_PURPOSE: Final = b"what a conversation has heard"
T = TypeVar("T")


class _Known:
    """One conversation as far as this process has read it."""

    def __init__(self, salt: bytes, key: bytes) -> None:
        self.salt = salt
        self.index = Index(key)
        self.number = _START
        self.reports = 0


class Hearing:
    def __init__(self) -> None:
        self._known: OrderedDict[tuple[AgentId, str], _Known] = OrderedDict()
        self._reader: ThreadPoolExecutor | None = None

    async def index_of(
        self, store: Records, signer: Signer, agent_id: AgentId, conversation_id: str
    ) -> Index | None:
        """All that was kept so far; None where nothing was. Raises `StoreUnavailable`."""
        known = await self._read(store, signer, agent_id, conversation_id)
        return None if known is None or not known.reports else known.index

    async def hear(
        self,
        store: Records,
        signer: Signer,
        place: tuple[AgentId, str],
        rules: ProvenanceRules,
        reports: Reports,
        now_ms: int,
        step: int = 0,
    ) -> Index:
        """Keep what was reported, and what the conversation has heard with it."""
        known = await self._open(store, signer, place, now_ms)
        for text in reports.messages:
            work = functools.partial(hear_user, known.index.key, text, step)
            await self._keep(store, place, known, await self._aside(len(text), work))
        known = await self._open(store, signer, place, now_ms)
        for result in reports.results:
            listen = functools.partial(_hear, known.index, rules, result, step)
            await self._keep(store, place, known, await self._aside(_size(result), listen))
        if reports.is_cut:
            await self._keep(store, place, known, hear_nothing())
        return (await self._read(store, signer, *place) or known).index

    async def endorse(
        self, store: Records, signer: Signer, place: tuple[AgentId, str], atoms: Iterable[Atom], now_ms: int
    ) -> None:
        """A person approved an action that showed these values."""
        known = await self._open(store, signer, place, now_ms)
        await self._keep(store, place, known, hear_atoms(known.index.key, Speaker.APPROVAL, atoms, 0))

    async def _open(self, store: Records, signer: Signer, place: tuple[AgentId, str], now_ms: int) -> _Known:
        known = await self._read(store, signer, *place)
        if known is None:
            salt = await store.keep_salt(*place, secrets.token_bytes(32), now_ms)
            known = self._known[place] = _Known(salt, _key(signer, salt))
        return known

    async def _read(
        self, store: Records, signer: Signer, agent_id: AgentId, conversation_id: str
    ) -> _Known | None:
        place = (agent_id, conversation_id)
        known = self._known.get(place)
        salt, rows = await store.heard(agent_id, conversation_id, _START if known is None else known.number)
        if salt is None:
            self._known.pop(place, None)
            return None
        if known is None or known.salt != salt:
            # Erased meanwhile, and begun anew: what was read before is another conversation's.
            if known is not None:
                _, rows = await store.heard(agent_id, conversation_id, _START)
            known = self._known[place] = _Known(salt, _key(signer, salt))
        for number, body in rows:
            if number > known.number:
                known.index.add(_unseal(known.index.key, body))
                known.number, known.reports = number, known.reports + 1
        self._known.move_to_end(place)
        self._drop_old()
        return known

    async def _keep(self, store: Records, place: tuple[AgentId, str], known: _Known, heard: Heard) -> None:
        body = msgspec.msgpack.encode(heard)
        report_id = hashlib.blake2b(body, digest_size=16, key=known.index.key).hexdigest()
        if known.reports >= MAX_REPORTS or known.index.ever_heard > 3 * MAX_INDEX_ATOMS:
            report_id, body = _FULL, msgspec.msgpack.encode(hear_nothing())
        await store.keep_heard(*place, report_id, _seal(known.index.key, body))

    def _drop_old(self) -> None:
        size = sum(known.index.size for known in self._known.values()) if len(self._known) % 64 == 0 else 0
        while len(self._known) > MAX_CONVERSATIONS or (size > MAX_ATOMS_AT_HAND and len(self._known) > 1):
            _, dropped = self._known.popitem(last=False)
            size -= dropped.index.size

    async def _aside(self, size: int, work: Callable[[], T]) -> T:
        """Long texts are read on a thread of their own where there is a loop to keep free."""
        if size <= _QUICK or asyncio._get_running_loop() is None:
            return work()
        if self._reader is None:
            self._reader = ThreadPoolExecutor(1, thread_name_prefix="qwed-hearing")
        ticket: Ticket[T] = Ticket()

        def bring() -> None:
            try:
                ticket.bring(work())
            # Handed to the waiter, who raises it.
            except Exception as error:  # noqa: BLE001
                ticket.bring(None, error)
            wake((ticket,))

        self._reader.submit(bring)
        return await ticket


def _hear(index: Index, rules: ProvenanceRules, reported: ReportedResult, step: int) -> Heard:
    return hear_result(
        index.key,
        reported.tool,
        reported.step or step,
        label_source(rules.source(reported.tool), reported.tool, reported.parameters),
        reported.result,
        is_named=names_source(index, reported.tool, reported.parameters),
        is_cut=reported.is_cut,
    )


def _size(reported: ReportedResult) -> int:
    return len(reported.result) if isinstance(reported.result, str) else _QUICK + 1


def _key(signer: Signer, salt: bytes) -> bytes:
    return hmac.digest(signer.derive(_PURPOSE), salt, "sha256")


def _seal(key: bytes, body: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, body, None)


def _unseal(key: bytes, sealed: bytes) -> Heard:
    """Raises `StoreUnavailable` where it is not what was kept."""
    try:
        body = AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        return msgspec.msgpack.decode(body, type=Heard)
    except (InvalidTag, msgspec.DecodeError, ValueError) as error:
        raise StoreUnavailable("what the conversation has heard can't be read") from error
