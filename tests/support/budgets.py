"""Counts of the source that have a budget (tests/unit/test_budgets.py)."""

import ast
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support.source import SOURCE, Function, dotted, functions, name_of, nodes, texts, trees

_LONG: Final = 400
_UNIT: Final = SOURCE.parent / "tests" / "unit"
#: Folders of unit tests whose package has a longer name.
_PACKAGES: Final = {"open_responses": "qwed_open_responses", "sdk": "qwed_sdk"}
#: Words that end like a participle and are none.
_NO_PARTICIPLES: Final = {
    "need",
    "feed",
    "seed",
    "embed",
    "proceed",
    "exceed",
    "succeed",
    "shed",
    "speed",
    "bed",
}
_IRREGULAR: Final = {
    *("told", "said", "shown", "kept", "held", "made", "found", "known", "given", "taken", "seen", "written"),
    *("sent", "built", "drawn", "chosen", "spoken", "broken", "hidden", "lost", "thrown", "meant"),
}
_NO_GERUNDS: Final = {"string", "pricing", "ring"}


def _is_in(*rooms: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(rooms)


_INNER: Final = _is_in("qwed/gateway/", "qwed/stores/", "qwed/domain/")


@functools.cache
def _lines() -> dict[str, int]:
    return {name: len(text.splitlines()) for name, text in texts().items()}


def _long_files(is_counted: Callable[[str], bool] = lambda _: True) -> list[str]:
    return [f"{name}: {lines}" for name, lines in _lines().items() if lines > _LONG and is_counted(name)]


def _anys(is_counted: Callable[[str], bool]) -> list[str]:
    """Each use of `Any` and each `cast`. The alias `Json`, for what a document holds, counts as none."""
    return [
        f"{name}:{node.lineno}"
        for name, node in nodes()
        if is_counted(name) and (dotted(node) in ("Any", "typing.Any") or _is_cast(node))
    ]


def _is_cast(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in ("cast", "typing.cast")


def _any_rate(is_counted: Callable[[str], bool]) -> float:
    return 1000 * len(_anys(is_counted)) / sum(lines for name, lines in _lines().items() if is_counted(name))


def _participles() -> list[str]:
    return [
        f"{name}:{function.lineno} {function.name}"
        for name, _, function in functions()
        if _is_participle(function.name.strip("_").partition("_")[0]) and not _is_value(function)
    ]


def _is_participle(word: str) -> bool:
    return word in _IRREGULAR or (word.endswith("ed") and word not in _NO_PARTICIPLES)


def _is_value(function: Function) -> bool:
    return any("property" in dotted(decorator) for decorator in function.decorator_list)


def _gerunds() -> list[str]:
    stems = ((name, Path(name).stem) for name in texts())
    return [name for name, stem in stems if stem.endswith("ing") and stem not in _NO_GERUNDS]


def _forwards() -> list[str]:
    """Methods of a store that only call a method of the same name of something else."""
    return [
        f"{name}:{function.lineno} {dotted_name}"
        for name, dotted_name, function in functions()
        if name.startswith("qwed/stores/") and "." in dotted_name and _only_forwards(function)
    ]


def _only_forwards(function: Function) -> bool:
    body = [
        part
        for part in function.body
        if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    call = body[0].value
    call = call.value if isinstance(call, ast.Await) else call
    return isinstance(call, ast.Call) and bool(
        re.fullmatch(rf"self\.\w+\.{function.name}", dotted(call.func))
    )


def _rings() -> list[str]:
    """Places that ask which signer they have: what they need belongs in its port."""
    return [
        f"{name}:{node.lineno}"
        for name, node in nodes()
        if name.startswith("qwed/gateway/")
        and isinstance(node, ast.Call)
        and dotted(node.func) == "isinstance"
        and dotted(node.args[1]) == "KeyRing"
    ]


def _hot_methods() -> list[str]:
    names = (name for module, name, _ in functions() if module == "qwed/gateway/kernel/ports.py")
    return [name for name in names if name.startswith("Decisions.")]


#: What is counted, and what lists it.
COUNTS: Final[dict[str, tuple[Callable[[], float], Callable[[], list[str]]]]] = {}


def _register(what: str, find: Callable[[], list[str]], measure: Callable[[], float] | None = None) -> None:
    COUNTS[what] = (measure or (lambda: len(find())), find)


_register("files over 400 lines", _long_files)
_register(
    "files over 400 lines in gateway and stores", lambda: _long_files(_is_in("qwed/gateway/", "qwed/stores/"))
)
for _title, _room in (
    ("qwed", "qwed/"),
    ("SDK", "qwed_sdk/"),
    ("Open Responses", "qwed_open_responses/"),
    ("guards", "qwed/guards/"),
):
    _register(
        f"Any per 1000 lines, {_title}",
        functools.partial(_anys, _is_in(_room)),
        functools.partial(_any_rate, _is_in(_room)),
    )
_register("functions named by a participle", _participles)
_register("modules named by a gerund", _gerunds)
_register("methods of the stores that only forward", _forwards)
_register("questions which signer it is", _rings)
_register("members of the port Decisions", _hot_methods)
_register(
    "lines in gateway, stores and domain",
    lambda: [f"{name}: {lines}" for name, lines in _lines().items() if _INNER(name)],
    lambda: sum(lines for name, lines in _lines().items() if _INNER(name)),
)


def count(what: str) -> float:
    return COUNTS[what][0]()


def list_found(what: str) -> list[str]:
    return COUNTS[what][1]()


def find_tests() -> dict[str, bool]:
    """Every file of unit tests, and whether the module or folder that its name begins with stands there."""
    return {
        path.relative_to(_UNIT).as_posix(): _has_source(path) for path in sorted(_UNIT.rglob("test_*.py"))
    }


def _has_source(path: Path) -> bool:
    folders, stem = path.relative_to(_UNIT).parent.parts, path.stem.removeprefix("test_")
    first = folders[0] if folders else ""
    place = (
        SOURCE.joinpath(_PACKAGES[first], *folders[1:])
        if first in _PACKAGES
        else SOURCE.joinpath("qwed", *folders)
    )
    # `test_engine_hostile.py` is about `engine.py`, too: a module may have more than one file of tests.
    words = stem.split("_")
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return any((place / f"{name}.py").is_file() or (place / name).is_dir() for name in names)


def find_boundaries() -> dict[str, list[int]]:
    """`module:function` of every handler of whatever is raised that does not raise again, with its lines."""
    found: dict[str, list[int]] = {}
    for path, tree in trees().items():
        name = name_of(path)
        if "except" not in texts()[name]:
            continue
        for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)):
            if _is_broad(handler) and not any(isinstance(inner, ast.Raise) for inner in ast.walk(handler)):
                found.setdefault(f"{name}:{_function_around(name, handler)}", []).append(handler.lineno)
    return found


def _is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or dotted(kind) in ("Exception", "BaseException") for kind in kinds)


def _function_around(name: str, handler: ast.ExceptHandler) -> str:
    around = [
        (function.lineno, dotted_name)
        for module, dotted_name, function in functions()
        if module == name and function.lineno <= handler.lineno <= (function.end_lineno or 0)
    ]
    return max(around)[1] if around else ""


def says_why(lines: list[str], line: int) -> bool:
    """A comment of words on the handler's line, or on one beside it."""
    beside = lines[line - 2 : line + 1]
    comments = (text.partition("#")[2].replace("noqa: BLE001", "") for text in beside)
    return any(len(re.findall(r"[a-z]{2,}", comment)) >= 3 for comment in comments)


def find_unused_settings() -> list[str]:
    """Fields of the policy's sections that nothing but their reader names."""
    used = {
        node.attr
        for name, node in nodes()
        if isinstance(node, ast.Attribute) and not name.startswith("qwed/policy/sections")
    }
    names = {
        node.value
        for name, text in texts().items()
        if name.startswith("qwed/") and "policy/sections" not in name and "attrgetter" in text
        for node in ast.walk(trees()[SOURCE / name])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return [
        f"{found.name}.{field.target.id}"
        for found in trees()[SOURCE / "qwed/domain/policy.py"].body
        if isinstance(found, ast.ClassDef)
        for field in found.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if field.target.id not in used | names
    ]


if __name__ == "__main__":
    for what in COUNTS:
        print(f"{count(what):10.1f}  {what}")
    tests = find_tests()
    share = 100 * sum(tests.values()) / len(tests)
    print(f"{share:10.1f}  per cent of unit tests stand where their source stands")
    print(f"{len(find_boundaries()):10d}  boundaries")
    print(f"{len(find_unused_settings()):10d}  unused settings of the policy: {find_unused_settings()}")
