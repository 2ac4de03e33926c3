"""Published example keys and stand-ins are no secrets; keys that look like them are."""

import base64

import pytest

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import SafetyGuard

_HEADER = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
_CLAIMS = (
    base64.urlsafe_b64encode(b'{"sub":"1234567890","name":"John Doe","iat":1516239022}').decode().rstrip("=")
)
_REAL_CLAIMS = (
    base64.urlsafe_b64encode(b'{"sub":"u-8817","iat":1516239022,"scope":"all"}').decode().rstrip("=")
)
_SIGNATURE = "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"


def _passes(text: str) -> bool:
    return (
        ResponseVerifier()
        .verify_tool_call("save", {"text": text}, guards=[SafetyGuard(max_calls=None)])
        .verified
    )


@pytest.mark.parametrize(
    "text",
    [
        "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "curl https://api.stripe.com/v1/charges -u sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc:",
        f"Authorization: Bearer {_HEADER}.{_CLAIMS}.{_SIGNATURE}",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "X-API-Key: test-api-key-123",
        "SECRET_KEY=django-insecure-abc123",
        "postgres://postgres:postgres@db/app",
    ],
)
def test_published_examples_and_stand_ins_pass(text: str) -> None:
    assert _passes(text)


@pytest.mark.parametrize(
    "text",
    [
        "aws_access_key_id = AKIA" + "Z7QPLM4RT2WXVBN6",
        "GITHUB_TOKEN=ghp_" + "q9Zt3LmX7vRc2KpW8sYd5NhB4gFj6TaE1uQo",
        f"Authorization: Bearer {_HEADER}.{_REAL_CLAIMS}.{_SIGNATURE}",
        "password=hunter2",
        "api_key=9b1f7c3e52d84a60b7e1c9d3f5a28460",
    ],
)
def test_keys_that_look_like_them_are_refused(text: str) -> None:
    assert not _passes(text)
