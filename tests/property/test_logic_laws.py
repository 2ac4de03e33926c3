"""What must hold for every formula, against truth tables and enumeration."""

import itertools
import random
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.corpora import logic

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.logic import LogicEngine, critical_points
from qwed.engines.logic.evaluate import World, evaluate
from qwed.engines.logic.notation import read_action
from qwed.engines.logic.outcomes import Satisfiable, UnknownOutcome, Unsatisfiable
from qwed.engines.logic.sexpr import read, write
from qwed.engines.logic.smt import Solver
from qwed.engines.logic.values import Vector

engine = LogicEngine()
dice = st.randoms(use_true_random=False)


def ask(query, **parameters):
    return engine.verify(Action("verify_logic", query=query, parameters=parameters))


@given(dice)
@settings(max_examples=150, deadline=None)
def test_a_proposition_is_satisfiable_when_its_truth_table_says_so(random_source):
    tree = logic.proposition(random_source, 4)
    expected = any(logic.truth(tree, world) for world in logic.worlds(logic.names_of(tree)))

    for text in (logic.infix(tree, random_source), f"(and true {logic.prefix(tree, random_source)})"):
        finding = ask(text)
        assert (finding.status is Status.VERIFIED) == expected
        if expected:
            model = {name: bool(finding.evidence["model"].get(name)) for name in logic.names_of(tree)}
            assert logic.truth(tree, model)


@given(dice)
@settings(max_examples=100, deadline=None)
def test_a_formula_is_valid_exactly_when_its_denial_is_unsatisfiable(random_source):
    text = logic.infix(logic.proposition(random_source, 3), random_source)

    valid = ask(text, question="valid").status
    denial = ask(f"not ({text})").status

    assert (valid is Status.VERIFIED) == (denial is Status.FAILED)


@given(dice)
@settings(max_examples=60, deadline=None)
def test_integers_within_stated_bounds_are_decided_as_by_trying_them_all(random_source):
    case = logic.integers(random_source)

    finding = ask(case.query)

    assert (finding.status.value, finding.evidence["answer"]) == (case.status, case.answer)


@given(dice)
@settings(max_examples=40, deadline=None)
def test_bit_vectors_are_decided_as_by_trying_them_all(random_source):
    case = logic.bit_vectors(random_source)

    assert ask(case.query).status.value == case.status


@given(dice)
@settings(max_examples=40, deadline=None)
def test_equality_is_decided_as_by_trying_every_structure(random_source):
    case = logic.equality(random_source)

    assert ask(case.query).status.value == case.status


_bounds = st.tuples(
    st.sampled_from(["x", "y"]),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    st.fractions(-4, 4, max_denominator=3),
)


@given(st.lists(_bounds, min_size=1, max_size=5), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_our_own_procedure_agrees_with_the_solver(atoms, is_real, random_source):
    """On everything it accepts, including how atoms are combined."""
    texts = [f"({name} {sign} {bound.numerator}/{bound.denominator})" for name, sign, bound in atoms]
    while len(texts) > 1:
        left, right = texts.pop(), texts.pop()
        texts.append(f"({left} {random_source.choice(['and', 'or', '->', 'xor'])} {right})")
    sort = "real" if is_real else "int"
    reading = read_action(Action("t", query=texts[0], parameters={"variables": {"x": sort, "y": sort}}))
    terms = [statement.term for statement in reading.goals]
    ours = critical_points.fits(reading.problem, terms)
    assume(ours is not None)

    answers = [decider.decide(reading.problem, terms) for decider in (ours, Solver())]

    assert type(answers[0]) is type(answers[1])
    assert isinstance(answers[0], Satisfiable | Unsatisfiable)


@given(st.lists(st.fractions(-6, 6, max_denominator=4), max_size=6, unique=True))
def test_between_and_beyond_any_points_there_is_a_sample(points):
    points = sorted(points)
    reals = critical_points._reals(points)
    integers = critical_points._integers(points)

    for low, high in itertools.pairwise([Fraction(-100), *points, Fraction(100)]):
        assert any(low < value < high for value in reals)
        if any(low < value < high for value in range(-99, 100)):
            assert any(low < value < high for value in integers)
    assert set(points) <= reals
    assert {int(point) for point in points if point.denominator == 1} <= integers


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_raises(text):
    action = Action("verify_logic", query=text)

    assert isinstance(engine.is_quick(action), bool)
    assert engine.verify(action).status in Status


_fragments = st.sampled_from(
    (
        *(
            "(",
            ")",
            "x",
            "p",
            "and",
            "∀x",
            "∃",
            "=>",
            "<=",
            "1.5",
            "-",
            "f(",
            ",",
            "[",
            "]",
            "not ",
            "⊢",
            "\n",
        ),
        *(";", "(assert ", "(declare-const x Int)", "(check-sat)", "let", '"', "|", "{", "}", "in", "if "),
        *("then ", "0x", "^"),
    )
)


@given(st.lists(_fragments, max_size=25).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_no_heap_of_fragments_raises(text):
    finding = engine.verify(Action("verify_logic", query=text))

    assert finding.status in Status
    assert finding.reason


_expressions = st.recursive(
    st.sampled_from(["x", "5", "|two words|", '"te""xt"', "#b01", "é", "+"]),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=20,
)


@given(st.lists(_expressions, max_size=4))
def test_what_is_written_is_read_again(expressions):
    assert read(" ".join(map(write, expressions))) == expressions


@given(st.integers(1, 12), st.integers(0), st.integers(0), st.sampled_from(sorted(logic._VECTORS)))
@settings(max_examples=200)
def test_bit_vector_arithmetic_agrees_with_the_definition(width, left, right, operator):
    size = 1 << width
    left, right = left % size, right % size
    world = World({"a": Vector(left, width), "b": Vector(right, width)})
    if operator == "bvudiv" and right == 0:
        expected = size - 1
    elif operator == "bvurem" and right == 0:
        expected = left
    elif operator in ("bvshl", "bvlshr") and right >= width:
        expected = 0
    else:
        expected = logic._VECTORS[operator](left, right) % size

    assert evaluate((operator, "a", "b"), world) == Vector(expected, width)


@given(st.integers(-20, 20), st.integers(-6, 6).filter(bool))
def test_division_obeys_its_law(dividend, divisor):
    world = World({"a": dividend, "b": divisor})
    quotient, remainder = evaluate(("div", "a", "b"), world), evaluate(("mod", "a", "b"), world)

    assert dividend == divisor * quotient + remainder
    assert 0 <= remainder < abs(divisor)


@given(st.integers(-20, 20), st.integers(-6, 6).filter(bool))
@settings(max_examples=30, deadline=None)
def test_infix_division_rounds_down_as_python_does(dividend, divisor):
    quotient = ask(f"({dividend}) // ({divisor}) = ({dividend // divisor})")
    remainder = ask(f"({dividend}) % ({divisor}) = ({dividend % divisor})")

    assert (quotient.status, remainder.status) == (Status.VERIFIED, Status.VERIFIED)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_entailment_is_monotone(seed):
    """More premises never take a conclusion away, unless they contradict each other."""
    source = random.Random(seed)
    premises = [logic.infix(logic.proposition(source, 2), source) for _ in range(3)]
    goal = logic.infix(logic.proposition(source, 2), source)
    before = ask(goal, premises=premises[:2]).evidence["answer"]
    after = ask(goal, premises=premises).evidence["answer"]

    assert before != "entailed" or after in ("entailed", "contradictory_premises")


def test_a_solver_that_gives_up_is_never_a_yes_or_a_no(monkeypatch):
    monkeypatch.setattr(Solver, "decide", lambda *_: UnknownOutcome("resources", "gave up"))

    for question in ("satisfiable", "unsatisfiable", "valid", "entailed", "consistent"):
        assert ask("x * y = 12", question=question).status is Status.UNCERTAIN
