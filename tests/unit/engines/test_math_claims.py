"""The corpus of generated claims: every right one is verified, every wrong one is not."""

import random
import re
from pathlib import Path

import pytest
from tests.corpora import math_claims

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.engines.math import MathEngine

_ENGINE = MathEngine()


def _verify(text: str):
    return _ENGINE.verify(Action("verify_math", text))


@pytest.mark.parametrize("family", sorted(math_claims.FAMILIES))
def test_every_right_claim_is_verified(family):
    right = [claim.text for claim in math_claims.claims(family) if claim.is_right]

    findings = {text: _verify(text) for text in right}
    missed = [(text, one.reason) for text, one in findings.items() if one.status is not Status.VERIFIED]

    assert right
    assert missed == []


@pytest.mark.parametrize("family", sorted(math_claims.FAMILIES))
def test_every_wrong_claim_is_corrected_to_what_verifies_or_refused(family):
    wrong = [claim for claim in math_claims.claims(family) if not claim.is_right]

    for claim in wrong:
        finding = _verify(claim.text)
        assert finding.status in (Status.CORRECTED, Status.FAILED), (claim.text, finding.reason)
        if finding.status is Status.FAILED:
            assert finding.failure is Failure.INCORRECT, claim.text
        else:
            assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED, claim.text
        if claim.corrected is not None:
            assert finding.corrected is not None, claim.text
            assert finding.corrected.query == claim.corrected
    assert wrong


def test_bare_expressions_have_the_value_that_fractions_give():
    source = random.Random("math expressions")
    checked = 0
    for _ in range(800):
        for text, value in math_claims.expressions(source):
            finding = _verify(text)
            assert finding.status is Status.VERIFIED, (text, finding.reason)
            assert math_claims.Fraction(finding.evidence["value"]) == value, text
            checked += 1
    assert checked > 600


def test_the_documented_counts_are_those_of_the_corpus():
    page = (Path(__file__).parents[3] / "docs" / "engines" / "math.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| ([0-9,]+) \| 100 % \| ([0-9,]+) \| 100 % \|", page)
    documented = [sum(int(row[column].replace(",", "")) for row in rows) for column in (0, 1)]
    corpus = [claim for family in math_claims.FAMILIES for claim in math_claims.claims(family)]

    right = sum(claim.is_right for claim in corpus)
    assert documented == [right, len(corpus) - right]
