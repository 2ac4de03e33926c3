"""One effect, one rule: the matrix of forbidden effects, each cell with samples of its own."""

import pytest
from tests.corpora import code_effects, effects_shell

from qwed.domain.findings import Status
from qwed.engines.code import inspect_code
from qwed.engines.code.effects import EFFECTS, name_effects, rules_of

COLUMNS = {
    "shell": {
        effect: (*effects_shell.SAMPLES[effect], *code_effects.HARMFUL[effect]["shell"]) for effect in EFFECTS
    },
    "python": {effect: code_effects.HARMFUL[effect]["python"] for effect in EFFECTS},
    "javascript": {effect: code_effects.HARMFUL[effect]["javascript"] for effect in EFFECTS},
}
CELLS = [
    (language, effect, text)
    for language, column in COLUMNS.items()
    for effect, texts in column.items()
    for text in texts
]


@pytest.mark.parametrize(("language", "effect", "text"), CELLS)
def test_a_program_with_a_forbidden_effect_is_refused_or_asked_about_and_the_effect_is_named(
    language, effect, text
):
    verdict = inspect_code(language, text)

    assert verdict.status is not Status.VERIFIED
    assert effect in name_effects(language, verdict.problems)


EVERYDAY = [
    (language, text)
    for effect in EFFECTS
    for language, texts in code_effects.ORDINARY[effect].items()
    for text in texts
]


@pytest.mark.parametrize(("language", "text"), EVERYDAY)
def test_the_ordinary_counterpart_of_a_forbidden_effect_is_not_refused(language, text):
    assert inspect_code(language, text).status is not Status.FAILED


@pytest.mark.parametrize("language", COLUMNS)
def test_every_effect_has_samples(language):
    assert {effect for effect, texts in COLUMNS[language].items() if len(texts) >= 10} == set(EFFECTS)


@pytest.mark.parametrize("language", ["python", "shell", "javascript"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_every_effect_has_rules_in_every_language(effect, language):
    assert rules_of(effect, language)


def test_ordinary_programs_have_none_of_the_effects():
    for text in (
        "ls -la",
        "rm -rf build",
        "curl -s https://a.example",
        "make -j4",
        "dd if=/dev/zero of=x count=8",
    ):
        assert name_effects("shell", inspect_code("shell", text).problems) == ()
