"""What evidence costs: tokens against the bare signature, the ledger per entry, proofs, walks."""

import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from qwed.ect import KeyRing, TokenNode, TrustedKeys, Verifier, ancestors, generate, hash_bytes, issue
from qwed.ect.signatures import keys_of
from qwed.gateway.kernel.commitments import committed
from qwed.gateway.kernel.records import Activity, Record
from qwed.ledger import export
from qwed.ledger.audit import Audited, audit
from qwed.ledger.entries import Head, LedgerEntry, append, commit_to
from qwed.ledger.memory import MemoryLedger
from qwed.ledger.merkle import NodeMemory, Tree, TreeEdge
from qwed.stores.chain import Growth
from qwed.stores.sqlite import SqliteTables
from qwed.stores.sqlite.ledger import Followed, SqliteLedger, verify_ledger

Figure = tuple[str, float, str, float | None]

_NOW = 1_800_000_000
_AUDIENCE = "https://gateway.example"
_RING = KeyRing("did:qwed:node:bench", generate())
_WORKFLOW = str(uuid.UUID(int=7))
_INPUT_HASH = hash_bytes(b"input")
_ENTRIES = 50_000
_PAYLOAD = b'{"activity_id":"act_0000","action_type":"execute_sql","decision":"APPROVED"}' * 4


class _NothingRemembered:
    """Replay and graph apart: every token is new."""

    def recall(self, jti: str) -> str | None:
        return None

    def remember(self, token_hash: str, node: TokenNode) -> str:
        return token_hash

    def node(self, jti: str) -> TokenNode | None:
        return None


def figures() -> list[Figure]:
    return [*_tokens(), *_ledger(), *_proofs(), *_walks(), *_stored()]


def _tokens() -> list[Figure]:
    memory = _NothingRemembered()
    verifier = Verifier([_AUDIENCE], TrustedKeys.of_ring(_RING), memory, memory)
    token = _issue()
    data = token.rpartition(".")[0].encode()
    private, scheme = ec.generate_private_key(ec.SECP256R1()), ec.ECDSA(hashes.SHA256())
    public, signature = private.public_key(), private.sign(data, scheme)
    sign, issued, verify, verified = _interleaved(
        lambda: private.sign(data, scheme),
        _issue,
        lambda: public.verify(signature, data, scheme),
        lambda: verifier.verify(token, _NOW),
    )
    return [
        ("evidence: bare ES256 signature", sign, "µs", None),
        ("evidence: issue a token", issued, "µs", None),
        ("evidence: issue / bare signature", issued / sign, "×", 1.6),
        ("evidence: bare ES256 verification", verify, "µs", None),
        ("evidence: verify a token (a root, new)", verified, "µs", None),
        ("evidence: verify / bare verification", verified / verify, "×", 1.5),
    ]


def _issue() -> str:
    return issue(_RING, "execute_sql", _AUDIENCE, _NOW, wid=_WORKFLOW, inp_hash=_INPUT_HASH)


def _interleaved(*works: Callable[[], object], rounds: int = 60, count: int = 30) -> list[float]:
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            started = time.process_time()
            for _ in range(count):
                work()
            best[index] = min(best[index], (time.process_time() - started) / count)
    return [seconds * 1e6 for seconds in best]


def _ledger() -> list[Figure]:
    appended = min(_append_seconds() for _ in range(3)) / _ENTRIES * 1e6
    entries = _chain(_ENTRIES)
    followed = min(_seconds(lambda: _whole(audit(entries))) for _ in range(3))
    ledger = MemoryLedger("bench", _RING)
    for number in range(_ENTRIES // 5):
        ledger.append(f"act_{number:08}", _PAYLOAD, _NOW)
    ledger.checkpoint(_NOW)
    lines, keys = list(ledger.export()), keys_of(_RING.jwks())
    exported = min(_seconds(lambda: export.verify(lines, keys)) for _ in range(3))
    return [
        ("evidence: ledger append (commitment, chain, tree)", appended, "µs", 25.0),
        ("evidence: streaming verification, chain and tree", _ENTRIES / followed, "entries/s", 60_000.0),
        ("evidence: export verified offline, payloads too", len(lines) / exported, "entries/s", 60_000.0),
    ]


def _append_seconds() -> float:
    tree, salt = Tree(NodeMemory()), bytes(16)
    head = Head()
    started = time.process_time()
    for number in range(_ENTRIES):
        entry = append(head, _NOW, f"act_{number:08}", commit_to(_PAYLOAD, salt))
        head = Head(entry.seq, entry.hash)
        tree.append(entry.hash)
    return time.process_time() - started


def _chain(count: int) -> list[LedgerEntry]:
    head, entries = Head(), []
    for number in range(count):
        entry = append(head, _NOW, f"act_{number:08}", commit_to(_PAYLOAD, bytes(16)))
        head = Head(entry.seq, entry.hash)
        entries.append(entry)
    return entries


def _whole(answer: object) -> None:
    assert isinstance(answer, Audited)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _proofs() -> list[Figure]:
    tree = Tree(NodeMemory())
    for number in range(1_000_000):
        tree.append(number.to_bytes(32))
    (inclusion, consistency) = _interleaved(
        lambda: tree.inclusion(123_456), lambda: tree.consistency(123_456), rounds=9
    )
    return [
        ("evidence: inclusion proof among 1 000 000 entries", inclusion / 1e3, "ms", 1.0),
        ("evidence: consistency proof among 1 000 000 entries", consistency / 1e3, "ms", None),
    ]


def _walks() -> list[Figure]:
    names = [str(uuid.UUID(int=number)) for number in range(10_000)]
    nodes = {
        name: TokenNode(name, _NOW, tuple(names[max(0, number - 3) : number]))
        for number, name in enumerate(names)
    }
    walked = min(_seconds(lambda: ancestors(names[-1:], nodes.get)) for _ in range(5))
    return [("evidence: walk over 10 000 ancestors, three parents each", walked * 1e3, "ms", 150.0)]


def _activity(number: int) -> Activity:
    return Activity(
        f"act_{number:032x}",
        "agent_bench",
        "bench",
        _NOW * 1000 + number,
        "execute_sql",
        "APPROVED",
        None,
        f"c{number // 50}",
        10_000_000,
        0,
        number.to_bytes(32),
        _PAYLOAD,
    )  # type: ignore[arg-type]


def _stored() -> list[Figure]:
    """The same in a store's own file."""
    activities = [_activity(number) for number in range(20_000)]
    grown = min(_seconds(lambda: _grow(activities)) for _ in range(3)) / len(activities) * 1e6
    with tempfile.TemporaryDirectory(dir=_bench_folder()) as folder:
        entries_per_second = _followed(Path(folder) / "followed.db", activities)
        proof = _proven(Path(folder) / "proven.db", 1_000_000)
    return [
        ("evidence: what the ledger adds to a decision in a group, signature apart", grown, "µs", 25.0),
        (
            "evidence: a store's file followed, payloads and columns too",
            entries_per_second,
            "entries/s",
            60_000.0,
        ),
        ("evidence: inclusion proof from a file of 1 000 000 entries", proof / 1e3, "ms", 1.0),
    ]


def _bench_folder() -> Path:
    folder = Path(".bench")
    folder.mkdir(exist_ok=True)
    return folder


def _grow(activities: list[Activity]) -> None:
    head, edge = Head(), TreeEdge()
    for first in range(0, len(activities), 16):
        growth = Growth(head, edge)
        for activity in activities[first : first + 16]:
            growth.add(activity.activity_id, activity.at_ms, committed(activity))
        head, edge = growth.head, growth.edge


def _followed(path: Path, activities: list[Activity]) -> float:
    tables = SqliteTables(path, _RING)
    for first in range(0, len(activities), 500):
        tables.write([Record(activity) for activity in activities[first : first + 500]])
    tables.close()
    seconds = min(_seconds(lambda: _holds(path)) for _ in range(3))
    return len(activities) / seconds


def _holds(path: Path) -> None:
    assert isinstance(verify_ledger(path, _RING.known()), Followed)


def _proven(path: Path, entries: int) -> float:
    SqliteTables(path, _RING).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    head, edge = Head(), TreeEdge()
    for first in range(0, entries, 10_000):
        growth = Growth(head, edge)
        for number in range(first, first + 10_000):
            growth.add(f"act_{number:032x}", _NOW, b"")
        rows = [(e.seq, e.at_ms, e.subject, e.commitment, e.previous, e.hash) for e in growth.entries]
        connection.executemany("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT INTO tiles VALUES (?, ?, ?)", growth.tiles)
        head, edge = growth.head, growth.edge
    connection.execute("COMMIT")
    ledger = SqliteLedger(lambda sql, *values: connection.execute(sql, values).fetchall())
    # The last entry but one has the longest way to the root.
    (microseconds,) = _interleaved(lambda: ledger.inclusion(654_321, entries - 1), rounds=9)
    connection.close()
    return microseconds
