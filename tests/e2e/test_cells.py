"""Two deployments behind a real proxy: agents reach their principal's own, by nothing but the credential."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import httpx2
import pytest
from tests.support.postgres import free_port
from tests.support.server import OPERATOR_KEY, Server, qwed, verify_request

from qwed.domain.cells import Cell, Cells, check_cells, route_tag

pytestmark = pytest.mark.xdist_group("cells")


def program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"no {name} here: run scripts/install-proxies")
        pytest.skip(f"no {name} here: run scripts/install-proxies")
    return found


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Two gateways with stores and operators of their own, and the file that names them."""
    folder = tmp_path_factory.mktemp("cells")
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in ("east", "west-2"):
            (folder / name).mkdir()
            servers[name] = stack.enter_context(Server(folder / name))
        lines = ['default = "east"']
        for name, principal in (("east", "acme"), ("west-2", "rival")):
            address = servers[name].base_url.removeprefix("http://")
            lines += [f"[cells.{name}]", f'upstream = ["{address}"]', f'principals = ["{principal}"]']
        (folder / "cells.toml").write_text("\n".join(lines))
        yield folder, servers


def written(folder, proxy):
    done = qwed("cells", "route", f"--{proxy}", "cells.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    include {folder}/cells.conf;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://$qwed_cell; proxy_http_version 1.1; }}
    }}
}}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend front
    bind 127.0.0.1:{port}
{rules}
backend qwed_east
    server one {east}
backend qwed_west_2
    server one {west}
"""


def nginx(folder, servers, own, port):
    (own / "cells.conf").write_text(written(folder, "nginx"))
    (own / "nginx.conf").write_text(NGINX.format(folder=own, port=port))
    if os.geteuid() == 0:
        (own / "nginx.conf").write_text("user root;" + NGINX.format(folder=own, port=port))
    return [program("nginx"), "-p", str(own), "-c", str(own / "nginx.conf"), "-e", str(own / "start.log")]


def haproxy(folder, servers, own, port):
    text = written(folder, "haproxy")
    cells_map = own / "qwed-cells.map"
    cells_map.write_text(text)
    rules = [line.removeprefix("#") for line in text.splitlines() if line.startswith("#   ")]
    east, west = (servers[name].base_url.removeprefix("http://") for name in ("east", "west-2"))
    rules = "\n".join(rules).replace("/etc/haproxy/qwed-cells.map", str(cells_map))
    (own / "haproxy.cfg").write_text(HAPROXY.format(port=port, rules=rules, east=east, west=west))
    return [program("haproxy"), "-db", "-f", str(own / "haproxy.cfg")]


@pytest.fixture(scope="module", params=[nginx, haproxy], ids=lambda proxy: proxy.__name__)
def proxy(request, cells, tmp_path_factory):
    folder, servers = cells
    own, port = tmp_path_factory.mktemp("proxy"), free_port()
    command = request.param(folder, servers, own, port)
    with (own / "output.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        await_answer(address, process, own)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def await_answer(address, process, own):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(httpx2.TransportError):
            httpx2.get(f"{address}/health")
            return
        assert process.poll() is None, told(own)
        time.sleep(0.05)
    raise AssertionError(told(own))


def told(own: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in own.glob("*.log"))


def ask(address, agent, header, conversation):
    request = verify_request(agent, "1+1", conversation=conversation)
    value = f"Bearer {agent['agent_token']}" if header == "Authorization" else agent["agent_token"]
    path = f"{address}/agents/{agent['agent_id']}/verify"
    return httpx2.post(path, json=request["json"], headers={header: value}, timeout=60)


@pytest.mark.parametrize("header", ["Authorization", "X-Agent-Token"])
def test_each_agent_reaches_the_cell_of_its_principal(cells, proxy, header):
    _, servers = cells
    for name, principal in (("east", "acme"), ("west-2", "rival")):
        agent = servers[name].register(principal_id=principal)
        assert f"_r{route_tag(principal)}_" in agent["agent_token"]
        answer = ask(proxy, agent, header, "routed")
        assert answer.json()["decision"] == "APPROVED", answer.text
        seen = servers[name].call("GET", f"/agents/{agent['agent_id']}/activity").json()
        assert seen["summary"]["approved"] == 1


def test_keys_of_principals_are_routed_and_whoever_has_no_tag_reaches_the_default(cells, proxy):
    _, servers = cells
    for name, principal in (("east", "acme"), ("west-2", "rival")):
        key = servers[name].principal_key(principal)
        answer = httpx2.get(f"{proxy}/agents", headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 200, answer.text
        renamed = key.replace(route_tag(principal), route_tag("nobody"))
        assert httpx2.get(f"{proxy}/agents", headers={"X-API-Key": renamed}).status_code == 401
    operators = {"Authorization": f"Bearer {OPERATOR_KEY}"}
    here = {
        agent["principal_id"] for agent in httpx2.get(f"{proxy}/agents", headers=operators).json()["agents"]
    }
    assert here <= {"acme"}


@pytest.mark.parametrize("proxy", ["nginx", "haproxy", "envoy"])
def test_the_file_of_the_page_is_one_that_is_taken(tmp_path, proxy):
    page = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8")
    (tmp_path / "cells.toml").write_text(page.split("```toml\n", 1)[1].split("```", 1)[0])
    text = written(tmp_path, proxy)
    assert route_tag("acme") in text and "qwed_east" in text and "qwed_west" in text


def test_a_token_keeps_its_tag_when_it_is_made_anew(cells):
    _, servers = cells
    agent = servers["west-2"].register(principal_id="rival")
    again = servers["west-2"].call("POST", f"/agents/{agent['agent_id']}/rotate-token").json()
    assert again["agent_token"] != agent["agent_token"]
    assert again["agent_token"].startswith(f"qwed_agent_r{route_tag('rival')}_")


def test_a_cell_that_died_takes_nobody_else_with_it(cells, proxy):
    _, servers = cells
    doomed = servers["west-2"]
    first, second = servers["east"].register(principal_id="acme"), doomed.register(principal_id="rival")
    assert ask(proxy, second, "Authorization", "before").status_code == 200
    port = doomed.base_url.rsplit(":", 1)[1]
    doomed.kill()
    try:
        for number in range(5):
            assert ask(proxy, first, "Authorization", f"while {number}").json()["decision"] == "APPROVED"
            assert ask(proxy, second, "Authorization", f"while {number}").status_code in (502, 503, 504)
    finally:
        doomed._arguments = ("--port", port)
        doomed.start()
    end = time.monotonic() + 60
    while (
        again := ask(proxy, second, "Authorization", "after")
    ).status_code != 200 and time.monotonic() < end:
        time.sleep(0.2)
    assert again.json()["decision"] == "APPROVED"


def test_envoy_is_given_every_cell_and_every_header(cells):
    folder, _ = cells
    made = json.loads(written(folder, "envoy"))
    routes = made["virtual_hosts"][0]["routes"]
    assert [cluster["name"] for cluster in made["clusters"]] == ["qwed_east", "qwed_west_2"]
    assert routes[-1] == {"match": {"prefix": "/"}, "route": {"cluster": "qwed_east"}}
    token = f"Bearer qwed_agent_r{route_tag('rival')}_x"
    matching = {
        (row["match"]["headers"][0]["name"], row["route"]["cluster"])
        for row in routes[:-1]
        if re.fullmatch(row["match"]["headers"][0]["string_match"]["safe_regex"]["regex"], token)
    }
    assert matching == {(name, "qwed_west_2") for name in ("authorization", "x-api-key", "x-agent-token")}


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"a": Cell(("h:1",), ("p",)), "b": Cell(("h:2",), ("p",))}, "'p' is in a and in b"),
        ({"a": Cell(("h:1; return 200",))}, "is no host:port"),
        ({"a": Cell(("h:99999",))}, "is no host:port"),
        ({"a": Cell(())}, "names no gateway"),
        ({"a": Cell(("h:1",)), "b}": Cell(("h:1",))}, "no name of a cell"),
        ({"b": Cell(("h:1",))}, "there is no cell 'a'"),
    ],
)
def test_a_file_that_would_mislead_a_proxy_is_refused(cells, says):
    with pytest.raises(ValueError, match=says):
        check_cells(Cells(cells, "a"))
