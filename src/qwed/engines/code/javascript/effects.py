"""Effects that count alike in every language, and what has them here."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.javascript.evaluator import UNKNOWN, Evaluator, ScriptOrigin, ScriptValue

_MANY: Final = re.compile(r"(?:Min|Max|Desired)\w*(?:Count|Capacity)['\"]?\s*:\s*(?:[5-9]\d|\d{3,})")
_KEPT_BY_CLIENT: Final = re.compile(r"(?:window\.)?(?:localStorage|sessionStorage)\b")
# A member that a page loads or sends as soon as it is set.
SINKS: Final = frozenset(
    [
        *("src", "href", "action", "formAction", "srcdoc", "innerHTML"),
        "outerHTML",
        "location",
        "data",
        "poster",
        "background",
    ]
)


def leaks(value: ScriptValue) -> tuple[ScriptOrigin, ...]:
    """What must not leave: secrets, cookies, files outside the tree, the whole environment."""
    found = tuple(origin for origin in value.taint if origin.kind in ("secret", "outside"))
    whole = tuple(origin for origin in value.taint if origin.kind == "environment")
    shown = value.path in ("process.env", "JSON.stringify()", "{}") or value.prefix
    return found or (whole if shown else ())


def stays_here(address: ScriptValue) -> bool:
    """An address without a host is the page's own server."""
    known = address.text if address.text is not None else address.prefix
    return known.startswith(("/", "./", "?")) and not known.startswith("//")


def name_of(value: ScriptValue) -> str:
    return (value.text if value.text is not None else value.prefix).replace("\ufffc", "x")


def send(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """Everything that is given leaves."""
    run.report.effects.add("network")
    for arg in args:
        found = leaks(arg)
        if found:
            run.harm("exfiltration", line, found)
    return None


def navigate(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """Where a browser is sent, all that stands in the address goes too."""
    found = leaks(args[0]) if args else ()
    if found and not stays_here(args[0]):
        run.report.effects.add("network")
        run.harm("exfiltration", line, found)
    return None


def post_message(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    if len(args) > 1 and args[1].text == "*" and leaks(args[0]):
        run.harm("exfiltration", line, leaks(args[0]))
    return None


def look_up_host(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """A name server reads every name it is asked for."""
    run.report.effects.add("network")
    private = tuple(
        o for arg in args for o in arg.taint if o.kind in ("secret", "outside", "private", "environment")
    )
    if private:
        run.harm("exfiltration", line, private)
    return None


def kill(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """Process 1 holds up the system; -1 is every process there is."""
    run.report.effects.add("process")
    if re.search(r"\.kill\(\s*(?:-\s*1|1)\s*[,)]", run.line_text(line)):
        run.harm("destructive-command", line)
    return None


def become(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.harm("privilege", line)
    return None


def start_with_the_machine(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.harm("persistence", line)
    return None


def change_owner(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("file-write")
    if args and (places.is_system(name_of(args[0])) or places.is_sensitive(name_of(args[0]))):
        run.harm("permissions", line)
    return None


def change_mode(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    mode = (args[1].text or "") if len(args) > 1 else ""
    digits = mode.lower().removeprefix("0o").removeprefix("0")
    if re.fullmatch(r"[2467][0-7]{3}", digits):
        run.harm("permissions", line)
    elif re.fullmatch(r"[0-7]{2}[2367]", digits):
        run.harm("world-writable", line)
    return change_owner(run, args, line)


def change_times(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("file-write")
    if args and places.is_system(name_of(args[0])):
        run.harm("covers-tracks", line)
    return None


def drop_database(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("database")
    run.harm("destructive-command", line)
    return None


def start_worker(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("process")
    if run.bare_loops:
        run.harm("fork-bomb", line)
    return None


def rent_machines(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("network")
    if _MANY.search(run.line_text(line)):
        run.doubt("uses-up-the-machine", line)
    return None


def mine(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.harm("mines-currency", line)
    return None


def home(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    return ScriptValue("~")


def join_path(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`path.join(a, b)`: one path, as far as its parts are known."""
    parts = [name_of(arg) or "\ufffc" for arg in args]
    taint = tuple(dict.fromkeys(origin for arg in args for origin in arg.taint))[:3]
    for index in range(len(parts) - 1, 0, -1):
        if parts[index].startswith("/"):
            parts = parts[index:] if "resolve" in run.line_text(line) else parts
            break
    joined = "/".join(parts)
    if all(arg.text is not None for arg in args):
        return ScriptValue(joined, taint=taint)
    return ScriptValue(taint=taint, prefix=joined) if args else UNKNOWN
