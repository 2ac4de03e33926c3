"""Files that a JavaScript program reads, writes and deletes."""

from qwed.engines.code import places
from qwed.engines.code.javascript.evaluator import UNKNOWN, Evaluator, ScriptOrigin, ScriptValue


def kinds(value: ScriptValue, *kinds: str) -> tuple[ScriptOrigin, ...]:
    return tuple(origin for origin in value.taint if origin.kind in kinds)


def read_file(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("file-read")
    path = args[0] if args else UNKNOWN
    _judge_path(run, path, line)
    name = (path.text or path.prefix).replace("\ufffc", "x")
    if places.is_sensitive(name):
        run.harm("reads-sensitive-file", line)
    kind = "secret" if places.is_sensitive(name) or places.is_local_secret(name) else "file"
    if kind == "file" and name and places.leaves_working_tree(name):
        kind = "outside"
    if kind != "file":
        run.report.reads_private(line)
    return ScriptValue(taint=(ScriptOrigin(kind, line, "a file"),))


def write_file(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("file-write")
    path = args[0] if args else UNKNOWN
    _judge_path(run, path, line)
    name = path.text or path.prefix
    if places.is_trace(name.replace("\ufffc", "x")):
        run.harm("covers-tracks", line)
    if places.gives_rights(name):
        run.harm("privilege", line)
    if places.is_block_device(name):
        run.harm("destructive-command", line)
    if places.is_persistent(name):
        run.harm("persistence", line)
    elif places.is_system(name) and not name.startswith(("/home/", "/Users/")):
        run.harm("writes-system-file", line)
    return None


def copy_file(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`copyFile(from, to)`, `rename`, `symlink`."""
    if len(args) > 1:
        read_file(run, args[:1], line)
        write_file(run, args[1:2], line)
    return None


def delete_file(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("file-delete")
    path = args[0] if args else UNKNOWN
    _judge_path(run, path, line)
    name = path.text if path.text is not None else path.prefix
    if places.is_trace(name.replace("\ufffc", "x")):
        run.harm("covers-tracks", line)
    if name and (places.leaves_working_tree(name) or places.is_whole_tree(name)):
        run.harm("deletes-outside", line)
    return None


def delete_tree(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    path = args[0] if args else UNKNOWN
    if path.text is None and not path.prefix:
        run.doubt("deletes-unknown-tree", line, path.taint)
    return delete_file(run, args, line)


def _judge_path(run: Evaluator, path: ScriptValue, line: int) -> None:
    taint = kinds(path, "remote")
    if taint:
        run.harm("path-traversal", line, taint)


def serve_file(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`res.sendFile(path)`; with a root given, the framework keeps the path below it."""
    run.report.effects.add("file-read")
    if args and "root" not in run.line_text(line):
        _judge_path(run, args[0], line)
    return None
