"""A real gateway, a real witness in its own process, and a real browser that believes neither."""

import base64
import json
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest
from tests.support.browser import launched, visiting
from tests.support.server import OPERATOR_KEY, Server, clean_environment

from qwed.ect import base64url
from qwed.ledger.notes import read_note, read_vkey, verify_note

QWED = [sys.executable, "-m", "qwed"]
NAME = "witness.example/w"


def qwed(folder, *arguments, status=0, **environment):
    done = subprocess.run(
        [*QWED, *arguments],
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def serve_command(log_key):
    own = ["--key", "w.key", "--name", NAME, "--folder", "seen"]
    return [*QWED, "witness", "serve", *own, "--log", log_key, "--port", "0"]


@contextmanager
def witness(folder, log_key):
    process = subprocess.Popen(
        serve_command(log_key),
        cwd=folder,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        announced = process.stderr.readline()
        assert " on http://" in announced, announced
        yield announced.split(" on ")[1].strip()
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A ledger that was witnessed twice, with a restart of the witness in between; its export and keys."""
    folder = tmp_path_factory.mktemp("witness")
    vkey = qwed(folder, "witness", "key", "--key", "w.key", "--name", NAME).strip()
    (folder / "issuers.json").write_text(json.dumps({"note_witnesses": [vkey]}))
    server = Server(folder, environment={"QWED_ECT_ISSUERS": "issuers.json", "QWED_PUBLIC_LOG": "1"})
    with server:
        log_key = server.call("GET", "/ledger/log/key", key=None).text.strip()
        ask = ("witness", "ask", "--gateway", server.base_url, "--vkey", vkey, "--json")
        told = []
        for _ in range(2):
            server.register(name=f"agent-{len(told)}")
            with witness(folder, log_key) as address:
                told.append(json.loads(qwed(folder, *ask, address, QWED_API_KEY=OPERATOR_KEY)))
                other = httpx2.post(f"{address}/add-checkpoint", content=b"\xff" * 10)
                assert other.status_code == 400
                assert httpx2.post(f"{address}/add-checkpoint", content=b"x" * 200_000).status_code == 413
                assert httpx2.get(f"{address}/add-checkpoint").status_code == 405
        sizes = [one["size"] for one in told]
        signed = server.call("GET", "/ledger/checkpoint", params={"size": sizes[1]}).json()
        (folder / "jwks.json").write_text(server.call("GET", "/.well-known/jwks.json", key=None).text)
    assert 0 < sizes[0] < sizes[1]
    assert signed["cosignatures"] == [told[1]["line"]]
    lines = cut(folder, sizes[1])
    qwed(folder, "ledger", "page", "--out", "verify.html")
    return folder, vkey, log_key, lines


def cut(folder, size):
    """The export as far as the witness saw it."""
    qwed(folder, "ledger", "export", "--out", "all.jsonl")
    lines = (folder / "all.jsonl").read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"cosignatures"' in line)
    (folder / "export.jsonl").write_bytes(b"".join(lines[: last + 1]))
    assert sum(b'"seq"' in line for line in lines[: last + 1]) == size
    return lines[: last + 1]


def test_an_export_says_that_it_was_witnessed(story):
    folder, vkey, log_key, _ = story
    verify = ("ledger", "verify", "--export", "export.jsonl", "--jwks", "jwks.json", "--json")

    assert json.loads(qwed(folder, *verify, "--witness-vkey", vkey))["witnessed"] is True
    other = read_vkey(log_key)
    stranger = qwed(folder, *verify, "--witness-vkey", other.vkey, status=1)
    assert "not signed by the witness" in stranger


def test_a_witness_that_was_shown_more_signs_no_shorter_ledger(story, tmp_path):
    folder, vkey, log_key, _ = story
    (tmp_path / "issuers.json").write_text(json.dumps({"note_witnesses": [vkey]}))
    for name in ("w.key", "qwed.db.key"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        (tmp_path / name).chmod(0o600)
    # The same keys, and a ledger that begins anew under the old one's name.
    with Server(tmp_path, environment={"QWED_ECT_ISSUERS": "issuers.json"}) as server:
        fresh = server.call("GET", "/ledger/log/key").text.strip()
        with witness(folder, log_key) as address:
            ask = ("witness", "ask", "--gateway", server.base_url, "--vkey", vkey, address)
            done = subprocess.run(
                [*QWED, *ask],
                env=clean_environment(QWED_API_KEY=OPERATOR_KEY),
                capture_output=True,
                text=True,
            )

    assert done.returncode != 0
    assert fresh != log_key
    assert "404" in done.stderr


def test_two_witnesses_do_not_share_a_folder(story):
    folder, _, log_key, _ = story
    with witness(folder, log_key):
        again = subprocess.run(
            serve_command(log_key),
            cwd=folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert again.returncode != 0
    assert "another witness" in again.stderr


# --- the page ----------------------------------------------------------------------------------------


def changes(lines):
    """Name, and the lines as somebody left them; each has to be found."""
    entry = next(at for at, line in enumerate(lines) if b'"payload"' in line)
    record = json.loads(lines[entry])

    def put(**fields):
        return replaced(json.dumps({**record, **fields}, separators=(",", ":")).encode() + b"\n")

    def replaced(line):
        return [*lines[:entry], line, *lines[entry + 1 :]]

    other = "A" if record["payload"][0] != "A" else "B"
    yield "payload", put(payload=other + record["payload"][1:])
    yield "time", put(at_ms=record["at_ms"] + 1)
    yield "subject", put(subject=record["subject"] + "x")
    yield "hash", put(hash=json.loads(lines[entry])["previous"])
    yield "spelling", replaced(lines[entry].replace(b'{"seq"', b'{ "seq"'))
    yield "repeated field", replaced(lines[entry].replace(b'{"seq":', b'{"seq":1,"seq":'))
    yield "removed", [*lines[:entry], *lines[entry + 1 :]]
    yield "cut short", lines[:-1]
    yield "twice", [*lines[: entry + 1], *lines[entry:]]
    yield "signature", [*lines[:-1], lines[-1].replace(b'","cosig', b'A","cosig')]
    yield "nothing", []


def test_the_page_verifies_an_export_with_nothing_but_the_keys(story, tmp_path):
    folder, vkey, _log_key, lines = story
    keys = (folder / "jwks.json").read_text()
    stranger = json.loads(keys)
    coordinate = stranger["keys"][0]["x"]
    place = (folder / "verify.html").as_uri()
    # A visit ends with a problem where anything but the file itself was asked for.
    with launched() as browser, visiting(browser, place) as visit:
        page = visit.page
        page.goto(place)

        def judged(content, jwks=keys, witnesses=""):
            page.set_input_files("#export", {"name": "e", "mimeType": "text/plain", "buffer": content})
            page.fill("#keys", jwks)
            page.fill("#witnesses", witnesses)
            page.click("button")
            page.wait_for_selector("#answer:not([hidden])")
            return page.inner_text("#verdict"), page.inner_text("#answer")

        whole = b"".join(lines)
        assert judged(whole)[0] == "Valid"
        verdict, told = judged(whole, witnesses=vkey)
        assert (verdict, "yes" in told) == ("Valid", True)
        unpaid = {name: judged(b"".join(left))[0] for name, left in changes(lines)}
        assert set(unpaid.values()) == {"Not valid"}, unpaid
        # The same letter at another place may still be a point of the curve; another key is not.
        other = keys.replace(coordinate, coordinate[:-2] + ("AA" if coordinate[-2:] != "AA" else "BA"))
        assert judged(whole, jwks=other)[0] == "Not valid"
        assert judged(whole, witnesses=vkey.replace(NAME, "w.example"))[0] == "Not valid"
        assert judged(whole, jwks="{}")[0] == "Not valid"


def test_the_gateway_shows_the_page_too(story, tmp_path):
    with Server(tmp_path) as server, launched() as browser, visiting(browser, server.base_url) as visit:
        visit.page.goto(visit.url("/verify-export"))
        visit.page.wait_for_selector("text=Verify an exported ledger")


def test_a_checkpoint_carries_the_line_of_its_witness(story):
    _folder, vkey, log_key, lines = story
    line = json.loads(lines[-1])["cosignatures"][0]
    text = _body(lines, log_key)

    assert verify_note(read_note(f"{text}\n{line}"), read_vkey(vkey)) > 0


def _body(lines, log_key):
    claims = json.loads(base64url.decode(json.loads(lines[-1])["checkpoint"].split(".")[1]))
    root = base64.b64encode(base64url.decode(claims["root"])).decode()
    return f"{read_vkey(log_key).name}\n{claims['size']}\n{root}\n"
