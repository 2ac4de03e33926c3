"""The corpora of policies: mistakes are named at their rule, and correct policies are left in peace."""

import io
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.tiers import scale

from qwed.domain.policy import Policy
from qwed.policy import PolicyError, load_policy
from qwed.rules.analysis.findings import analyse_rules

_FOLDER = Path(__file__).parents[2] / "corpora" / "policies"


def _load(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    corpus = YAML(typ="safe", pure=True).load((_FOLDER / name).read_text())
    return corpus["cases"], corpus["tools"]


def _policy(case: dict[str, Any], tools: dict[str, Any]) -> Policy:
    text = io.StringIO()
    YAML(typ="safe", pure=True).dump({"tools": tools, "rules": case["rules"]}, text)
    return load_policy(text.getvalue(), case["name"])


_MISTAKEN, _MISTAKEN_TOOLS = _load("mistaken.yaml")
_CORRECT, _CORRECT_TOOLS = _load("correct.yaml")
#: Every so many of the generated ones; the handwritten come first.
_STRIDE = scale(ci=12, nightly=3, long=1)


@pytest.mark.parametrize("case", _MISTAKEN, ids=lambda case: case["name"])
def test_a_mistake_is_found_at_its_rule(case: dict[str, Any]) -> None:
    """What does not check is found when the policy is loaded, everything else by the analysis."""
    rule = case.get("at", case["rules"][0]["id"])
    if case["finds"] == "does-not-check":
        with pytest.raises(PolicyError) as refused:
            _policy(case, _MISTAKEN_TOOLS)
        place = [each["id"] for each in case["rules"]].index(rule)
        assert any(mistake.path.startswith(f"rules[{place}].") for mistake in refused.value.mistakes)
        assert all(mistake.line > 0 for mistake in refused.value.mistakes)
        return
    found = analyse_rules(_policy(case, _MISTAKEN_TOOLS)).findings

    assert case["finds"] in {finding.code for finding in found if finding.rule == rule}
    assert all(finding.line > 0 for finding in found)


@pytest.mark.parametrize("case", _CORRECT[::_STRIDE], ids=lambda case: case["name"])
def test_a_correct_policy_has_no_findings(case: dict[str, Any]) -> None:
    assert analyse_rules(_policy(case, _CORRECT_TOOLS)).findings == ()


def test_the_corpora_are_as_large_as_promised() -> None:
    assert len(_MISTAKEN) >= 60
    assert len(_CORRECT) >= 200
    assert len({case["name"] for case in (*_MISTAKEN, *_CORRECT)}) == len(_MISTAKEN) + len(_CORRECT)
