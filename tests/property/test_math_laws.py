"""The math engine against fractions: what it verifies is so, what it corrects it corrects rightly."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.engines.math import MathEngine

_ENGINE = MathEngine()


def _verify(text):
    return _ENGINE.verify(Action("calculate", text))


# A tree is (text, value or None where it divides by zero).
_NUMBERS = st.one_of(
    st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n))),
    st.integers(0, 10**6).map(lambda n: (f"{n:,}", Fraction(n))),
    st.decimals(0, 10**6, places=3, allow_nan=False).map(lambda d: (str(d), Fraction(d))),
)


def _combined(parts):
    (left, a), sign, (right, b) = parts
    text = f"({left}){sign}({right})"
    if a is None or b is None or (sign == "/" and b == 0):
        return text, None
    return text, {"+": a + b, "-": a - b, "*": a * b, "/": None if b == 0 else a / b}[sign]


_TREES = st.recursive(
    _NUMBERS, lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(_combined), max_leaves=8
)


def _written(value):
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


@settings(max_examples=300, deadline=None)
@given(_TREES)
def test_the_value_is_the_one_that_fractions_give(tree):
    text, value = tree
    finding = _verify(text)

    if value is None:
        assert (finding.status, finding.failure) == (Status.FAILED, Failure.INCORRECT)
    else:
        assert finding.status is Status.VERIFIED
        assert Fraction(finding.evidence["value"]) == value


@settings(max_examples=200, deadline=None)
@given(_TREES, _TREES, st.sampled_from(["=", "<", ">", "<=", ">=", "≠"]))
def test_a_relation_is_verified_exactly_when_it_holds(left, right, sign):
    (first, a), (second, b) = left, right
    finding = _verify(f"{first} {sign} {second}")
    if a is None or b is None:
        assert finding.status is Status.FAILED
        return
    holds = {"=": a == b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "≠": a != b}[sign]
    is_rounded = "rounded" in finding.reason

    if holds or is_rounded:
        assert finding.status is Status.VERIFIED
    else:
        # Of two computations nobody knows which is the claimed value.
        assert finding.status in (Status.CORRECTED, Status.FAILED)


@settings(max_examples=200, deadline=None)
@given(_TREES, st.fractions(max_denominator=100).filter(bool))
def test_a_wrong_result_is_corrected_to_the_right_one(tree, error):
    text, value = tree
    # Of a lone number and a fraction, the number is the stated result.
    if value is None or "(" not in text:
        return
    finding = _verify(f"{text} = {_written(value + error)}")

    assert finding.status is Status.CORRECTED
    left, _, result = finding.corrected.query.partition(" = ")
    assert left == text
    assert abs(Fraction(result) - value) <= Fraction(1, 10**6)
    assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**6), 10**6), st.integers(1, 999), st.integers(1, 6), st.integers(-(10**5), 10**5))
def test_a_decimal_result_is_right_exactly_when_the_value_rounds_to_it(top, bottom, places, steps):
    value = Fraction(top, bottom)
    shown = Fraction(round(value * 10**places) + steps, 10**places)
    sign, digits = ("-" if shown < 0 else ""), f"{abs(int(shown * 10**places)):0{places + 1}d}"
    finding = _verify(f"{top}/{bottom} = {sign}{digits[:-places]}.{digits[-places:]}")

    is_right = abs(value - shown) * 2 * 10**places <= 1
    assert (finding.status is Status.VERIFIED) == is_right


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=4),
    st.lists(st.integers(-50, 50), min_size=1, max_size=4),
)
def test_a_product_of_polynomials_is_an_identity_exactly_when_its_coefficients_agree(first, second):
    product = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            product[i + j] += a * b
    left = f"({_polynomial(first)}) * ({_polynomial(second)} + x^9)"
    shifted = [0] * 9 + first
    total = [a + b for a, b in zip(product + [0] * 20, shifted + [0] * 20, strict=False)]

    assert _verify(f"{left} = {_polynomial(total)}").status is Status.VERIFIED
    total[1] += 1
    assert _verify(f"{left} = {_polynomial(total)}").status is not Status.VERIFIED


def _polynomial(coefficients):
    return " + ".join(f"({factor})x^{power}" for power, factor in enumerate(coefficients))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=4, unique=True), st.integers(-20, 20))
def test_a_list_of_solutions_is_right_exactly_when_it_is_the_set_of_roots(roots, other):
    equation = " * ".join(f"(x - ({root}))" for root in roots) + " = 0"
    claimed = [*roots[:-1], other]
    said = ", ".join(f"x = {root}" for root in claimed)
    finding = _verify(f"{equation} has solutions {said}")

    assert (finding.status is Status.VERIFIED) == (set(claimed) == set(roots))


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_answered_and_only_a_verified_correction_is_offered(text):
    finding = _verify(text)

    assert "could not be worked out" not in finding.reason
    assert finding == _verify(text)
    if finding.corrected is not None:
        assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED


_WORDS = (
    *(
        "2",
        "3.5",
        "$4",
        "10%",
        "x",
        "y",
        "+",
        "-",
        "*",
        "/",
        "^",
        "(",
        ")",
        "=",
        "is",
        "of",
        "and",
        "the",
        "half",
    ),
    *(
        "plus",
        "times",
        "sum",
        "mean",
        "square",
        "root",
        "percent",
        "hours",
        "minutes",
        "dozen",
        "apples",
        "not",
    ),
    *(",", ".", "?", "solve", "has", "solutions", "derivative", "integral", "from", "to", "dx", "sin", "7!"),
    *("[", "]", "mod"),
)
_SENTENCES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=500, deadline=None)
@given(_SENTENCES)
def test_any_sentence_of_its_own_words_is_answered(text):
    finding = _verify(text)

    assert "could not be worked out" not in finding.reason
    if finding.corrected is not None:
        assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED
