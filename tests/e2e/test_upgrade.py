"""The page about upgrades, walked: a store that the code of the last schema made; and back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cluster import approvals, verify_request
from tests.support.server import OPERATOR_KEY, Server, clean_environment, qwed

ROOT = Path(__file__).parents[2]
MIGRATIONS = "src/qwed/stores/migrations/sqlite"


def git(*arguments: str, **options) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, **options).stdout


@pytest.fixture(scope="module")
def last_version(tmp_path_factory) -> Path:
    """The source as it was before the newest migration: what people have who upgrade."""
    newest = sorted(path.name for path in (ROOT / MIGRATIONS).glob("*.sql"))[-1]
    try:
        (added, *_) = git("log", "--diff-filter=A", "--format=%H", "--", f"{MIGRATIONS}/{newest}").split()
        archive = git("archive", f"{added.decode()}^", "src")
    except (OSError, ValueError, subprocess.CalledProcessError):
        pytest.skip("there is no history here to take the last version from")
    folder = tmp_path_factory.mktemp("last-version")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / "src"


class OldServer(Server):
    """`qwed serve` of the last version, with the packages of this one."""

    def __init__(self, folder: Path, source: Path) -> None:
        super().__init__(folder, environment={"PYTHONPATH": str(source)})
        self.command = [sys.executable, "-m", "qwed"]


def ask_old(source: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "qwed", *arguments],
        cwd=folder,
        env=clean_environment(PYTHONPATH=str(source)),
        capture_output=True,
        text=True,
    )


def test_a_store_of_the_last_version_is_upgraded_verifies_and_goes_back(last_version: Path, tmp_path: Path):
    with OldServer(tmp_path, last_version) as old:
        agent = old.register(name="from before")
        asked = [verify_request(agent, f"{n}+1", 1, f"before{n}") for n in range(5)]
        assert approvals(old.together(asked)) == 5
    before = ask_old(last_version, tmp_path, "ledger", "checkpoint").stdout.strip()

    with Server(tmp_path) as new:
        assert new.call("GET", "/ready").json()["ready"]
        (found,) = new.call("GET", "/agents").json()["agents"]
        assert found["name"] == "from before"
        assert approvals(new.together([verify_request(agent, "2+2", 1, "after")])) == 1
        assert new.call("GET", "/keys", key=OPERATOR_KEY).status_code == 200
    verified = qwed("ledger", "verify", "--known", before, "--json", cwd=tmp_path)
    assert verified.returncode == 0 and json.loads(verified.stdout)["valid"], verified.stdout
    (copy,) = tmp_path.glob("qwed.db.schema-*")

    # And back: the old code refuses the new file, and goes on with the copy.
    with pytest.raises(RuntimeError, match="did not start"):
        OldServer(tmp_path, last_version).start()
    for suffix in ("-wal", "-shm"):
        tmp_path.joinpath(f"qwed.db{suffix}").unlink(missing_ok=True)
    shutil.copy(copy, tmp_path / "qwed.db")
    with OldServer(tmp_path, last_version) as again:
        assert approvals(again.together([verify_request(agent, "3+3", 1, "back")])) == 1
