"""The only place that builds concrete things: settings and policy in, a working gateway out."""

import secrets
import threading
import time
from pathlib import Path

from qwed.domain.actions import Action
from qwed.domain.budgets import Charge
from qwed.domain.credentials import (
    AGENT_TOKEN_PREFIX,
    API_KEY_PREFIX,
    OPERATOR_ROLE,
    ApiKey,
    Caller,
    credential_hash,
)
from qwed.domain.money import nano_of
from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.domain.registry import ENGINE_NAMES
from qwed.ect.keys import KeyUnusable, NodeSigner, generate, load_or_create
from qwed.engines.facade import Engines
from qwed.engines.pool import WorkerPool
from qwed.engines.tools import ToolRules, inspect_url
from qwed.gateway.changes import noted
from qwed.gateway.events import EventHub
from qwed.gateway.ports import Store
from qwed.gateway.proving import EngineProver
from qwed.gateway.records import Record
from qwed.gateway.services import Services
from qwed.gateway.waiting import run
from qwed.ledger.chain import BrokenChain
from qwed.policy import engine_rules, load_policy
from qwed.settings import Settings
from qwed.stores import DatabaseUnusable, open_memory, open_sqlite


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def counter(self) -> float:
        return time.perf_counter()


class RandomIds:
    """128 bits or more in every name that must not be guessed; an activity's only has to be unique."""

    def __init__(self) -> None:
        self._pool = b""
        self._position = 0
        self._lock = threading.Lock()

    def activity(self, now_ms: int) -> str:
        return f"act_{now_ms:012x}{self._cheap(8).hex()}"

    def _cheap(self, count: int) -> bytes:
        """Random bytes drawn in advance: a system call for each decision would cost more than the hash."""
        with self._lock:
            if self._position + count > len(self._pool):
                self._pool, self._position = secrets.token_bytes(4096), 0
            self._position += count
            return self._pool[self._position - count : self._position]

    def approval(self, now_ms: int) -> str:
        return f"apr_{now_ms:012x}{secrets.token_hex(10)}"

    def agent(self) -> str:
        return f"agent_{secrets.token_hex(8)}"

    def agent_token(self) -> str:
        return AGENT_TOKEN_PREFIX + secrets.token_urlsafe(32)

    def api_key(self) -> str:
        return API_KEY_PREFIX + secrets.token_urlsafe(32)

    def key(self) -> str:
        return f"key_{secrets.token_hex(8)}"

    def attestation(self) -> str:
        return f"att_{secrets.token_hex(16)}"

    def webhook(self) -> str:
        return f"hook_{secrets.token_hex(8)}"

    def secret(self) -> str:
        return f"whsec_{secrets.token_urlsafe(32)}"


def build(
    database: Path | None,
    *,
    signing_key: Path | None = None,
    policy: Policy = DEFAULT_POLICY,
    node_name: str = "local",
    state_required: bool = False,
) -> Services:
    """A gateway on a SQLite file, or in memory where there is none. `close` ends it."""
    clock = SystemClock()
    store: Store
    if database is None:
        store, key = open_memory(policy, clock), generate()
    else:
        store = open_sqlite(database, policy, clock)
        try:
            key = load_or_create(signing_key or signing_key_path(database))
        except BaseException:
            store.close()
            raise
    rules = engine_rules(policy)
    pool = WorkerPool(
        rules, deadline_seconds=policy.limits.engine_seconds, max_waiting=policy.limits.engine_queue
    )
    tool_rules = rules.tools or ToolRules()
    return Services(
        store=store,
        policy=policy,
        clock=clock,
        ids=RandomIds(),
        signer=NodeSigner(key, node_name),
        prover=EngineProver(Engines(rules, pool)),
        events=EventHub(),
        address_problems=lambda url: [problem.message for problem in inspect_url(url, rules=tool_rules.urls)],
        charges={name: Charge(nano_of(policy.cost_of(name)), 0) for name in policy.actions},
        state_required=state_required,
    )


class CannotStart(Exception):
    """The settings lead to no gateway; the message is a sentence for whoever set them."""


def build_from_settings(settings: Settings, policy_file: Path | None) -> Services:
    """The gateway of a deployment: the same for its server and for a command that opens its store.

    Raises `DatabaseInUse` where another process owns the store, else `CannotStart`.
    """
    database = None if isinstance(settings.database, str) else settings.database
    policy = usable_policy(policy_file)
    try:
        return build(
            database,
            signing_key=database and signing_key_path(database, settings.data_dir),
            policy=policy,
            node_name=settings.node_name,
            state_required=settings.doom_loop_guard_required,
        )
    except (DatabaseUnusable, KeyUnusable, BrokenChain) as error:
        raise CannotStart(str(error)) from None


def usable_policy(path: Path | None) -> Policy:
    """`read_policy` for people. Raises `CannotStart`."""
    try:
        return read_policy(path)
    except (OSError, UnicodeError) as error:
        raise CannotStart(f"the policy file {path} can't be read: {error}") from None
    except ValueError as error:
        raise CannotStart(f"the policy file has mistakes:\n{error}") from None


def warm(services: Services) -> None:
    """Load what the first decisions would otherwise wait for: parsers here, solvers in the workers."""
    for engine in ENGINE_NAMES:
        run(services.prover.prove(engine, Action(engine, query="1"), "gateway"))
    services.prover.warm()


def read_policy(path: Path | None) -> Policy:
    """The policy in a file; the default where there is none. Raises `PolicyError` or `OSError`."""
    return DEFAULT_POLICY if path is None else load_policy(path.read_text(encoding="utf-8"), str(path))


def close(services: Services) -> None:
    """Finish what was accepted, then let go of the workers and the store."""
    services.prover.close()
    services.store.close()


def signing_key_path(database: Path, directory: Path | None = None) -> Path:
    """Beside the store, unless it is kept elsewhere."""
    return (directory or database.parent) / f"{database.name}.key"


def first_operator_key(services: Services, given: str | None = None) -> str | None:
    """The key of the first operator, made (or taken as given) when there is none yet; else None."""
    if any(key.is_operator and key.revoked_ms is None for key in run(services.store.keys(None))):
        return None
    secret = given or services.ids.api_key()
    key_hash = credential_hash(secret)
    if key_hash is None:
        raise ValueError("the operator key is ASCII of at most 256 characters")
    now_ms = services.clock.now_ms()
    key = ApiKey(services.ids.key(), key_hash, None, (), (OPERATOR_ROLE,), now_ms, "first operator")
    activity = noted(services, Caller(key=key), "create_key", {"key_id": key.key_id, "roles": key.roles})
    run(services.store.commit(Record(activity, key=key)))
    return secret
