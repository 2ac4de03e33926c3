"""Stores as earlier versions left them, each made by its own code. Fixtures are made once and never again:

    python -m tests.support.old_stores COMMIT …

runs the gateway of each commit on a file and on a database server, lets it live, and keeps both in
`tests/old_stores` with what callers saw of them.
"""

import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.support.postgres import PostgresServer, binaries, temporary_postgres
from tests.support.server import Server

FOLDER = Path(__file__).parents[1] / "old_stores"
STAMP = 1_700_000_000


def unpack(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The store's own folder, and what callers saw of it."""
    with lzma.open(FOLDER / f"{name}.tar.xz") as packed, tarfile.open(fileobj=packed) as tar:
        tar.extractall(folder, filter="data")
    return folder, json.loads((folder / "seen.json").read_text(encoding="utf-8"))


def names(kind: str) -> list[str]:
    return sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob(f"{kind}-*.tar.xz"))


def see(server: Server) -> dict[str, Any]:
    """What every version tells: agents, what they did, and what waits for people."""
    seen: dict[str, Any] = {}
    for agent in server.call("GET", "/agents").json()["agents"]:
        path = f"/agents/{agent['agent_id']}"
        activity = server.call("GET", f"{path}/activity", params={"limit": 100}).json()
        seen[agent["agent_id"]] = {
            "trust": server.call("GET", path).json()["trust_level"],
            "activities": [
                [entry[name] for name in ("activity_id", "timestamp", "action_type", "decision")]
                for entry in activity["activities"]
            ],
        }
    seen["approvals"] = sorted(row["id"] for row in server.call("GET", "/approvals").json()["approvals"])
    seen["webhooks"] = [row["url"] for row in server.call("GET", "/webhooks").json()["webhooks"]]
    return seen


def live(server: Server) -> None:
    """Steps, a refusal, people who answered and one who did not, an outcome, a webhook, a key."""
    agent = server.register(principal_id="acme")
    supervised = server.register(type="supervised", principal_id="rival", name="second")
    first = ""
    for step, query in enumerate(("1+1", "2+2", "2+2=5", "3+3"), start=1):
        first = first or _verify(server, agent, {"type": "calculate", "query": query}, step)["activity_id"]
    _verify(server, agent, {"type": "execute_sql", "query": "DROP TABLE users"}, 5)
    server.call("POST", f"/agents/{agent['agent_id']}/activity/{first}/outcome", json={"outcome": "unknown"})
    for step, word in enumerate(("approve", "deny", ""), start=1):
        asked = _verify(server, supervised, {"type": "send_email", "query": f"hello {step}"}, step)
        if word and "approval" in asked:
            server.call("POST", f"/approvals/{asked['approval']['id']}/{word}", json={})
    server.call("POST", "/keys", json={"principal_id": "acme"})
    server.call("POST", "/webhooks", json={"url": "https://example.com/hook", "events": ["activity"]})


def _verify(server: Server, agent: dict[str, Any], action: dict[str, Any], step: int) -> dict[str, Any]:
    context = {"conversation_id": "of old", "step_number": step}
    body = {"action": action, "context": context}
    found: dict[str, Any] = server.call("POST", f"/agents/{agent['agent_id']}/verify", json=body).json()
    return found


def _make(commit: str, postgres: PostgresServer) -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        packed = subprocess.run(["git", "archive", commit, "src"], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(source, filter="data")
        migrations = source / "src/qwed/stores/migrations"
        version = {kind: len(list((migrations / kind).glob("*.sql"))) for kind in ("sqlite", "postgres")}
        environment = {"PYTHONPATH": str(source / "src")}
        if not (source / "src/qwed/__main__.py").exists():
            _make_early(Path(name) / "early", environment)
            return
        if not (FOLDER / f"sqlite-{version['sqlite']:03}.tar.xz").exists():
            file = Path(name) / "file"
            file.mkdir()
            _lived(Server(file, environment=environment), file)
            _pack(file, f"sqlite-{version['sqlite']:03}")
        if version["postgres"]:
            served = Path(name) / "served"
            served.mkdir()
            url = postgres.create_database(commit)
            own = {**environment, "QWED_DATA_DIR": str(served)}
            _lived(Server(served, environment=own, database=url), served)  # type: ignore[arg-type]
            dump = subprocess.run(
                [shutil.which("pg_dump") or binaries() / "pg_dump", "--no-owner", "-d", url],
                check=True,
                capture_output=True,
            )
            (served / "store.sql").write_bytes(dump.stdout)
            _pack(served, f"postgres-{version['postgres']:03}")


_EARLY = """
from pathlib import Path
from qwed import Gateway
with Gateway.open(Path("qwed.db")) as gateway:
    agent = gateway.register_agent(name="a", type="supervised", principal_id="p")
    context = {"conversation_id": "c", "step_number": 1}
    print(gateway.verify_action(agent["agent_id"], {"type": "calculate", "query": "1+1"}, context))
"""


def _make_early(folder: Path, environment: dict[str, str]) -> None:
    """From before there was a server."""
    folder.mkdir()
    subprocess.run([sys.executable, "-c", _EARLY], cwd=folder, env={**os.environ, **environment}, check=True)
    (folder / "seen.json").write_text("{}", encoding="utf-8")
    _pack(folder, "sqlite-001")


def _lived(server: Server, folder: Path) -> None:
    with server:
        live(server)
        seen = see(server)
    (folder / "seen.json").write_text(json.dumps(seen, indent=1), encoding="utf-8")
    for path in folder.iterdir():
        if path.suffix in (".log", ".lock") or path.name == "security-log":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _pack(folder: Path, name: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    with lzma.open(FOLDER / f"{name}.tar.xz", "wb") as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name, filter=_plain)
    print(
        name,
        (FOLDER / f"{name}.tar.xz").stat().st_size,
        "bytes",
        sorted(path.name for path in folder.iterdir()),
    )


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = STAMP
    return info


if __name__ == "__main__":
    with temporary_postgres() as started:
        for commit in sys.argv[1:]:
            _make(commit, started)
