import pytest
from tests.corpora import logic
from tests.support.tiers import scale

from qwed.domain.actions import Action
from qwed.engines.logic import LogicEngine

engine = LogicEngine()


def test_every_generated_case_gets_the_answer_found_by_trying_everything():
    wrong = []
    for case in logic.cases(scale(ci=300, nightly=3_000, long=20_000), seed=11):
        finding = engine.verify(Action("verify_logic", query=case.query, parameters=case.parameters))
        if (finding.status.value, finding.evidence.get("answer")) != (case.status, case.answer):
            wrong.append((case, finding))

    assert not wrong


def test_the_corpus_holds_both_answers_of_every_family():
    seen = {(case.family, case.status) for case in logic.cases(250, seed=3)}

    for family in logic.FAMILIES:
        name = family.__name__.replace("_", " ")
        assert {(name, "VERIFIED"), (name, "FAILED")} <= seen


@pytest.mark.parametrize("seed", [1, 2])
def test_the_corpus_is_the_same_for_the_same_seed(seed):
    assert list(logic.cases(50, seed)) == list(logic.cases(50, seed))
