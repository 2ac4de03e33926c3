"""Envoy's question with the real engines: an address that no agent may call does not pass."""

from pathlib import Path

from tests.support.server import Server

RIGHTS = {"allowed_engines": ["tool_control"], "allowed_tools": ["api_call"]}


def test_an_address_inside_does_not_pass_and_a_public_one_does(tmp_path: Path):
    with Server(tmp_path) as server:
        token = server.register(type="trusted", permissions=RIGHTS)["agent_token"]

        def check(host: str, path: str) -> int:
            headers = {"Host": host, "X-Agent-Token": token, "Authorization": "Bearer upstreams-own"}
            answer = server.call("GET", f"/ext-authz{path}", key=None, headers=headers)
            return answer.status_code

        # In this order: whoever tries what is forbidden is trusted less from then on.
        assert check("api.example.com", "/v1/things?x=1") == 200
        assert check("169.254.169.254", "/latest/meta-data/") == 403
        assert check("localhost", "/admin") == 403
