"""Files: what is read, written and deleted, and whose name a client may choose."""

import ast
import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import FILE, NETWORK, OUTSIDE, REMOTE, SECRET
from qwed.engines.code.python.values import (
    UNKNOWN,
    Choice,
    Const,
    DataOrigin,
    Items,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    Taint,
    both,
    merge_taint,
)

_PATH: Final = "pathlib.Path()"
_MEMBER: Final = "a name in an archive"


def open_file(run: Interpreter, call: PythonCall) -> PythonValue:
    path = call.argument(0, "file")
    mode = call.argument(1, "mode")
    text = mode.data if isinstance(mode, Const) and isinstance(mode.data, str) else "r"
    if any(letter in text for letter in "wax+"):
        write(run, path, call.line)
        return Ref("builtins.open()")
    return Ref("builtins.open()", read(run, path, call.line))


def read(run: Interpreter, path: PythonValue | None, line: int) -> Taint:
    """Judges reading a path; the answer is where the data then comes from."""
    run.report.effects.add("file-read")
    kind = FILE
    for name in find_known_names(path):
        if places.is_sensitive(name):
            run.harm("reads-sensitive-file", line)
            kind = SECRET
        elif places.is_local_secret(name):
            kind = SECRET
        elif kind != SECRET and places.leaves_working_tree(name):
            kind = OUTSIDE
    if kind != FILE:
        run.report.reads_private(line)
    _traversal(run, path, line)
    return (DataOrigin(kind, line, "a file"),)


def write(run: Interpreter, path: PythonValue | None, line: int) -> None:
    run.report.effects.add("file-write")
    if path is not None and any(origin.text == _MEMBER for origin in path.taint):
        run.harm("archive-traversal", line, path.taint)
    for name in find_known_names(path):
        if places.is_trace(name):
            run.harm("covers-tracks", line)
        if places.gives_rights(name):
            run.harm("privilege", line)
        if places.is_block_device(name):
            run.harm("destructive-command", line)
        if places.is_persistent(name):
            run.harm("persistence", line)
        elif places.is_block_device(name) or (
            places.is_system(name) and not name.startswith(("/home/", "/Users/"))
        ):
            run.harm("writes-system-file", line)
        elif places.is_sensitive(name):
            run.harm("reads-sensitive-file", line)
    _traversal(run, path, line)


def _traversal(run: Interpreter, path: PythonValue | None, line: int) -> None:
    if path is not None:
        taint = tuple(origin for origin in path.taint if origin.kind in (REMOTE, NETWORK))
        if taint and not _only_numbers(path):
            run.harm("path-traversal", line, taint)


def _only_numbers(path: PythonValue) -> bool:
    return (
        isinstance(path, PythonText)
        and all(isinstance(part, str) or not part.taint for part in path.parts)
        and not any(isinstance(part, PythonValue) and part.taint for part in path.parts)
    )


def find_known_names(path: PythonValue | None) -> list[str]:
    """Every file name the value can be, as far as it is known (a name that goes on unknown ends there)."""
    match path:
        case Const(data=str()):
            return [path.data]
        case Const(data=bytes()):
            return [path.data.decode("utf-8", "replace")]
        case PythonText():
            return [path.known("x")]
        case Choice():
            return [name for option in path.options for name in find_known_names(option)]
        case Ref() if path.path.startswith("pathlib.") and path.args:
            return find_known_names(path.args[0])
        case Ref(path="pathlib.Path.home()"):
            return ["~"]
    return []


def delete_file(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("file-delete")
    path = call.argument(0, "path")
    for name in find_known_names(path):
        if places.is_trace(name):
            run.harm("covers-tracks", call.line)
        if places.leaves_working_tree(name) or places.is_persistent(name) or places.is_sensitive(name):
            run.harm("deletes-outside", call.line)
    _traversal(run, path, call.line)
    return Const(None)


def delete_tree(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("file-delete")
    path = call.argument(0, "path")
    names = find_known_names(path)
    _traversal(run, path, call.line)
    if any(places.is_trace(name) for name in names):
        run.harm("covers-tracks", call.line)
    if any(places.leaves_working_tree(name) or places.is_whole_tree(name) for name in names):
        run.harm("deletes-outside", call.line)
    elif not names and not _is_scratch(path):
        run.doubt("deletes-unknown-tree", call.line, path.taint if path is not None else ())
    return Const(None)


def _is_scratch(path: PythonValue | None) -> bool:
    return (isinstance(path, Ref) and path.path.startswith("tempfile.")) or (
        isinstance(path, PythonUnknown) and path.shape == "validated"
    )


def read_source(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`shutil.copy(src, dst)` and the like."""
    if len(call.args) >= 2:
        read(run, call.args[0], call.line)
        write(run, call.args[1], call.line)
    return UNKNOWN


def write_target(run: Interpreter, call: PythonCall) -> PythonValue | None:
    write(run, call.argument(0), call.line)
    return UNKNOWN


def empty_file(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`os.truncate`: what was in the file is gone."""
    write(run, call.argument(0, "path"), call.line)
    return delete_file(run, call)


def serve_file(run: Interpreter, call: PythonCall) -> PythonValue | None:
    return PythonUnknown(read(run, call.argument(0), call.line))


def join_path(run: Interpreter, call: PythonCall) -> PythonValue:
    parts: list[PythonValue] = []
    for argument in call.args:
        if isinstance(argument, Const) and isinstance(argument.data, str) and argument.data.startswith("/"):
            parts = []
        if parts:
            parts.append(Const("/"))
        parts.append(argument)
    if any(isinstance(part, Choice) for part in parts):
        return PythonUnknown(merge_taint(parts))
    return run.concatenate(parts)


def same_path(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Functions that spell a path differently."""
    return call.args[0] if call.args else UNKNOWN


def make_path(run: Interpreter, call: PythonCall) -> PythonValue:
    if not call.args:
        return Ref(_PATH, (), (Const("."),))
    args = [argument.args[0] if _is_path(argument) and argument.args else argument for argument in call.args]  # type: ignore[attr-defined]
    joined = join_path(run, PythonCall(call.path, args, {}, call.line)) if len(args) > 1 else args[0]
    return Ref(_PATH, merge_taint(call.args), (joined,))


def home(run: Interpreter, call: PythonCall) -> PythonValue:
    return Ref(_PATH, (), (Const("~"),))


def divide_paths(
    run: Interpreter, op: ast.operator, left: PythonValue, right: PythonValue, line: int
) -> PythonValue | None:
    if not isinstance(op, ast.Div) or not (_is_path(left) or _is_path(right)):
        return None
    return make_path(run, PythonCall("pathlib.Path", [left, right], {}, line))


def _is_path(value: PythonValue) -> bool:
    return isinstance(value, Ref) and value.path == _PATH


def path_method(name: str) -> Rule:
    """A method of a path, judged as the function that does the same."""

    def rule(run: Interpreter, call: PythonCall) -> PythonValue | None:
        receiver = call.receiver
        if not _is_path(receiver) if receiver is not None else True:
            return None
        assert isinstance(receiver, Ref)
        path = receiver.args[0] if receiver.args else UNKNOWN
        path = _taint(path, receiver.taint)
        return _PATH_ACTIONS[name](run, PythonCall(call.path, [path, *call.args], call.kwargs, call.line))

    return rule


def _taint(path: PythonValue, taint: Taint) -> PythonValue:
    if isinstance(path, PythonUnknown):
        return PythonUnknown(both(path.taint, taint), path.shape)
    return path


def _read_text(run: Interpreter, call: PythonCall) -> PythonValue:
    return PythonUnknown(read(run, call.args[0], call.line))


def _write_text(run: Interpreter, call: PythonCall) -> PythonValue:
    write(run, call.args[0], call.line)
    return UNKNOWN


def _same(run: Interpreter, call: PythonCall) -> PythonValue:
    return Ref(_PATH, call.args[0].taint, (call.args[0],))


def _name_only(run: Interpreter, call: PythonCall) -> PythonValue:
    return PythonUnknown(shape="file-name")


def _walk_path(run: Interpreter, call: PythonCall) -> PythonValue:
    """Remembers where the walk starts, for what it yields."""
    run.report.effects.add("file-read")
    return Ref("pathlib.Path().iterdir()", (), (call.args[0],))


_PATH_ACTIONS: Final[dict[str, Rule]] = {
    "rglob": _walk_path,
    "glob": _walk_path,
    "iterdir": _walk_path,
    "open": open_file,
    "read_text": _read_text,
    "read_bytes": _read_text,
    "write_text": _write_text,
    "write_bytes": _write_text,
    "touch": _write_text,
    "unlink": delete_file,
    "rmdir": delete_file,
    "resolve": _same,
    "absolute": _same,
    "expanduser": _same,
    "joinpath": make_path,
}


def walked(run: Interpreter, iterable: Ref) -> PythonValue | None:
    """What a directory walk yields is below where it started."""
    if iterable.path not in (
        "os.walk()",
        "os.listdir()",
        "glob.glob()",
        "glob.iglob()",
        "os.scandir()",
        "pathlib.Path().rglob()",
        "pathlib.Path().glob()",
        "pathlib.Path().iterdir()",
    ):
        return None
    start = iterable.args[0] if iterable.args else UNKNOWN
    names = find_known_names(start)
    if iterable.path == "os.walk()":
        root: PythonValue = PythonText((names[0], UNKNOWN)) if names else PythonUnknown(start.taint)
        return Items([root, UNKNOWN, UNKNOWN], "tuple")
    if iterable.path in ("os.listdir()", "os.scandir()"):
        return UNKNOWN
    prefix = names[0].partition("*")[0] if names else ""
    inner: PythonValue = PythonText((prefix, UNKNOWN)) if prefix else UNKNOWN
    return inner if iterable.path.startswith("glob") else Ref(_PATH, (), (inner,))


def look_for_files(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`glob.glob("/home/*/.ssh/id_rsa")` says what it is after."""
    if any(places.is_sensitive(name.replace("*", "x")) for name in find_known_names(call.argument(0))):
        run.harm("reads-sensitive-file", call.line)
    return None


_STARTED_WITH_WINDOWS: Final = re.compile(r"\\CurrentVersion\\Run(?:Once)?$", re.I)


def open_registry_key(run: Interpreter, call: PythonCall) -> PythonValue | None:
    for name in (name for argument in call.everything for name in find_known_names(argument)):
        if _STARTED_WITH_WINDOWS.search(name):
            run.harm("persistence", call.line)
    return None


def extract_archive(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`TarFile.extractall` writes where the archive says, unless a filter is given."""
    receiver = call.receiver
    if not (isinstance(receiver, Ref) and receiver.path.startswith("tarfile.")):
        return None
    run.report.effects.add("file-write")
    if "filter" not in call.kwargs and "members" not in call.kwargs:
        run.harm("archive-traversal", call.line, receiver.taint)
    return UNKNOWN


def archive_names(run: Interpreter, call: PythonCall) -> PythonValue:
    """`z.namelist()`: an archive says what its files are called, with or without `..`."""
    return Ref(f"{call.path}()", (DataOrigin(FILE, call.line, _MEMBER),))


CALLS: dict[str, Rule] = {
    **{
        f"{kind}.{name}": archive_names
        for kind, name in (
            ("zipfile.ZipFile()", "namelist"),
            ("zipfile.ZipFile()", "infolist"),
            ("tarfile.open()", "getnames"),
            ("tarfile.open()", "getmembers"),
        )
    },
    "builtins.open": open_file,
    "os.open": open_file,
    "os.remove": delete_file,
    "os.rmdir": delete_file,
    "os.removedirs": delete_tree,
    "shutil.rmtree": delete_tree,
    "shutil.copy": read_source,
    "shutil.copy2": read_source,
    "shutil.copyfile": read_source,
    "shutil.copytree": read_source,
    "shutil.move": read_source,
    "os.rename": read_source,
    "os.replace": read_source,
    "os.symlink": read_source,
    "os.link": read_source,
    "os.truncate": empty_file,
    "os.makedirs": write_target,
    "os.mkdir": write_target,
    "glob.glob": look_for_files,
    "glob.iglob": look_for_files,
    **dict.fromkeys(("winreg.OpenKey", "winreg.OpenKeyEx", "winreg.CreateKey"), open_registry_key),
    "os.path.join": join_path,
    "os.path.expanduser": same_path,
    "os.path.expandvars": same_path,
    "os.path.abspath": same_path,
    "os.path.realpath": same_path,
    "os.path.normpath": same_path,
    "os.fspath": same_path,
    "pathlib.Path": make_path,
    "pathlib.PurePath": make_path,
    "pathlib.PosixPath": make_path,
    "pathlib.Path.home": home,
    "flask.send_file": serve_file,
    "django.http.FileResponse": serve_file,
    "linecache.getlines": serve_file,
    "linecache.getline": serve_file,
    "numpy.loadtxt": serve_file,
    "pandas.read_csv": serve_file,
    "zipfile.ZipFile": serve_file,
}
CALLS["zipfile.ZipFile"] = lambda run, call: (read(run, call.argument(0), call.line), None)[1]
METHODS: dict[str, Rule] = {name: path_method(name) for name in _PATH_ACTIONS} | {
    "extractall": extract_archive,
    "extract": extract_archive,
}
