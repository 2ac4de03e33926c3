# ruff: noqa: E501 - a program on one line is easier to compare with its neighbour
"""Weak programs and their look-alikes: on the half that no rule was written from, and what must not be lost."""

import pytest
from tests.corpora.code_views import programs
from tests.corpora.weak_pairs import halves, second

from qwed.domain.findings import Status
from qwed.engines.code import inspect_python
from qwed.engines.code.inspect import inspect_code


def is_found(language, text):
    return inspect_code(language, text).status is not Status.VERIFIED


def test_nine_of_ten_weak_views_are_found_and_one_in_twenty_look_alikes_at_most():
    held_out = programs(is_measured=True)
    weak = [each for each in held_out if each.is_weak]
    alike = [each for each in held_out if not each.is_weak]

    assert sum(is_found("python", each.text) for each in weak) >= 0.9 * len(weak)
    assert sum(is_found("python", each.text) for each in alike) <= 0.05 * len(alike)


def test_four_of_five_weak_pairs_are_found_with_few_alarms_on_the_half_that_is_measured():
    _, held_out = halves()

    assert sum(is_found(pair.language, pair.weak) for pair in held_out) >= 0.8 * len(held_out)
    assert sum(is_found(pair.language, pair.safe) for pair in held_out) <= 0.06 * len(held_out)


@pytest.mark.parametrize("pair", halves()[0], ids=lambda pair: pair.title)
def test_a_pair_that_rules_were_written_from_is_told_apart(pair):
    assert is_found(pair.language, pair.weak)
    assert not is_found(pair.language, pair.safe)


@pytest.mark.parametrize(
    "text",
    [
        # What looks dead is looked at.
        "import os\ndef f():\n    n = 1\n    if n > 5:\n        os.system('rm -rf /')\n",
        # Somebody else changes the name.
        "import os\ndef f():\n    n = 1\n    def g():\n        nonlocal n\n        n = 9\n    g()\n    c = 'ls'\n"
        "    if n > 5:\n        c = 'rm -rf /'\n    os.system(c)\n",
        # Run in place, it sets nothing that the function sees.
        "import os\ndef f():\n    n = 1\n    exec('n = 9')\n    c = 'ls'\n    if n == 1:\n        c = 'rm -rf /'\n    os.system(c)\n",
        # A loop changes it later.
        "import os\ndef f():\n    n = 1\n    c = 'ls'\n    for _ in range(3):\n        if n == 2:\n            c = 'rm -rf /'\n"
        "        n += 1\n    os.system(c)\n",
        # A list that one branch shortens.
        "import os\ndef f(x):\n    a = ['ls', 'rm -rf /']\n    if x:\n        a.pop(0)\n    os.system(a[0])\n",
        # A list that others share.
        "import os\nA = ['ls', 'rm -rf /']\ndef g():\n    A.pop(0)\ndef f():\n    g()\n    os.system(A[0])\n",
        # A module's name belongs to everybody.
        "import os\nn = 1\ndef g():\n    global n\n    n = 9\ndef f():\n    c = 'ls'\n    if n == 9:\n        c = 'rm -rf /'\n    os.system(c)\n",
        "import os\ndef f(k):\n    d = {'a': 'ls', 'b': 'rm -rf /'}\n    os.system(d[k])\n",
        "import os\ndef f():\n    c = 'ls'\n    n = 3\n    match n:\n        case 3:\n            c = 'rm -rf /'\n    os.system(c)\n",
        "import os\ndef f():\n    c = 'ls'\n    n = 3\n    try:\n        n = int('x')\n    except ValueError:\n        n = 9\n"
        "    if n == 9:\n        c = 'rm -rf /'\n    os.system(c)\n",
    ],
)
def test_what_decides_a_condition_is_never_guessed(text):
    assert inspect_python(text).status is not Status.VERIFIED


@pytest.mark.parametrize(
    "text", ["k = 'AKIAIOSFODNN7EXAMPLE'", "k = 'AIzaXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX'", "k = 'ghp_'"]
)
def test_published_examples_and_placeholders_are_no_keys(text):
    assert not inspect_python(text).harms


@pytest.mark.parametrize(("language", "least"), [("python", 0.94), ("javascript", 0.85)])
def test_of_the_programs_written_later_the_weak_ones_are_found_and_no_look_alike_is_refused(language, least):
    given = [
        (is_weak, kind, bool(inspect_code(language, text).harms)) for is_weak, kind, text in second(language)
    ]
    found = [is_found for is_weak, _, is_found in given if is_weak]

    assert [kind for is_weak, kind, is_found in given if is_found and not is_weak] == []
    assert sum(found) >= least * len(found)
