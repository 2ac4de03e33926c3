import subprocess
import sys

import pytest
from tests.support.calls import counted_calls

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.engines.logic import LogicEngine, smt

engine = LogicEngine()


def ask(query, **parameters):
    return engine.verify(Action("verify_logic", query=query, parameters=parameters))


def answer(query, **parameters):
    finding = ask(query, **parameters)
    return finding.status.value, finding.evidence.get(
        "answer", finding.failure or finding.evidence.get("limit")
    )


SAT = ("VERIFIED", "satisfiable")
UNSAT = ("FAILED", "unsatisfiable")
# Nobody said whether integers or reals are meant, and it makes the difference.
UNSAID = ("UNCERTAIN", "unknown")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("x > 1", SAT),
        ("x > 1 and x < 0", UNSAT),
        ("(AND (GT x 5) (LT y 10))", SAT),
        ("(AND (GT x 5) (LT x 5))", UNSAT),
        ("(and (> x 5) (< x 7) (distinct x 6))", UNSAID),
        ("p ∧ ¬p", UNSAT),
        ("p && !p", UNSAT),
        ("p & ~p", UNSAT),
        ("p /\\ q \\/ r", SAT),
        ("not (p → q) and not p", UNSAT),
        ("(p ↔ q) and (p xor q)", UNSAT),
        ("p <=> q; p; not q", UNSAT),
        ("p implies q\nq implies r\np\nnot r", UNSAT),
        ("1 < x < 2", UNSAID),
        ("1 < x <= 2", SAT),
        ("1 < x < 2 and x != 1.5", SAT),
        ("x: real; 1 < x < 2", SAT),
        ("x, y ∈ ℝ; x < y; y < x", UNSAT),
        ("2x + 3 = 7", SAT),
        ("2x + 3 = 8", UNSAID),
        ("x² = 49 and x < 0", SAT),
        ("x^2 = -1", UNSAT),
        ("x % 2 = 1 and x // 2 = 3 and x != 7", UNSAT),
        ("-7 // 2 = -4 and -7 % 2 = 1", SAT),
        ("7 // -2 = -4 and 7 % -2 = -1", SAT),
        ("x // y = 2 and x % y = -1 and y = -3", SAT),
        ("abs(x) = 3 and x < 0 and max(x, 1) = 1 and min(x, 5) = -3", SAT),
        ("if p then q else r", SAT),
        ("If(p, 1, 2) = 3", UNSAT),
        ("And(p, Or(q, r), Not(p))", UNSAT),
        ("x in {1, 2, 3} and x > 2", SAT),
        ("x not in {1, 2} and 0 < x < 3", UNSAID),
        ('colour = "red" and colour = "blue"', UNSAT),
        ('colour != "red" and colour != "blue"', SAT),
        ("a[1] = 2 and a[1] = 3", UNSAT),
        ("store(a, i, 5)[i] = 6", UNSAT),
        ("f(x) != f(y) and x = y", UNSAT),
        ("distinct(a, b, c) and a in {b, c}", UNSAT),
        ("∀x ∃y (y > x)", SAT),
        ("∃y ∀x (y > x)", UNSAT),
        ("forall x: int. x >= 0", UNSAT),
        ("∀x ∈ {1, 2, 3}: x < 4", SAT),
        ("∀x ∈ {1, 2, 3}: x < 3", UNSAT),
        ("∀x ∈ ℕ: x >= 0", SAT),
        ("∃!x (P(x)) and P(a) and P(b) and a != b", UNSAT),
        ("there exists x such that x > 3 and x < 5", SAT),
        ("ForAll([x, y], Implies(R(x, y), R(y, x))) and R(a, b) and not R(b, a)", UNSAT),
        ("![X]: (dog(X) => animal(X)) & dog(rex) & ~animal(rex)", UNSAT),
        ("(forall (x) (implies (Dog x) (Animal x)))", SAT),
        ("(forall ((x Int)) (> x 0))", UNSAT),
        ("x = 0.1 + 0.2 and x = 0.3", SAT),
        ("x / 3 = 1 and x != 3", UNSAT),
        ("true", SAT),
        ("⊥", UNSAT),
        ("all x (cat(x) -> animal(x)). cat(tom). -animal(tom).", UNSAT),
        ("In(a, b) and not In(a, b)", UNSAT),
        ("Store(x) and Mod(x) and Min(x) and in(x, y)", SAT),
    ],
)
def test_a_bare_formula_is_verified_when_something_satisfies_it(query, expected):
    assert answer(query) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("(declare-const x Int)(assert (> x 5))(check-sat)", SAT),
        ("(set-logic QF_LIA)(declare-fun x () Int)(assert (and (> x 5) (< x 6)))(check-sat)(exit)", UNSAT),
        ("(set-logic QF_LRA)(declare-fun x () Real)(assert (and (> x 5) (< x 6)))(check-sat)", SAT),
        ("(declare-const b (_ BitVec 8))(assert (= (bvadd b #x01) #x00))(check-sat)", SAT),
        ("(declare-const b (_ BitVec 8))(assert (bvult b #x00))(check-sat)", UNSAT),
        ("(declare-sort U 0)(declare-fun f (U) U)(declare-const a U)(assert (not (= (f a) (f a))))", UNSAT),
        ("(declare-const a (Array Int Int))(assert (= (select (store a 1 2) 1) 3))(check-sat)", UNSAT),
        ("(set-logic LIA)(assert (forall ((x Int)) (exists ((y Int)) (= (* 2 y) x))))(check-sat)", UNSAT),
        (
            "(declare-datatypes ((C 0)) (((red) (green))))(declare-const c C)(assert (distinct c red green))",
            UNSAT,
        ),
        ("(declare-datatype L ((nil) (cons (hd Int) (tl L))))(declare-const l L)(assert (= (hd l) 4))", SAT),
        ("(define-fun f ((x Int)) Int (* x x))(declare-const y Int)(assert (= (f y) 16))(check-sat)", SAT),
        ("(declare-const p Bool)(assert (let ((q (not p))) (and p q)))(check-sat)", UNSAT),
        ("(declare-const p Bool)(assert (=> p false))(check-sat-assuming (p))", UNSAT),
        ("(declare-const p Bool)(push 1)(assert p)(pop 1)(assert (not p))(check-sat)", SAT),
        ("(declare-const |a b| Int)(assert (! (> |a b| 3) :named big))(check-sat)(get-model)", SAT),
        ("(declare-const s String)(assert (= (str.len s) 2))(check-sat)", SAT),
        ("; nothing but a comment\n(check-sat)", SAT),
        ("(declare-sort Set 0)(declare-const a Set)(assert (not (= a a)))(check-sat)", UNSAT),
        ("(define-sort bv () Int)(declare-const a bv)(assert (> (* a a) 3))(check-sat)(eval a)", SAT),
        (
            "(declare-datatypes ((List 1)) ((par (X) ((nil) (cons (hd X) (tl (List X)))))))"
            "(declare-const l (List Int))(assert (= (hd l) 3))(assert ((_ is cons) l))(check-sat)",
            SAT,
        ),
    ],
)
def test_a_script_is_verified_when_it_is_satisfiable(script, expected):
    assert answer(script) == expected


def test_a_script_with_several_checks_holds_when_each_does():
    both = ask("(declare-const x Int)(assert (> x 5))(check-sat)(assert (< x 9))(check-sat)")
    one = ask("(declare-const x Int)(push)(assert (> x x))(check-sat)(pop)(check-sat)")

    assert (both.status, both.evidence["checks"]) == (Status.VERIFIED, ["satisfiable", "satisfiable"])
    assert (one.status, one.evidence["checks"]) == (Status.FAILED, ["unsatisfiable", "satisfiable"])


def test_the_status_a_file_declares_is_shown_and_not_believed():
    finding = ask("(set-info :status sat)(declare-const p Bool)(assert (and p (not p)))(check-sat)")

    assert finding.status is Status.FAILED
    assert finding.evidence["declared_status"] == "sat"


@pytest.mark.parametrize(
    ("query", "parameters", "expected"),
    [
        ("p or not p", {"question": "valid"}, ("VERIFIED", "valid")),
        ("p or q", {"question": "valid"}, ("FAILED", "not_valid")),
        ("x > 0 -> x * x > 0", {"question": "valid"}, ("VERIFIED", "valid")),
        ("x * x > 0", {"question": "valid"}, ("FAILED", "not_valid")),
        ("q", {"premises": ["p -> q", "p"]}, ("VERIFIED", "entailed")),
        ("not q", {"premises": ["p -> q", "p"]}, ("FAILED", "contradicted")),
        ("p", {"premises": ["p -> q", "q"]}, ("UNCERTAIN", "undetermined")),
        ("p", {"premises": ["p -> q", "q"], "question": "entailed"}, ("FAILED", "undetermined")),
        ("p -> q, p ⊢ q", {}, ("VERIFIED", "entailed")),
        ("p, p -> q |- not q", {}, ("FAILED", "contradicted")),
        ("x > 3", {"premises": "x > 5"}, ("VERIFIED", "entailed")),
        ("p -> q", {"question": "equivalent", "other": "not q -> not p"}, ("VERIFIED", "equivalent")),
        ("p -> q", {"question": "equivalent", "other": "q -> p"}, ("FAILED", "not_equivalent")),
        ("p and q", {"question": "equivalent", "premises": ["q and p"]}, ("VERIFIED", "equivalent")),
        ("(p -> q) <-> (not p or q)", {"question": "equivalent"}, ("VERIFIED", "equivalent")),
        ("p", {"question": "consistent", "premises": ["not q", "p -> q"]}, ("FAILED", "inconsistent")),
        (None, {"premises": ["p or q", "not p"]}, ("VERIFIED", "consistent")),
        ("p and not p", {"question": "unsatisfiable"}, ("VERIFIED", "unsatisfiable")),
        ("p", {"question": "unsatisfiable"}, ("FAILED", "satisfiable")),
        (
            "(assert (> x 3))",
            {"premises": ["(declare-const x Int)(assert (> x 5))"]},
            ("VERIFIED", "entailed"),
        ),
    ],
)
def test_each_question_has_its_answer(query, parameters, expected):
    assert answer(query, **parameters) == expected


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("Mortal(socrates)", ("VERIFIED", "entailed")),
        ("¬Mortal(socrates)", ("FAILED", "contradicted")),
        ("Mortal(zeus)", ("UNCERTAIN", "undetermined")),
        ("∃x Mortal(x)", ("VERIFIED", "entailed")),
        ("∀x Mortal(x)", ("UNCERTAIN", "undetermined")),
    ],
)
@pytest.mark.parametrize("question", [{}, {"question": "entailed"}])
def test_first_order_sentences_are_entailed_contradicted_or_undetermined(goal, expected, question):
    premises = ["∀x (Human(x) → Mortal(x))", "Human(socrates)"]

    assert answer(goal, premises=premises, **question) == expected


def test_a_quantifier_without_a_separator_reaches_as_far_as_its_variable():
    tight = ask("∀x P(x) → q")
    wide = ask("∀x P(x) → Q(x)")

    assert "(=> (forall ((x Individual)) (P x)) q)" in tight.evidence["smtlib"]
    assert "(forall ((x Individual)) (=> (P x) (Q x)))" in wide.evidence["smtlib"]


@pytest.mark.parametrize(
    ("goal", "premises", "core"),
    [
        ("q", ["p", "r", "not p"], [0, 2]),
        ("p", ["p", "r", "not p"], [0, 2]),
        ("Mortal(zeus)", ["∀x (Human(x) → Mortal(x))", "Human(zeus)", "∀x ¬Mortal(x)"], [0, 1, 2]),
        ("x > 100", ["x: int", "x > 5", "y = 1", "x < 3"], None),
        ("q", ["p <-> not p"], [0]),
    ],
)
def test_from_contradictory_premises_nothing_is_proven_and_a_minimal_core_is_named(goal, premises, core):
    finding = ask(goal, premises=premises)

    assert finding.status is Status.UNCERTAIN
    assert finding.evidence["answer"] == "contradictory_premises"
    assert finding.evidence["premises_consistent"] is False
    assert finding.evidence["core_is_minimal"]
    assert core is None or [entry["index"] for entry in finding.evidence["core"]] == core


def test_under_contradictory_premises_two_formulas_are_not_called_equivalent():
    finding = ask("q", question="equivalent", other="r", premises=["p", "not p"])

    assert finding.status is Status.UNCERTAIN


def test_premises_written_in_the_text_are_held_to_the_same():
    assert ask("p, ¬p ⊢ q").status is Status.UNCERTAIN
    assert ask("p, p → q ⊢ q").status is Status.VERIFIED
    assert ask("(p ∧ ¬p) → q", question="valid").status is Status.VERIFIED


def test_a_core_is_minimal():
    finding = ask("a", question="consistent", premises=["b", "x > 5", "x < 9", "y < 3", "y > x", "c -> a"])

    core = [entry["statement"] for entry in finding.evidence["core"]]
    assert finding.evidence["core_is_minimal"]
    assert answer("true", question="consistent", premises=core)[1] == "inconsistent"
    for statement in core:
        rest = [other for other in core if other != statement]
        assert answer("true", question="consistent", premises=rest)[1] == "consistent"


@pytest.mark.parametrize(
    ("variables", "query", "expected"),
    [
        ({"x": "u8"}, "x < 0", UNSAT),
        ({"x": "int8"}, "x < 0", SAT),
        ({"x": "bv4"}, "x + 1 = 0", SAT),
        ({"x": "bv8"}, "x & 1 = 1 and x >> 2 = 3 and x ^ 1 = 12", SAT),
        ({"x": {"bitvec": 3}}, "x * 3 = 1 and x != 3", UNSAT),
        ({"x": "nat"}, "x < 0", UNSAT),
        ({"x": "real"}, "1 < x < 2", SAT),
        ({"light": ["red", "green"]}, "light != red and light != green", UNSAT),
        ({"light": {"enum": ["red", "green"]}}, 'light = "red"', SAT),
        ({"a": ["on", "off"], "b": ["on", "off"]}, "a = b and a = on and b = off", UNSAT),
        ({"a": "array int int"}, "a[0] > a[1] and a[1] > a[0]", UNSAT),
        ({"p": "bool"}, "p", SAT),
    ],
)
def test_variables_may_be_declared(variables, query, expected):
    assert answer(query, variables=variables) == expected


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "hello world",
        "x >",
        "p and",
        "((p)",
        "p) or (q",
        "x + p and p",
        "x > 1 and x",
        "f(x) = 1 and f(x, y) = 2",
        "p and p(x)",
        "x = 1/0",
        "x % 0 = 1",
        "x in [1, 10]",
        "∀ > 3",
        "p ⊢ q ⊢ r",
        "x @ 3",
        "(assert",
        "(declare-const x Int)(assert (> x y))(check-sat)",
        "(declare-const x Int)(assert (+ x 1))(check-sat)",
        "(declare-const x Int) x (check-sat)",
        "(pop 1)(check-sat)",
        '(echo "unclosed)',
        "(assert |unclosed)",
    ],
)
def test_what_is_no_formula_is_malformed_and_says_why(query):
    finding = ask(query)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)
    assert finding.reason
    assert finding.risk is Risk.LOW


@pytest.mark.parametrize(
    "action",
    [
        Action("prove", query="p", parameters={"question": "zork"}),
        Action("prove", query="p", parameters={"premises": [1]}),
        Action("prove", query="p", parameters={"premises": {"a": "b"}}),
        Action("prove", query="p", parameters={"variables": "x"}),
        Action("prove", query="p", parameters={"variables": {"x": 5}}),
        Action("prove", query="p", parameters={"variables": {"x": "???"}}),
        Action("prove", query="p", parameters={"variables": {"x": ["a", "a"]}}),
        Action("prove", query="p", parameters={"variables": {"x": "bv0"}}),
        Action("prove", query="p", parameters={"assumptions": ["q"]}),
        Action("prove", query="p", parameters={"other": 1}),
        Action("prove", query="p", code="q"),
        Action("prove", query="p", target="q"),
        Action("prove"),
        Action("prove", query="p", parameters={"question": "equivalent"}),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(action):
    finding = engine.verify(action)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)


@pytest.mark.parametrize(
    "script",
    [
        '(set-option :regular-output-channel "/tmp/escaped")(check-sat)',
        '(set-option :diagnostic-output-channel "/tmp/escaped")(check-sat)',
        '(set-option :smtlib2_log "/tmp/escaped")(check-sat)',
        '(include "/etc/passwd")(check-sat)',
    ],
)
def test_a_command_that_reaches_a_file_is_forbidden(script):
    finding = ask(script)

    assert (finding.status, finding.failure, finding.risk) == (Status.FAILED, Failure.FORBIDDEN, Risk.HIGH)


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("(" * 100_000 + "p" + ")" * 100_000, "depth"),
        ("x and " * 100_000 + "x", "size"),
        ("(" * 5_000 + "p" + ")" * 5_000, "depth"),
        ("not " * 3_000 + "p", "depth"),
        ("p -> " * 3_000 + "p", "depth"),
        ("x = " + "(not " * 500 + "p" + ")" * 500, "depth"),
        ("x > " + "9" * 500, "size"),
        ("x > 1e999999999", "size"),
        ("x > 1e9999", "size"),
        ("x^1000 > 2", "size"),
        ("x^y > 2", "unsupported"),
        ("sin(x) = 2", "unsupported"),
        ("x / x = 2", "division"),
        ("∀x (1 / x > 0)", "unsupported"),
        ("(declare-const x Int)(minimize x)(check-sat)", "unsupported"),
        ("(push 9999999)(check-sat)", "size"),
        ("(check-sat)" * 40, "size"),
        ("x*x*x + y*y*y + z*z*z = 33", "resources"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_beyond_the_bounds_is_uncertain_and_names_the_bound(query, limit):
    finding = ask(query)

    assert (finding.status, finding.evidence["limit"]) == (Status.UNCERTAIN, limit)


def test_a_formula_of_a_megabyte_is_answered():
    finding = ask("(declare-const p Bool)(assert (or " + "p " * 200_000 + "))(check-sat)")

    assert finding.status in (Status.VERIFIED, Status.UNCERTAIN)


def test_dividing_is_only_meant_where_it_is_defined():
    finding = ask("x / y = 2 and y > 3")

    assert finding.status is Status.VERIFIED
    assert finding.evidence["assumed"] == ["(not (= y 0.0))"]
    assert answer("y = 0 and (y = 0 or x / y > 1)")[0] == "UNCERTAIN"


def test_the_evidence_lets_anyone_check_again():
    finding = ask("x + y = 10 and x - y = 4")

    assert finding.evidence["model"] == {"x": 7, "y": 3}
    assert finding.evidence["model_checked_by"] == "evaluation"
    assert finding.evidence["sorts"] == {"x": "Int", "y": "Int"}
    assert answer(finding.evidence["smtlib"]) == SAT


def test_a_model_that_fails_the_check_is_not_reported(monkeypatch):
    monkeypatch.setattr(smt, "evaluate", lambda term, world: False)

    finding = ask("x + y = 10 and x - y = 4")

    assert (finding.status, finding.evidence["limit"]) == (Status.UNCERTAIN, "model")
    assert "model" not in finding.evidence


def test_the_clock_is_a_backstop_that_says_so(monkeypatch):
    monkeypatch.setattr(smt, "BACKSTOP_SECONDS", 0.02)
    monkeypatch.setattr(smt, "RESOURCE_LIMIT", 10**9)

    finding = ask("x*x*x + y*y*y + z*z*z = 33")

    assert (finding.status, finding.evidence["limit"]) == (Status.UNCERTAIN, "timeout")
    assert "time" in finding.reason


def test_a_missing_solver_is_uncertain_and_says_what_to_install():
    script = (
        "import sys; sys.modules['z3'] = None\n"
        "from qwed.domain.actions import Action\n"
        "from qwed.engines.logic import LogicEngine\n"
        "print(LogicEngine().verify(Action('prove', query='x > 1')).status)\n"
        "print(LogicEngine().verify(Action('prove', query='x > y and y > x')).reason)\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert output.splitlines()[0] == "VERIFIED"
    assert "pip install 'qwed-gateway[engines]'" in output


def test_the_same_question_gets_the_same_answer_in_any_order():
    queries = [
        "x*y = 12 and x < y and x > 0",
        "a[i] != a[j]",
        "∀x (P(x) ∨ Q(x))",
        "f(f(x)) = x and f(x) != x",
    ]
    first = [ask(query) for query in queries]
    second = [ask(query) for query in reversed(queries)][::-1]

    assert first == second


@pytest.mark.parametrize(
    "query", ["x > 1", "p and not p", "hello world", "(AND (GT x 5) (LT y 10))", "x in {1,2}"]
)
def test_small_questions_are_quick_and_need_no_solver(query):
    assert engine.is_quick(Action("verify_logic", query=query))


@pytest.mark.parametrize("query", ["x*y = 12", "∀x P(x)", "x > y", "x > 1 " + "and x > 1 " * 60])
def test_what_needs_a_solver_is_not_quick(query):
    assert not engine.is_quick(Action("verify_logic", query=query))


@pytest.mark.parametrize(
    "parameters",
    [
        {"premises": ["x > 1"] * 30},
        {"variables": {f"x{n}": "int" for n in range(5_000)}},
        {"variables": {"x": ["m"] * 100_000}},
        {"variables": {"x": "array " + "a " * 100_000}},
        {str(n): n for n in range(100)},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_parameters_in_bulk_take_few_calls_on_the_callers_thread(parameters):
    action = Action("verify_logic", query="x > 1", parameters=parameters)
    with counted_calls() as work:
        quick = engine.is_quick(action)

    assert work.calls < 5_000
    assert not quick or engine.verify(action).failure is Failure.MALFORMED


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("x*x = 2", {}),
        ("x^3 = 5 and x > 0", {}),
        ("x + y = 3 and x - y = 2", {}),
        ("x > 0 -> x >= 1", {"question": "valid"}),
        ("x >= 1", {"premises": ["x > 0"]}),
        ("0 < x and x < 1", {"question": "unsatisfiable"}),
    ],
)
def test_an_answer_that_hangs_on_integers_or_reals_says_so_and_is_none(query, parameters):
    finding = LogicEngine().verify(Action("verify_logic", query, parameters=parameters))

    assert finding.status is Status.UNCERTAIN
    assert "over the integers" in finding.reason
    assert finding.evidence["over_integers"] != finding.evidence["over_reals"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("x: int; x*x = 2", UNSAT),
        ("x: real; x*x = 2", SAT),
        ("x*x = -1", UNSAT),
        ("x*x = 4", SAT),
        ("x > y and y > x", UNSAT),
        ("x % 2 = 0 and x % 2 = 1", UNSAT),
    ],
)
def test_where_integers_and_reals_agree_or_one_is_declared_there_is_an_answer(query, expected):
    assert answer(query) == expected
