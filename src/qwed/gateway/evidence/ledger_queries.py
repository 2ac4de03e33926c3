"""The evidence, as others may have it: tokens submitted and issued, the ledger, and proofs of both."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.nodes import activity_id_of
from qwed.domain.times import iso
from qwed.ect import base64url, jwk
from qwed.ect.header import MAX_BYTES, MAX_TOKENS
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import Level, hash_bytes
from qwed.gateway.agents.manage_agents import change
from qwed.gateway.decide.execution_context import NodeFacts, NotAccepted, accept, issue_node
from qwed.gateway.decide.refused_often import count_refusal
from qwed.gateway.decide.statements import state_in_token
from qwed.gateway.evidence.transparency import log_checkpoint
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.ask_signer import ask_signer
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Activity, Cosignature, Received, Record, SignedCheckpoint
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator, require_own_or_scope, require_scope
from qwed.gateway.trust.behaviours import follow
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint, read_cosignature
from qwed.ledger.entries import LedgerEntry
from qwed.ledger.merkle import NoSuchProof
from qwed.ledger.notes import LINE_START, InvalidNote, verify_witness_line
from qwed.ledger.receipts import Receipt, sign_receipt

MAX_ENTRIES: Final = 1_000
MAX_KEYS: Final = 16
SUBMIT_ECT: Final = "submit_ect"
_JTI: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class EctsBody(msgspec.Struct, forbid_unknown_fields=True):
    ects: list[str]


class EctKeysBody(msgspec.Struct, forbid_unknown_fields=True):
    keys: list[dict[str, Any]]


class CosignatureBody(msgspec.Struct, forbid_unknown_fields=True):
    checkpoint: str
    cosignature: str


# --- tokens ----------------------------------------------------------------------------------------


async def submit_ects(services: Services, caller: Caller, raw: Any) -> Answer:
    """Verify tokens, all or none, record them, and give a receipt for each."""
    require_own_or_scope(caller, Scope.VERIFY)
    presented = _read_presented(raw)
    agent = await services.store.agent(caller.agent_id) if caller.agent_id is not None else None
    owner = agent.principal_id if agent else caller.principal_id or PrincipalId("")
    accepted = await accept(services, presented, owner, services.clock.now_ms(), minimum=Level.L2)
    if isinstance(accepted, NotAccepted):
        await _record_refused(services, caller, agent, owner, presented, accepted)
        raise RequestError(accepted.refusal, log={"ect": accepted.says})
    jtis = list(dict.fromkeys(item.ect.claims.jti for item in accepted.accepted))
    if accepted.received:
        activity = noted(services, caller, SUBMIT_ECT, {"ects": jtis}, agent=agent, principal_id=owner)
        record = Record(activity, ects=accepted.received, completions=accepted.completions)
        refusal = await services.store.commit(record)
        if refusal is not None:
            raise RequestError(refusal)
    if services.assurance.keeper is not None:
        await follow(services)
    receipts = [await _receipt(services, jti) for jti in jtis]
    levels = {item.ect.claims.jti: item.chain_level for item in accepted.accepted}
    return Answer(
        {
            "receipts": [
                {"jti": jti, "chain_level": levels[jti].name, "receipt": receipt}
                for jti, receipt in zip(jtis, receipts, strict=True)
            ]
        },
        status=201,
    )


async def _record_refused(
    services: Services,
    caller: Caller,
    agent: Agent | None,
    owner: PrincipalId,
    presented: tuple[str, ...],
    refused: NotAccepted,
) -> None:
    """As `/verify` does: on record, and a wrong signature charged to the agent that delivered it."""
    if agent is not None and not refused.is_forged:
        await count_refusal(services, agent, refused.refusal, services.clock.now_ms())
    hashes = [hash_bytes(token.encode("utf-8", "replace")) for token in presented]
    activity = noted(
        services,
        caller,
        SUBMIT_ECT,
        {"token_hashes": hashes},
        agent=agent,
        principal_id=owner,
        refusal=refused.refusal,
        is_forged=refused.is_forged,
    )
    await services.store.commit(Record(activity))


def _read_presented(raw: Any) -> tuple[str, ...]:
    presented = tuple(dict.fromkeys(convert(raw, EctsBody).ects))
    if not presented:
        raise malformed("ects", "is an array of at least one token")
    if len(presented) > MAX_TOKENS or sum(map(len, presented)) > MAX_BYTES:
        raise refuse(Code.ECT_TOO_LARGE, f"at most {MAX_TOKENS} tokens in {MAX_BYTES} bytes")
    return presented


async def _receipt(services: Services, jti: str) -> str | None:
    """None for what the gateway itself decided: its ledger entry is the decision's."""
    received = await services.store.evidence.received(jti)
    if received is None or received.token is None or not isinstance(services.signer, KeyRing):
        return None
    return await _sign_receipt(services, services.signer, received, received.token)


async def _sign_receipt(services: Services, ring: KeyRing, received: Received, token: str) -> str:
    ledger = await services.store.evidence.ledger()
    token_hash = base64url.decode(hash_bytes(token.encode("ascii")))
    now = services.clock.now_ms() // 1000
    receipt = Receipt(ledger, received.seq, received.jti, token_hash, received.entry_hash, now)
    return await ask_signer(ring, lambda: sign_receipt(ring, receipt))


async def show_ect(services: Services, caller: Caller, jti: str) -> Answer:
    """A token that was received, or the token of a decision, issued now if it was not before."""
    require_own_or_scope(caller, Scope.READ)
    if _JTI.fullmatch(jti) is None:
        raise _no_token(jti)
    owner = await _owner(services, caller)
    decided = await services.store.activity(activity_id_of(jti))
    if decided is not None and _may_read(caller, decided[0].principal_id, owner):
        return Answer(await _describe_decided(services, jti))
    return Answer(await _describe_received(services, await find_received_token(services, caller, jti)))


async def find_received_token(services: Services, caller: Caller, jti: str) -> Received:
    """A token that was submitted, as far as the caller may see it."""
    owner = await _owner(services, caller)
    received = await services.store.evidence.received(jti) if _JTI.fullmatch(jti) else None
    if received is None or not _may_read(caller, received.principal_id, owner):
        raise _no_token(jti)
    return received


async def _owner(services: Services, caller: Caller) -> PrincipalId | None:
    if caller.agent_id is None:
        return caller.principal_id
    agent = await services.store.agent(caller.agent_id)
    return agent.principal_id if agent else None


def _may_read(caller: Caller, principal_id: PrincipalId, owner: PrincipalId | None) -> bool:
    return caller.reads_all or (owner is not None and owner == principal_id)


def _no_token(jti: str) -> RequestError:
    return refuse(Code.NOT_FOUND, f"there is no token {jti[:80]!r}")


async def _describe_received(services: Services, received: Received) -> dict[str, Any]:
    return {
        "jti": received.jti,
        "token": received.token,
        "erased": received.token is None,
        "seq": received.seq,
        "received_at": iso(received.received_ms),
        "receipt": await _receipt(services, received.jti),
    }


class _Issued(msgspec.Struct):
    """What the token of a decision needs of its payload."""

    action_hash: str | None = None
    execution_context: str | None = None
    action: Any = None
    redacted: bool = False


async def _describe_decided(services: Services, jti: str) -> dict[str, Any]:
    """Signed only as the ledger has it: a row that somebody edited is refused, so is one without an entry."""
    items = await services.store.evidence.lineage(jti, 0)
    if not items or (activity := items[0].activity) is None:
        raise StoreUnavailable("the ledger has no entry about this decision: run `qwed ledger verify`")
    kept = msgspec.json.decode(activity.payload, type=_Issued)
    is_erased = items[0].is_erased or kept.redacted
    token = None
    if not is_erased:
        facts = _facts(activity, kept)
        token = kept.execution_context or await ask_signer(
            services.signer, lambda: issue_node(services.signer, facts)
        )
    return {
        "jti": jti,
        "token": token,
        "erased": is_erased,
        "activity_id": activity.activity_id,
        "seq": items[0].seq,
    }


def _facts(activity: Activity, kept: _Issued) -> NodeFacts:
    return NodeFacts(
        activity.activity_id,
        activity.agent_id,
        activity.at_ms,
        activity.action_type,
        activity.decision,
        activity.error_code,
        activity.par,
        activity.wid,
        kept.action_hash,
        state_in_token(activity.action_type, activity.decision, kept.action),
    )


async def set_ect_keys(services: Services, caller: Caller, agent_id: Any, raw: Any) -> Answer:
    """The public keys with which an agent signs its tokens, as `did:qwed:agent:<id>`."""
    require_scope(caller, Scope.REGISTER)
    given = convert(raw, EctKeysBody).keys
    if len(given) > MAX_KEYS:
        raise malformed("keys", f"holds at most {MAX_KEYS} keys")
    keys = tuple(_public(index, item) for index, item in enumerate(given))
    if len({key["kid"] for key in keys}) != len(keys):
        raise malformed("keys", "each key has a kid of its own")

    def changed(agent: Any) -> Any:
        return msgspec.structs.replace(agent, ect_keys=keys)

    details = {"kids": [key["kid"] for key in keys]}
    return await change(services, caller, agent_id, "set_ect_keys", changed, details)


def _public(index: int, item: dict[str, Any]) -> dict[str, str]:
    """The public half and nothing else: a private key sent by mistake is refused, and never kept."""
    field = f"keys[{index}]"
    if "d" in item:
        raise malformed(field, "is a private key: send the public half, and replace this one")
    try:
        key = jwk.read(item)
    except jwk.InvalidKey as error:
        raise malformed(field, str(error)) from None
    if not key.kid or len(key.kid) > 256:
        raise malformed(f"{field}.kid", "is missing, or longer than 256 characters")
    return {**key.publish(), "kid": key.kid}


# --- the ledger ------------------------------------------------------------------------------------


def _require_reader(caller: Caller) -> None:
    """Who audits follows the whole ledger, and reads nobody's actions for that."""
    if not caller.may(Scope.AUDIT):
        require_own_or_scope(caller, Scope.READ)


async def show_checkpoint(services: Services, caller: Caller, size: int | None = None) -> Answer:
    _require_reader(caller)
    signed = await services.store.evidence.checkpoint(size)
    if signed is None:
        raise refuse(Code.NOT_FOUND, "there is no checkpoint of that size; the newest is always kept")
    return Answer({"ledger": await services.store.evidence.ledger(), **_checkpoint(signed)})


def _checkpoint(signed: SignedCheckpoint) -> dict[str, Any]:
    return {"size": signed.size, "checkpoint": signed.token, "cosignatures": signed.cosignatures}


async def keep_cosignature(services: Services, caller: Caller, raw: Any) -> Answer:
    """A witness's signature, kept beside the checkpoint it is about."""
    require_operator(caller)
    body = convert(raw, CosignatureBody)
    if not services.issuers.witnesses and not services.issuers.note_witnesses:
        raise malformed("cosignature", "no witness is configured: name its keys in QWED_ECT_ISSUERS")
    checkpoint = await _own_checkpoint(services, body.checkpoint)
    try:
        if body.cosignature.startswith(LINE_START):
            text = log_checkpoint(checkpoint).text
            verify_witness_line(body.cosignature, text, services.issuers.note_witnesses)
        else:
            read_cosignature(body.cosignature, services.issuers.witnesses, checkpoint)
    except (InvalidToken, InvalidNote) as error:
        raise malformed("cosignature", f"is not a witness's signature of this checkpoint: {error}") from None
    activity = noted(services, caller, "cosign_checkpoint", {"size": checkpoint.size})
    kept = Cosignature(checkpoint.size, checkpoint.iat * 1000, body.checkpoint, body.cosignature)
    await services.store.commit(Record(activity, cosignature=kept))
    return Answer({"size": checkpoint.size}, status=201)


async def _own_checkpoint(services: Services, token: str) -> Checkpoint:
    """One that this ledger signed, of a tree that it still begins with."""
    evidence = services.store.evidence
    try:
        if not isinstance(services.signer, KeyRing):
            raise InvalidToken("this gateway publishes no keys")
        checkpoint = read_checkpoint(token, services.signer.known())
        if checkpoint.ledger != await evidence.ledger() or checkpoint.size > await evidence.size():
            raise InvalidToken("of another ledger")
        if checkpoint.root != await evidence.root(checkpoint.size):
            raise InvalidToken("of another tree")
    except InvalidToken as error:
        raise malformed("checkpoint", f"is not one of this ledger: {error}") from None
    return checkpoint


async def list_entries(services: Services, caller: Caller, after: int, limit: int) -> Answer:
    """Entries hold no payload: numbers, times, ids and hashes; of others' entries, numbers and hashes."""
    _require_reader(caller)
    found = await services.store.evidence.entries(after, limit)
    own = await _own_entries(services, caller, found)
    body: dict[str, Any] = {
        "entries": [_entry(entry) if entry.seq in own else _foreign(entry) for entry in found]
    }
    if len(found) == limit:
        body["next"] = found[-1].seq
    return Answer(body)


def _entry(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "timestamp": iso(entry.at_ms),
        "at_ms": entry.at_ms,
        "subject": entry.subject,
        "commitment": base64url.encode(entry.commitment),
        "previous": base64url.encode(entry.previous),
        "hash": base64url.encode(entry.hash),
    }


def _foreign(entry: LedgerEntry) -> dict[str, Any]:
    """What the chain needs, and nothing that says whose it is, what it is about, or when it was."""
    return {
        "seq": entry.seq,
        "previous": base64url.encode(entry.previous),
        "hash": base64url.encode(entry.hash),
    }


async def _own_entries(services: Services, caller: Caller, entries: Sequence[LedgerEntry]) -> set[int]:
    """The numbers of those that the caller may see; entries follow each other without a gap."""
    if caller.is_operator or caller.may(Scope.AUDIT) or not entries:
        return {entry.seq for entry in entries}
    owner = await _owner(services, caller)
    owners = await services.store.evidence.owners(entries[0].seq - 1, len(entries))
    return {
        entry.seq
        for entry, whose in zip(entries, owners, strict=False)
        if whose is not None and _may_read(caller, whose, owner)
    }


async def prove_entry(
    services: Services, caller: Caller, seq: int | None, subject: str | None, size: int | None
) -> Answer:
    """That an entry, named by its number or by what it is about, is in the ledger of `size` entries."""
    _require_reader(caller)
    evidence = services.store.evidence
    if seq is None and subject is not None:
        seq = await evidence.position(subject)
    found = await evidence.entries(seq - 1, 1) if seq else []
    # Another's entry and none at all look alike.
    if not seq or not await _own_entries(services, caller, found):
        raise refuse(Code.NOT_FOUND, "the ledger has no such entry")
    size, signed = await _size(services, size)
    if seq > size:
        raise refuse(Code.NOT_FOUND, f"there is no entry {seq} in {size} entries")
    entry = found[0]
    proof = await _proof(evidence.inclusion(seq, size))
    root = base64url.encode(await evidence.root(size))
    return Answer({"entry": _entry(entry), "size": size, "root": root, "proof": proof, "checkpoint": signed})


async def prove_consistency(services: Services, caller: Caller, first: int, second: int | None) -> Answer:
    """That the ledger of `second` entries begins with that of `first`."""
    _require_reader(caller)
    second, signed = await _size(services, second)
    if not 0 < first <= second:
        raise malformed("first", f"is from 1 to {second}")
    proof = await _proof(services.store.evidence.consistency(first, second))
    return Answer({"first": first, "second": second, "proof": proof, "checkpoint": signed})


async def _size(services: Services, size: int | None) -> tuple[int, str | None]:
    """The size asked for, or the newest signed one, with its checkpoint where one was kept."""
    evidence = services.store.evidence
    signed = await evidence.checkpoint(size)
    if size is None:
        return (signed.size, signed.token) if signed else (0, None)
    if not 0 < size <= await evidence.size():
        raise refuse(Code.NOT_FOUND, f"the ledger does not have {size} entries")
    return size, signed.token if signed else None


async def _proof(found: Any) -> Sequence[str]:
    try:
        return [base64url.encode(item) for item in await found]
    except NoSuchProof as error:
        raise refuse(Code.NOT_FOUND, str(error)) from None
