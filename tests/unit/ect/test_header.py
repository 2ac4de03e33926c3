"""The Execution-Context header within its limits."""

import pytest

from qwed.ect import HeaderTooLarge, PresentedTokens, read_header, write_header


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [
        ([], ()),
        ([""], ()),
        (["a"], ("a",)),
        (["a", "b"], ("a", "b")),
        (["a, b", "c"], ("a", "b", "c")),
        (["a,b,\t a ,,"], ("a", "b")),
        ([" , ,"], ()),
    ],
)
def test_lines_and_commas_mean_the_same_and_a_token_counts_once(lines, tokens):
    assert read_header(lines) == PresentedTokens(tokens)


def test_the_limits_are_32_tokens_and_32_kib():
    assert len(read_header([str(n) for n in range(32)]).tokens) == 32
    assert read_header([str(n) for n in range(33)]).status == 431
    assert read_header([",".join(["same"] * 33)]).status == 431
    assert isinstance(read_header(["x" * 32_768]), PresentedTokens)
    assert isinstance(read_header(["x" * 32_769]), HeaderTooLarge)
    assert isinstance(read_header(["x" * 20_000, "y" * 20_000]), HeaderTooLarge)
    assert isinstance(read_header(["é" * 20_000]), HeaderTooLarge)


def test_writing_keeps_the_limits_too():
    assert read_header(write_header(["a", "b"])) == PresentedTokens(("a", "b"))
    with pytest.raises(ValueError, match="at most"):
        write_header(["x"] * 33)
