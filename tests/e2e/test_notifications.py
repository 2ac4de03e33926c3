"""People are told, by a real gateway to real receivers: once as a rule, at least once whatever happens."""

import json
import sqlite3
import time
from pathlib import Path

import pytest
from tests.support.receivers import MailReceiver, Receiver, free_port, wait_for
from tests.support.server import OPERATOR_KEY, Server

from qwed_sdk.webhooks import verify

FAST = {
    "private": ["127.0.0.0/8"],
    "timeout_seconds": 5,
    "first_retry_seconds": 0.05,
    "max_retry_seconds": 0.5,
}
WRONG = {"type": "verify_logic", "query": "p and not p"}
EMAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}


def gateway(folder: Path, **environment: str) -> Server:
    return with_policy(folder, {"notifications": FAST}, **environment)


def with_policy(folder: Path, policy: dict, **environment: str) -> Server:
    (folder / "qwed.yaml").write_text(json.dumps(policy), encoding="utf-8")
    return Server(folder, "--config", str(folder / "qwed.yaml"), environment=environment)


def hook(server: Server, url: str, key: str = OPERATOR_KEY, **more) -> dict:
    response = server.call("POST", "/webhooks", key=key, json={"url": url, **more})
    assert response.status_code == 201, response.text
    return response.json()


def ask(server: Server, agent: dict, action: dict, step: int = 1, key: str = OPERATOR_KEY) -> dict:
    context = {"conversation_id": "c", "step_number": step}
    path = f"/agents/{agent['agent_id']}/verify"
    return server.call("POST", path, key=key, json={"action": action, "context": context}).json()


def deliveries(server: Server, webhook_id: str, key: str = OPERATOR_KEY) -> list[dict]:
    return server.call("GET", f"/webhooks/{webhook_id}/deliveries", key=key).json()["deliveries"]


def settled(server: Server, webhook_id: str, state: str = "delivered") -> list[dict]:
    return wait_for(
        lambda: [d for d in deliveries(server, webhook_id) if d["state"] == state], f"delivery {state}"
    )


def test_a_failed_verification_is_told_once_signed_and_can_be_looked_up(tmp_path):
    with Receiver() as receiver, gateway(tmp_path) as server:
        made = hook(server, receiver.url())
        agent = server.register()
        answer = ask(server, agent, WRONG)
        (told,) = receiver.wait()
        (delivery,) = settled(server, made["id"])
        time.sleep(1)

        assert answer["verification"]["status"] == "FAILED"
        assert len(receiver.received) == 1
        assert told.json["type"] == told.headers["qwed-event"] == "decision.failed"
        assert told.json["activity_id"] == answer["activity_id"]
        assert told.json["data"]["decision"]["action"] == WRONG
        event = verify(
            told.body, told.headers["qwed-signature"], told.headers["qwed-event-id"], made["secret"]
        )
        assert event["id"] == told.headers["qwed-event-id"]
        assert delivery["attempts"] == 1 and delivery["last_error"] is None
        assert made["secret"] not in str(deliveries(server, made["id"])) + server.log()


def test_an_approval_is_told_when_it_is_asked_for_and_when_it_is_answered(tmp_path):
    with Receiver() as receiver, gateway(tmp_path) as server:
        hook(server, receiver.url(), events=["approval"])
        agent = server.register(type="supervised")
        asker = server.principal_key("acme")
        approval = ask(server, agent, EMAIL, key=asker)["approval"]
        receiver.wait()
        server.call("POST", f"/approvals/{approval['id']}/approve", json={"note": "fine"})
        asked, answered = receiver.wait(2)

        assert receiver.events() == ["approval.requested", "approval.approved"]
        assert asked.json["data"]["approval"]["action"] == EMAIL
        assert asked.json["data"]["approval"]["status"] == "open"
        assert answered.json["data"]["approval"]["votes"][0]["note"] == "fine"


def test_trust_suspension_and_unknown_outcomes_are_told(tmp_path):
    with Receiver() as receiver, gateway(tmp_path) as server:
        hook(server, receiver.url())
        agent = server.register()
        path = f"/agents/{agent['agent_id']}"
        server.call("POST", f"{path}/trust", json={"to_level": 1, "reason": "less"})
        answer = ask(server, agent, {"type": "calculate", "query": "2+2 = 4"})
        activity = answer["activity_id"]
        server.call("POST", f"{path}/activity/{activity}/outcome", json={"outcome": "unknown"})
        server.call("POST", f"{path}/suspend", json={"reason": "strange"})
        server.call("POST", f"{path}/reactivate")
        receiver.wait(4)

        told = {received.json["type"]: received.json["data"] for received in receiver.received}
        assert set(told) == {"trust.changed", "outcome.unknown", "trust.suspended", "trust.reactivated"}
        change = told["trust.changed"]["change"]
        assert (change["from_level"], change["to_level"], change["reason"]) == (2, 1, "less")
        assert told["outcome.unknown"]["outcome"]["activity_id"] == activity
        assert told["trust.suspended"]["agent"]["status"] == "suspended"


def test_what_is_refused_at_first_is_sent_again_under_the_same_event_id(tmp_path):
    with Receiver(lambda number, _: 500 if number < 3 else 200) as receiver, gateway(tmp_path) as server:
        made = hook(server, receiver.url())
        ask(server, server.register(), WRONG)
        received = receiver.wait(3)
        (delivery,) = settled(server, made["id"])

        assert len({each.headers["qwed-event-id"] for each in received}) == 1
        assert [each.headers["qwed-attempt"] for each in received] == ["1", "2", "3"]
        assert delivery["attempts"] == 3


def test_a_receiver_that_is_gone_is_told_no_more_until_somebody_asks_for_it(tmp_path):
    with Receiver(lambda number, _: 410 if number == 1 else 200) as receiver, gateway(tmp_path) as server:
        made = hook(server, receiver.url())
        ask(server, server.register(), WRONG)
        (delivery,) = settled(server, made["id"], "given_up")
        assert (delivery["attempts"], delivery["last_error"]) == (1, "it answered 410")

        again = server.call("POST", f"/webhooks/{made['id']}/deliveries/{delivery['id']}/retry")
        settled(server, made["id"])
        assert again.status_code == 202
        assert len(receiver.received) == 2


def test_a_receiver_that_was_down_is_told_after_the_gateways_restart(tmp_path):
    port = free_port()
    server = gateway(tmp_path)
    with server:
        made = hook(server, f"http://127.0.0.1:{port}/hook")
        ask(server, server.register(), WRONG)
        wait_for(lambda: deliveries(server, made["id"])[0]["last_error"], "failed try")
        assert deliveries(server, made["id"])[0]["last_error"] == "nobody answers there"
    with Receiver(port=port) as receiver, gateway(tmp_path) as server:
        receiver.wait()
        (delivery,) = settled(server, made["id"])

        assert delivery["attempts"] >= 2


def test_what_was_committed_is_delivered_although_the_process_was_killed(tmp_path):
    port = free_port()
    server = gateway(tmp_path).start()
    made = hook(server, f"http://127.0.0.1:{port}/hook")
    answers = [ask(server, server.register(name=f"a{n}"), WRONG) for n in range(5)]
    server.kill()
    with Receiver(port=port) as receiver, gateway(tmp_path) as server:
        wait_for(lambda: len(settled(server, made["id"])) == 5, "five deliveries")

        told = {received.json["activity_id"] for received in receiver.received}
        assert told == {answer["activity_id"] for answer in answers}


def test_killed_while_it_delivers_it_delivers_again(tmp_path):
    def answer(number, _):
        if number == 1:
            server.kill()
        return 200

    server = gateway(tmp_path).start()
    with Receiver(answer) as receiver:
        made = hook(server, receiver.url())
        ask(server, server.register(), WRONG)
        wait_for(lambda: server.process.poll() is not None, "kill")
        with gateway(tmp_path) as server_again:
            (delivery,) = settled(server_again, made["id"])
            received = receiver.wait(2)

            # A busy machine may cost one more.
            assert delivery["attempts"] >= 2
            assert len({each.headers["qwed-event-id"] for each in received}) == 1


def test_a_slow_receiver_delays_nobody_else(tmp_path):
    def slow(number, _):
        time.sleep(5)
        return 200

    impatient = {"notifications": {**FAST, "timeout_seconds": 1}}
    with Receiver(slow) as tortoise, Receiver() as hare, with_policy(tmp_path, impatient) as server:
        stuck = hook(server, tortoise.url())
        hook(server, hare.url())
        agent = server.register(budget={"max_requests_per_hour": 1000})
        for step in range(1, 13):
            ask(server, agent, {"type": "verify_logic", "query": f"p{step} and not p{step}"}, step)
        hare.wait(12)

        assert not [d for d in deliveries(server, stuck["id"]) if d["state"] == "delivered"]
        wait_for(
            lambda: "it did not answer in time" in str(deliveries(server, stuck["id"])), "time-out noted"
        )


def test_a_redirect_is_not_followed(tmp_path):
    redirect = "it answered 302, and redirects are not followed"
    with (
        Receiver() as elsewhere,
        Receiver(lambda *_: elsewhere.url()) as receiver,
        gateway(tmp_path) as server,
    ):
        made = hook(server, receiver.url())
        ask(server, server.register(), WRONG)
        receiver.wait(2)

        assert deliveries(server, made["id"])[0]["last_error"] == redirect
        assert elsewhere.received == []


def test_a_name_that_leads_to_a_place_that_is_not_public_is_refused(tmp_path):
    with Receiver() as receiver, with_policy(tmp_path, {}) as server:
        for url in (receiver.url(), f"https://localhost:{receiver.port}/", "http://169.254.169.254/latest"):
            refused = server.call("POST", "/webhooks", json={"url": url})
            assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (422, "url")


def test_two_principals_hear_of_their_own_and_an_operator_of_both(tmp_path):
    with Receiver() as acme, Receiver() as rival, Receiver() as operator, gateway(tmp_path) as server:
        keys = {name: server.principal_key(name) for name in ("acme", "rival")}
        hooks = {
            "acme": hook(server, acme.url(), keys["acme"]),
            "rival": hook(server, rival.url(), keys["rival"]),
        }
        hook(server, operator.url())
        for name in ("acme", "rival"):
            ask(server, server.register(principal_id=name), WRONG)
        operator.wait(2)
        acme.wait()
        rival.wait()

        assert {r.json["principal_id"] for r in acme.received} == {"acme"}
        assert {r.json["principal_id"] for r in rival.received} == {"rival"}
        foreign = f"/webhooks/{hooks['rival']['id']}"
        delivery = deliveries(server, hooks["rival"]["id"])[0]["id"]
        for method, path in (
            ("GET", f"{foreign}/deliveries"),
            ("POST", f"{foreign}/test"),
            ("POST", f"{foreign}/deliveries/{delivery}/retry"),
            ("POST", f"/webhooks/{hooks['acme']['id']}/deliveries/{delivery}/retry"),
        ):
            assert server.call(method, path, key=keys["acme"]).status_code == 404, path


def test_a_slack_message_says_what_happened_and_holds_no_markup_of_the_agents(tmp_path):
    hostile = "../../<!channel> *pay* <evil.example|here> & @here"
    with Receiver() as receiver, gateway(tmp_path) as server:
        made = hook(server, receiver.url("/services/T0/B0/sEcReT"), kind="slack")
        ask(server, server.register(), {"type": "file_read", "target": hostile})
        (told,) = receiver.wait()

        assert told.path == "/services/T0/B0/sEcReT"
        assert told.json["text"] == "Verification failed: file_\u2060read (high risk)"
        assert {block["text"]["type"] for block in told.json["blocks"]} == {"plain_text"}
        assert "<!channel>" in told.json["blocks"][1]["text"]["text"]
        assert "secret" not in made and "qwed-signature" not in told.headers
        listed = server.call("GET", "/webhooks").text
        assert "sEcReT" not in listed and "127.0.0.1" in listed


def test_mail_reaches_its_recipient_in_plain_words(tmp_path):
    with MailReceiver() as mailbox:
        smtp = f"smtp+plain://127.0.0.1:{mailbox.port}"
        with gateway(tmp_path, QWED_SMTP_URL=smtp, QWED_SMTP_FROM="qwed@gate.example") as server:
            made = hook(server, "mailto:ops@example.com", kind="email")
            agent = server.register(type="supervised", name="robot\u202e")
            intent = "please\r\nBcc: all@evil.example\r\n\r\nhello"
            context = {"conversation_id": "c", "step_number": 1, "user_intent": intent}
            server.call(
                "POST",
                f"/agents/{agent['agent_id']}/verify",
                json={"action": EMAIL, "context": context},
            )
            ((recipient, mail),) = mailbox.wait()
            settled(server, made["id"])

            assert (recipient, mail["To"], mail["From"]) == (
                "ops@example.com",
                "ops@example.com",
                "qwed@gate.example",
            )
            assert mail["Subject"] == "[QWED] Approval needed: send_email (medium risk)"
            assert mail["Bcc"] is None and mail.get_content_type() == "text/plain"
            assert "Stated intent: please Bcc: all@evil.example hello" in mail.get_content()
            assert "qwed approvals show apr_" in mail.get_content()


def test_a_recipient_the_mail_server_refuses_is_given_up(tmp_path):
    with (
        MailReceiver(refuse="nobody@example.com") as mailbox,
        gateway(tmp_path, QWED_SMTP_URL=f"smtp+plain://127.0.0.1:{mailbox.port}") as server,
    ):
        made = hook(server, "mailto:nobody@example.com", kind="email")
        server.call("POST", f"/webhooks/{made['id']}/test")
        (delivery,) = settled(server, made["id"], "given_up")

        assert delivery["last_error"] == "the mail server refused the recipient (550)"


@pytest.mark.parametrize(
    "url",
    [
        "mailto:a@example.com,b@example.com",
        "mailto:a@example.com\r\nBcc: x@example.com",
        "mailto:a@example.com?bcc=x@example.com",
        "mailto:a@localhost",
        "https://example.com/",
    ],
    ids=["two", "break", "headers", "local", "no-mail"],
)
def test_an_address_that_is_no_single_public_mailbox_is_refused(tmp_path, url):
    with gateway(tmp_path, QWED_SMTP_URL="smtp+plain://127.0.0.1:9") as server:
        refused = server.call("POST", "/webhooks", json={"url": url, "kind": "email"})

        assert refused.status_code == 422


def test_without_a_mail_server_nobody_can_ask_for_mail(tmp_path):
    with gateway(tmp_path) as server:
        refused = server.call("POST", "/webhooks", json={"url": "mailto:a@example.com", "kind": "email"})

        assert refused.status_code == 422
        assert "QWED_SMTP_URL" in refused.json()["error"]["message"]


def test_a_test_event_reaches_one_webhook_alone(tmp_path):
    with Receiver() as receiver, Receiver() as other, gateway(tmp_path) as server:
        made = hook(server, receiver.url(), events=["trust"])
        hook(server, other.url())
        sent = server.call("POST", f"/webhooks/{made['id']}/test")
        receiver.wait()
        settled(server, made["id"])

        assert (sent.status_code, sent.json()["state"]) == (202, "pending")
        assert receiver.events() == ["test"] and other.received == []


def test_what_waits_for_a_removed_webhook_goes_with_it(tmp_path):
    with gateway(tmp_path) as server:
        made = hook(server, f"http://127.0.0.1:{free_port()}/")
        ask(server, server.register(), WRONG)
        wait_for(lambda: deliveries(server, made["id"])[0]["attempts"], "try")
        server.call("DELETE", f"/webhooks/{made['id']}")
        with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True) as connection:
            left = connection.execute("SELECT count(*) FROM deliveries").fetchone()

        assert left == (0,)
