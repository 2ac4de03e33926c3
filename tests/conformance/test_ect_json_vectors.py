"""JSONTestSuite through the claims of a token: its fast reader takes nothing that the strict one refuses."""

import pytest
from tests.support.vectors import suite_folder

from qwed.domain import json_text
from qwed.ect import jws

VECTORS = suite_folder("json-parsing")
FILES = sorted((VECTORS / "test_parsing").glob("*.json"))


def strict(payload):
    try:
        value = json_text.loads(payload, max_depth=16)
    except json_text.JsonError:
        return None
    return value if isinstance(value, dict) and not jws.holds_unrepresentable(value) else None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_two_readers_of_claims_agree(file):
    raw = file.read_bytes()
    for payload in (raw, b'{"v":' + raw + b"}", b'{"v" :' + raw + b',"w":1}'):
        fast = jws._plain_object(payload)
        assert fast is None or fast == strict(payload)
        if strict(payload) is None:
            with pytest.raises(jws.InvalidToken):
                jws.claims_of(payload)
        else:
            assert jws.claims_of(payload) == strict(payload)


def test_some_take_the_fast_way():
    taken = [file for file in FILES if jws._plain_object(b'{"v":' + file.read_bytes() + b"}") is not None]

    assert len(taken) > 30
