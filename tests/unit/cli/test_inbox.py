"""The live inbox: what it shows, and what a key does to it."""

import datetime
import io

from rich.console import Console

from qwed.cli.inbox import Inbox, InboxAnswer, press, refreshed, view

NOW = datetime.datetime(2026, 4, 6, 12, tzinfo=datetime.UTC)


def approval(name, minutes=10, **changes):
    expires = NOW + datetime.timedelta(minutes=minutes)
    return {
        "id": name,
        "expires_at": expires.isoformat().replace("+00:00", "Z"),
        "risk_level": "high",
        "agent_id": "agent_1",
        "action": {"type": "send_email", "parameters": {"to": "a@example.com"}},
        "evidence": {},
        "reason": "because",
        "votes": [],
        **changes,
    }


def inbox(*approvals):
    return refreshed(Inbox(), {"approvals": list(approvals)})


def shown(inbox):
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    console.print(view(inbox, NOW))
    return console.file.getvalue()


def test_what_expires_first_stands_first_and_is_chosen():
    found = inbox(approval("apr_b", 10), approval("apr_a", 2), approval("apr_c", 70))

    assert [each["id"] for each in found.waiting] == ["apr_a", "apr_b", "apr_c"]
    assert found.chosen == "apr_a"
    text = shown(found)
    assert "2:00" in text and "10:00" in text and "1 h 10 min" in text and "3 waiting" in text


def test_an_empty_inbox_says_so():
    assert "nothing waits for you" in shown(inbox())
    for key in ("a", "d", "j", "k", "y"):
        assert press(inbox(), key) == (inbox(), None)


def test_arrows_choose_and_stop_at_the_ends():
    found = inbox(approval("apr_a", 1), approval("apr_b", 2))
    below = press(found, "\x1b[B")[0]

    assert below.chosen == "apr_b" and press(below, "j")[0].chosen == "apr_b"
    assert press(below, "k")[0].chosen == "apr_a" == press(found, "\x1b[A")[0].chosen


def test_an_answer_needs_a_yes_and_any_other_key_is_no():
    asking, nothing = press(inbox(approval("apr_a")), "a")
    assert nothing is None and "approve apr_a?" in shown(asking)

    assert press(asking, "y")[1] == InboxAnswer("approve", "apr_a")
    for key in ("a", "n", "Y", "q", "\r", "\x1b"):
        declined, order = press(asking, key)
        assert order is None and not declined.is_over and declined.asking is None


def test_whatever_arrives_meanwhile_the_answer_is_for_what_was_seen():
    asking = press(inbox(approval("apr_b", 10)), "d")[0]
    asking = refreshed(asking, {"approvals": [approval("apr_a", 1), approval("apr_b", 10)]})

    assert asking.chosen == "apr_b"
    assert press(asking, "y")[1] == InboxAnswer("deny", "apr_b")


def test_what_is_answered_elsewhere_is_no_longer_asked_about():
    asking = press(inbox(approval("apr_a"), approval("apr_b", 20)), "a")[0]
    changed = refreshed(asking, {"approvals": [approval("apr_b", 20)]})

    assert changed.asking is None and changed.chosen == "apr_b"
    assert "apr_a no longer waits" in shown(changed)
    assert press(changed, "y")[1] is None


def test_an_agents_words_are_shown_as_text_and_in_bounds():
    hostile = "\x1b[2J\x1b]0;owned\x07[bold red]click[/] \u202e" + "x" * 100_000
    text = shown(
        inbox(approval("apr_a", action={"type": hostile, "query": hostile}, reason=hostile, agent_id=hostile))
    )

    assert "\x1b[2J" not in text and "\x07" not in text and "\u202e" not in text
    assert "[bold red]" in text
    assert len(text) < 30_000


def test_a_long_list_shows_the_part_around_the_choice():
    found = inbox(*(approval(f"apr_{n:03}", n + 1) for n in range(60)))
    for _ in range(40):
        found = press(found, "j")[0]

    assert found.chosen == "apr_040"
    assert "41:00" in shown(found)


def test_q_leaves():
    assert press(inbox(approval("apr_a")), "q")[0].is_over


def test_in_a_narrow_terminal_the_action_is_cut_and_nothing_else():
    agent, query = "agent_c6c3fdf0e4b63222", "UPDATE customers SET city = 'Utrecht' WHERE id = 7 AND " * 3
    waiting = inbox(approval("apr_1", agent_id=agent, action={"type": "execute_sql", "query": query}))
    console = Console(width=80, file=io.StringIO())
    console.print(view(waiting, NOW))
    row = next(line for line in console.file.getvalue().splitlines() if "▶" in line)

    assert row.split()[:4] == ["▶", "10:00", "high", agent]
    assert "execute_sql" in row
    assert "…" in row
