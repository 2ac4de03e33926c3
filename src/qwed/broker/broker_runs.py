"""`broker run` and `broker serve`: the broker around one program, or for programs that come by themselves."""

import asyncio
import os
import shlex
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from qwed.broker.redemption import GatewayAddress
from qwed.broker.service import Broker
from qwed.broker.surroundings import ways_of, without_credentials
from qwed.domain.broker_rules import BrokerRules

START_SECONDS: Final = 10.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
#: What belongs to whoever runs the broker.
OWN_NAMES: Final = frozenset({"QWED_BROKER_KEY", "QWED_OPERATOR_KEY"})

Say = Callable[[str], None]


@asynccontextmanager
async def listening(
    broker: Broker, folder: Path, port: int = 0, socket: Path | None = None
) -> AsyncIterator[str]:
    """While it lasts, the broker answers at this address. The certificates to trust are in `folder`."""
    broker.authority.write_bundle(folder / "bundle.pem")
    server = await asyncio.start_server(broker.serve, "127.0.0.1", port)
    servers = [server]
    if socket is not None:
        servers.append(await asyncio.start_unix_server(broker.serve, socket))
        socket.chmod(0o600)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        for one in servers:
            one.close()
        await broker.close()
        if socket is not None:
            socket.unlink(missing_ok=True)


@contextmanager
def passing(hosts: Sequence[str], gateway: str, address: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """While it lasts, a broker of one run tunnels to these hosts and to no other, for whoever has its socket.

    Gives the socket, and the variables of a program that finds it at `address`.
    """
    rules = BrokerRules(tuple(hosts))
    broker = Broker(rules, GatewayAddress(gateway, "none"), {})
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory(prefix="qwed-broker-") as name:
        folder = Path(name)
        stop, is_ready = asyncio.Event(), threading.Event()

        async def serve() -> None:
            async with listening(broker, folder, socket=folder / "broker.sock"):
                is_ready.set()
                await stop.wait()

        worker = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
        worker.start()
        is_ready.wait(START_SECONDS)
        try:
            yield folder / "broker.sock", ways_of(broker.caller, address, folder / "bundle.pem")
        finally:
            loop.call_soon_threadsafe(stop.set)
            worker.join(START_SECONDS)
            loop.close()


async def run_program(
    broker: Broker, command: Sequence[str], environment: Mapping[str, str], say: Say
) -> int:
    """The program's exit code. It starts only once every credential could be read."""
    await broker.read_credentials()
    with tempfile.TemporaryDirectory(prefix="qwed-broker-") as name:
        folder = Path(name)
        async with listening(broker, folder) as address:
            kept, taken = _surroundings(broker, environment)
            if taken:
                say(f"taken out of the program's environment: {', '.join(taken)}")
            process = await asyncio.create_subprocess_exec(
                *command, env={**kept, **ways_of(broker.caller, address, folder / "bundle.pem")}
            )
            with _forwarding(process):
                return _exit_code(await process.wait())


async def serve_programs(
    broker: Broker, folder: Path, port: int, socket: Path | None, say: Say, stop: asyncio.Event
) -> None:
    """Until `stop`. What a program needs to come by is in `folder`, for its owner alone."""
    await broker.read_credentials()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    async with listening(broker, folder, port, socket) as address:
        ways = ways_of(broker.caller, address, folder / "bundle.pem")
        file = folder / "environment"
        file.touch(0o600)
        file.chmod(0o600)
        lines = [f"export {name}={shlex.quote(value)}\n" for name, value in ways.items()]
        file.write_text("".join(lines), encoding="ascii")
        say(f"the broker answers at {address}; a program gets there with: . {file}")
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop.set)
        try:
            await stop.wait()
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
            file.unlink(missing_ok=True)


def _surroundings(broker: Broker, environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    names = OWN_NAMES | {source.variable for source in broker.sources if source.variable is not None}
    values = [credential.reveal() for source in broker.sources for credential in source.known]
    own = environment.get("QWED_BROKER_KEY")
    return without_credentials(environment, names, [*values, *([own] if own else [])])


@contextmanager
def _forwarding(process: asyncio.subprocess.Process) -> Iterator[None]:
    """Signals are for the program; the broker ends after it."""

    def send(number: int) -> None:
        # From a terminal, the program has had its Ctrl-C already.
        if process.returncode is None and not (number == signal.SIGINT and os.isatty(0)):
            process.send_signal(number)

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, send, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _exit_code(status: int) -> int:
    return status if status >= 0 else 128 - status
