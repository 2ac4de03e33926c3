"""A signing key in an HSM: made there, used from there, taken over from a file; and what is refused."""

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.hsm import PIN, SoftToken, need_softhsm
from tests.support.server import Server, clean_environment

from qwed.domain.json_types import Json

ASKED = {
    "action": {"type": "calculate", "query": "2+2"},
    "context": {"conversation_id": "c", "step_number": 1},
    "options": {"require_attestation": True},
}


@pytest.fixture
def token(tmp_path: Path) -> SoftToken:
    need_softhsm()
    return SoftToken(tmp_path / "hsm")


def run(token: SoftToken, *arguments: str, key: str | None = None, code: int = 0) -> str:
    given = {} if key is None else {"QWED_SIGNING_KEY": key}
    done = subprocess.run(
        [sys.executable, "-m", "qwed", *arguments],
        capture_output=True,
        text=True,
        cwd=token.folder.parent,
        env=clean_environment(**token.environment, **given),
        timeout=120,
    )
    assert bool(done.returncode) == bool(code), done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def kids(server: Server) -> list[str]:
    return [key["kid"] for key in server.call("GET", "/.well-known/jwks.json").json()["keys"]]


def log_key_of(server: Server) -> bytes:
    """The id of the key in a signed note: four bytes before the signature."""
    note = server.call("GET", "/ledger/log/checkpoint")
    assert note.status_code == 200, note.text
    return base64.b64decode(note.text.splitlines()[-1].split()[-1])[:4]


def decide(server: Server) -> Json:
    agent = server.register()["agent_id"]
    answer = server.call("POST", f"/agents/{agent}/verify", json=ASKED).json()
    assert answer["decision"] == "APPROVED", answer
    return answer


@pytest.mark.parametrize("algorithm", ["ES256", "ES384"])
def test_a_gateway_signs_with_a_key_that_never_leaves_the_token(
    token: SoftToken, tmp_path: Path, algorithm: str
):
    run(token, "signing-key", "create", "--in", token.uri(), "--algorithm", algorithm)
    environment = {**token.environment, "QWED_SIGNING_KEY": token.uri()}
    with Server(tmp_path, environment=environment) as server:
        decide(server)
        (kid,) = kids(server)
    with Server(tmp_path, environment=environment) as again:
        assert kids(again) == [kid]
        decide(again)

    assert not (tmp_path / "qwed.db.key").exists()
    verified = json.loads(run(token, "ledger", "verify", "--json", key=token.uri()))
    assert verified["valid"] and verified["entries"] > 3
    shown = json.loads(run(token, "signing-key", "show", "--json", key=token.uri()))
    assert shown["keys"][0]["kid"] == kid and shown["keys"][0]["alg"] == algorithm
    # Other keys follow from a file of its own, which only its owner reads.
    assert (tmp_path / "qwed.db.key.root").stat().st_mode & 0o777 == 0o600


def test_a_store_takes_its_key_into_the_token_and_what_the_file_signed_still_verifies(
    token: SoftToken, tmp_path: Path
):
    with Server(tmp_path) as server:
        decide(server)
        (before,) = kids(server)
        log_key = log_key_of(server)
    run(token, "signing-key", "create", "--in", token.uri())
    run(token, "signing-key", "rotate", "--to", token.uri())
    (tmp_path / "qwed.db.key").unlink()

    with Server(tmp_path, environment={**token.environment, "QWED_SIGNING_KEY": token.uri()}) as server:
        decide(server)
        now, retired = kids(server)
        # Witnesses know the ledger by a key of its own, which stays.
        assert log_key_of(server) == log_key

    assert retired == before and now != before
    assert json.loads(run(token, "ledger", "verify", "--json", key=token.uri()))["valid"]


def test_a_backup_of_such_a_store_is_restored_where_the_token_is(token: SoftToken, tmp_path: Path):
    run(token, "signing-key", "create", "--in", token.uri())
    with Server(tmp_path, environment={**token.environment, "QWED_SIGNING_KEY": token.uri()}) as server:
        decide(server)
    run(token, "backup", "--out", "kept", "--with-keys", key=token.uri())
    for file in tmp_path.glob("qwed.db*"):
        file.unlink()

    run(token, "restore", "kept", key=token.uri())

    assert json.loads(run(token, "ledger", "verify", "--json", key=token.uri()))["valid"]
    assert (tmp_path / "qwed.db.key.root").exists()


def test_a_token_that_is_gone_stops_decisions_instead_of_leaving_them_unsigned(
    token: SoftToken, tmp_path: Path
):
    run(token, "signing-key", "create", "--in", token.uri())
    with Server(tmp_path, environment={**token.environment, "QWED_SIGNING_KEY": token.uri()}) as server:
        agent = server.register()["agent_id"]
        shutil.rmtree(token.folder / "tokens")
        (token.folder / "tokens").mkdir()
        with server.client() as client:
            answer = client.post(f"/agents/{agent}/verify", json=ASKED)
        # Nothing is recorded that is not signed, and nothing is answered that is not recorded.
        assert answer.status_code == 503, server.log()[-3000:]
        assert answer.json()["error"]["code"] == "QWED-STORE-001"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda uri: uri.replace("object=signing", "object=other"), "0 keys of the name"),
        (lambda uri: uri.replace("token=qwed", "token=other"), "not exactly one token"),
        (lambda uri: uri.replace("pin-source=file:", "pin-source=file:/nowhere"), "PIN can't be read"),
        (lambda uri: uri.replace("libsofthsm2.so", "libnothing.so"), "can be loaded"),
        (lambda uri: f"{uri}&pin-value={PIN}", "a PIN does not stand in a URI"),
        (lambda uri: uri.replace("?module-path=", "?slot-id=3&module-path="), "once at most"),
        (lambda uri: "pkcs11:token=qwed?" + uri.partition("?")[2], "names the token"),
        (lambda uri: uri.partition("?")[0], "module-path"),
        (lambda uri: "vault:transit/keys/qwed", "expected file:PATH or env:NAME, pkcs11:"),
        (lambda uri: "awskms://host/key", "awskms:///KEY"),
    ],
)
def test_a_uri_that_leads_to_no_key_stops_the_start_and_shows_no_pin(
    token: SoftToken, tmp_path: Path, change, says: str
):
    run(token, "signing-key", "create", "--in", token.uri())

    said = run(token, "signing-key", "show", key=change(token.uri()), code=2)

    assert says in said and PIN not in said


def test_a_wrong_pin_and_a_name_that_is_taken_are_refused(token: SoftToken, tmp_path: Path):
    run(token, "signing-key", "create", "--in", token.uri())
    assert "has a key of that name" in run(token, "signing-key", "create", "--in", token.uri(), code=2)
    token.pin_file.write_text("0000-wrong")
    assert "refuses the PIN" in run(token, "signing-key", "show", key=token.uri(), code=2)


def test_the_pin_and_a_whole_key_come_from_variables(token: SoftToken, tmp_path: Path):
    token.environment["TOKEN_PIN"] = PIN
    uri = token.uri(pin_source="env:TOKEN_PIN")
    run(token, "signing-key", "create", "--in", uri)
    run(token, "signing-key", "create", "--out", "made.pem")
    token.environment["SIGNING_PEM"] = (tmp_path / "made.pem").read_text()

    with Server(tmp_path, environment={**token.environment, "QWED_SIGNING_KEY": "env:SIGNING_PEM"}) as server:
        decide(server)
        (kid,) = kids(server)
    assert kid in run(token, "signing-key", "show", key=f"file:{tmp_path / 'made.pem'}")
    run(token, "signing-key", "rotate", "--to", uri, key="env:SIGNING_PEM")
    with Server(tmp_path, environment={**token.environment, "QWED_SIGNING_KEY": uri}) as server:
        decide(server)
        assert len(kids(server)) == 2
