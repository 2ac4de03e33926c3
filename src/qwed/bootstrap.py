"""The only place that builds concrete things: settings and policy in, a working gateway out."""

import functools
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from qwed.assurance.in_force import in_force, score_rules, thresholds_of
from qwed.assurance.profiles import Mechanism
from qwed.assurance.trust_memory import InProcess, TrustMemory
from qwed.domain.actions import Action
from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.budgets import Charge
from qwed.domain.credentials import (
    OPERATOR_ROLE,
    ApiKey,
    Caller,
    credential_hash,
    new_agent_token,
    new_api_key,
)
from qwed.domain.money import nano_of
from qwed.domain.policy import DEFAULT_POLICY, Policy, Profile
from qwed.domain.registry import ENGINE_NAMES
from qwed.domain.times import LAST_MS
from qwed.domain.webhooks import Channel
from qwed.ect.key_files import KeySource, open_ring, read_older_records
from qwed.ect.keys import KeyRing, KeyUnusable, generate, node_issuer
from qwed.engines.facade import Engines
from qwed.engines.fair_queue import Client
from qwed.engines.pool import WorkerPool
from qwed.engines.tools import ToolRules
from qwed.gateway.decide.observe import why_enforced
from qwed.gateway.decide.prover import EngineProver
from qwed.gateway.decide.shadow import Shadow
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.assurance_config import Assurance
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.issuers import Issuers, read_issuers
from qwed.gateway.kernel.live_policy import LivePolicy, PolicyTexts, UnreadablePolicy, catch_up
from qwed.gateway.kernel.ports import Clock, Store, StoreUnavailable
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.scorekeeper import Scorekeeper
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.shared_state import Commons, LocalCommons
from qwed.gateway.kernel.turns import Turns
from qwed.gateway.policy.change_policy import reload_file
from qwed.ledger.chain import BrokenChain
from qwed.ledger.record_keys import RecordKeys, follow_ring, load_record_keys
from qwed.notify.addresses import Doorkeeper
from qwed.policy import PolicyError, engine_rules, load_policy
from qwed.settings import PostgresUrl, Secret, Settings, environment
from qwed.stores import DatabaseUnusable, open_memory, open_sqlite
from qwed.stores.trust_memory import SqliteTrustMemory

if TYPE_CHECKING:
    from qwed.notify.background import Background
    from qwed.notify.mail import MailServer


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    counter = staticmethod(time.perf_counter)


#: A random digit as the one of four that says how a UUID is laid out.
_VARIANTS = {digit: "89ab"[number & 3] for number, digit in enumerate("0123456789abcdef")}
ENDS_AT_ONCE = 256
SHARED_KEY_FILE = "qwed.key"
#: Processes for slow engines: a principal has all but one of them.
WORKERS = 3
#: Of what got looser, so much is told to whoever has to agree.
MAX_REASONS = 10


def _draw_ends() -> list[str]:
    """What follows the time in UUIDs of version 7, for many of them."""
    drawn = secrets.token_bytes(10 * ENDS_AT_ONCE).hex()
    digits = [drawn[at : at + 20] for at in range(0, len(drawn), 20)]
    return [f"7{each[:3]}{_VARIANTS[each[3]]}{each[4:19]}" for each in digits]


class RandomIds:
    """128 bits or more in every name that must not be guessed; an activity's only has to be unique."""

    def __init__(self) -> None:
        #: What ids end in, drawn in advance: a system call for each decision would cost more than the hash.
        self._ends: list[str] = []

    def activity(self, now_ms: int) -> str:
        """A UUID of version 7: its activity is a node under the same id."""
        try:
            # One step for the interpreter: no two threads get the same.
            end = self._ends.pop()
        except IndexError:
            end, *others = _draw_ends()
            self._ends.extend(others)
        return f"act_{now_ms:012x}{end}"

    def approval(self, now_ms: int) -> str:
        return f"apr_{now_ms:012x}{secrets.token_hex(10)}"

    def agent(self) -> str:
        return f"agent_{secrets.token_hex(8)}"

    def agent_token(self, principal_id: PrincipalId) -> str:
        return new_agent_token(principal_id, secrets.token_urlsafe(32))

    def api_key(self, principal_id: PrincipalId | None) -> str:
        return new_api_key(principal_id, secrets.token_urlsafe(32))

    def key(self) -> str:
        return f"key_{secrets.token_hex(8)}"

    def attestation(self) -> str:
        return f"att_{secrets.token_hex(16)}"

    def webhook(self) -> str:
        return f"hook_{secrets.token_hex(8)}"

    def event(self, now_ms: int) -> str:
        return f"evt_{now_ms:012x}{secrets.token_hex(8)}"

    def delivery(self, now_ms: int) -> str:
        return f"dlv_{now_ms:012x}{secrets.token_hex(8)}"

    def secret(self) -> str:
        return f"whsec_{secrets.token_urlsafe(32)}"


def build(
    database: Path | PostgresUrl | None,
    *,
    redis: Secret | None = None,
    signing_key: Path | None = None,
    key_uri: str | None = None,
    record_key: str | None = None,
    policy: Policy = DEFAULT_POLICY,
    node_name: str = "local",
    state_required: bool = False,
    issuers: Issuers | None = None,
    can_mail: bool = False,
    public_log: bool = False,
    clock: Clock | None = None,
) -> Services:
    """A gateway on a database server, on a SQLite file, or in memory where there is none. `close` ends it.
    `clock` is for trials in memory; a deployment has the system's, or its database's."""
    issuer = node_issuer(node_name)
    issuers = issuers or Issuers()
    assurance = _assurance(policy, issuer, issuers, database)
    keys = _KeyPlaces(signing_key, source_of(key_uri), record_key)
    base = _open_base(database, keys, policy, issuer, clock)
    try:
        commons = _open_commons(redis, base.clock)
    except BaseException:
        base.store.close()
        raise
    doorkeeper = _doorkeeper(policy, can_mail)
    new_assurance = functools.partial(_assurance, observer=issuer, issuers=issuers, database=database)
    rebuild = functools.partial(_rebuild, new_assurance=new_assurance, can_mail=can_mail)
    return Services(
        store=base.store,
        policy=policy,
        clock=base.clock,
        ids=RandomIds(),
        signer=base.ring,
        prover=_prover(policy),
        commons=commons,
        address_problems=doorkeeper.url_problems,
        mail_problems=doorkeeper.mail_problems,
        charges=_charges(policy),
        state_required=state_required,
        issuers=issuers,
        public_log=public_log,
        turns=base.turns,
        assurance=assurance,
        live=LivePolicy(PolicyTexts(_read_text, rebuild, _why_looser, _look_through)),
    )


def _prover(policy: Policy) -> EngineProver:
    rules, limits = engine_rules(policy), policy.limits
    pool = WorkerPool(
        rules, size=WORKERS, deadline_seconds=limits.engine_seconds, max_waiting=limits.engine_queue
    )
    return EngineProver(Engines(rules, pool))


def _doorkeeper(policy: Policy, can_mail: bool) -> Doorkeeper:
    tool_rules = engine_rules(policy).tools or ToolRules()
    return Doorkeeper(policy.notifications, tool_rules.email, can_mail=can_mail)


def _charges(policy: Policy) -> dict[str, Charge]:
    return {name: Charge(nano_of(policy.cost_of(name)), 0) for name in policy.actions}


def _rebuild(
    services: Services, policy: Policy, *, new_assurance: Callable[[Policy], Assurance], can_mail: bool
) -> Services:
    """The same services under another policy; what does not depend on what changed stays as it is."""
    before = services.policy
    is_observing = services.observes_until_ms is not None
    if is_observing and (problem := why_enforced(policy)) is not None:
        raise UnreadablePolicy(problem)
    parts: dict[str, Any] = {"policy": policy, "charges": _charges(policy)}
    if (engine_rules(policy), policy.limits) != (engine_rules(before), before.limits):
        parts["prover"] = _prover(policy)
    if (policy.profile, policy.assurance) != (before.profile, before.assurance):
        try:
            parts["assurance"] = new_assurance(policy)
        except ProfileUnmet as error:
            raise UnreadablePolicy(str(error)) from None
    if (policy.notifications, policy.email) != (before.notifications, before.email):
        doorkeeper = _doorkeeper(policy, can_mail)
        parts["address_problems"] = doorkeeper.url_problems
        parts["mail_problems"] = doorkeeper.mail_problems
    return msgspec.structs.replace(services, **parts)


def _read_text(text: str) -> Policy:
    try:
        return load_policy(text, "policy")
    except PolicyError as error:
        raise UnreadablePolicy(str(error), tuple(map(msgspec.structs.asdict, error.mistakes))) from None


def _why_looser(before: Policy, after: Policy) -> str | None:
    try:
        # The solver and the language of rules are an extra.
        from qwed.policy.comparison import compare  # noqa: PLC0415
        from qwed.rules.analysis import Direction  # noqa: PLC0415
    except ImportError as missing:
        return f"it can't be analysed here: {missing.name} is not installed"
    found = [
        f"{each.subject} is {each.direction.value.replace('_', ' ')}"
        for each in compare(before, after).differences
        if each.direction not in (Direction.SAME, Direction.TIGHTER)
    ]
    return "; ".join(found[:MAX_REASONS]) or None


def _look_through(before: Policy, after: Policy) -> dict[str, Any]:
    """For people who are about to change a policy: findings with their lines, and what gets looser."""
    try:
        from qwed.policy.comparison import compare  # noqa: PLC0415
        from qwed.rules.analysis import Direction, analyse  # noqa: PLC0415
    except ImportError as missing:
        why = f"{missing.name} is not installed"
        return {
            "findings": [],
            "not_analysed": [{"line": 0, "rule": "", "question": "everything", "why": why}],
        }
    found = compare(before, after)
    told = [each for each in found.differences if each.direction is not Direction.SAME]
    analysis: dict[str, Any] = msgspec.to_builtins(analyse(after))
    return {**analysis, "differences": msgspec.to_builtins(told), "needs_review": found.needs_review}


def lacking(*, is_durable: bool) -> dict[Mechanism, str | None]:
    """What a mechanism would need to work here."""
    return {Mechanism.LEDGER: None if is_durable else "the ledger is in memory: name a database"}


def _assurance(
    policy: Policy, observer: str, issuers: Issuers, database: Path | PostgresUrl | None
) -> Assurance:
    """Raises `ProfileUnmet` where the deployment's own profile asks for what is not there."""
    by_profile = in_force(policy, lacks=lacking(is_durable=database is not None))
    profile, rules = policy.profile, policy.assurance
    own = by_profile[profile] if profile is not None else None
    if own is not None and own.problems:
        raise ProfileUnmet("; ".join(own.problems))
    if own is None:
        observes = bool(rules.trust_scoring or rules.behaviour_verification)
    else:
        observes = own.has(Mechanism.TRUST_SCORING) or own.has(Mechanism.BEHAVIOUR)
    observes = observes or bool(rules.level_scores)
    keeper = _scorekeeper(policy, observer, issuers, database) if observes else None
    return Assurance(profile, by_profile, thresholds_of(rules), keeper)


def _scorekeeper(
    policy: Policy, observer: str, issuers: Issuers, database: Path | PostgresUrl | None
) -> Scorekeeper:
    """Regulated, words count only from and about those in the directory, and every token is checked."""
    is_regulated = policy.profile is Profile.REGULATED
    return Scorekeeper(
        observer,
        score_rules(policy.assurance),
        policy.assurance.verifiers,
        directory=issuers.keys.knows if is_regulated else None,
        always_continuous=is_regulated,
        strict_checkpoints=policy.assurance.strict_checkpoints,
        new_memory=_trust_memory(database),
    )


def _trust_memory(database: Path | PostgresUrl | None) -> Callable[[], TrustMemory]:
    """It grows with the ledger: on the disk that has room for the ledger, where there is one."""
    return functools.partial(SqliteTrustMemory, database.parent) if isinstance(database, Path) else InProcess


class ProfileUnmet(Exception):
    """The profile asks for what this deployment does not have; the message says what."""


class _Base(msgspec.Struct):
    """What everything else stands on."""

    store: Store
    clock: Clock
    ring: KeyRing
    turns: Turns


class _KeyPlaces(NamedTuple):
    """`signing_key` is a file, or where the file would be; `source`, where the key is instead."""

    signing_key: Path | None
    source: KeySource | None
    record_key: str | None


def _open_base(
    database: Path | PostgresUrl | None,
    keys: _KeyPlaces,
    policy: Policy,
    issuer: str,
    clock: Clock | None,
) -> _Base:
    if isinstance(database, PostgresUrl):
        return _open_shared(database, keys, policy, issuer)
    clock = clock or SystemClock()
    if database is None:
        ring = KeyRing(issuer, generate())
        return _Base(open_memory(policy, clock, ring), clock, ring, Turns())
    if not (folder := database.absolute().parent).is_dir():
        raise DatabaseUnusable(f"the folder {folder} is not there: make it, or use another --database")
    ring = open_ring(keys.signing_key or signing_key_path(database), issuer, keys.source)
    return _Base(open_sqlite(database, policy, clock, ring), clock, ring, Turns())


def _open_shared(database: PostgresUrl, keys: _KeyPlaces, policy: Policy, issuer: str) -> _Base:
    try:
        from qwed.stores.postgres import DatabaseClock, PostgresTurns, open_postgres  # noqa: PLC0415
    except ImportError:
        raise CannotStart("PostgreSQL needs an extra: pip install 'qwed-gateway[postgres]'") from None
    clock = DatabaseClock()
    place = keys.signing_key or Path(SHARED_KEY_FILE)
    ring = open_ring(place, issuer, keys.source)
    sealing = record_keys(keys.record_key, place, ring)
    store = open_postgres(database.reveal(), policy, clock, ring, sealing)
    return _Base(store, clock, ring, PostgresTurns(store))


def _open_commons(redis: Secret | None, clock: Clock) -> Commons:
    if redis is None:
        return LocalCommons(clock.counter)
    try:
        from qwed.stores.redis import RedisCommons  # noqa: PLC0415
    except ImportError:
        raise CannotStart("Redis needs an extra: pip install 'qwed-gateway[redis]'") from None
    return RedisCommons(redis.reveal())


class CannotStart(Exception):
    """The settings lead to no gateway; the message is a sentence for whoever set them."""


def build_from_settings(settings: Settings, policy_file: Path | None, *, is_worker: bool = False) -> Services:
    """The gateway of a deployment: the same for its server and for a command that opens its store.

    Raises `DatabaseInUse` where another process owns the store, else `CannotStart`.
    """
    database = None if isinstance(settings.database, str) else settings.database
    policy, file_version = DEFAULT_POLICY, None
    try:
        policy = usable_policy(policy_file)
        file_version = policy.version
    except CannotStart:
        # Its parent has put a version in force: a file that somebody is writing keeps no worker away.
        if not is_worker:
            raise
    try:
        services = build(
            database,
            redis=settings.redis,
            signing_key=signing_key_path(database, settings.data_dir) if database else None,
            key_uri=settings.signing_key,
            record_key=settings.record_key,
            policy=policy,
            node_name=settings.node_name,
            state_required=settings.doom_loop_guard_required,
            issuers=_issuers(settings.ect_issuers),
            can_mail=settings.smtp is not None,
            public_log=settings.public_log,
        )
        services.live.file = None if policy_file is None else str(policy_file.absolute())
        services.live.file_version = file_version
        return _follow_policy(services)
    except (DatabaseUnusable, KeyUnusable, BrokenChain, ProfileUnmet) as error:
        raise CannotStart(str(error)) from None


def _follow_policy(services: Services) -> Services:
    """What is in force already comes before what the file says."""
    try:
        return run(catch_up(services))
    except StoreUnavailable as error:
        close(services)
        raise CannotStart(str(error)) from None


def start_policy(services: Services, *, is_shared: bool) -> tuple[Services, str | None]:
    """What a gateway that starts to serve makes of its policy file, and what is to say of it.

    The first start puts the file in force. Whoever owns the store alone does that at every start; where
    others share it, or a second person has to agree, the file differs until somebody applies it.
    """
    live = services.live
    if live.file is None or (services.policy_number and services.policy.version == live.file_version):
        return services, None
    if services.policy_number and (is_shared or services.policy.change_approvers > 1):
        return services, (
            f"{live.file} differs from version {services.policy_number}, which is in force:"
            " qwed policy apply --from-file puts the file in force"
        )
    try:
        run(reload_file(services, None, {"reason": "the gateway started with this file"}))
    except RequestError as error:
        raise CannotStart(str(error)) from None
    return services.newest, None


def watch(services: Services, file: Path, report: Callable[[str, str], None]) -> Services:
    """The services with a second policy that only watches. Raises `CannotStart`."""
    watched = msgspec.structs.replace(services.newest, shadow=Shadow(usable_policy(file), report))
    services.live.newest = watched
    return watched


def observe(services: Services, until_ms: int | None) -> Services:
    """The services that record every decision and stop no action, until then. Raises `CannotStart`."""
    if (problem := why_enforced(services.newest.policy)) is not None:
        raise CannotStart(problem)
    observing = msgspec.structs.replace(
        services.newest, observes_until_ms=LAST_MS if until_ms is None else until_ms
    )
    services.live.newest = observing
    return observing


def _issuers(path: Path | None) -> Issuers:
    if path is None:
        return Issuers()
    try:
        return read_issuers(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotStart(f"the issuers in {path} can't be used: {error}") from None


def usable_policy(path: Path | None) -> Policy:
    """`read_policy` for people. Raises `CannotStart`."""
    try:
        return read_policy(path)
    except OSError as error:
        raise CannotStart(f"the policy file {path} can't be read: {error.strerror}") from None
    except UnicodeError as error:
        raise CannotStart(f"the policy file {path} can't be read: {error}") from None
    except ValueError as error:
        raise CannotStart(f"the policy file has mistakes:\n{error}") from None


def warm(services: Services) -> None:
    """Load what the first decisions would otherwise wait for: parsers here, solvers in the workers."""
    for engine in ENGINE_NAMES:
        run(services.prover.prove(engine, Action(engine, query="1"), Client("gateway", "gateway")))
    services.prover.warm()


def read_policy(path: Path | None) -> Policy:
    """The policy in a file; the default where there is none. Raises `PolicyError` or `OSError`."""
    return DEFAULT_POLICY if path is None else load_policy(path.read_text(encoding="utf-8"), str(path))


def background(services: Services, settings: Settings, report: Callable[[str, str], None]) -> "Background":
    """What delivers, reminds and expires beside the gateway; it is started and stopped by its owner."""
    # An HTTP client costs more than the rest of an in-process gateway, which has no use for it.
    from qwed.notify.background import Background  # noqa: PLC0415
    from qwed.notify.channels import (  # noqa: PLC0415
        Carrier,
        ChatMessage,
        HttpPost,
        PagerDutyEvent,
        SignedJson,
        slack_message,
        teams_message,
    )
    from qwed.notify.dispatcher import Dispatcher  # noqa: PLC0415
    from qwed.notify.mail import Mail  # noqa: PLC0415
    from qwed.notify.notice_text import Words  # noqa: PLC0415

    rules = services.policy.notifications
    tool_rules = engine_rules(services.policy).tools or ToolRules()
    mail_server = _mail_server(settings)
    doorkeeper = Doorkeeper(rules, tool_rules.email, can_mail=mail_server is not None)
    post = HttpPost(doorkeeper, rules.timeout_seconds)
    words = Words(functools.partial(_name_of, services), settings.public_url)
    has_buttons = settings.slack_signing_secret is not None
    carriers: dict[Channel, Carrier] = {
        Channel.WEBHOOK: SignedJson(post, services.clock.now_ms),
        Channel.SLACK: ChatMessage(post, words, functools.partial(slack_message, has_buttons=has_buttons)),
        Channel.TEAMS: ChatMessage(post, words, teams_message),
        Channel.PAGERDUTY: PagerDutyEvent(post, words),
        Channel.EMAIL: Mail(mail_server, rules.timeout_seconds, words),
    }
    return Background(services, Dispatcher(services, carriers), report)


async def _name_of(services: Services, agent_id: str) -> str | None:
    agent = await services.store.agent(AgentId(agent_id))
    return None if agent is None else agent.name


def _mail_server(settings: Settings) -> "MailServer | None":
    from qwed.notify.mail import MailServer, Security  # noqa: PLC0415

    smtp = settings.smtp
    if smtp is None:
        return None
    sender = settings.smtp_from or f"qwed@{smtp.host}"
    password = smtp.password.reveal() if smtp.password else None
    return MailServer(smtp.host, smtp.port, Security(smtp.scheme), sender, smtp.user, password)


def close(services: Services) -> None:
    """Finish what was accepted, then let go of the workers and the store."""
    services.prover.close()
    services.commons.close()
    services.store.close()


def signing_key_path(database: Path | PostgresUrl, directory: Path | None = None) -> Path:
    """Beside the store, unless it is kept elsewhere; all gateways on one server have the same."""
    if isinstance(database, PostgresUrl):
        return (directory or Path()) / SHARED_KEY_FILE
    return (directory or database.parent) / f"{database.name}.key"


def source_of(uri: str | None) -> KeySource | None:
    """Where a URI says that the signing key is; None where it is in the file of its place."""
    return None if uri is None else KeySource(uri, environment())


def record_keys(given: str | None, signing_key: Path, ring: KeyRing) -> RecordKeys:
    """The keys that records are sealed with: those that were given, else what follows from the signing keys.

    Raises `KeyUnusable`.
    """
    older = read_older_records(signing_key)
    return follow_ring(ring, older) if given is None else load_record_keys(given, environment())


def first_operator_key(services: Services, given: str | None = None) -> str | None:
    """The key of the first operator, made (or taken as given) when there is none yet; else None."""
    return run(_first_operator_key(services, given))


async def _first_operator_key(services: Services, given: str | None) -> str | None:
    async with services.turns.turn("first_operator_key"):
        return await _make_operator_key(services, given)


async def _make_operator_key(services: Services, given: str | None) -> str | None:
    if any(key.is_operator and key.revoked_ms is None for key in await services.store.keys(None)):
        return None
    secret = given or services.ids.api_key(None)
    key_hash = credential_hash(secret)
    if key_hash is None:
        raise ValueError("the operator key is ASCII of at most 256 characters")
    now_ms = services.clock.now_ms()
    key = ApiKey(services.ids.key(), key_hash, None, (), (OPERATOR_ROLE,), now_ms, "first operator")
    activity = noted(services, Caller(key=key), "create_key", {"key_id": key.key_id, "roles": key.roles})
    await services.store.commit(Record(activity, key=key))
    return secret
