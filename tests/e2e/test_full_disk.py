"""A disk that takes no more: the decision is refused, nothing is half-written, and it recovers by itself."""

import resource
import sqlite3

import pytest
from tests.support.ledgers import verified_head
from tests.support.server import Server, verify_request

from qwed import Gateway, StoreUnavailable

pytestmark = [pytest.mark.xdist_group("crash"), pytest.mark.repeated(nightly=3, long=20)]

LONG = {"user_intent": "because it was asked for " * 160}


def long_request(agent, conversation):
    request = verify_request(agent, "1+1", conversation=conversation)
    request["json"]["context"] |= LONG
    return request


def approve_until_refused(ask, limit=2000):
    """The answers up to the first that is not an approval, and that one."""
    for number in range(limit):
        answer = ask(number)
        if answer.get("decision") != "APPROVED":
            return number, answer
    raise AssertionError("the disk never became full")


def test_a_server_whose_disk_is_full_says_503_and_goes_on_when_there_is_room(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register(budget={"max_requests_per_hour": None, "max_daily_cost_usd": None})
        pid = server.process.pid
        sizes = [path.stat().st_size for path in tmp_path.glob("qwed.db*")]
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (max(sizes) + 100_000, unlimited[1]))

        with server.client() as client:
            responses = []

            def ask(number):
                responses.append(client.request(**long_request(agent, f"c{number}")))
                return responses[-1].json()

            approved, refused = approve_until_refused(ask)
            full = responses[-1]
            again = [client.request(**long_request(agent, f"d{n}")) for n in range(5)]
            reading = client.get(f"/agents/{agent['agent_id']}/activity", params={"limit": 1000})
            health = client.get("/health")
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
            retried = client.request(**long_request(agent, f"c{approved}"))
            summary = client.get(f"/agents/{agent['agent_id']}/activity").json()["summary"]
            budget = client.get(f"/agents/{agent['agent_id']}/budget").json()

        assert approved > 0
        assert (full.status_code, refused["error"]["code"]) == (503, "QWED-STORE-001")
        assert "decision" not in refused
        assert int(full.headers["Retry-After"]) >= 1
        assert {response.status_code for response in again} == {503}
        assert reading.json()["summary"]["approved"] == approved
        assert health.status_code == 200
        assert (retried.status_code, retried.json()["decision"]) == (200, "APPROVED")
        assert summary["approved"] == approved + 1
        assert budget["cost"]["current_daily_usd"] == pytest.approx((approved + 1) * 0.01)
    # The key and the agent, each with its entry, and the agent's first trust.
    assert verified_head(server.database).seq == approved + 1 + 5
    with sqlite3.connect(server.database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.fixture
def gateway(tmp_path):
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        yield gateway


def test_in_process_a_full_database_raises_and_keeps_step_hold_and_record_as_they_were(gateway, tmp_path):
    unlimited = {"max_requests_per_hour": None, "max_daily_cost_usd": None}
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p", budget=unlimited)
    agent_id = agent["agent_id"]
    writer = gateway.services.store._access.tables._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages + 40}")

    def propose(number):
        context = {"conversation_id": f"c{number}", "step_number": 1, **LONG}
        return gateway.verify_action(agent_id, {"type": "calculate", "query": f"{number}+1"}, context)

    approved = 0
    with pytest.raises(StoreUnavailable):
        while True:
            assert propose(approved)["decision"] == "APPROVED"
            approved += 1

    def figures():
        activity = gateway.get_agent_activity(agent_id)["summary"]
        spent = gateway.get_agent_budget(agent_id)["cost"]["current_daily_usd"]
        return activity["approved"], spent

    assert approved > 0
    assert figures() == (approved, pytest.approx(approved * 0.01))
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            propose(approved)
    assert figures() == (approved, pytest.approx(approved * 0.01))
    with pytest.raises(StoreUnavailable):
        gateway.register_agent(name="b" * 200, type="supervised", principal_id="p", description="x" * 4000)
    assert len(gateway.agents()["agents"]) == 1

    writer.execute("PRAGMA max_page_count = 1000000000")
    assert propose(approved)["decision"] == "APPROVED"
    assert figures() == (approved + 1, pytest.approx((approved + 1) * 0.01))
    assert verified_head(tmp_path / "qwed.db").seq == 3 + approved + 1


def test_a_read_only_folder_is_refused_with_a_sentence(tmp_path):
    from qwed.stores import DatabaseUnusable

    (tmp_path / "qwed.db").mkdir()
    with pytest.raises(DatabaseUnusable, match=r"qwed\.db"):
        Gateway.open(tmp_path / "qwed.db")


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough " * 50, b"x" * 4096], ids=["words", "x"]
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_was(tmp_path, content):
    from qwed.stores import DatabaseUnusable

    path = tmp_path / "qwed.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable):
        Gateway.open(path)

    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_as_it_was(tmp_path):
    from qwed.stores import DatabaseUnusable

    path = tmp_path / "accounts.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match=r"another program's database \(it has 'accounts'\)"):
        Gateway.open(path)

    assert path.read_bytes() == content


def test_a_folder_that_is_not_there_is_named(tmp_path):
    from qwed.stores import DatabaseUnusable

    with pytest.raises(DatabaseUnusable, match=r"the folder .*/missing is not there"):
        Gateway.open(tmp_path / "missing" / "qwed.db")


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    from qwed.stores import DatabaseUnusable

    path = tmp_path / "qwed.db"
    Gateway.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()

    with pytest.raises(DatabaseUnusable, match="999"):
        Gateway.open(path)


def test_a_ledger_that_was_changed_is_not_built_upon(tmp_path):
    from qwed.ledger.chain import BrokenChain

    path = tmp_path / "qwed.db"
    with Gateway.open(path) as gateway:
        for number in range(3):
            gateway.register_agent(name=f"a{number}", type="supervised", principal_id="p")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE ledger SET at_ms = at_ms + 1 WHERE seq = 2")
    connection.close()

    with pytest.raises(BrokenChain, match="2"):
        Gateway.open(path)
