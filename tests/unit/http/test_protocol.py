"""Bytes on a real connection: what is read, what is refused, and how a connection ends."""

import asyncio
import contextlib
import ssl

import pytest
import uvicorn
import uvloop
from tests.support.receivers import certificate as write_certificate
from uvicorn.server import ServerState

from qwed.domain.bounds import Bounds
from qwed.http import protocol
from qwed.http.connections import Connections
from qwed.http.load_limit import EndedBy, RequestGate
from qwed.http.protocol import CYCLE, WHOLE, protocol_with, write_answer

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"


class App:
    """Answers with the request's number once its body is there; what it saw is kept."""

    def __init__(self):
        self.seen = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.reads_body = True
        self.size = 0
        self.writes_at_once = False

    async def __call__(self, scope, receive, send):
        self.seen.append(scope)
        body, more = b"", self.reads_body
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
        await self.may_answer.wait()
        answer = b"%d:%s" % (len(self.seen), body) + b"." * self.size
        if self.writes_at_once:
            await write_answer(scope[CYCLE], 200, b"content-length: %d\r\n" % len(answer), answer)
            return
        headers = [(b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


class World:
    """A listening server with these bounds, and connections to it."""

    def __init__(self, app, everyone, server, state):
        self.app, self.everyone, self._server, self.state = app, everyone, server, state
        self.loop = asyncio.get_running_loop()
        self._writers = []

    async def connect(self, data=b"", tls=None):
        port = self._server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        self._writers.append(writer)
        writer.write(data)
        return reader, writer

    async def leave(self):
        self._server.close()
        for connection in list(self.everyone._addresses):
            connection._raw.abort()
        for writer in self._writers:
            writer.transport.abort()
        for task in self.state.tasks:
            task.cancel()
        await asyncio.sleep(0.01)

    async def ask(self, data):
        """Everything that is answered until the connection ends, or nothing comes any more."""
        reader, writer = await self.connect(data)
        with contextlib.closing(writer):
            return await self.read(reader)

    async def read(self, reader):
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while part := await asyncio.wait_for(reader.read(65536), 0.3):
                answer += part
        return answer

    async def until(self, condition):
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.005)

    def later(self, seconds):
        self.everyone.look(self.loop.time() + seconds)


@contextlib.asynccontextmanager
async def serving(gate=None, tls=None, **bounds):
    app, state = App(), ServerState()
    config = uvicorn.Config(app, log_config=None, ws="none", lifespan="off")
    config.load()
    everyone = Connections(Bounds(**bounds))
    made = protocol_with(everyone, gate, tls)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: made(config, state, {}, _loop=loop), "127.0.0.1", 0)
    world = World(app, everyone, server, state)
    try:
        yield world
    finally:
        await world.leave()


def run(scenario, **options):
    async def whole():
        async with serving(**options) as world:
            return await scenario(world)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(whole())


# --- answers that are written at once -------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(POST, id="one"),
        pytest.param(POST + POST + GET, id="pipelined"),
        pytest.param(POST.replace(b"Host: x", b"Host: x\r\nConnection: close"), id="the last one"),
        pytest.param(POST.replace(b"Host: x", b"Host: x\r\nExpect: 100-continue"), id="expecting"),
        pytest.param(POST.replace(b"HTTP/1.1", b"HTTP/1.0"), id="an older client"),
    ],
)
def test_an_answer_that_is_written_at_once_has_the_bytes_of_one_that_is_sent_in_parts(asked):
    def bytes_when(writes_at_once):
        async def scenario(world):
            world.app.writes_at_once = writes_at_once
            world.state.default_headers = [(b"date", b"today")]
            return await world.ask(asked)

        return run(scenario)

    assert bytes_when(True) == bytes_when(False)
    assert b"date: today\r\n" in bytes_when(True)


def test_an_answer_that_is_written_at_once_to_a_peer_that_has_left_is_thrown_away():
    async def scenario(world):
        world.app.writes_at_once = True
        world.app.may_answer.clear()
        _, writer = await world.connect(POST)
        await world.until(lambda: world.app.seen)
        writer.transport.abort()
        await world.until(lambda: world.app.seen[0][CYCLE].disconnected)
        world.app.may_answer.set()
        await asyncio.sleep(0.02)
        return world.app.seen[0][CYCLE].response_started

    assert run(scenario) is False


# --- what is read --------------------------------------------------------------------------------


def test_a_request_is_whole_with_its_last_byte_and_not_before():
    async def scenario(world):
        for pieces in ([POST], [POST[:20], POST[20:]], [POST[:-1]]):
            _, writer = await world.connect()
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.02)
        await world.until(lambda: len(world.app.seen) == 3)
        return [scope.get(WHOLE) for scope in world.app.seen]

    assert run(scenario) == [True, True, None]


@pytest.mark.parametrize("size", [100_000, 80_000_000])
@pytest.mark.parametrize(
    "opening", [b"GET / HTTP/1.1\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\nA: b\r\n" * 2, b"\r\n"]
)
def test_headers_beyond_the_bound_are_refused_without_reading_the_rest(opening, size):
    fed = []

    async def scenario(world):
        reader, writer = await world.connect(opening)
        await asyncio.sleep(0.02)
        (connection,) = world.everyone._addresses
        parser = connection.parser
        connection.parser = Watched(parser, fed)
        filler = b"\r\n" if opening == b"\r\n" else b"x"
        with contextlib.suppress(ConnectionError):
            for _ in range(size // 100_000):
                writer.write(filler * (100_000 // len(filler)))
                await writer.drain()
        return await world.read(reader)

    answer = run(scenario, max_header_bytes=20_000)

    assert answer.startswith(b"HTTP/1.1 4") or size > 8_000_000
    assert sum(fed) <= 20_000 + protocol.PIECE_BYTES


class Watched:
    """A parser of which is known how much it was given."""

    def __init__(self, parser, fed):
        self._parser, self._fed = parser, fed

    def feed_data(self, data):
        self._fed.append(len(data))
        self._parser.feed_data(data)

    def __getattr__(self, name):
        return getattr(self._parser, name)


def test_too_many_headers_are_refused_and_as_many_as_there_may_be_are_not():
    async def scenario(world):
        lines = [b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * count + b"\r\n" for count in (20, 21, 3_000)]
        return [(await world.ask(line))[:12] for line in lines]

    assert run(scenario, max_headers=20) == [b"HTTP/1.1 200", b"HTTP/1.1 431", b"HTTP/1.1 431"]


def test_what_follows_a_body_is_bounded_and_is_no_header():
    chunked = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"

    async def scenario(world):
        fine = await world.ask(chunked + b"Authorization: Bearer x\r\n\r\n")
        large = await world.ask(chunked + b"X: " + b"x" * 100_000)
        return fine, large, [name for name, _ in world.app.seen[0]["headers"]]

    fine, large, names = run(scenario, max_header_bytes=20_000)

    assert fine.endswith(b"1:hi")
    assert large.startswith(b"HTTP/1.1 431")
    assert names == [b"transfer-encoding"]


def test_what_is_no_http_is_refused_in_words():
    async def scenario(world):
        return await world.ask(b"\x16\x03\x01\x02\x00\x01\x00")

    answer = run(scenario)

    assert answer.startswith(b"HTTP/1.1 400") and b"QWED-REQUEST-001" in answer


def test_an_offer_to_speak_another_protocol_is_ignored_and_the_next_request_read():
    offer = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"

    async def scenario(world):
        return await world.ask(offer + GET)

    assert run(scenario).count(b"HTTP/1.1 200") == 2


# --- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "early", "late", "status"),
    [
        (b"", 9, 12, b""),
        (b"GE", 9, 12, b"HTTP/1.1 408"),
        (b"GET / HTTP/1.1\r\nHost: x", 9, 12, b"HTTP/1.1 408"),
        (POST[:-1], 58, 62, b"HTTP/1.1 408"),
    ],
)
def test_who_does_not_send_a_request_in_time_is_let_go(sent, early, late, status):
    async def scenario(world):
        reader, _ = await world.connect(sent)
        await asyncio.sleep(0.05)
        world.later(early)
        still_open = not reader.at_eof()
        world.later(late)
        answer = await world.read(reader)
        return still_open, answer, reader.at_eof()

    still_open, answer, ended = run(scenario)

    assert still_open and ended
    assert answer[:12] == status


def test_the_deadline_is_for_the_whole_head_however_often_a_byte_comes():
    async def scenario(world):
        reader, writer = await world.connect()
        for byte in b"GET / HT":
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)
        world.later(10.1)
        return await world.read(reader)

    assert run(scenario).startswith(b"HTTP/1.1 408")


def test_who_waits_for_its_answer_is_not_hurried_and_who_is_idle_is_let_go_in_the_end():
    async def scenario(world):
        world.app.may_answer.clear()
        reader, _ = await world.connect(GET)
        await world.until(lambda: world.app.seen)
        world.later(1_000)
        world.app.may_answer.set()
        answer = await world.read(reader)
        world.later(74)
        idle = not reader.at_eof()
        world.later(76)
        await world.read(reader)
        return answer, idle, reader.at_eof()

    answer, idle, ended = run(scenario)

    assert answer.startswith(b"HTTP/1.1 200")
    assert idle and ended


def test_who_never_reads_its_answer_is_let_go():
    async def scenario(world):
        world.app.size = 30_000_000
        _, writer = await world.connect(GET)
        writer.transport.pause_reading()
        await world.until(lambda: any(c.flow.write_paused for c in world.state.connections))
        world.later(59)
        held = len(world.everyone)
        world.later(61)
        await world.until(lambda: not len(world.everyone))
        return held

    assert run(scenario) == 1


# --- how a connection ends -----------------------------------------------------------------------


def test_the_last_of_a_connections_requests_is_answered_and_says_so():
    async def scenario(world):
        return await world.ask(POST * 5)

    answer = run(scenario, max_requests_per_connection=3)

    assert [b"%d:hello" % n in answer for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert answer.count(b"connection: close") == 1
    assert answer.index(b"connection: close") > answer.index(b"2:hello")


def test_what_is_sent_after_the_last_request_does_not_take_its_answer_away():
    async def scenario(world):
        world.app.may_answer.clear()
        reader, writer = await world.connect(GET)
        await world.until(lambda: world.app.seen)
        writer.write(b"x" * 3_000_000)
        await asyncio.sleep(0.05)
        world.app.may_answer.set()
        return await world.read(reader), reader.at_eof()

    answer, ended = run(scenario, max_requests_per_connection=1)

    assert answer.endswith(b"1:") and ended


def test_an_answer_that_comes_before_the_body_is_the_last_and_is_read():
    async def scenario(world):
        world.app.reads_body = False
        reader, writer = await world.connect(b"POST / HTTP/1.1\r\nContent-Length: 5000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                writer.write(b"x" * 100_000)
                await writer.drain()
        return await world.read(reader), reader.at_eof()

    answer, ended = run(scenario)

    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"1:")
    assert b"connection: close" in answer and ended


def test_requests_that_are_sent_at_once_wait_in_bounded_number_and_are_answered():
    async def scenario(world):
        world.app.may_answer.clear()
        reader, _ = await world.connect(GET * 5_000)
        await world.until(lambda: world.app.seen)
        await asyncio.sleep(0.05)
        (connection,) = world.state.connections
        waiting = len(connection.pipeline)
        world.app.may_answer.set()
        return waiting, await world.read(reader)

    waiting, answer = run(scenario)

    assert waiting == protocol.MAX_PIPELINED
    assert answer.count(b"HTTP/1.1 200") == protocol.MAX_PIPELINED + 1
    assert answer.count(b"connection: close") == 1


def test_a_request_that_is_none_does_not_take_the_answers_before_it_away():
    async def scenario(world):
        world.app.may_answer.clear()
        reader, _ = await world.connect(GET + b"\x00\x00\x00")
        await world.until(lambda: world.app.seen)
        world.app.may_answer.set()
        return await world.read(reader), reader.at_eof()

    answer, ended = run(scenario)

    assert answer.endswith(b"1:") and ended


def test_where_there_is_no_room_the_answer_says_so():
    async def scenario(world):
        world.app.may_answer.clear()
        await world.connect(GET)
        await world.until(lambda: world.app.seen)
        return await world.ask(GET)

    answer = run(scenario, max_connections=1)

    assert answer.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in answer


def test_who_asks_is_answered_though_silent_ones_hold_every_place():
    async def scenario(world):
        for opening in (b"", b"GET / HT", POST[:-1], b"") * 3:
            await world.connect(opening)
        await world.until(lambda: len(world.everyone) == 4)
        return await world.ask(GET), len(world.everyone)

    answer, connected = run(scenario, max_connections_per_address=4)

    assert b"HTTP/1.1 200" in answer
    assert connected <= 4


def test_what_is_shed_keeps_its_connection():
    async def scenario(world):
        reader, writer = await world.connect(POST)
        first = await world.read(reader)
        world.later(30)
        writer.write(POST)
        return first, await world.read(reader)

    first, second = run(scenario, gate=RequestGate(0))

    assert first.startswith(b"HTTP/1.1 503") and second.startswith(b"HTTP/1.1 503")


# --- TLS -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return write_certificate(tmp_path_factory.mktemp("tls"), "127.0.0.1")


def contexts(certificate):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    return server, ssl.create_default_context(cafile=str(certificate))


def test_a_peer_counts_before_it_has_a_key_and_is_let_go_without_one(certificate):
    server, client = contexts(certificate)

    async def scenario(world):
        silent = [await world.connect() for _ in range(3)]
        await world.until(lambda: len(world.everyone) == 2)
        reader, writer = await world.connect(GET, client)
        answer = await world.read(reader)
        writer.close()
        world.later(12)
        ended = [(await reader.read()) for reader, _ in silent]
        await world.until(lambda: not len(world.everyone))
        return answer, ended

    answer, ended = run(scenario, tls=server, max_connections=2)

    assert answer.endswith(b"1:")
    assert ended == [b"", b"", b""]


def test_each_connection_that_is_refused_is_counted_by_why():
    gate = RequestGate()

    async def scenario(world):
        await world.ask(b"\x16\x03\x01\x02\x00\x01\x00")
        await world.ask(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 21 + b"\r\n")
        await world.ask(GET)

    run(scenario, gate=gate, max_headers=20)

    assert gate.ended == {EndedBy.MALFORMED: 1, EndedBy.TOO_LARGE: 1}


def test_a_connection_for_which_there_is_no_room_is_counted():
    gate = RequestGate()

    async def scenario(world):
        return await world.ask(GET)

    assert run(scenario, gate=gate, max_connections=0).startswith(b"HTTP/1.1 503")
    assert gate.ended == {EndedBy.CROWDED: 1}


@pytest.mark.parametrize("sent", [b"\x16\x03\x01", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 23, b"GET / HT"])
def test_who_was_refused_already_gives_way_to_who_comes_next(sent):
    gate = RequestGate()

    async def scenario(world):
        _, refused = await world.connect(sent)
        await world.until(lambda: len(world.everyone) == 1 and (bool(gate.ended) or sent == b"GET / HT"))
        answer = await world.ask(GET)
        refused.close()
        return answer

    assert run(scenario, gate=gate, max_headers=20, max_connections=1).startswith(b"HTTP/1.1 200")
