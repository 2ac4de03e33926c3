"""What known tools leave behind that no RECORD vouches for, and how to know it by its content.

Known are: the lines of setuptools for namespace packages and of easy_install; `_virtualenv.py` of
virtualenv and uv, by its vocabulary, since it changes with every few releases; `_distutils_hack` of
setuptools as Linux distributions package it, by hash; Debian's `sitecustomize`.
"""

import ast
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Final

# Files that these tools fill with import lines only. A path in one of them is not theirs.
CODE_ONLY_NAMES: Final = re.compile(
    r"distutils-precedence\.pth|_virtualenv\.pth|a1_coverage\.pth|pytest-cov\.pth|.*-nspkg\.pth"
)

_EASY_INSTALL: Final = (
    "import sys; sys.__plen = len(sys.path)",
    "import sys; new=sys.path[sys.__plen:]; del sys.path[sys.__plen:]; p=getattr(sys,'__egginsert',0); "
    "sys.path[p:p]=new; sys.__egginsert = p+len(new)",
)

# Several parts, since the line grew and lost a version test over the years.
_NAMESPACE: Final = (
    (
        "import sys, types, os",
        "has_mfs = sys.version_info > (3, 5)",
        "p = os.path.join(sys._getframe(1).f_locals['sitedir'], *{parts!r})",
        "importlib = has_mfs and __import__('importlib.util')",
        "has_mfs and __import__('importlib.machinery')",
        "m = has_mfs and sys.modules.setdefault({name!r}, importlib.util.module_from_spec("
        "importlib.machinery.PathFinder.find_spec({name!r}, [os.path.dirname(p)])))",
        "m = m or sys.modules.setdefault({name!r}, types.ModuleType({name!r}))",
        "mp = (m or []) and m.__dict__.setdefault('__path__',[])",
        "(p not in mp) and mp.append(p)",
    ),
    (
        "import sys, types, os",
        "p = os.path.join(sys._getframe(1).f_locals['sitedir'], *{parts!r})",
        "importlib = __import__('importlib.util')",
        "__import__('importlib.machinery')",
        "m = sys.modules.setdefault({name!r}, importlib.util.module_from_spec("
        "importlib.machinery.PathFinder.find_spec({name!r}, [os.path.dirname(p)])))",
        "m = m or sys.modules.setdefault({name!r}, types.ModuleType({name!r}))",
        "mp = (m or []) and m.__dict__.setdefault('__path__',[])",
        "(p not in mp) and mp.append(p)",
    ),
)
_NAMESPACE_CHILD: Final = "m and setattr(sys.modules[{parent!r}], {child!r}, m)"
_NAMESPACE_NAME: Final = re.compile(r"PathFinder\.find_spec\('([A-Za-z_][A-Za-z0-9_.]{0,200})'")

# Nothing here can start a process, open a file or a connection, or run text as code.
_VIRTUALENV_VOCABULARY: Final = """
    . data distutils.dist exec_module headers install install_ install_{} load_module platlib prefix purelib
    scripts setuptools.dist AttributeError Callable Distribution ImportError Lock MetaPathFinder ModuleSpec
    ModuleType NameError TYPE_CHECKING VIRTUALENV_PATCH_FILE _DISTUTILS_PATCH _Finder __file__ __future__
    __init__ __name__ _patch_spec abspath annotations append args base collections.abc contextlib dist
    distutils_patch file find_spec format fullname func func_name functools get_option_dict getattr hasattr
    importlib.abc importlib.machinery importlib.util insert is_new_api join key kwargs len loader lock
    meta_path module name object old old_parse_config_files os parse_config_files partial patch_dist path pop
    result self setattr spec staticmethod str suppress sys target threading types typing version_info etc
    find_module imp pkgutil split _VirtualenvImporter __loader__ _VirtualenvLoader filename ImpLoader
    ImpImporter super
"""

_MODULE_HASHES: Final = {
    "_distutils_hack": frozenset(
        {
            "026d425507ed93f30700abdf25056940cc15c7796b01b2863e1288520c1ac036",
            "1542e30b6d07156f447ab4bcaec4a3a330feb93167d5dcaf548f6d6b2cdb852c",
            "46849a60a7cc85189cf6b5ac62b3f135004862ce6a96540a81c95ef6fbc4dc3e",
            "4bf5b0bc8f8af7ce7096e96f7167cf4f776f2cc0983f5c8f876ca780b3a67781",
            "4c2531daa12158dcabb8bce3e03386640407dfd866d9f27fc0377dd2894d3a6a",
            "4d27a48545b57dd137ae35376fcf326d2064271084a487960686f8704b94de4a",
            "5f7454880e8a04fa0499ca3f0a3002ca5b7241b15119552965101b4a43c6c0cb",
            "7688a23bb369b867ca503635e94c625981671c1e01adf621da6c59d2d07d5114",
            "a325c4f62f92a19daaa558088e4339afd78e14df40c20a7d51c9dc3a714dc237",
            "ced72e54431ecf2d8d7dbd8a1e27724f1b171af3ca1503c304bf11c59a7fe861",
            "df81e6bcba34ee3e3952f776551fb669143b9490fdd6c4caeb32609f97e985b4",
        }
    )
}

# pytest-cov up to 6: it reports a failed start on stderr, in more code than is worth reading here.
_PYTEST_COV_LINE: Final = "b8e1b828090bfec4b25656d04cd0948d3e70221ea8281ac0e12569eef48ae2a6"

# Debian's hook for crash reports. Without the module it does nothing.
DEBIAN_HOOK_MODULE: Final = "apport_python_hook"
_DEBIAN_SITECUSTOMIZE: Final = """
try:
    import apport_python_hook
except ImportError:
    pass
else:
    apport_python_hook.install()
"""


def parse(source: str) -> ast.Module | None:
    """The syntax tree, or None for what is not Python or is built to exhaust the parser."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_genuine_line(line: str, owns: Callable[[str], bool]) -> bool:
    """A line that a known tool writes; what it loads, if anything, must be vouched for."""
    text = line.strip().rstrip(";")
    if hashlib.sha256(text.encode()).hexdigest() == _PYTEST_COV_LINE:
        return owns("pytest_cov.embed")
    if text in _EASY_INSTALL:
        return True
    found = _NAMESPACE_NAME.search(text)
    return found is not None and text in _namespace_lines(found.group(1))


def _namespace_lines(name: str) -> list[str]:
    parent, _, child = name.rpartition(".")
    values = {"name": name, "parts": tuple(name.split(".")), "parent": parent, "child": child}
    forms = [(*form, _NAMESPACE_CHILD) if parent else form for form in _NAMESPACE]
    return [";".join(form).format(**values) for form in forms]


def is_genuine_module(name: str, raw: bytes) -> bool:
    """A helper module that a virtual environment or a Linux distribution brings without a RECORD."""
    if name == "_virtualenv":
        return _speaks_only(raw, frozenset(_VIRTUALENV_VOCABULARY.split()))
    return hashlib.sha256(raw).hexdigest() in _MODULE_HASHES.get(name, frozenset())


def is_debian_sitecustomize(tree: ast.Module) -> bool:
    return ast.dump(tree) == ast.dump(ast.parse(_DEBIAN_SITECUSTOMIZE))


def does_nothing(tree: ast.Module) -> bool:
    """Comments, documentation and `pass`."""
    return all(isinstance(node, ast.Pass) or _is_documentation(node) for node in tree.body)


def _is_documentation(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _speaks_only(raw: bytes, vocabulary: frozenset[str]) -> bool:
    try:
        tree = parse(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return False
    return tree is not None and all(word in vocabulary for word in _words(tree))


def _words(tree: ast.Module) -> Iterator[str | bytes]:
    """Every identifier and string of a module, documentation apart."""
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and _is_documentation(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes) and id(node) not in documentation:
                yield node.value
            continue
        for _, value in ast.iter_fields(node):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, str):
                    yield item
