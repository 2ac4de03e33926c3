"""A gateway with an identity provider, and people's browsers."""

import time
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Any, Final

import httpx2
import msgspec
from tests.support.fakes import FakeClock
from tests.support.oidc import CLIENT_ID, CLIENT_SECRET
from tests.support.world import World

from qwed.domain.people import GroupRights, PeopleRules
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules, Policy
from qwed.domain.scopes import Scope
from qwed.http.app import create_app
from qwed.http.signin.provider import Registration

HOME: Final = "http://gateway"
GROUPS: Final[Mapping[str, GroupRights]] = {
    "admins": GroupRights(roles=("operator",)),
    "finance": GroupRights(
        roles=("finance",), scopes=(Scope.READ, Scope.APPROVE, Scope.VERIFY), principal="acme"
    ),
    "onlookers": GroupRights(principal="acme"),
    "others": GroupRights(principal="umbrella"),
}


def policy_for(approvals: ApprovalRules | None = None, **people: Any) -> Policy:
    rules = PeopleRules(groups=GROUPS, **people)
    return msgspec.structs.replace(DEFAULT_POLICY, people=rules, approvals=approvals or ApprovalRules())


class SigningIn(World):
    """A world whose people sign in with `issuer`. Its clock starts at the time that tokens are made at."""

    def __init__(
        self, issuer: str, policy: Policy | None = None, *, secret: str | None = CLIENT_SECRET
    ) -> None:
        super().__init__(policy=policy or policy_for(), clock=FakeClock(int(time.time() * 1000)))
        registration = Registration(issuer, CLIENT_ID, secret, HOME)
        self._app = create_app(self.services, log=self._events, registration=registration)

    def people_become(self, rules: PeopleRules) -> None:
        newest = msgspec.structs.replace(
            self.services.newest, policy=msgspec.structs.replace(self.services.policy, people=rules)
        )
        self.services.live.newest = newest


class PersonsBrowser:
    """Keeps cookies as a browser does, and knows the token against forged requests once it is signed in."""

    def __init__(self, world: SigningIn) -> None:
        self._world = world
        self.cookies: dict[str, str] = {}
        self.csrf = ""

    def call(self, method: str, path: str, **request: Any) -> httpx2.Response:
        headers = {"X-CSRF-Token": self.csrf, **request.pop("headers", {})}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self._world.call(method, path, key=None, headers=headers, **request)
        for text in answer.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(text).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        return answer

    def begin(self, to: str | None = None) -> str:
        answer = self.call("GET", "/sign-in", params={} if to is None else {"to": to})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def come_back(self, url: str) -> httpx2.Response:
        assert url.startswith(f"{HOME}/sign-in/callback"), url
        answer = self.call("GET", url.removeprefix(HOME))
        if answer.status_code == 303:
            self.csrf = self.session().get("csrf_token", "")
        return answer

    def session(self) -> dict[str, Any]:
        return self.call("GET", "/session").json()
