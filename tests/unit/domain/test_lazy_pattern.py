"""A lazy pattern is the pattern, later."""

import re

import pytest

from qwed.domain.lazy_pattern import lazy_pattern


def test_it_matches_as_the_compiled_pattern_does() -> None:
    lazy, compiled = lazy_pattern(r"(?i)(a+)b"), re.compile(r"(?i)(a+)b")

    assert lazy.findall("xAAb ab") == compiled.findall("xAAb ab") == ["AA", "a"]
    assert lazy.sub(r"\1", "aab") == "aa"
    assert lazy.search("zzz") is None


def test_flags_are_kept() -> None:
    assert lazy_pattern("^b", re.MULTILINE).search("a\nb") is not None


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = lazy_pattern("(")

    with pytest.raises(re.error):
        broken.search("x")


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        lazy_pattern("a").no_such_method  # type: ignore[attr-defined]
