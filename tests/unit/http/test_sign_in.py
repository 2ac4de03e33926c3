"""What must be refused when people sign in with an identity provider, and what each refusal says."""

import asyncio
import base64
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from tests.support.oidc import CLIENT_SECRET, LyingProvider, lying_provider
from tests.support.signing_in import GROUPS, HOME, PersonsBrowser, SigningIn, policy_for
from tests.support.streams import Stream, until
from tests.support.world import World, calculate, code_of

from qwed.domain.people import PeopleRules
from qwed.http import sse


@pytest.fixture(scope="module")
def liar() -> Iterator[LyingProvider]:
    with lying_provider() as provider:
        yield provider


@pytest.fixture
def provider(liar: LyingProvider) -> LyingProvider:
    """As honest as at first."""
    liar.__dict__.update({**LyingProvider().__dict__, "issuer": liar.issuer})
    return liar


@pytest.fixture
def world(provider: LyingProvider) -> Iterator[SigningIn]:
    world = SigningIn(provider.issuer)
    provider.now = lambda: world.clock.now / 1000
    yield world
    world.close()


@pytest.fixture
def browser(world: SigningIn) -> PersonsBrowser:
    return PersonsBrowser(world)


def signed_in(browser: PersonsBrowser, provider: LyingProvider) -> PersonsBrowser:
    answer = browser.come_back(provider.authorize(browser.begin()))
    assert answer.status_code == 303, answer.text
    return browser


def refusal(answer: Any) -> tuple[int, str | None, str]:
    body = answer.json()
    return answer.status_code, code_of(body), body["error"]["message"]


def test_a_person_signs_in_and_is_who_the_provider_says(browser: PersonsBrowser, provider: LyingProvider):
    answer = browser.come_back(provider.authorize(browser.begin("/dashboard/inbox")))

    assert answer.headers["location"] == "/dashboard/inbox"
    session = browser.session()
    assert session["signed_in"] and session["is_operator"]
    assert session["person"]["subject"] == "ada"
    assert session["person"]["issuer"] == provider.issuer
    assert (session["label"], session["person"]["how"]) == ("Ada", "oidc")


def test_the_request_asks_for_a_code_with_pkce_state_and_nonce(
    browser: PersonsBrowser, provider: LyingProvider
):
    signed_in(browser, provider)

    asked = next(form for path, form in provider.asked if path == "/authorize")
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"{HOME}/sign-in/callback"
    exchanged = next(form for path, form in provider.asked if path == "/token")
    verifier = exchanged["code_verifier"]
    assert len(verifier) >= 43 and verifier not in json.dumps(asked)


@pytest.mark.parametrize("state", ["", "guessed"])
def test_an_answer_with_another_state_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, state: str
):
    url = provider.authorize(browser.begin(), state=state)

    assert refusal(browser.come_back(url)) == (
        403,
        "QWED-AUTH-003",
        "this browser did not start this sign-in",
    )
    assert not browser.session()["signed_in"]


def test_another_browser_cannot_complete_a_sign_in(world: SigningIn, provider: LyingProvider):
    """A victim who opens the attacker's address would else work in the attacker's account."""
    attacker, victim = PersonsBrowser(world), PersonsBrowser(world)
    victim.begin()

    assert refusal(victim.come_back(provider.authorize(attacker.begin())))[1] == "QWED-AUTH-003"


@pytest.mark.parametrize("cookie", ["none", "touched", "of a session"])
def test_a_sign_in_that_no_browser_began_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn, cookie: str
):
    url = provider.authorize(browser.begin())
    (name,) = browser.cookies
    if cookie == "none":
        browser.cookies.clear()
    elif cookie == "touched":
        sealed = browser.cookies[name]
        browser.cookies[name] = sealed[:40] + ("A" if sealed[40] != "A" else "B") + sealed[41:]
    else:
        other = signed_in(PersonsBrowser(world), provider)
        browser.cookies[name] = other.cookies["qwed_session"]

    assert refusal(browser.come_back(url))[2] == "this browser did not start this sign-in"


def test_a_sign_in_completes_once(browser: PersonsBrowser, provider: LyingProvider):
    url = provider.authorize(browser.begin())
    kept = dict(browser.cookies)
    assert browser.come_back(url).status_code == 303
    browser.cookies = kept

    assert refusal(browser.come_back(url))[2] == "this sign-in was completed already"


def test_a_sign_in_that_takes_too_long_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    url = provider.authorize(browser.begin())
    world.clock.advance(600_000)

    assert refusal(browser.come_back(url))[2] == "the sign-in took too long: start again"


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
def test_an_answer_of_another_issuer_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, issuer: str
):
    url = provider.authorize(browser.begin(), iss=issuer)

    assert refusal(browser.come_back(url))[2] == "the answer is from another identity provider"
    assert "/token" not in [path for path, _ in provider.asked]


def test_an_error_of_the_provider_is_a_refusal(browser: PersonsBrowser, provider: LyingProvider):
    url = provider.authorize(browser.begin(), code="", error="access_denied")

    assert refusal(browser.come_back(url))[2] == "the identity provider refused the sign-in"


def test_a_code_that_was_used_before_is_refused(browser: PersonsBrowser, provider: LyingProvider):
    first = provider.authorize(browser.begin())
    browser.come_back(first)
    code = first.partition("code=")[2].partition("&")[0]

    assert refusal(browser.come_back(provider.authorize(browser.begin(), code=code)))[1] == "QWED-AUTH-003"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"nonce": "another"}, "answers another sign-in"),
        ({"nonce": None}, "answers another sign-in"),
        ({"aud": "somebody"}, "is for somebody else"),
        ({"aud": ["qwed", "somebody"]}, "was given to somebody else"),
        ({"azp": "somebody"}, "was given to somebody else"),
        ({"iss": "https://evil.example"}, "is from another issuer"),
        ({"exp": 1}, "has expired"),
        ({"exp": None}, "does not say when it was made and when it ends"),
        ({"exp": "never"}, "does not say when it was made and when it ends"),
        ({"iat": 2**40}, "is from the future"),
        ({"nbf": 2**40}, "is from the future"),
        ({"sub": ""}, "names nobody"),
        ({"sub": 7}, "names nobody"),
    ],
)
def test_an_id_token_that_is_not_for_this_sign_in_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, claims: dict[str, Any], why: str
):
    provider.claims = claims

    answer = browser.come_back(provider.authorize(browser.begin()))
    assert refusal(answer) == (403, "QWED-AUTH-003", f"the identity provider's ID token {why}")
    assert not browser.session()["signed_in"]


def _token(algorithm: str, claims: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    parts = ({"alg": algorithm, "kid": "one"}, claims)
    signed = b".".join(_text(json.dumps(part).encode()) for part in parts)
    return b".".join((signed, _text(sign(signed)))).decode()


def _text(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


@pytest.mark.parametrize("how", ["none", "the client's secret", "the public key as a secret", "another key"])
def test_a_weaker_signature_is_refused(browser: PersonsBrowser, provider: LyingProvider, how: str):
    secrets = {
        "the client's secret": CLIENT_SECRET.encode(),
        "the public key as a secret": provider.key.as_pem(private=False),
    }

    def sign(claims: dict[str, Any]) -> str:
        if how == "none":
            return _token("none", claims, lambda _: b"")
        if how == "another key":
            return jwt.encode({"alg": "RS256", "kid": "one"}, claims, RSAKey.generate_key(2048))
        return _token("HS256", claims, lambda signed: hmac.digest(secrets[how], signed, "sha256"))

    provider.sign = sign
    answer = browser.come_back(provider.authorize(browser.begin()))
    assert refusal(answer)[1] == "QWED-AUTH-003"
    assert "has no valid signature" in refusal(answer)[2]


def test_a_new_key_of_the_provider_is_fetched(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    provider.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    provider.header = {"kid": "two"}
    world.clock.advance(20_000)

    signed_in(PersonsBrowser(world), provider)


@pytest.mark.parametrize(
    ("discovery", "why"),
    [
        ({"code_challenge_methods_supported": []}, "does not offer PKCE"),
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE"),
        ({"token_endpoint": "http://evil.example/token"}, "has no TLS"),
        ({"jwks_uri": 7}, "can't be used"),
    ],
)
def test_a_provider_that_would_weaken_the_sign_in_is_not_used(
    browser: PersonsBrowser, provider: LyingProvider, discovery: dict[str, Any], why: str
):
    provider.discovery = discovery

    status, code, message = refusal(browser.call("GET", "/sign-in"))
    assert (status, code) == (503, "QWED-AUTH-004")
    assert why in message


def test_claims_about_another_person_are_refused(browser: PersonsBrowser, provider: LyingProvider):
    provider.user_info = {"sub": "eve", "groups": ["admins"]}

    answer = browser.come_back(provider.authorize(browser.begin()))
    assert refusal(answer)[2] == "the identity provider answered about another person"


@pytest.mark.parametrize("groups", [[], ["strangers"], None, "admin", [7], {"admins": True}])
def test_somebody_in_no_group_of_the_policy_is_refused(
    browser: PersonsBrowser, provider: LyingProvider, groups: Any
):
    provider.user_info = {"groups": groups}

    status, code, message = refusal(browser.come_back(provider.authorize(browser.begin())))
    assert (status, code) == (403, "QWED-AUTH-003")
    assert "none of your groups" in message


def test_somebody_in_groups_of_two_principals_is_refused(browser: PersonsBrowser, provider: LyingProvider):
    provider.user_info = {"groups": ["finance", "others"]}

    assert "acme, umbrella" in refusal(browser.come_back(provider.authorize(browser.begin())))[2]


def test_a_persons_groups_give_roles_scopes_and_a_principal(browser: PersonsBrowser, provider: LyingProvider):
    provider.user_info = {"groups": ["finance", "onlookers", "strangers"]}

    session = signed_in(browser, provider).session()
    assert (session["principal_id"], session["roles"]) == ("acme", ["finance"])
    assert session["scopes"] == ["read", "approve", "verify"]
    assert browser.call("POST", "/keys", json={"principal_id": "acme"}).status_code == 403


def test_who_left_their_group_is_signed_out_within_the_time_of_the_policy(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    provider.user_info = {"groups": ["strangers"]}
    world.clock.advance(299_000)
    assert browser.session()["signed_in"]

    world.clock.advance(1_000)
    assert not browser.session()["signed_in"]
    assert browser.call("GET", "/approvals").status_code == 401


def test_who_changed_groups_has_the_new_groups_rights(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    provider.user_info = {"groups": ["onlookers"]}
    world.clock.advance(300_000)

    session = browser.session()
    assert (session["is_operator"], session["scopes"]) == (False, ["read"])


def test_a_group_that_the_policy_drops_has_no_rights_at_the_next_request(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    kept = {name: rights for name, rights in GROUPS.items() if name != "admins"}

    world.people_become(PeopleRules(groups=kept))
    assert not browser.session()["signed_in"]


@pytest.mark.parametrize(
    "groups", [["strangers"], ["onlookers"]], ids=["no group", "a group of one principal"]
)
def test_a_stream_that_is_open_ends_when_its_person_leaves_the_group(
    browser: PersonsBrowser,
    provider: LyingProvider,
    world: SigningIn,
    groups: list[str],
    monkeypatch: pytest.MonkeyPatch,
):
    """An operator hears of every principal; somebody who is none any more must not hear one word."""
    monkeypatch.setattr(sse, "LOOK_SECONDS", 0.02)
    signed_in(browser, provider)
    agent = world.register(principal_id="umbrella")
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())

    async def listen() -> tuple[int, str]:
        stream = Stream(world, cookie=cookie)
        await until(lambda: stream.sent)
        provider.user_info = {"groups": groups}
        world.clock.advance(300_000)
        body = {"action": calculate(), "context": {"conversation_id": "c", "step_number": 1}}
        async with world.client() as client:
            headers = {"Authorization": f"Bearer {agent['agent_token']}"}
            await client.post(f"/agents/{agent['agent_id']}/verify", json=body, headers=headers)
        await asyncio.wait_for(stream.task, 60)
        return stream.status, stream.text

    assert world.run(listen()) == (200, ": connected\n\n")


def test_a_stream_ends_while_the_provider_can_not_be_asked(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sse, "LOOK_SECONDS", 0.02)
    signed_in(browser, provider)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())

    async def listen() -> str:
        stream = Stream(world, cookie=cookie)
        await until(lambda: stream.sent)
        provider.status = {"/token": 502}
        world.clock.advance(300_000)
        await asyncio.wait_for(stream.task, 60)
        return stream.text

    assert world.run(listen()) == ": connected\n\n"


def test_a_vote_of_somebody_who_left_the_group_does_not_count(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    agent = world.register(type="supervised")
    mail = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}
    approval = world.verify(agent, mail, key=agent["agent_token"])["approval"]["id"]
    signed_in(browser, provider)
    provider.user_info = {"groups": ["onlookers"]}
    world.clock.advance(300_000)

    assert browser.call("POST", f"/approvals/{approval}/approve", json={}).status_code == 403
    assert world.call("GET", f"/approvals/{approval}").json()["status"] == "open"


def test_whom_the_provider_does_not_refresh_is_signed_out_for_good(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    world.clock.advance(300_000)
    provider.status = {"/token": 400}
    assert not browser.session()["signed_in"]

    provider.status = {}
    assert not browser.session()["signed_in"]


def test_while_the_provider_is_away_nobody_acts_on_what_it_said_long_ago(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    world.clock.advance(300_000)
    provider.status = {"/token": 502}
    assert refusal(browser.call("GET", "/approvals"))[:2] == (503, "QWED-AUTH-004")

    provider.status = {}
    assert browser.call("GET", "/approvals").status_code == 200


def test_a_refresh_about_another_person_ends_the_session(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)
    world.clock.advance(300_000)
    provider.claims = {"sub": "eve"}

    assert not browser.session()["signed_in"]


def test_without_a_refresh_token_a_session_ends_with_its_id_token(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    provider.gives_refresh = False
    signed_in(browser, provider)
    world.clock.advance(3_599_000)
    assert browser.session()["signed_in"]

    world.clock.advance(2_000)
    assert not browser.session()["signed_in"]


def test_many_requests_at_once_refresh_once(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    """A refresh token may work once: a second use would look like theft."""
    signed_in(browser, provider)
    world.clock.advance(300_000)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())

    async def ask() -> list[int]:
        async with world.client() as client:
            headers = {"Cookie": cookie}
            answers = await asyncio.gather(*(client.get("/approvals", headers=headers) for _ in range(8)))
            return [answer.status_code for answer in answers]

    assert world.run(ask()) == [200] * 8
    refreshes = [form for path, form in provider.asked if form.get("grant_type") == "refresh_token"]
    assert len(refreshes) == 1


def test_signing_out_ends_the_session_here_and_says_where_to_end_it_there(
    browser: PersonsBrowser, provider: LyingProvider
):
    signed_in(browser, provider)
    kept = dict(browser.cookies)

    answer = browser.call("DELETE", "/session").json()
    assert answer["sign_out_url"].startswith(f"{provider.issuer}/end?id_token_hint=")
    browser.cookies = kept
    assert not browser.session()["signed_in"]


def test_a_change_without_the_token_against_forged_requests_is_refused(
    browser: PersonsBrowser, provider: LyingProvider
):
    signed_in(browser, provider)
    browser.csrf = "guessed"

    assert browser.call("POST", "/keys", json={"principal_id": "acme"}).status_code == 403


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example",
        "//evil.example",
        "/dashboard.evil.example",
        "/session",
        "/dashboard\\x",
        "x" * 600,
    ],
)
def test_after_the_sign_in_nobody_is_sent_elsewhere(
    browser: PersonsBrowser, provider: LyingProvider, to: str
):
    answer = browser.come_back(provider.authorize(browser.begin(to)))

    assert answer.headers["location"] == "/dashboard"


def test_a_browser_is_sent_back_to_the_dashboard_with_one_word(
    browser: PersonsBrowser, provider: LyingProvider
):
    provider.user_info = {"groups": []}
    url = provider.authorize(browser.begin())
    answer = browser.call("GET", url.removeprefix(HOME), headers={"Accept": "text/html"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard?sign-in=groups")


def test_refused_sign_ins_of_one_address_are_limited(browser: PersonsBrowser, provider: LyingProvider):
    limit = policy_for().limits.failed_auth.limit
    answers = {browser.call("GET", "/sign-in/callback?state=x&code=y").status_code for _ in range(limit + 1)}

    assert answers == {403, 429}


def test_what_is_kept_of_a_sign_in_can_be_read_by_nobody_else(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)

    kept = world.services.store._tables._sign_ins  # type: ignore[attr-defined]
    assert len(kept) == 1
    assert not any(word in body for body in kept.values() for word in (b"refresh", b"ada", b"admins"))
    assert "refresh" not in str(browser.cookies)


def test_a_sign_in_is_recorded_with_the_person(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    signed_in(browser, provider)

    found = world.call("GET", "/activity", params={"action_type": "sign_in"}).json()
    assert found["activities"][0]["requested_by"] == browser.session()["person"]["id"]


def test_without_a_provider_there_is_no_sign_in_with_one(world: SigningIn):
    plain = World()
    try:
        assert plain.call("GET", "/sign-in", key=None).status_code == 404
        assert plain.call("GET", "/sign-in/callback", key=None).status_code == 404
        assert plain.call("GET", "/session", key=None).json() == {"signed_in": False}
    finally:
        plain.close()


def test_a_person_whose_name_changes_stays_the_same_person(
    browser: PersonsBrowser, provider: LyingProvider, world: SigningIn
):
    first = signed_in(browser, provider).session()["person"]
    provider.user_info = {"groups": ["admins"], "name": "Countess"}
    second = signed_in(PersonsBrowser(world), provider).session()["person"]

    assert first["id"] == second["id"]
    assert msgspec.json.encode(first) != msgspec.json.encode(second)
