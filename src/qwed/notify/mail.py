"""Plain-text mail through the operator's own server."""

import asyncio
import email.policy
import enum
import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from email.utils import formatdate
from typing import Final

import msgspec

from qwed.domain.deliveries import Delivery, DeliveryFailure
from qwed.domain.webhooks import MAILTO, Webhook
from qwed.notify.notice_text import NoticeText, Words

#: Conversations with the mail server at once.
MAX_AT_ONCE: Final = 4
PERMANENT: Final = 500


class Security(enum.StrEnum):
    """From the first byte, from STARTTLS on, or never: that is for a server on this machine."""

    TLS = "smtps"
    STARTTLS = "smtp"
    UNSAFE_PLAIN = "smtp+plain"


class MailServer(msgspec.Struct, frozen=True):
    host: str
    port: int
    security: Security
    sender: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"MailServer({self.host!r}, {self.port})"


class Mail:
    def __init__(self, server: MailServer | None, timeout_seconds: float, words: Words | None = None) -> None:
        self._words = words or Words()
        self._server = server
        self._timeout = timeout_seconds
        self._threads = ThreadPoolExecutor(MAX_AT_ONCE, "qwed-mail")

    async def send(self, hook: Webhook, delivery: Delivery) -> DeliveryFailure | None:
        if self._server is None:
            return DeliveryFailure("this gateway sends no e-mail: its operator has to set QWED_SMTP_URL")
        recipient = hook.url.removeprefix(MAILTO)
        message = write_mail(await self._words.of(delivery), self._server.sender, recipient, delivery)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._transmit, self._server, message)

    def _transmit(self, server: MailServer, message: EmailMessage) -> DeliveryFailure | None:
        try:
            with self._connect(server) as connection:
                if server.user is not None:
                    connection.login(server.user, server.password or "")
                connection.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            code = next(iter(error.recipients.values()))[0]
            return DeliveryFailure(
                f"the mail server refused the recipient ({code})", is_final=code >= PERMANENT
            )
        except smtplib.SMTPResponseException as error:
            return DeliveryFailure(f"the mail server answered {error.smtp_code}")
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return DeliveryFailure(f"the mail could not be handed over: {type(error).__name__}")
        return None

    def _connect(self, server: MailServer) -> smtplib.SMTP:
        if server.security is Security.TLS:
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(server.host, server.port, timeout=self._timeout, context=context)
        connection = smtplib.SMTP(server.host, server.port, timeout=self._timeout)
        if server.security is Security.STARTTLS:
            try:
                connection.starttls(context=ssl.create_default_context())
            except BaseException:
                connection.close()
                raise
        return connection


def write_mail(message: NoticeText, sender: str, recipient: str, delivery: Delivery) -> EmailMessage:
    """The wording holds no line breaks, and the message would refuse them in a header all the same."""
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"] = sender
    mail["To"] = recipient
    mail["Subject"] = f"[QWED] {message.title}"
    mail["Date"] = formatdate(delivery.created_ms / 1000)
    # The same for every try, so that a mailbox can tell a repetition.
    mail["Message-ID"] = f"<{delivery.delivery_id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    facts = "\n".join(f"{name}: {value}" for name, value in message.facts)
    link = "" if message.link is None else f"\n{message.link}\n"
    mail.set_content(f"{message.title}\n\n{facts}\n{link}")
    return mail
