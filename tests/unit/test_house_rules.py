"""Rules about the source itself, read from its syntax: what is never called, and who may do what."""

import ast

import pytest
from tests.support.source import MODULES, SOURCE, dotted, imported, nodes, trees

#: One worker reads the source, once.
pytestmark = pytest.mark.xdist_group("house-rules")

#: Agent text must never be run, and nothing may be unpickled.
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "sympify",
    "sympy.sympify",
    "parse_expr",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "urlopen",
    "urllib.request.urlopen",
}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "shelve", "marshal", "requests", "urllib.request", "yaml"}
ENVIRONMENT_READERS = {
    "qwed/settings.py",
    "qwed_open_responses/settings.py",
    "qwed_sdk/connection.py",
    # PYTHONPATH is no setting of ours: it is what this guard inspects.
    "qwed/guards/startup/guard.py",
    # What started programs inherit; and the hook, which stands alone.
    "qwed/coding/surroundings.py",
    "qwed/coding/qwed_hook.py",
}
ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.putenv"}


#: Names that the documents print for two packages, each of which people import alone.
PRINTED_FOR_TWO_PACKAGES = {
    *("Agent", "Approval", "Conversation", "Decision", "Event"),  # qwed_sdk beside the domain
    *("PolicyError", "QWEDMiddleware"),  # qwed_open_responses beside the gateway and the SDK
}


def test_the_source_is_here():
    assert len(MODULES) > 100


def test_nothing_runs_agent_text_or_fetches_by_itself():
    found = [
        f"{name}:{node.lineno} calls {dotted(node.func)}"
        for name, node in nodes()
        if isinstance(node, ast.Call) and dotted(node.func) in FORBIDDEN_CALLS
    ]

    assert found == []


def test_nothing_imports_what_could_run_or_fetch_for_it():
    found = [
        f"{name}:{node.lineno} imports {module}"
        for name, node in nodes()
        for module in imported(node)
        if module in FORBIDDEN_IMPORTS or module.startswith(("pickle.", "requests."))
    ]

    assert found == []


def test_no_process_is_started_through_a_shell():
    found = [
        f"{name}:{node.lineno}"
        for name, node in nodes()
        if isinstance(node, ast.keyword)
        and node.arg == "shell"
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]

    assert found == []


def test_one_module_of_each_package_reads_the_environment():
    readers = {
        name
        for name, node in nodes()
        if dotted(node) in ENVIRONMENT or any(module in ENVIRONMENT for module in imported(node))
    }

    assert readers <= ENVIRONMENT_READERS


def test_schema_validators_never_fetch():
    users = [path for path in MODULES if "jsonschema_rs" in path.read_text(encoding="utf-8")]

    assert users
    for path in users:
        text = path.read_text(encoding="utf-8")
        assert '"offline": True' in text or "offline=True" in text, path


def test_a_schema_that_points_elsewhere_is_refused_without_asking_for_it():
    from qwed_open_responses.guards.schema import compiled

    with pytest.raises(ValueError, match="not valid"):
        compiled({"$ref": "http://127.0.0.1:9/schema.json"}, "2020-12", True, {})


def test_there_is_no_drawer_for_odds_and_ends():
    names = {path.stem for path in MODULES}

    assert not names & {"utils", "util", "helpers", "helper", "misc", "common"}


def test_one_public_class_name_names_one_thing():
    places: dict[str, list[str]] = {}
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    used_twice = {name: where for name, where in places.items() if len(where) > 1}

    assert set(used_twice) <= PRINTED_FOR_TWO_PACKAGES, used_twice
    for name, where in used_twice.items():
        packages = {place.partition("/")[0] for place in where}
        assert len(packages) == len(where), (name, where)
