"""Starting a gateway: a start that fails keeps nothing from the next one, and the settings are one for
the server and for every command."""

import json
import signal
import socket
import stat
import time

import pytest
from tests.support.server import OPERATOR_KEY, Server, qwed

from qwed import Gateway

pytestmark = pytest.mark.xdist_group("serving")

POLICY = "default_price_usd: 0.5\n"


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_taken_port_is_a_sentence_and_the_operator_key_is_shown_by_the_start_that_succeeds(tmp_path, taken):
    refused = qwed("serve", "--port", str(taken), "--database", "qwed.db", cwd=tmp_path)

    assert refused.returncode == 1
    assert refused.stderr.strip() == (
        f"Error: cannot listen on 127.0.0.1:{taken}: it is in use; "
        "stop what uses it, or choose another --port"
    )
    assert "qwed_live_" not in refused.stdout
    with Server(tmp_path, environment={"QWED_OPERATOR_KEY": ""}) as server:
        key = next(line for line in server.output.splitlines() if "Operator key" in line).split()[-1]
        assert server.call("GET", "/keys", key=key).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--host", "192.0.2.1", "--behind-proxy"), "cannot listen on 192.0.2.1:"),
        (("--tls-cert", "none.pem", "--tls-key", "none.key"), "the TLS certificate or its key can't be used"),
        (("--config", "none.yaml"), "the policy file none.yaml can't be read"),
    ],
)
def test_what_cannot_be_served_is_a_sentence(tmp_path, arguments, says):
    refused = qwed("serve", "--port", "0", *arguments, cwd=tmp_path)

    assert refused.returncode == 1
    assert says in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_operator_key_that_cannot_be_one_is_a_sentence(tmp_path):
    refused = qwed("serve", "--port", "0", cwd=tmp_path, QWED_OPERATOR_KEY="k" * 300)

    assert refused.returncode == 1
    assert "QWED_OPERATOR_KEY" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.fixture
def store(tmp_path):
    with Gateway.open(tmp_path / "qwed.db") as gateway:
        agent = gateway.register_agent(name="Anna", type="supervised", principal_id="acme")
    return agent["agent_id"]


@pytest.mark.parametrize("named", [True, False])
def test_a_command_decides_by_the_deployments_own_policy(tmp_path, store, named):
    file = tmp_path / ("rules.yaml" if named else "qwed.yaml")
    file.write_text(POLICY)
    environment = {"QWED_CONFIG": "rules.yaml"} if named else {}

    known = qwed("policy", "check", file.name, "--json", cwd=tmp_path)
    with Server(tmp_path, environment=environment) as server:
        version = server.call("GET", "/ready").json()["policy_version"]
    shown = _version_seen_by_a_command(tmp_path, store, environment)

    assert known.returncode == 0, known.stderr
    assert shown == version


def _version_seen_by_a_command(folder, agent_id, environment):
    done = qwed("agents", "suspend", agent_id, "--json", cwd=folder, **environment)
    assert done.returncode == 0, done.stderr
    listed = qwed("activity", "list", agent_id, "--json", cwd=folder, **environment)
    return json.loads(listed.stdout)["activities"][0]["policy_version"]


def test_a_command_keeps_the_signing_key_where_the_server_does(tmp_path, store):
    (tmp_path / "keys").mkdir()
    (tmp_path / "qwed.db.key").rename(tmp_path / "keys" / "qwed.db.key")

    done = qwed("agents", "list", cwd=tmp_path, QWED_DATA_DIR="keys")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "keys" / "qwed.db.key").exists()
    assert not (tmp_path / "qwed.db.key").exists()


def _broken_policy(folder):
    (folder / "qwed.yaml").write_text("tools: 5\n")


def _readable_key(folder):
    (folder / "qwed.db.key").chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IROTH)


def _no_store(folder):
    (folder / "qwed.db").write_bytes(b"this is no database, and is longer than a header of one" * 10)
    for name in ("qwed.db-wal", "qwed.db-shm"):
        (folder / name).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_broken_policy, "the policy file has mistakes"),
        (_readable_key, "others can read the signing key"),
        (_no_store, "cannot be opened as a QWED store"),
    ],
)
def test_what_stops_the_server_stops_a_command_with_the_same_sentence(tmp_path, store, harm, says):
    harm(tmp_path)

    for arguments in (("agents", "list"), ("serve", "--port", "0")):
        refused = qwed(*arguments, cwd=tmp_path, QWED_OPERATOR_KEY=OPERATOR_KEY)
        assert refused.returncode == 1
        assert says in refused.stderr
        assert "Traceback" not in refused.stderr


READY = b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n"


def connected(server):
    return socket.create_connection(("127.0.0.1", int(server.base_url.rsplit(":", 1)[1])), 30)


def answered(connection):
    """One answer, to its end."""
    data = b""
    while not data.endswith(b"}"):
        part = connection.recv(65536)
        assert part, data
        data += part
    return data


def test_who_connected_before_the_stop_is_answered_though_it_takes_its_time(tmp_path):
    with Server(tmp_path) as server, connected(server) as late:
        server.process.send_signal(signal.SIGTERM)
        # By now a connection that is merely kept open would have been closed.
        time.sleep(2)
        late.sendall(READY)
        first = answered(late)
        assert server.process.wait(60) == 0

    assert first.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in first


def test_who_connected_and_never_asks_does_not_keep_the_server_from_stopping(tmp_path):
    with Server(tmp_path) as server, connected(server):
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
