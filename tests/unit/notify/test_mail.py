"""Mail: never in the clear unless the operator said so, and to no server that cannot prove its name."""

import asyncio

import pytest
from tests.support.receivers import MailReceiver, certificate, free_port
from tests.support.records import a_delivery, a_webhook

from qwed.domain.webhooks import Channel, Event
from qwed.notify.mail import Mail, MailServer, Security

HOOK = a_webhook(kind=Channel.EMAIL, url="mailto:ops@example.com")


def sent(port: int, security: Security, **more) -> str | None:
    server = MailServer("127.0.0.1", port, security, "qwed@gate.example", **more)
    delivery = a_delivery(5, event=Event.TEST, body=b'{"id":"evt_1","data":{"message":"hello"}}')
    failure = asyncio.run(Mail(server, 5).send(HOOK, delivery))
    return None if failure is None else failure.reason


def test_a_server_with_a_trusted_certificate_is_handed_the_mail(tmp_path, monkeypatch):
    pem = certificate(tmp_path, "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with MailReceiver(certificate=pem) as mailbox:
        assert sent(mailbox.port, Security.TLS) is None
        ((recipient, mail),) = mailbox.wait()

    assert recipient == "ops@example.com"
    assert "hello" in mail.get_content()


def test_a_server_with_an_unknown_certificate_gets_nothing(tmp_path):
    with MailReceiver(certificate=certificate(tmp_path, "127.0.0.1")) as mailbox:
        reason = sent(mailbox.port, Security.TLS)

    assert reason == "the mail could not be handed over: SSLCertVerificationError"
    assert mailbox.mails == []


def test_a_server_without_starttls_gets_neither_mail_nor_password():
    with MailReceiver() as mailbox:
        reason = sent(mailbox.port, Security.STARTTLS, user="u", password="secret")

    assert reason == "the mail could not be handed over: SMTPNotSupportedError"
    assert mailbox.mails == []


@pytest.mark.parametrize("security", Security)
def test_nobody_there_is_a_failed_try(security):
    assert sent(free_port(), security) == "the mail could not be handed over: ConnectionRefusedError"


def test_a_password_is_in_no_repr():
    server = MailServer("h", 1, Security.TLS, "q@h", "u", "secret")

    assert "secret" not in repr(server) + str(server)
