"""JSONTestSuite, on the reader that every request passes through.

`y_` is read (a repeated key excepted), `n_` is refused or kept as a named literal without a value,
`i_` goes either way, and nothing raises anything but `JsonError`.
"""

import pytest
from tests.support.vectors import suite_folder

from qwed.domain.json_text import JsonError, RepeatedKey, TooDeep, Unrepresentable, loads

VECTORS = suite_folder("json-parsing")
FILES = sorted((VECTORS / "test_parsing").glob("*.json"))


def vectors(prefix):
    return pytest.mark.parametrize(
        "file", [f for f in FILES if f.name.startswith(prefix)], ids=lambda f: f.stem
    )


def holds_unrepresentable(value) -> bool:
    if isinstance(value, dict):
        return any(map(holds_unrepresentable, value.values()))
    if isinstance(value, list):
        return any(map(holds_unrepresentable, value))
    return isinstance(value, Unrepresentable)


@vectors("y_")
def test_what_must_be_accepted_is_read(file):
    if file.stem in ("y_object_duplicated_key", "y_object_duplicated_key_and_value"):
        with pytest.raises(RepeatedKey):
            loads(file.read_bytes())
    else:
        loads(file.read_bytes())


@vectors("n_")
def test_what_must_be_refused_is_refused_or_has_no_value(file):
    try:
        value = loads(file.read_bytes())
    except JsonError:
        return
    # NaN and the infinities are kept as what they are, so that the field they stand in can be named.
    assert holds_unrepresentable(value)


@vectors("i_")
def test_what_may_go_either_way_never_raises_anything_else(file):
    try:
        loads(file.read_bytes())
    except JsonError:
        return


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 65 + b"]" * 65])
def test_nesting_beyond_the_bound_is_named_as_such(text):
    with pytest.raises(TooDeep):
        loads(text)


def test_nesting_up_to_the_bound_is_read():
    assert loads(b"[" * 64 + b"]" * 64)
    assert loads(b'["' + b"[" * 1000 + b'"]') == ["[" * 1000]
