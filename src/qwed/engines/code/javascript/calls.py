"""What a JavaScript program's calls do, by the path of what is called."""

import re
import shlex
from collections.abc import Callable
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.javascript import effects, settings
from qwed.engines.code.javascript.evaluator import UNKNOWN, Evaluator, ScriptOrigin, ScriptValue
from qwed.engines.code.javascript.files import (
    copy_file,
    delete_file,
    delete_tree,
    kinds,
    read_file,
    serve_file,
    write_file,
)
from qwed.engines.code.javascript.globals import is_known_module

Rule = Callable[[Evaluator, list[ScriptValue], int], ScriptValue | None]
_SQL: Final = re.compile(r"\s*(?:select|insert|update|delete|replace|create|drop|alter|with|call)\b", re.I)
_FIXED_HOST: Final = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#\s\ufffc]+[/?#]", re.I)
_UNSAFE_MODULES: Final = frozenset({"vm2", "node-serialize", "serialize-to-js"})


def _read_known(args: list[ScriptValue], index: int = 0) -> str | None:
    return args[index].text if index < len(args) else None


def evaluate(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """Text run as code: known text is inspected, anything else is harm or doubt."""
    run.report.effects.add("dynamic-execution")
    source = args[-1] if args else UNKNOWN
    if source.text is not None:
        run.report.include(run.nested("javascript", source.text, run.depth + 1), line, run.line_text(line))
    elif source.taint:
        run.harm("code-injection", line, source.taint)
    elif args:
        run.doubt("dynamic-execution", line)
    return ScriptValue(path="function ")


def timer(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`setTimeout("text")` runs the text; with a function it is a timer."""
    first = args[0] if args else UNKNOWN
    return evaluate(run, args[:1], line) if first.text is not None or first.prefix else None


def shell_command(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("process")
    command = args[0] if args else UNKNOWN
    if command.text is not None:
        run.report.include(run.nested("shell", command.text, run.depth + 1), line, run.line_text(line))
    elif command.taint:
        run.harm("command-injection", line, command.taint)
    else:
        run.doubt("dynamic-command", line)
    return None


def program(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`spawn(program, [args])`: no shell reads it, unless the options say so; then it gets them joined."""
    run.report.effects.add("process")
    name = args[0] if args else UNKNOWN
    if name.text is None:
        run.harm("command-injection", line, name.taint) if name.taint else run.doubt("dynamic-command", line)
        return None
    words = [name.text]
    for item in (args[1].items or []) if len(args) > 1 else []:
        if item.text is None and words[-1] in ("-c", "-e"):
            run.harm("command-injection", line, item.taint) if item.taint else run.doubt(
                "dynamic-command", line
            )
        words.append(item.text if item.text is not None else "qwed-value")
    command = " ".join(words) if any(each.wants_shell for each in args[1:]) else shlex.join(words)
    run.report.include(run.nested("shell", command, run.depth + 1), line, run.line_text(line))
    return None


def require(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    name = _read_known(args)
    if name is None:
        taint = args[0].taint if args else ()
        if args and kinds(args[0], "remote"):
            run.harm("dynamic-import", line, taint)
        else:
            run.doubt("dynamic-import", line, taint)
        return UNKNOWN
    loaded(run, name.removeprefix("node:"), line)
    return ScriptValue(path=name.removeprefix("node:"))


def loaded(run: Evaluator, module: str, line: int) -> None:
    if not is_known_module(module):
        run.unknown_modules.add(module)
    if module in _UNSAFE_MODULES:
        run.doubt("unsafe-deserialisation", line)


def request(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.report.effects.add("network")
    url = args[0] if args else UNKNOWN
    known = url.text if url.text is not None else url.prefix
    if places.is_metadata_service(known):
        run.harm("metadata-service", line)
    taint = kinds(url, "remote")
    if taint and not _FIXED_HOST.match(known):
        run.harm("server-side-request-forgery", line, taint)
    private = kinds(url, "private")
    if private:
        run.harm("exfiltration", line, private)
    if not effects.stays_here(url):
        effects.send(run, args, line)
    return ScriptValue(taint=(ScriptOrigin("network", line, "a response"),))


def stringify(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    return ScriptValue(path="JSON.stringify()", taint=args[0].taint) if args else None


def weak_hash(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    if (_read_known(args) or "").lower() in ("md5", "sha1", "md4", "ripemd160"):
        run.harm("weak-hash", line)
    return None


def weak_cipher(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    if re.search(r"des|rc4|ecb|bf-", _read_known(args) or "", re.I) or len(args) == 2:
        run.harm("weak-cipher", line)
    return None


def page_text(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """Text written into a page or sent as one."""
    for arg in args:
        taint = kinds(arg, "remote")
        if taint and arg.path not in ("JSON.stringify()", "{}"):
            run.harm("cross-site-scripting", line, taint)
    return None


def redirect(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    target = args[-1] if args else UNKNOWN
    taint = kinds(target, "remote")
    if taint and not (target.prefix.startswith(("/", "http")) and len(target.prefix.split("\ufffc")[0]) > 1):
        run.harm("open-redirect", line, taint)
    return None


def query(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    text = args[0] if args else UNKNOWN
    if text.prefix and _SQL.match(text.prefix):
        run.report.effects.add("database")
        if text.taint:
            run.harm("sql-injection", line, text.taint)
        else:
            run.doubt("sql-from-pieces", line)
    elif text.text is not None and _SQL.match(text.text):
        run.report.effects.add("database")
        if places.destroys_tables(text.text):
            run.harm("destructive-command", line)
    elif text.taint and kinds(text, "remote"):
        run.harm("sql-injection", line, text.taint)
    return None


def deserialize(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.harm("unsafe-deserialisation", line, args[0].taint if args else ())
    return None


def native(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    run.harm("native-code", line)
    return None


def pattern(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    taint = kinds(args[0], "remote") if args else ()
    if taint:
        run.harm("regex-injection", line, taint)
    return None


def inject(rule_name: str) -> Rule:
    """A query of another language that a client's text is spelled into."""

    def rule(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
        taint = kinds(args[0], "remote") if args else ()
        if taint:
            run.harm(rule_name, line, taint)
        return None

    return rule


def share_with_origins(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    text = run.line_text(line)
    everyone = re.search(r"origin['\"]?\s*:\s*(?:['\"]\*['\"]|true)", text)
    if everyone and re.search(r"credentials['\"]?\s*:\s*true", text):
        run.harm("permissive-cors", line)
    return None


def sign_token(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    if len(args) > 1 and args[1].text:
        run.harm("hard-coded-secret", line)
    return None


def verify_token(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    if re.search(r"algorithms?['\"]?\s*:\s*\[?[^\]]*['\"]none['\"]", run.line_text(line), re.I):
        run.harm("unverified-token", line)
    return None


def merge_objects(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    taint = kinds(args[-1], "remote") if len(args) > 1 else ()
    if taint:
        run.doubt("prototype-pollution", line, taint)
    return None


def leave_page(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    effects.navigate(run, args, line)
    return redirect(run, args, line)


def run_array(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`Bun.spawn(["ls", "-l"])`."""
    words = args[0].items if args and args[0].items else []
    given = [*words[:1], ScriptValue(items=words[1:])] if words else args
    return program(run, given, line)


def start_itself(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`fork(__filename)` in a loop or timer that never ends starts as many as the machine holds."""
    text = run.line_text(line)
    if run.bare_loops or ("setInterval" in text and "__filename" in text):
        run.harm("fork-bomb", line)
    return program(run, args, line)


def _open_connection(path: str) -> Rule:
    """What is sent later goes through what this returns."""

    def rule(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
        request(run, args, line)
        return ScriptValue(path=f"{path}()", taint=(ScriptOrigin("network", line, "a response"),))

    return rule


def _connect(path: str) -> Rule:
    """A socket, by port and host: what is written to it, or piped, leaves."""

    def rule(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
        run.report.effects.add("network")
        return ScriptValue(path=f"{path}()")

    return rule


def _each_fs(names: str, rule: Rule) -> dict[str, Rule]:
    """The three spellings that the file module has for each of its functions."""
    plain = {
        f"{owner}.{name}": rule for name in names.split() for owner in ("fs", "fs.promises", "fs/promises")
    }
    return plain | {f"fs.{name}Sync": rule for name in names.split()}


def _names(prefix: str, names: str, rule: Rule) -> dict[str, Rule]:
    return {f"{prefix}{name}": rule for name in names.split()}


CALLS: Final[dict[str, Rule]] = {
    "eval": evaluate,
    "Function": evaluate,
    "execScript": evaluate,
    **_names(
        "vm.",
        "runInThisContext runInNewContext runInContext Script compileFunction",
        lambda r, a, n: evaluate(r, a[:1], n),
    ),
    **_names("", "setTimeout setInterval setImmediate", timer),
    "require": require,
    "import": require,
    **_names("child_process.", "exec execSync", shell_command),
    **_names("child_process.", "spawnSync execFile execFileSync", program),
    **_names("child_process.", "spawn fork", start_itself),
    **_names("fs.", "readFile readFileSync createReadStream open openSync", read_file),
    **_names("fs.promises.", "readFile open", read_file),
    **_names("fs/promises.", "readFile open", read_file),
    **_names(
        "fs.",
        "writeFile writeFileSync appendFile appendFileSync createWriteStream mkdir mkdirSync",
        write_file,
    ),
    **_names("fs.promises.", "writeFile appendFile", write_file),
    **_names("fs/promises.", "writeFile appendFile", write_file),
    **_names("fs.", "unlink unlinkSync", delete_file),
    **_names("fs.promises.", "unlink", delete_file),
    **_names("fs/promises.", "unlink", delete_file),
    **_names("fs.", "rm rmSync rmdir rmdirSync", delete_tree),
    **_names("fs.promises.", "rm rmdir", delete_tree),
    **_names("fs/promises.", "rm rmdir", delete_tree),
    **_names("", "rimraf rimraf.sync fs-extra.remove fs-extra.removeSync del", delete_tree),
    **_names(
        "",
        "fetch axios axios.get axios.post axios.put axios.request request request.get request.post",
        request,
    ),
    **_names(
        "",
        "http.get https.get got node-fetch superagent.get superagent.post",
        request,
    ),
    **_names("", "navigator.sendBeacon needle XMLHttpRequest().open XMLHttpRequest().send", request),
    "JSON.stringify": stringify,
    "crypto.createHash": weak_hash,
    **_names("crypto.", "createCipher createDecipher", weak_cipher),
    "crypto.createCipheriv": lambda r, a, n: weak_cipher(r, [*a[:1], UNKNOWN, UNKNOWN], n),
    **_names("document.", "write writeln", page_text),
    **_names("res.", "send write end", page_text),
    "res.redirect": redirect,
    **_names("", "location.assign location.replace open", leave_page),
    **_names("", "node-serialize.unserialize serialize.unserialize", deserialize),
    **_names("process.", "binding dlopen _linkedBinding", native),
    "RegExp": pattern,
    "Math.random": settings.predict,
    **_names("xpath.", "select select1 evaluate", inject("xpath-injection")),
    "cors": share_with_origins,
    **_each_fs("copyFile cp rename symlink link", copy_file),
    **_each_fs("chmod lchmod", lambda r, a, n: (effects.change_mode(r, a, n), write_file(r, a, n))[1]),
    **_each_fs("chown lchown", effects.change_owner),
    **_each_fs("utimes lutimes", effects.change_times),
    **_each_fs("truncate", lambda r, a, n: (write_file(r, a, n), delete_file(r, a, n))[1]),
    **_names("fs-extra.", "emptyDir emptyDirSync", delete_tree),
    **_names("fs-extra.", "outputFile outputFileSync writeJson writeJsonSync", write_file),
    **_names("fs-extra.", "copy copySync move moveSync", copy_file),
    **_names("Deno.", "readTextFile readTextFileSync readFile readFileSync", read_file),
    **_names("Deno.", "writeTextFile writeTextFileSync writeFile writeFileSync", write_file),
    **_names("Deno.", "remove removeSync", delete_file),
    "Bun.write": write_file,
    "Bun.file": read_file,
    **_names("", "Deno.run Deno.Command Bun.spawn Bun.spawnSync", run_array),
    "process.kill": effects.kill,
    **_names("process.", "setuid setgid seteuid setegid setgroups initgroups", effects.become),
    "sudo-prompt.exec": effects.become,
    "auto-launch().enable": effects.start_with_the_machine,
    **_names("", "WebSocket().send net.connect().write net.connect().end", effects.send),
    **_names("net.createConnection().", "write end", effects.send),
    **_names("", "http.request().write http.request().end https.request().write", effects.send),
    **_names("", "https.request().end tls.connect().write dgram.createSocket().send", effects.send),
    **_names("dns.", "lookup resolve resolve4 resolveTxt", effects.look_up_host),
    **_names("", "postMessage parent.postMessage opener.postMessage top.postMessage", effects.post_message),
    **{
        path: _connect(path)
        for path in ("net.connect", "net.createConnection", "tls.connect", "http2.connect")
    },
    "EventSource": request,
    **{path: _open_connection(path) for path in ("http.request", "https.request", "WebSocket")},
    **_names("", "Worker worker_threads.Worker", effects.start_worker),
    **_names("", "CoinHive.Anonymous CoinHive.User", effects.mine),
    "@aws-sdk/client-ec2.RunInstancesCommand": effects.rent_machines,
    "os.homedir": effects.home,
    **_names("path.", "join resolve normalize", effects.join_path),
    **_names("", "jsonwebtoken.sign jwt.sign", sign_token),
    **_names("", "jsonwebtoken.verify jwt.verify", verify_token),
    **_names(
        "", "Object.assign _.merge lodash.merge _.defaultsDeep lodash.defaultsDeep $.extend", merge_objects
    ),
}
METHODS: Final[dict[str, Rule]] = {
    **_names("", "dropDatabase flushAll flushall FLUSHALL", effects.drop_database),
    "runInstances": effects.rent_machines,
    "query": query,
    "execute": query,
    "raw": query,
    "insertAdjacentHTML": page_text,
    **_names("", "html append prepend after before", page_text),
    **_names("", "sendFile sendfile", serve_file),
}
