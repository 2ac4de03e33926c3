"""Which size a test has in which tier, and which tests a tier leaves out."""

import pytest
from tests.support.tiers import is_left_out, scale, tier


@pytest.fixture(params=["ci", "nightly", "long"])
def name(request, monkeypatch):
    monkeypatch.setenv("QWED_TIER", request.param)
    return request.param


def test_without_a_name_the_run_is_the_small_one(monkeypatch):
    monkeypatch.delenv("QWED_TIER", raising=False)
    assert tier() == "ci"
    monkeypatch.setenv("QWED_TIER", "")
    assert tier() == "ci"


def test_an_unknown_tier_is_a_mistake_and_no_small_run(monkeypatch):
    monkeypatch.setenv("QWED_TIER", "weekly")
    with pytest.raises(ValueError, match="one of ci, nightly, long"):
        tier()


def test_each_tier_has_its_size(name):
    assert scale(ci=1, nightly=2, long=3) == {"ci": 1, "nightly": 2, "long": 3}[name]


def test_a_tier_that_is_not_named_takes_the_size_before_it(name):
    assert scale(ci=1, long=3) == {"ci": 1, "nightly": 1, "long": 3}[name]
    assert scale(ci=1, nightly=2) == {"ci": 1, "nightly": 2, "long": 2}[name]


def test_a_tier_leaves_out_what_is_marked_for_a_larger_one(name):
    assert is_left_out({"parametrize"}) is False
    assert is_left_out({"nightly"}) is (name == "ci")
    assert is_left_out({"long"}) is (name != "long")
