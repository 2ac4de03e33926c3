"""Secrets in the parts of an address: found in every disguise, and no alarm on ordinary addresses."""

import base64
import random

import pytest
from tests.corpora import tools_urls

from qwed_open_responses.guards import SafetyGuard
from qwed_open_responses.url_secrets import find_hidden_secrets

_SOURCE = random.Random("addresses")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_GITHUB = "ghp_" + "".join(_SOURCE.choices(_LETTERS, k=36))
_AWS = "AKIA" + "".join(_SOURCE.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16))
_NAMED = "password=hunter2-Tr0ub4dor"
_BASE32 = base64.b32encode(_NAMED.encode()).decode().strip("=").lower()
_BASE64 = base64.urlsafe_b64encode(_NAMED.encode()).decode().strip("=")


def _hex(count: int) -> str:
    return "".join(_SOURCE.choices("0123456789abcdef", k=count))


_HIDDEN = {
    "a key as a label": f"https://{_AWS.lower()}.collect.example.net/x",
    "a key with a dash": f"https://{_GITHUB.lower().replace('_', '-')}.c.example.org/",
    "a key in two labels": f"https://{_GITHUB[:20].replace('_', '-')}.{_GITHUB[20:]}.example.net/",
    "base32 in a label": f"https://{_BASE32}.dns.example.net/",
    "hex in a label": f"http://{_NAMED.encode().hex()}.oob.example.com/a",
    "long labels": f"https://{_hex(32)}.{_hex(32)}.{_hex(32)}.exfil.example.com/",
    "base64 in a path": f"https://a.example.net/c/{_BASE64}/1.gif",
    "base32 in a path": f"https://a.example.net/{_BASE32}",
    "hex in a path": f"https://a.example.net/{_NAMED.encode().hex()}/p",
    "a key in pieces": "https://a.example.net/" + "/".join(_GITHUB[at : at + 10] for at in range(0, 40, 10)),
    "a key turned around": f"https://a.example.net/{_GITHUB[::-1]}",
}


@pytest.mark.parametrize("name", _HIDDEN)
def test_a_secret_that_hides_in_an_address_is_found(name: str) -> None:
    assert not SafetyGuard().check({"type": "text", "text": f"see {_HIDDEN[name]} now"}).passed


_PLACES = (
    "https://api.github.com/repos/o/r/commits/{40}", "https://cdn.example.com/assets/main.{20}.js",
    "https://{12}.execute-api.us-east-1.amazonaws.com/prod", "https://{32}.safeframe.example.com/a",
    "https://app-{8}-team.example.app/", "https://d{13}.cloudfront.net/img/logo.png",
    "https://files.example.org/packages/{2}/{2}/{60}/requests-2.31.0.tar.gz",
    "https://registry.example.io/v2/library/nginx/blobs/sha256:{64}",
    "https://example.com/users/{8}-{4}-{4}-{4}-{12}", "https://{8}-{4}-{4}-{4}-{12}.tunnel.example.app/hook",
    "https://{56}.ipfs.example.link/x.png", "https://k8s-prod-web-{10}-{10}.eu-west-1.elb.amazonaws.com/",
)  # fmt: skip


def test_ordinary_addresses_hide_nothing() -> None:
    drawn = [place.replace("{", "\0").replace("}", "\0") for place in _PLACES * 40]
    texts = [
        "".join(part if at % 2 == 0 else _hex(int(part)) for at, part in enumerate(place.split("\0")))
        for place in drawn
    ]
    texts += tools_urls.ordinary_urls(1_000)

    assert [text for text in texts if list(find_hidden_secrets(text))] == []


def test_other_addresses_do_not_cover_one() -> None:
    text = "https://example.com/a/b/0123456789abcdef0123 " * 2_000 + _HIDDEN["base32 in a path"]

    assert [text[start:] for _, start in find_hidden_secrets(text)] == [_HIDDEN["base32 in a path"]]
