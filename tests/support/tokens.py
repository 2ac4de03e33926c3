"""Agents that sign: their keys registered with a gateway, their tokens, and how they come along."""

from qwed.ect import KeyRing, generate, issue
from qwed.ect.tokens import parse


class SigningAgent:
    """A registered agent with a key of its own in a `World`."""

    def __init__(self, world, **registration):
        self.world = world
        self.agent = world.register(**registration)
        self.ring = KeyRing(self.agent["did"], generate())
        response = world.call(
            "PUT", f"/agents/{self.agent['agent_id']}/ect-keys", json={"keys": self.ring.jwks()["keys"]}
        )
        assert response.status_code == 200, response.text

    @property
    def did(self):
        return self.agent["did"]

    def token(self, act="read_config", *par, to=(), **more):
        now = self.world.clock.now_ms() // 1000
        return issue(self.ring, act, [self.world.services.signer.issuer, *to], now, par=par, **more)

    def submit(self, *tokens):
        response = self.world.call("POST", "/ect", key=self.agent["agent_token"], json={"ects": list(tokens)})
        assert response.status_code == 201, response.text
        return response.json()

    def verify(self, *arguments, ects=(), **more):
        headers = {"Execution-Context": ", ".join(ects)} if ects else {}
        return self.world.verify_response(self.agent, *arguments, headers=headers, **more)


def jti_in(token) -> str:
    return parse(token).claims["jti"]
