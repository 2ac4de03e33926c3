"""The ledgers of several cells, verified by one command: each of them, and that nobody is in two."""

import json
import sqlite3

import pytest
from tests.support.cluster import Cluster
from tests.support.server import OPERATOR_KEY, Server, qwed, verify_request
from tests.support.services import shared

pytestmark = pytest.mark.xdist_group("cells")


@pytest.fixture
def cells(tmp_path):
    """A cell that is looked at in its store, and one that is asked."""
    for name in ("east", "west"):
        (tmp_path / name).mkdir()
    with Server(tmp_path / "east") as east, Server(tmp_path / "west") as west:
        for server, principal in ((east, "acme"), (west, "rival")):
            agent = server.register(principal_id=principal)
            server.together([verify_request(agent, f"{n}+1", 1, f"c{n}") for n in range(3)])
        (tmp_path / "east.json").write_text(east.call("GET", "/.well-known/jwks.json").text)
        write(tmp_path, west.base_url)
        yield tmp_path, east, west


def write(folder, west="http://127.0.0.1:1", west_more='api_key = "env:WEST_KEY"'):
    lines = [
        'default = "east"',
        "[cells.east]",
        'upstream = ["127.0.0.1:1"]',
        'principals = ["acme"]',
    ]
    lines += ['database = "east/qwed.db"', 'jwks = "east.json"', "[cells.west]"]
    address = west.removeprefix("http://")
    lines += [f'upstream = ["127.0.0.1:1", "{address}"]', 'principals = ["rival"]', west_more]
    (folder / "cells.toml").write_text("\n".join(lines))


def verified(folder, *options):
    return qwed("ledger", "verify", "--cells", "cells.toml", *options, cwd=folder, WEST_KEY=OPERATOR_KEY)


def test_each_cell_is_verified_and_said_of(cells):
    folder, _, _ = cells
    done = verified(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("VALID   east:") and "rows" in first
    assert second.startswith("VALID   west:") and "as its gateway has them" in second
    told = json.loads(verified(folder, "--json").stdout)
    assert told["valid"] is True and told["problems"] == [] and told["notes"] == []
    assert [cell["principals"] for cell in told["cells"]] == [["acme"], ["rival"]]


def test_a_principal_who_may_act_in_two_cells_is_named(cells):
    folder, east, west = cells
    agent = west.register(principal_id="acme")
    done = verified(folder)
    assert done.returncode == 1
    assert "BROKEN  'acme' may act in east and in west" in done.stdout
    assert "'acme' may act in west, and the file leads to east" in done.stdout

    assert west.call("DELETE", f"/agents/{agent['agent_id']}").status_code < 300
    assert verified(folder).returncode == 0, "who was deregistered acts nowhere"
    key = east.call("POST", "/keys", json={"principal_id": "rival"}).json()
    assert "'rival' may act in east and in west" in verified(folder).stdout
    assert east.call("DELETE", f"/keys/{key['key_id']}").status_code < 300
    assert verified(folder).returncode == 0, "nor does a key that was revoked open anything"


def test_a_ledger_that_was_edited_is_found_and_the_other_is_still_looked_at(cells):
    folder, east, _ = cells
    east.stop()
    connection = sqlite3.connect(folder / "east" / "qwed.db")
    connection.execute("UPDATE agents SET principal_id = 'mallory'")
    connection.commit()
    connection.close()
    done = verified(folder)
    assert done.returncode == 1
    assert done.stdout.startswith("BROKEN  east:") and "VALID   west:" in done.stdout


def test_a_cell_that_cannot_be_looked_at_is_neither_valid_nor_broken(cells):
    folder, _, west = cells
    for more, says in (
        ("", "neither its database nor an api_key"),
        ('api_key = "env:NOBODY_SET_THIS"', "the environment has no NOBODY_SET_THIS"),
        ('database = "west/qwed.db"', "jwks is needed"),
        ('database = "nothing.db"\njwks = "east.json"', "there is no store"),
    ):
        write(folder, west.base_url, west_more=more)
        done = verified(folder)
        assert done.returncode == 2 and says in done.stdout, done.stdout + done.stderr
        assert "VALID   east:" in done.stdout
    write(folder, west.base_url)
    west.stop()
    assert verified(folder).returncode == 2
    assert json.loads(verified(folder, "--json").stdout)["valid"] is None


def test_another_cells_keys_and_one_cell_under_two_names_do_not_pass(cells):
    folder, _, west = cells
    write(folder, west.base_url, west_more='database = "west/qwed.db"\njwks = "east.json"')
    assert verified(folder).returncode == 1
    write(folder, west.base_url, west_more='database = "east/qwed.db"\njwks = "east.json"')
    done = verified(folder)
    assert done.returncode == 1 and "east and west are one deployment" in done.stdout


@pytest.mark.parametrize(
    "more", ['api_key = "qwed_live_the-key-itself"', 'database = "postgresql://u:secret@h/d"']
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path, more):
    write(tmp_path, west_more=more)
    done = verified(tmp_path)
    assert done.returncode == 2 and "env:NAME" in done.stderr
    assert "secret" not in done.stderr and "the-key-itself" not in done.stderr


def test_a_cell_on_a_database_server_is_verified_at_it(tmp_path):
    url = shared().new_database()
    with Cluster(tmp_path, url, None, workers=1) as east:
        east.await_ready()
        agent = east.register(principal_id="acme")
        east.together([verify_request(agent, "1+1", 1, "c")])
        (tmp_path / "east.json").write_text(east.call("GET", "/.well-known/jwks.json").text)
        lines = ['default = "east"', "[cells.east]", 'upstream = ["127.0.0.1:1"]', 'principals = ["acme"]']
        lines += ['database = "env:EAST_DATABASE"', 'jwks = "east.json"']
        (tmp_path / "cells.toml").write_text("\n".join(lines))
        command = ("ledger", "verify", "--cells", "cells.toml", "--json")
        told = json.loads(qwed(*command, cwd=tmp_path, EAST_DATABASE=url).stdout)
    assert told["valid"] is True, told
    assert told["cells"][0]["principals"] == ["acme"]


def test_it_goes_alone(tmp_path):
    write(tmp_path)
    assert "goes alone" in verified(tmp_path, "--database", "east/qwed.db").stderr
