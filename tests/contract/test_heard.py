"""What every store promises of what conversations have heard."""

from tests.support.records import an_agent, noted

from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Redaction

START = -(2**62)


def test_the_first_salt_of_a_conversation_stays(shelf):
    agent = an_agent()
    first = run(shelf.store.keep_salt(agent.agent_id, "c", b"one", shelf.now))
    second = run(shelf.store.keep_salt(agent.agent_id, "c", b"two", shelf.now))

    assert (first, second) == (b"one", b"one")
    assert run(shelf.store.keep_salt(agent.agent_id, "d", b"two", shelf.now)) == b"two"


def test_reports_are_read_in_their_order_each_once(shelf):
    agent = an_agent()
    run(shelf.store.keep_salt(agent.agent_id, "c", b"salt", shelf.now))
    for report_id, body in (("b", b"1"), ("a", b"2"), ("b", b"3")):
        run(shelf.store.keep_heard(agent.agent_id, "c", report_id, body))

    salt, rows = run(shelf.store.heard(agent.agent_id, "c", START))

    assert salt == b"salt"
    assert [body for _, body in rows] == [b"1", b"2"]
    assert [body for _, body in run(shelf.store.heard(agent.agent_id, "c", rows[0][0]))[1]] == [b"2"]
    assert run(shelf.store.heard(agent.agent_id, "d", START)) == (None, [])


def test_an_erased_conversation_has_heard_nothing(shelf):
    agent = an_agent()
    for conversation in ("c", "d"):
        run(shelf.store.keep_salt(agent.agent_id, conversation, b"salt", shelf.now))
        run(shelf.store.keep_heard(agent.agent_id, conversation, "a", b"1"))
    run(
        shelf.store.commit(
            noted(agent, shelf.now, redaction=Redaction(agent.agent_id, (), conversations=("c",)))
        )
    )

    assert run(shelf.store.heard(agent.agent_id, "c", START)) == (None, [])
    assert run(shelf.store.heard(agent.agent_id, "d", START))[0] == b"salt"
