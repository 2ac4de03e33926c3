"""`Broker`: connections in, permits redeemed, credentials put in, answers out without them."""

import asyncio
import datetime
import logging
import ssl
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Final

import h11

from qwed.broker.authority import RunAuthority
from qwed.broker.bodies import KeptBody, open_kept_file, read_body
from qwed.broker.callers import RunCaller, authority_of, require_host
from qwed.broker.credentials import CredentialSource
from qwed.broker.redemption import GatewayAddress, Redeemer
from qwed.broker.refusals import BrokerRefused, answer_of, reason_of
from qwed.broker.request_matches import BrokeredHeaders, HostMatch, hash_fields
from qwed.broker.tunnels import join, open_tunnel
from qwed.broker.upstream import BrokenAnswer, BrokeredAnswer, UpstreamHost
from qwed.broker.wire import ClientGone, Wire
from qwed.domain.broker_rules import HTTPS_PORT, BrokerRules
from qwed.domain.codes import Code
from qwed_sdk.permits import PermitRefused, VerifiedPermit

MAX_CONNECTIONS: Final = 256
REPORT_SECONDS: Final = 5.0

logger = logging.getLogger("qwed.broker")


class _Host:
    """What belongs to one entry under `hosts`."""

    def __init__(
        self, match: HostMatch, upstream: UpstreamHost, redeemer: Redeemer, tls: ssl.SSLContext
    ) -> None:
        self.match = match
        self.upstream = upstream
        self.redeemer = redeemer
        self.tls = tls


class Broker:
    """One run. It answers everything that it does not do with a sentence and a code."""

    def __init__(
        self,
        rules: BrokerRules,
        gateway: GatewayAddress,
        environment: Mapping[str, str],
        policy_file: Path | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.caller = RunCaller()
        self.authority = RunAuthority(rules.hosts, datetime.datetime.now(datetime.UTC))
        trust = trust or ssl.create_default_context()
        self._tunnels = frozenset(rules.tunnels)
        self._hosts: dict[str, _Host] = {}
        for name, entry in rules.hosts.items():
            source = CredentialSource(entry.inject.source, environment, policy_file)
            upstream = UpstreamHost(name, entry, source, trust)
            redeemer = Redeemer(gateway, entry.audience or name)
            self._hosts[name] = _Host(
                HostMatch(name, entry), upstream, redeemer, self.authority.contexts[name]
            )
        #: Reports what was asked of hosts that nobody listed.
        self._elsewhere = Redeemer(gateway, "broker")
        self._connections: set[asyncio.Task[None]] = set()
        self._work: set[asyncio.Task[None]] = set()

    @property
    def sources(self) -> list[CredentialSource]:
        return [host.upstream.source for host in self._hosts.values()]

    async def read_credentials(self) -> None:
        """All of them, once: what is missing is said at the start. Raises `BrokerRefused`."""
        for source in self.sources:
            await source.read()

    async def close(self) -> None:
        """Ends what is still open, and waits a moment for the receipts."""
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=REPORT_SECONDS)
        if self._work:
            await asyncio.wait(self._work, timeout=REPORT_SECONDS)
        for host in self._hosts.values():
            await host.upstream.close()

    # --- a connection --------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """For `asyncio.start_server` and `asyncio.start_unix_server`."""
        wire, task = Wire(reader, writer), asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > MAX_CONNECTIONS:
                raise BrokerRefused(Code.BROKER_UPSTREAM, "too many connections at once")
            await self._converse(wire, None)
        except BrokerRefused as refusal:
            await _refuse(wire, refusal.code, refusal.message)
        except (ClientGone, BrokenAnswer, asyncio.CancelledError):
            writer.transport.abort()
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is no, and its text stays here
            logger.error("a connection failed: %s", type(error).__name__)
            writer.transport.abort()
        finally:
            await wire.close()
            self._connections.discard(task)

    async def _converse(self, wire: Wire, inside: str | None) -> None:
        """Requests in order, until the client or an answer ends it."""
        while (request := await wire.request()) is not None:
            if request.method == b"CONNECT" and inside is None:
                await self._connect(wire, request)
                return
            try:
                await self._serve_request(wire, request, inside)
            except BrokerRefused as refusal:
                await _refuse(wire, refusal.code, refusal.message)
                return
            except PermitRefused as refusal:
                await _refuse(wire, refusal.code, refusal.reason)
                return
            if not wire.next_cycle():
                return

    async def _connect(self, wire: Wire, request: h11.Request) -> None:
        headers = BrokeredHeaders(list(request.headers))
        self.caller.require(headers)
        name, port = authority_of(request.target.decode("latin-1"))
        if f"{name}:{port}" in self._tunnels:
            await self._tunnel(wire, name, port)
            return
        if name not in self._hosts or port != HTTPS_PORT:
            raise self._refuse_unlisted(f"{name}:{port}", headers)
        self._require_life()
        await wire.send(h11.Response(status_code=200, headers=[], reason=b"Connected"))
        if wire.early:
            raise ClientGone
        inner = await wire.start_tls(self._hosts[name].tls)
        try:
            await self._converse(inner, name)
        except BrokerRefused as refusal:
            await _refuse(inner, refusal.code, refusal.message)

    async def _tunnel(self, wire: Wire, name: str, port: int) -> None:
        server = await open_tunnel(name, port)
        await wire.send(h11.Response(status_code=200, headers=[], reason=b"Connected"))
        if wire.early:
            server[1].write(wire.early)
        sent, received = await join((wire.reader, wire.writer), server)
        logger.info("tunnel to %s:%d: %d bytes out, %d in", name, port, sent, received)

    def _refuse_unlisted(self, place: str, headers: BrokeredHeaders) -> BrokerRefused:
        message = f"the policy does not list {place[:100]}: nothing is sent there"
        self._elsewhere.permits.refuse(headers.permit, Code.BROKER_HOST, message)
        return BrokerRefused(Code.BROKER_HOST, message)

    def _require_life(self) -> None:
        if datetime.datetime.now(datetime.UTC) >= self.authority.ends:
            raise BrokerRefused(
                Code.BROKER_REQUEST, "the certificates of this run ended after 24 hours: start it again"
            )

    # --- a request -----------------------------------------------------------------------------

    async def _serve_request(self, wire: Wire, request: h11.Request, inside: str | None) -> None:
        headers = BrokeredHeaders(list(request.headers))
        target = request.target.decode("latin-1")
        if inside is None:
            name, target = self.caller.place_of(target, headers)
        else:
            name = inside
            require_host(name, headers)
        host = self._hosts.get(name)
        if host is None:
            raise self._refuse_unlisted(name, headers)
        self._require_life()
        with open_kept_file() as file:
            try:
                headers.refuse_other_readings()
                rules = host.match.rules_for(request.method.decode(), target.partition("?")[0])
                body = await read_body(wire, file, is_hashed=host.match.entry.is_hashed)
                actions = host.match.actions_of(
                    rules,
                    target,
                    request.method.decode(),
                    *_name_body(body, headers, is_hashed=host.match.entry.is_hashed),
                )
            except BrokerRefused as refusal:
                host.redeemer.permits.refuse(headers.permit, refusal.code, refusal.message)
                raise
            # First the credential: without it no permit is spent.
            credential = await host.upstream.source.read()
            permit = await host.redeemer.redeem(headers.permit, actions)
            passed = host.match.passed_on(headers)
            started, status = time.monotonic(), None
            try:
                async with host.upstream.send(
                    request.method.decode(), target, passed, body.to_send(), body.length, credential
                ) as answer:
                    status = answer.status
                    await _pass_on(wire, answer)
            finally:
                path = target.partition("?")[0][:200]
                logger.info("%s %s%s: %s", request.method.decode(), name, path, status or "no answer")
                self._start(self._report(host, permit, started, status))

    async def _report(self, host: _Host, permit: VerifiedPermit, started: float, status: int | None) -> None:
        await host.redeemer.report(permit, started, status)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _name_body(body: KeptBody, headers: BrokeredHeaders, *, is_hashed: bool) -> tuple[str, bytes]:
    """The type and the bytes that the action is read from."""
    content_type = headers.get("content-type") or ""
    if is_hashed and body.length:
        return "application/json", hash_fields(body.digest, content_type)
    return content_type, body.whole()


async def _pass_on(wire: Wire, answer: BrokeredAnswer) -> None:
    try:
        await wire.send(h11.Response(status_code=answer.status, headers=answer.headers))
        async for piece in answer.pieces:
            await wire.send(h11.Data(data=piece))
        await wire.send(h11.EndOfMessage())
    except h11.LocalProtocolError:
        raise BrokenAnswer from None


async def _refuse(wire: Wire, code: Code, message: str) -> None:
    logger.info("refused: %s (%s)", message, code.value)
    try:
        status, headers, body = answer_of(code, message)
        await wire.answer(status, headers, body, reason_of(message))
    except (ClientGone, h11.LocalProtocolError):
        wire.writer.transport.abort()
