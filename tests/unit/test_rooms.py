"""Which room may import which: a list of what is allowed, so that a new room or a new import must be put
here first. Imports by name at run time (`importlib`) count like any other; imports for types alone don't."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.support.source import MODULES, dotted, imported, name_of, nodes, trees

pytestmark = pytest.mark.xdist_group("house-rules")

_CORE = {"qwed.domain", "qwed.engines", "qwed.rules", "qwed.ect", "qwed.ledger", "qwed.assurance"}
_ADAPTERS = {"qwed.stores", "qwed.settings", "qwed.policy", "qwed.notify"}
_EDGES = {"qwed.http", "qwed.reports", "qwed.coding", "qwed.broker", "qwed.guards", "qwed.installation"}
MAY_IMPORT: dict[str, set[str]] = {
    "qwed.domain": set(),
    "qwed.coding": {"qwed.domain"},
    "qwed.installation": set(),
    "qwed.engines": {"qwed.domain"},
    "qwed.guards": {"qwed.domain"},
    "qwed.ect": {"qwed.domain"},
    "qwed.settings": {"qwed.domain"},
    "qwed.ledger": {"qwed.domain", "qwed.ect"},
    "qwed.rules": {"qwed.domain", "qwed.engines"},
    "qwed.origins": {"qwed.domain", "qwed.engines"},
    "qwed.assurance": {"qwed.domain", "qwed.ect"},
    "qwed.gateway": _CORE | {"qwed.origins"},
    "qwed.stores": {"qwed.assurance", "qwed.domain", "qwed.ect", "qwed.gateway", "qwed.ledger"},
    "qwed.policy": {"qwed.assurance", "qwed.domain", "qwed.engines", "qwed.rules"},
    "qwed.notify": {"qwed.domain", "qwed.engines", "qwed.gateway"},
    "qwed.reports": {"qwed", "qwed.domain", "qwed.gateway"},
    "qwed.broker": {"qwed.domain", "qwed_sdk"},
    "qwed.bootstrap": _CORE | _ADAPTERS | {"qwed.gateway"},
    "qwed.embedded": {
        "qwed",
        "qwed.bootstrap",
        "qwed.domain",
        "qwed.gateway",
        "qwed.reports",
        "qwed.settings",
    },
    "qwed.http": {"qwed", "qwed.domain", "qwed.ect", "qwed.gateway", "qwed.ledger", "qwed.reports"},
    # The programs: everything but what sends notices.
    "qwed.cli": _CORE
    | _EDGES
    | {
        "qwed",
        "qwed.bootstrap",
        "qwed.embedded",
        "qwed.gateway",
        "qwed.policy",
        "qwed.settings",
        "qwed.stores",
    }
    | {"qwed_sdk", "qwed_open_responses"},
    "qwed.__main__": {"qwed.cli"},
    # Names for people who import `qwed`, found when asked for.
    "qwed": {"qwed.domain", "qwed.embedded", "qwed.gateway", "qwed.installation"},
    "qwed_open_responses": {"qwed.domain", "qwed.engines"},
    # Tokens and permits are read as the gateway reads them.
    "qwed_sdk": {"qwed.domain", "qwed.ect"},
    "qwed_new": {"qwed.guards"},
}
#: Files that import what a table, or a constant, in the same file names.
IMPORT_FROM_A_TABLE = {
    "qwed/__init__.py",
    "qwed/cli/__init__.py",
    "qwed/engines/__init__.py",
    "qwed/engines/catalogue.py",
    "qwed/engines/tools/statements.py",
    "qwed/policy/engines.py",
    "qwed_open_responses/__init__.py",
    "qwed_open_responses/guards/__init__.py",
    # It is given names of libraries alone (below).
    "qwed_open_responses/libraries.py",
    "qwed_sdk/__init__.py",
}
_MODULE_NAME = re.compile(r"qwed(_\w+)?(\.\w+)+\.?")
_IMPORTERS = {"importlib.import_module", "importlib.__import__", "__import__"}
_NAMES = frozenset(
    name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in MODULES
)


def room_of(module: str) -> str:
    package, _, rest = module.partition(".")
    inner = f"{package}.{rest.partition('.')[0]}"
    return inner if package == "qwed" and rest and inner in _NAMES else package


def find_imports(tree: ast.Module) -> Iterator[str]:
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    is_dynamic = any(is_dynamic_import(node) for node in ast.walk(tree))
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        # Whoever imports by name has the names in the same file: as a text, in a table, as a beginning.
        elif is_dynamic and isinstance(node, ast.Constant) and _MODULE_NAME.fullmatch(str(node.value)):
            yield node.value.rstrip(".")


def is_dynamic_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in _IMPORTERS


def test_every_room_imports_only_what_it_may():
    found = set()
    for path, tree in trees().items():
        module = name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        own = room_of(module)
        for used in find_imports(tree):
            if used.partition(".")[0] in {"qwed", "qwed_sdk", "qwed_open_responses", "qwed_new"}:
                room = room_of(used)
                if room != own and room not in MAY_IMPORT[own]:
                    found.add(f"{module} imports {used}, and {own} may not import {room}")

    assert not found


def test_no_room_is_allowed_an_import_it_does_not_make():
    made: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for path, tree in trees().items():
        own = room_of(name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
        made[own] |= {room_of(used) for used in find_imports(tree)}
    unused = {room: allowed - made[room] for room, allowed in MAY_IMPORT.items() if allowed - made[room]}

    assert unused == {}


def test_nothing_is_imported_relatively():
    found = [
        f"{name}:{node.lineno}" for name, node in nodes() if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert found == []


def test_what_is_imported_by_name_can_be_read_from_the_source():
    """A text, a text that begins with one, or what one of these files finds in a table of its own."""
    found = {
        name
        for name, node in nodes()
        if is_dynamic_import(node) and not isinstance(node.args[0], ast.Constant | ast.JoinedStr)
    }

    assert found <= IMPORT_FROM_A_TABLE


def test_the_importer_is_called_by_its_full_name():
    """Else the rules above would not see it."""
    found = [name for name, node in nodes() if "importlib.import_module" in imported(node)]

    assert found == []


def test_libraries_are_asked_for_by_name_and_are_not_ours():
    asked = [node for _, node in nodes() if isinstance(node, ast.Call) and dotted(node.func) == "library"]

    assert asked
    for node in asked:
        assert isinstance(node.args[0], ast.Constant)
        assert not node.args[0].value.startswith("qwed")


@pytest.mark.parametrize(
    "text",
    [
        'importlib.import_module("qwed.stores")',
        'H = {"a": "qwed.http.app"}\nimportlib.import_module(H[a])',
        "import qwed.cli",
    ],
)
def test_an_import_of_any_kind_is_seen(text):
    rooms = {room_of(used) for used in find_imports(ast.parse(text))}

    assert rooms & {"qwed.stores", "qwed.http", "qwed.cli"}


def test_every_room_of_the_source_is_listed():
    rooms = {room_of(name) for name in _NAMES}

    assert rooms == set(MAY_IMPORT)
