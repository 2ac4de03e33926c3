"""The servers that one run of the tests shares: started when first asked for, stopped when the run ends.

`python -m tests.support.services FOLDER PID` keeps them while the process PID lives.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import msgspec
from tests.support.postgres import PostgresServer
from tests.support.redis import RedisServer

TEMPLATE = "qwed_template"
#: It outlives everything here: nobody waits for it.
_keepers: list[subprocess.Popen[bytes]] = []
ROOT = Path(__file__).resolve().parents[2]


class Shared(msgspec.Struct, frozen=True):
    postgres: str
    redis: str
    says: str

    def new_database(self) -> str:
        """An empty store of this caller's own: the schema is there."""
        return self.empty_database(TEMPLATE)

    def empty_database(self, template: str = "template0") -> str:
        """As `new_database`, without a schema."""
        name = f"t_{uuid.uuid4().hex}"
        port = int(self.postgres.rsplit(":", 1)[1].split("/", 1)[0])
        server = PostgresServer(Path())
        server.port = port
        server.sql(f'CREATE DATABASE "{name}" TEMPLATE {template}')
        return server.url(name)


def run_id() -> int:
    """The process that leads this run: with xdist, the parent of the worker."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def folder_of(leader: int) -> Path:
    return Path(tempfile.gettempdir()) / f"qwed-services-{os.getuid()}-{leader}"


def shared() -> Shared:
    folder = folder_of(run_id())
    folder.mkdir(mode=0o755, exist_ok=True)
    note = folder / "note.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            with (folder / "services.log").open("ab") as log:
                keeper = subprocess.Popen(
                    [sys.executable, "-m", "tests.support.services", str(folder), str(run_id())],
                    cwd=ROOT,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            _keepers.append(keeper)
            end = time.monotonic() + 90
            while not note.exists() and time.monotonic() < end:
                time.sleep(0.05)
    if not note.exists():
        log = (folder / "services.log").read_text(errors="replace")
        raise RuntimeError(f"PostgreSQL and Redis did not start, and the suite needs them:\n{log[-3000:]}")
    return msgspec.json.decode(note.read_bytes(), type=Shared)


def main(folder: Path, leader: int) -> None:
    from qwed.stores.postgres.schema import migrate

    postgres = PostgresServer(folder / "postgres").start()
    redis = RedisServer(folder / "redis").start()
    try:
        # The schema is laid once, and copied for each test.
        asyncio.run(migrate(postgres.create_database(TEMPLATE)))
        cache = redis.version.split(" sha")[0]
        says = f"{postgres.version} on port {postgres.port}; {cache} on port {redis.port}"
        note = {"postgres": postgres.url(), "redis": redis.url, "says": says}
        (folder / "note.part").write_text(json.dumps(note))
        (folder / "note.part").rename(folder / "note.json")
        while _is_alive(leader):
            time.sleep(0.5)
    finally:
        redis.stop()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
