"""Whoever may open the store makes a new operator key, as the page says; the old one is revoked with it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.server import OPERATOR_KEY, Server, clean_environment


def test_a_lost_operator_key_is_replaced_at_the_store(tmp_path: Path):
    with Server(tmp_path) as server:
        (old,) = server.call("GET", "/keys").json()["keys"]
    command = [sys.executable, "-m", "qwed", "keys", "create", "--operator", "--label", "after the loss"]
    database = ["--database", str(server.database), "--json"]
    made = subprocess.run([*command, *database], capture_output=True, cwd=tmp_path, env=clean_environment())
    assert made.returncode == 0, made.stderr
    new = json.loads(made.stdout)["api_key"]

    other = "qwed_live_another-value-does-nothing-1234"
    with Server(tmp_path, environment={"QWED_OPERATOR_KEY": other}) as server:
        assert server.call("DELETE", f"/keys/{old['key_id']}", key=new).status_code == 200
        assert server.call("GET", "/keys", key=OPERATOR_KEY).status_code == 401
        assert server.call("GET", "/keys", key=other).status_code == 401
        created = server.call("GET", "/activity", key=new, params={"action_type": "create_key"}).json()
        assert len(created["activities"]) == 2
