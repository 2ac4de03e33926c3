"""What the documentation tells receivers to do is what proves a delivery, and nothing else."""

import re
import time
from pathlib import Path

import pytest

from qwed.domain.signatures import signature
from qwed.domain.webhooks import Event, Topic

PAGE = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text(encoding="utf-8")
BODY, SECRET = b'{"id":"evt_1","type":"test"}', "whsec_secret"


def snippets():
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M):
        exec(code, names)
    return names["receive"], names["is_genuine"]


def headers(**changes):
    signed = signature(SECRET, int(time.time()), "evt_1", BODY)
    return {"QWED-Signature": signed, "QWED-Event-Id": "evt_1", **changes}


@pytest.mark.parametrize("check", snippets(), ids=["sdk", "plain"])
def test_the_documented_check_accepts_what_is_ours_and_nothing_else(check):
    old = signature(SECRET, int(time.time()) - 1000, "evt_1", BODY)

    assert check(headers(), BODY, SECRET)
    for given, body, secret in (
        (headers(), BODY + b" ", SECRET),
        (headers(), BODY, "whsec_other"),
        (headers(**{"QWED-Event-Id": "evt_2"}), BODY, SECRET),
        (headers(**{"QWED-Signature": old}), BODY, SECRET),
        (headers(**{"QWED-Signature": "v1=00"}), BODY, SECRET),
        (headers(**{"QWED-Signature": ""}), BODY, SECRET),
    ):
        assert not check(given, body, secret)


def test_every_topic_and_event_is_documented():
    for topic in Topic:
        assert f"| `{topic}` |" in PAGE
    for event in Event:
        if event is not Event.TEST:
            name = event.value if f"`{event}`" in PAGE else f".{event.value.partition('.')[2]}"
            assert f"`{name}`" in PAGE
