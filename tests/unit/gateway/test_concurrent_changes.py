"""What happens at the same time, or in the middle of something else."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.ledgers import verified_head

from qwed import Gateway, RequestError
from qwed.domain.actions import Action
from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.credentials import ApiKey, Caller, Scope
from qwed.domain.findings import Finding
from qwed.domain.policy import DEFAULT_POLICY, PrincipalCeilings
from qwed.engines.fair_queue import Client
from qwed.gateway.agents.authenticate import PresentedCredentials, authenticate
from qwed.gateway.agents.register_agent import register_agent
from qwed.gateway.approvals.answer_approval import approve, redeem
from qwed.gateway.decide.doors import verify_action
from qwed.gateway.kernel.coroutines import SingleFlight, run
from qwed.gateway.kernel.ports import SigningFailed, StoreUnavailable
from qwed.gateway.kernel.requests import read_verify
from qwed.stores import DatabaseInUse
from qwed.stores.sqlite import SqliteTables

EMAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "body": "hello"}}
SUM = {"type": "calculate", "query": "1+1"}
PERSON = Caller(
    key=ApiKey("person", b"", PrincipalId("p"), (Scope.APPROVE,), (), 0), principal_id=PrincipalId("p")
)


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    results: list[Any] = [None] * count
    start = threading.Barrier(count)

    def call(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except RequestError as error:
            results[number] = error.refusal.code.value

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture(params=["memory", "sqlite"])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with Gateway.open(":memory:" if request.param == "memory" else tmp_path / "qwed.db") as made:
        yield made


def agent_of(gateway: Gateway, kind: str = "supervised") -> str:
    return str(gateway.register_agent(name="a", type=kind, principal_id="p")["agent_id"])


def context(step: int = 1, conversation: str = "c") -> dict[str, Any]:
    return {"conversation_id": conversation, "step_number": step}


def test_a_suspension_survives_a_change_made_at_the_same_time(gateway: Gateway) -> None:
    for _ in range(10):
        agent_id = agent_of(gateway)
        changes = [
            lambda agent_id=agent_id: gateway.suspend(agent_id, "strange"),
            lambda agent_id=agent_id: gateway.change_agent(agent_id, description="new"),
            lambda agent_id=agent_id: gateway.rotate_token(agent_id),
        ]
        at_once(3, lambda number, changes=changes: changes[number]())
        agent = gateway.get_agent(agent_id)

        assert (agent["status"], agent["description"]) == ("suspended", "new")


def test_a_ceiling_of_agents_holds_however_they_are_registered() -> None:
    policy = msgspec.structs.replace(DEFAULT_POLICY, principals=PrincipalCeilings(max_agents=3))
    owner = Caller(
        key=ApiKey("k", b"", PrincipalId("p"), (Scope.REGISTER,), (), 0), principal_id=PrincipalId("p")
    )
    with Gateway.open(":memory:", policy=policy) as gateway:
        body = {"name": "a", "type": "supervised"}
        answers = at_once(12, lambda _: run(register_agent(gateway.services, owner, body)))
        registered = [answer for answer in answers if not isinstance(answer, str)]

        assert len(registered) == 3
        assert {answer for answer in answers if isinstance(answer, str)} == {"QWED-AUTH-002"}


def test_a_key_that_came_beside_the_agents_token_may_not_approve(gateway: Gateway) -> None:
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p")
    made = gateway.create_key(principal_id="p", scopes=["verify", "approve", "read"])
    both = run(authenticate(gateway.services, PresentedCredentials((made["api_key"], agent["agent_token"]))))
    key = run(authenticate(gateway.services, PresentedCredentials((made["api_key"],))))
    assert both is not None and key is not None
    request = read_verify({"action": EMAIL, "context": context()})
    answer = run(verify_action(gateway.services, both, AgentId(agent["agent_id"]), request))

    with pytest.raises(RequestError, match="another key"):
        run(approve(gateway.services, key, answer.body["approval"]["id"], None))  # type: ignore[index]


class Interrupting:
    """A prover that does something to the gateway while it works."""

    def __init__(self, inner: Any, deed: Callable[[], object]) -> None:
        self._inner = inner
        self._deed = deed

    async def prove(self, engine: str, action: Action, client: Client) -> Finding:
        finding: Finding = await self._inner.prove(engine, action, client)
        self._deed()
        return finding

    def close(self) -> None:
        self._inner.close()


def test_an_agent_suspended_while_its_engine_works_is_not_approved(gateway: Gateway) -> None:
    agent_id = agent_of(gateway)
    calm = gateway.services
    gateway.services = msgspec.structs.replace(
        calm, prover=Interrupting(calm.prover, lambda: gateway.suspend(agent_id, "stop"))
    )
    answer = gateway.verify_action(agent_id, SUM, context())

    assert (answer["decision"], answer["error"]["code"]) == ("DENIED", "QWED-AGENT-003")
    gateway.services = calm
    gateway.reactivate(agent_id)
    assert gateway.verify_action(agent_id, SUM, context())["decision"] == "APPROVED"


def test_a_cancelled_request_does_not_free_a_step_that_is_being_written(tmp_path: Path) -> None:
    gateway = Gateway.open(tmp_path / "qwed.db")
    agent_id = AgentId(agent_of(gateway))
    tables: SqliteTables = gateway.services.store._tables  # type: ignore[attr-defined]
    write, go, writing = tables.write, threading.Event(), threading.Event()

    def slowly(records: Any) -> None:
        writing.set()
        go.wait(10)
        write(records)

    tables.write = slowly  # type: ignore[method-assign]
    request = read_verify({"action": SUM, "context": context()})
    other = read_verify({"action": {"type": "calculate", "query": "2+2"}, "context": context()})
    caller = Caller(key=ApiKey("op", b"", None, (), ("operator",), 0))

    async def scenario() -> str:
        first = asyncio.create_task(verify_action(gateway.services, caller, agent_id, request))
        await asyncio.to_thread(writing.wait, 10)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(verify_action(gateway.services, caller, agent_id, other))
        await asyncio.sleep(0.05)
        go.set()
        answer = await second
        return str(answer.body["error"]["code"])  # type: ignore[index]

    code = asyncio.run(scenario())
    replay = gateway.verify_action(agent_id, SUM, context())
    gateway.close()

    assert code == "QWED-AGENT-LOOP-002"
    assert replay["error"]["code"] == "QWED-AGENT-LOOP-002"


def test_a_leader_that_is_cancelled_fails_nobody_else() -> None:
    flight = SingleFlight()

    async def scenario() -> list[str]:
        async def slow() -> str:
            await asyncio.sleep(10)
            return "slow"

        async def quick() -> str:
            return "quick"

        leader = asyncio.create_task(flight.do("key", slow))
        await asyncio.sleep(0)
        followers = [asyncio.create_task(flight.do("key", quick)) for _ in range(3)]
        await asyncio.sleep(0)
        leader.cancel()
        return list(await asyncio.gather(*followers))

    assert asyncio.run(scenario()) == ["quick"] * 3


def test_a_commit_that_fails_after_it_was_done_counts_as_done(tmp_path: Path) -> None:
    gateway = Gateway.open(tmp_path / "qwed.db")
    agent_id = agent_of(gateway)
    # What decisions share is kept with the first one, in a transaction of its own.
    gateway.verify_action(agent_id, SUM, {"conversation_id": "before", "step_number": 1})
    tables: SqliteTables = gateway.services.store._tables  # type: ignore[attr-defined]

    class Lying:
        """A connection whose next COMMIT is done and then reported as failed."""

        def __init__(self, inner: Any) -> None:
            self._inner = inner
            self.lies = 1

        def execute(self, sql: str, *values: Any) -> Any:
            result = self._inner.execute(sql, *values)
            if sql == "COMMIT" and self.lies:
                self.lies -= 1
                raise __import__("sqlite3").OperationalError("disk I/O error")
            return result

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    tables._writer = Lying(tables._writer)  # type: ignore[assignment]
    first = gateway.verify_action(agent_id, SUM, context(1))
    second = gateway.verify_action(agent_id, SUM, context(2))
    gateway.close()

    assert (first["decision"], second["decision"]) == ("APPROVED", "APPROVED")
    # A registration with its two rows, and two decisions.
    assert verified_head(tmp_path / "qwed.db").seq == 3 + 3


def test_a_link_to_the_database_is_the_same_database(tmp_path: Path) -> None:
    (tmp_path / "other.db").symlink_to(tmp_path / "qwed.db")
    with Gateway.open(tmp_path / "qwed.db"), pytest.raises(DatabaseInUse):
        Gateway.open(tmp_path / "other.db")


def test_a_redeemed_grant_is_charged_its_estimate_and_keeps_its_place(gateway: Gateway) -> None:
    agent_id = agent_of(gateway)
    usage = {"cost_usd": 0.5, "tokens": 100}
    asked = gateway.verify_action(agent_id, EMAIL, context(), usage=usage)
    run(approve(gateway.services, PERSON, asked["approval"]["id"], None))
    gateway.redeem(asked["approval"]["id"], EMAIL)
    budget = gateway.get_agent_budget(agent_id)
    entries = gateway.get_agent_activity(agent_id, conversation_id="c")["activities"]

    assert (budget["cost"]["current_daily_usd"], budget["tokens"]["current_daily"]) == (0.51, 100)
    assert [entry["decision"] for entry in entries] == ["APPROVED", "PENDING"]


def test_a_grant_is_not_used_up_by_an_attestation_that_cannot_be_signed(gateway: Gateway) -> None:
    class Broken:
        issuer = "did:qwed:node:broken"

        def __init__(self, error: Exception) -> None:
            self._error = error

        def sign(self, typ: str, claims: dict[str, Any]) -> str:
            raise self._error

    agent_id = agent_of(gateway)
    asked = gateway.verify_action(agent_id, EMAIL, context())
    approval_id = asked["approval"]["id"]
    run(approve(gateway.services, PERSON, approval_id, None))
    for error in (SigningFailed("no key"), RuntimeError("hardware gone")):
        broken = msgspec.structs.replace(gateway.services, signer=Broken(error))
        answer = run(redeem(broken, PERSON_OPERATOR, approval_id, {"action": EMAIL}))
        assert answer.body["decision"] == "DENIED"
        assert answer.body["error"]["code"] == "QWED-ATTESTATION-001"

    assert gateway.redeem(approval_id, EMAIL)["decision"] == "APPROVED"


PERSON_OPERATOR = Caller(key=ApiKey("op", b"", None, (), ("operator",), 0))


def test_an_outcome_cannot_claim_a_fortune(gateway: Gateway) -> None:
    agent_id = agent_of(gateway)
    activity_id = gateway.verify_action(agent_id, SUM, context())["activity_id"]

    with pytest.raises(RequestError, match=r"usage\.cost_usd"):
        gateway.report_outcome(agent_id, activity_id, "success", usage={"cost_usd": 1_000_000_000})
    assert gateway.get_agent_activity(agent_id)["summary"]["approved"] == 1


@pytest.mark.parametrize("parameters", [[], "", 0, False])
def test_parameters_that_are_no_object_are_refused_even_when_empty(gateway: Gateway, parameters: Any) -> None:
    answer = gateway.verify_action(agent_of(gateway), {**SUM, "parameters": parameters}, context())

    assert answer["error"]["code"] == "QWED-AGENT-STATE-004"


def test_a_secret_quoted_by_an_engine_is_masked_in_the_approval(gateway: Gateway) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    asked = gateway.verify_action(
        agent_of(gateway), {"type": "calculate", "query": f"frobnicate {key}"}, context()
    )
    approval = gateway.get_approval(asked["approval"]["id"])

    assert asked["decision"] == "PENDING"
    assert key not in str(approval)


def test_a_vote_that_could_not_be_written_leaves_the_approval_open(tmp_path: Path) -> None:
    gateway = Gateway.open(tmp_path / "qwed.db")
    agent_id = agent_of(gateway)
    approval_id = gateway.verify_action(agent_id, EMAIL, context())["approval"]["id"]
    store: Any = gateway.services.store
    write = store._tables.write

    def fails(records: Any) -> None:
        raise StoreUnavailable("no space left")

    store._tables.write = fails
    with pytest.raises(StoreUnavailable):
        run(approve(gateway.services, PERSON, approval_id, None))
    store._tables.write = write
    still_open = dict(store._agents.get(agent_id).open_approvals)
    answer = run(approve(gateway.services, PERSON, approval_id, None))
    gateway.close()

    assert list(still_open) == [approval_id]
    assert answer.body["status"] == "approved"
