import importlib.util
import subprocess
import sys
import threading
from decimal import Decimal

import pytest

import qwed.engines
from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.registry import ACTION_ENGINES, TOOL_RISK_LEVELS
from qwed.domain.risk import Risk
from qwed.engines import EngineRules, Engines, catalogue, facade, verify
from qwed.engines.facade import NotAnAction, read_action


class FakeEngine:
    """Answers what it is told to; remembers what it was asked."""

    def __init__(self, name, risk=Risk.LOW, quick=True, error=None):
        self.name, self._risk, self._quick, self._error = name, risk, quick, error
        self.asked = []

    def is_quick(self, action):
        return self._quick

    def verify(self, action):
        if self._error is not None:
            raise self._error
        self.asked.append(action)
        return Finding(Status.VERIFIED, self._risk, self.name)


@pytest.fixture
def engines():
    built = Engines()
    yield built
    built.close()


def with_engine(engines, engine):
    engines._engines[engine.name] = engine
    return engine


def test_a_mapping_in_wire_shape_is_an_action():
    wire = {"type": "execute_sql", "query": "SELECT 1", "parameters": {"dialect": "sqlite"}}

    assert read_action(wire) == Action("execute_sql", query="SELECT 1", parameters={"dialect": "sqlite"})
    assert read_action({"action_type": "prove", "code": "p", "target": None}) == Action("prove", code="p")


@pytest.mark.parametrize(
    ("wire", "named"),
    [
        ({}, "type"),
        ({"type": 5}, "type"),
        ({"type": "prove", "action_type": "verify"}, "differ"),
        ({"type": "prove", "query": 5}, "query"),
        ({"type": "prove", "code": Decimal(1)}, "code"),
        ({"type": "prove", "target": ["x"]}, "target"),
        ({"type": "prove", "parameters": []}, "parameters"),
        ({"type": "prove", "qeury": "p"}, "qeury"),
    ],
)
def test_a_mapping_of_another_shape_is_malformed_and_names_the_field(wire, named):
    with pytest.raises(NotAnAction, match=named):
        read_action(wire)

    finding = verify(wire)
    assert (finding.status, finding.failure, finding.engine) == (Status.FAILED, Failure.MALFORMED, "unknown")
    assert named in finding.reason


@pytest.mark.parametrize("thing", [5, None, "prove", ["prove"], object()])
def test_what_is_no_mapping_is_malformed(thing):
    finding = verify(thing)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)
    assert "object" in finding.reason


def test_an_unknown_type_is_refused():
    finding = verify({"type": "launch_rocket"})

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.MALFORMED,
        Risk.CRITICAL,
    )
    assert "launch_rocket" in finding.reason


@pytest.mark.parametrize("action_type", sorted(ACTION_ENGINES))
def test_each_engine_bound_type_goes_to_its_engine(engines, action_type):
    fake = with_engine(engines, FakeEngine(ACTION_ENGINES[action_type]))

    assert engines.verify({"type": action_type, "query": "p"}).engine == fake.name
    assert fake.asked == [Action(action_type, query="p")]


@pytest.mark.parametrize("tool", sorted(TOOL_RISK_LEVELS))
def test_a_tool_has_at_least_its_registered_risk(engines, tool):
    with_engine(engines, FakeEngine("tool_control"))

    assert engines.verify({"type": tool}).risk == TOOL_RISK_LEVELS[tool]


def test_the_engines_risk_counts_when_it_is_higher(engines):
    with_engine(engines, FakeEngine("tool_control", risk=Risk.CRITICAL))

    assert engines.verify({"type": "read_file"}).risk is Risk.CRITICAL


def test_the_rules_may_register_more_types():
    engines = Engines(EngineRules(actions={"deduce": "logic"}, tool_risks={"open_valve": Risk.HIGH}))
    with_engine(engines, FakeEngine("logic"))
    with_engine(engines, FakeEngine("tool_control"))

    assert engines.verify({"type": "deduce", "query": "p"}).engine == "logic"
    assert engines.verify({"type": "open_valve"}).risk is Risk.HIGH
    assert engines.verify({"type": "prove", "query": "p"}).failure is Failure.MALFORMED


def test_an_engine_may_be_named(engines):
    fake = with_engine(engines, FakeEngine("math"))

    assert engines.verify({"type": "whatever", "query": "2+2"}, engine="math").engine == fake.name
    assert engines.verify({"type": "x"}, engine="zork").status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "error", [RuntimeError("defect"), RecursionError(), MemoryError(), ImportError("libfoo")]
)
def test_an_engine_that_fails_inline_is_uncertain(engines, error):
    with_engine(engines, FakeEngine("sql", error=error))

    finding = engines.verify({"type": "execute_sql", "query": "SELECT 1"})

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.CRITICAL)
    assert finding.evidence["limit"] == "crash"


def test_a_library_missing_inline_says_what_to_install(engines):
    with_engine(engines, FakeEngine("code", error=ModuleNotFoundError("no", name="tree_sitter")))

    finding = engines.verify({"type": "execute_code", "code": "1"})

    assert "tree_sitter" in finding.reason
    assert finding.evidence["limit"] == "unavailable"


def test_slow_work_runs_in_a_worker_and_quick_work_here(engines):
    quick = engines.submit({"type": "verify_logic", "query": "x > 1"})
    slow = engines.submit({"type": "verify_logic", "query": "x * y = 12 and x > y"})

    assert quick.done()
    assert quick.result().status is Status.VERIFIED
    assert slow.result(timeout=60).status is Status.VERIFIED
    assert "z3" not in sys.modules or slow.result().evidence["decided_by"].startswith("z3")


def test_a_closed_set_of_engines_still_answers():
    engines = Engines()
    engines.close()
    engines.close()

    assert engines.verify({"type": "verify_logic", "query": "x > 1"}).status is Status.VERIFIED
    assert engines.verify({"type": "verify_logic", "query": "x * y = 12"}).evidence["limit"] == "closed"


def test_verify_keeps_the_engines_of_each_set_of_rules_apart():
    special = EngineRules(actions={"deduce": "logic"})

    assert verify({"type": "deduce", "query": "x > 1"}, rules=special).status is Status.VERIFIED
    assert verify({"type": "deduce", "query": "x > 1"}).failure is Failure.MALFORMED
    assert verify({"type": "prove", "query": "x > 1"}).status is Status.VERIFIED
    assert facade._shared.under(special) is facade._shared.under(EngineRules(actions={"deduce": "logic"}))


def test_many_sets_of_rules_do_not_accumulate():
    for number in range(10):
        verify(
            {"type": "deduce", "query": "x > 1"},
            rules=EngineRules(actions={"deduce": "logic", str(number): "sql"}),
        )

    assert len(facade._shared._sets) <= 4


def test_an_engine_whose_module_is_missing_answers_uncertain(monkeypatch):
    entry = catalogue.EngineEntry("no_such_package.engine", "Engine", risk_when_undecided=Risk.HIGH)
    monkeypatch.setitem(catalogue.CATALOGUE, "math", entry)

    finding = catalogue.build_engine("math", EngineRules()).verify(Action("calculate", query="2+2"))

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.HIGH)
    assert "no_such_package" in finding.reason
    assert "pip install 'qwed-gateway[engines]'" in finding.reason


@pytest.mark.parametrize("name", sorted(catalogue.CATALOGUE))
def test_every_engine_of_the_catalogue_loads_and_names_itself(name):
    engine = catalogue.build_engine(name, EngineRules())

    assert not isinstance(engine, catalogue.UnavailableEngine)
    assert engine.name == name


@pytest.mark.parametrize("name", [name for name, entry in catalogue.CATALOGUE.items() if entry.rules_field])
def test_rules_reach_a_worker_as_they_are(name):
    entry = catalogue.CATALOGUE[name]
    module = __import__(entry.module, fromlist=[entry.rules_class])
    rules = EngineRules(**{entry.rules_field: getattr(module, entry.rules_class)()})
    encoded = catalogue.encode_rules(rules, catalogue.CATALOGUE)

    built = catalogue.build_from_bytes(name, entry, encoded[name])

    assert not isinstance(built, catalogue.UnavailableEngine)


def test_rules_that_do_not_fit_stop_their_engine():
    entry = catalogue.CATALOGUE["sql"]

    built = catalogue.build_from_bytes("sql", entry, b"\xc1")

    assert isinstance(built, catalogue.UnavailableEngine)


def test_threads_may_verify_at_once():
    statuses = []

    def ask():
        statuses.append(verify({"type": "verify_logic", "query": "x > y and y > 3"}).status)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [Status.VERIFIED] * 8


def test_the_public_names_are_sorted_and_importable():
    assert qwed.engines.__all__ == sorted(qwed.engines.__all__)
    assert set(qwed.engines.__all__) == set(qwed.engines._HOMES)
    for name in qwed.engines.__all__:
        assert getattr(qwed.engines, name) is not None
    with pytest.raises(AttributeError, match="zork"):
        qwed.engines.zork


def test_importing_the_engines_loads_no_heavy_library():
    heavy = {"z3", "sympy", "sqlglot", "flint", "msgspec"}
    script = f"import sys, qwed.engines; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "[]"


@pytest.mark.parametrize("entry", catalogue.CATALOGUE.values(), ids=catalogue.CATALOGUE)
def test_what_a_worker_loads_ahead_exists(entry):
    for library in entry.libraries:
        assert importlib.util.find_spec(library) is not None
