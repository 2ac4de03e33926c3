"""What a JavaScript program's calls and assignments do."""

import re
import shlex
from collections.abc import Callable
from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.javascript import effects, settings
from qwed.engines.code.javascript.evaluator import UNKNOWN, Evaluator, Origin, Value
from qwed.engines.code.javascript.globals import is_known_module

Rule = Callable[[Evaluator, list[Value], int], Value | None]

_SQL: Final = re.compile(r"\s*(?:select|insert|update|delete|replace|create|drop|alter|with|call)\b", re.I)
_SECRET_NAME: Final = re.compile(
    r"(?:^|_|[a-z])(?:password|passwd|secret|apiKey|api_key|token|privateKey|private_key|secretKey)$", re.I
)
_NOT_A_SECRET: Final = re.compile(
    r"^(?:|x+|\*+|<.*>|\$\{.*\}|your[-_ ].*|change[-_ ]?me|example.*|password|secret|"
    r"token|test)$|\s|^https?:",
    re.I,
)
_SECRET_PURPOSE: Final = re.compile(r"token|secret|passw|session|nonce|otp|csrf|salt", re.I)
_FIXED_HOST: Final = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#\s\ufffc]+[/?#]", re.I)
_UNSAFE_MODULES: Final = frozenset({"vm2", "node-serialize", "serialize-to-js"})


def _known(args: list[Value], index: int = 0) -> str | None:
    return args[index].text if index < len(args) else None


def _kinds(value: Value, *kinds: str) -> tuple[Origin, ...]:
    return tuple(origin for origin in value.taint if origin.kind in kinds)


def evaluate(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """Text run as code: known text is inspected, anything else is harm or doubt."""
    run.report.effects.add("dynamic-execution")
    source = args[-1] if args else UNKNOWN
    if source.text is not None:
        run.report.include(run.nested("javascript", source.text, run.depth + 1), line, run.line_text(line))
    elif source.taint:
        run.harm("code-injection", line, source.taint)
    elif args:
        run.doubt("dynamic-execution", line)
    return Value(path="function ")


def timer(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`setTimeout("text")` runs the text; with a function it is a timer."""
    first = args[0] if args else UNKNOWN
    return evaluate(run, args[:1], line) if first.text is not None or first.prefix else None


def shell_command(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.report.effects.add("process")
    command = args[0] if args else UNKNOWN
    if command.text is not None:
        run.report.include(run.nested("shell", command.text, run.depth + 1), line, run.line_text(line))
    elif command.taint:
        run.harm("command-injection", line, command.taint)
    else:
        run.doubt("dynamic-command", line)
    return None


def program(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`spawn(program, [args])`: no shell reads it."""
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
    run.report.include(run.nested("shell", shlex.join(words), run.depth + 1), line, run.line_text(line))
    return None


def require(run: Evaluator, args: list[Value], line: int) -> Value | None:
    name = _known(args)
    if name is None:
        taint = args[0].taint if args else ()
        if args and _kinds(args[0], "remote"):
            run.harm("dynamic-import", line, taint)
        else:
            run.doubt("dynamic-import", line, taint)
        return UNKNOWN
    loaded(run, name.removeprefix("node:"), line)
    return Value(path=name.removeprefix("node:"))


def loaded(run: Evaluator, module: str, line: int) -> None:
    if not is_known_module(module):
        run.unknown_modules.add(module)
    if module in _UNSAFE_MODULES:
        run.doubt("unsafe-deserialisation", line)


def read_file(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.report.effects.add("file-read")
    path = args[0] if args else UNKNOWN
    _judge_path(run, path, line)
    name = (path.text or path.prefix).replace("\ufffc", "x")
    if places.is_sensitive(name):
        run.harm("reads-sensitive-file", line)
    kind = "secret" if places.is_sensitive(name) or places.is_local_secret(name) else "file"
    if kind == "file" and name and places.leaves_working_tree(name):
        kind = "outside"
    return Value(taint=(Origin(kind, line, "a file"),))


def write_file(run: Evaluator, args: list[Value], line: int) -> Value | None:
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


def copy_file(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`copyFile(from, to)`, `rename`, `symlink`."""
    if len(args) > 1:
        read_file(run, args[:1], line)
        write_file(run, args[1:2], line)
    return None


def delete_file(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.report.effects.add("file-delete")
    path = args[0] if args else UNKNOWN
    _judge_path(run, path, line)
    name = path.text if path.text is not None else path.prefix
    if places.is_trace(name.replace("\ufffc", "x")):
        run.harm("covers-tracks", line)
    if name and (places.leaves_working_tree(name) or places.is_whole_tree(name)):
        run.harm("deletes-outside", line)
    return None


def delete_tree(run: Evaluator, args: list[Value], line: int) -> Value | None:
    path = args[0] if args else UNKNOWN
    if path.text is None and not path.prefix:
        run.doubt("deletes-unknown-tree", line, path.taint)
    return delete_file(run, args, line)


def _judge_path(run: Evaluator, path: Value, line: int) -> None:
    taint = _kinds(path, "remote")
    if taint:
        run.harm("path-traversal", line, taint)


def request(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.report.effects.add("network")
    url = args[0] if args else UNKNOWN
    known = url.text if url.text is not None else url.prefix
    if places.is_metadata_service(known):
        run.harm("metadata-service", line)
    taint = _kinds(url, "remote")
    if taint and not _FIXED_HOST.match(known):
        run.harm("server-side-request-forgery", line, taint)
    private = _kinds(url, "private")
    if private:
        run.harm("exfiltration", line, private)
    if not effects.stays_here(url):
        effects.send(run, args, line)
    return Value(taint=(Origin("network", line, "a response"),))


def stringify(run: Evaluator, args: list[Value], line: int) -> Value | None:
    return Value(path="JSON.stringify()", taint=args[0].taint) if args else None


def weak_hash(run: Evaluator, args: list[Value], line: int) -> Value | None:
    if (_known(args) or "").lower() in ("md5", "sha1", "md4", "ripemd160"):
        run.harm("weak-hash", line)
    return None


def weak_cipher(run: Evaluator, args: list[Value], line: int) -> Value | None:
    if re.search(r"des|rc4|ecb|bf-", _known(args) or "", re.I) or len(args) == 2:
        run.harm("weak-cipher", line)
    return None


def page_text(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """Text written into a page or sent as one."""
    for arg in args:
        taint = _kinds(arg, "remote")
        if taint and arg.path not in ("JSON.stringify()", "{}"):
            run.harm("cross-site-scripting", line, taint)
    return None


def redirect(run: Evaluator, args: list[Value], line: int) -> Value | None:
    target = args[-1] if args else UNKNOWN
    taint = _kinds(target, "remote")
    if taint and not (target.prefix.startswith(("/", "http")) and len(target.prefix.split("\ufffc")[0]) > 1):
        run.harm("open-redirect", line, taint)
    return None


def query(run: Evaluator, args: list[Value], line: int) -> Value | None:
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
    elif text.taint and _kinds(text, "remote"):
        run.harm("sql-injection", line, text.taint)
    return None


def deserialize(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.harm("unsafe-deserialisation", line, args[0].taint if args else ())
    return None


def native(run: Evaluator, args: list[Value], line: int) -> Value | None:
    run.harm("native-code", line)
    return None


def pattern(run: Evaluator, args: list[Value], line: int) -> Value | None:
    taint = _kinds(args[0], "remote") if args else ()
    if taint:
        run.harm("regex-injection", line, taint)
    return None


def inject(rule_name: str) -> Rule:
    """A query of another language that a client's text is spelled into."""

    def rule(run: Evaluator, args: list[Value], line: int) -> Value | None:
        taint = _kinds(args[0], "remote") if args else ()
        if taint:
            run.harm(rule_name, line, taint)
        return None

    return rule


def serve_file(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`res.sendFile(path)`; with a root given, the framework keeps the path below it."""
    run.report.effects.add("file-read")
    if args and "root" not in run.line_text(line):
        _judge_path(run, args[0], line)
    return None


def share_with_origins(run: Evaluator, args: list[Value], line: int) -> Value | None:
    text = run.line_text(line)
    everyone = re.search(r"origin['\"]?\s*:\s*(?:['\"]\*['\"]|true)", text)
    if everyone and re.search(r"credentials['\"]?\s*:\s*true", text):
        run.harm("permissive-cors", line)
    return None


def sign_token(run: Evaluator, args: list[Value], line: int) -> Value | None:
    if len(args) > 1 and args[1].text:
        run.harm("hard-coded-secret", line)
    return None


def verify_token(run: Evaluator, args: list[Value], line: int) -> Value | None:
    if re.search(r"algorithms?['\"]?\s*:\s*\[?[^\]]*['\"]none['\"]", run.line_text(line), re.I):
        run.harm("unverified-token", line)
    return None


def merge_objects(run: Evaluator, args: list[Value], line: int) -> Value | None:
    taint = _kinds(args[-1], "remote") if len(args) > 1 else ()
    if taint:
        run.doubt("prototype-pollution", line, taint)
    return None


def leave_page(run: Evaluator, args: list[Value], line: int) -> Value | None:
    effects.navigate(run, args, line)
    return redirect(run, args, line)


def run_array(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`Bun.spawn(["ls", "-l"])`."""
    words = args[0].items if args and args[0].items else []
    given = [*words[:1], Value(items=words[1:])] if words else args
    return program(run, given, line)


def start_itself(run: Evaluator, args: list[Value], line: int) -> Value | None:
    """`fork(__filename)` in a loop or timer that never ends starts as many as the machine holds."""
    text = run.line_text(line)
    if run.bare_loops or ("setInterval" in text and "__filename" in text):
        run.harm("fork-bomb", line)
    return program(run, args, line)


def _open_connection(path: str) -> Rule:
    """What is sent later goes through what this returns."""

    def rule(run: Evaluator, args: list[Value], line: int) -> Value | None:
        request(run, args, line)
        return Value(path=f"{path}()", taint=(Origin("network", line, "a response"),))

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
# Objects whose every member is a power of its own, and those of their members that are understood.
_POWERS: Final = re.compile(r"(?:Deno|Bun|process|chrome|WebAssembly|vm|v8|inspector|repl|wasi)\.\w")
_KNOWN_POWERS: Final = re.compile(
    r"Deno\.(?:env|args|cwd|exit|serve|listen|connect|stat|readDir|mkdir|test|errors|stdout|stdin|close|copy)"
    r"|Bun\.(?:serve|env|argv|sleep|version|hash|password|gzipSync|inspect|deepEquals)"
    r"|process\.(?:cwd|exit|on|once|off|emit|nextTick|hrtime|uptime|memoryUsage|cpuUsage|getuid|getgid|geteuid|stdout"
    r"|stderr|stdin|argv|env|emitWarning|umask|version|versions|platform|pid|ppid|removeListener|removeAllListeners"
    r"|resourceUsage|abort|chdir|send|disconnect|listenerCount|addListener|setMaxListeners|exitCode|title|arch)\b"
    r"|chrome\.(?:runtime|i18n|storage|action|alarms)\b|v8\.(?:getHeapStatistics|serialize)"
)


class Rules:
    """The judgements an evaluator is given."""

    def called(
        self, run: Evaluator, target: Value, args: list[Value], receiver: Value, node: Any
    ) -> Value | None:
        line = run.line(node)
        if any(target.path.startswith(module) for module in run.unknown_modules):
            run.doubt("unknown-module", line)
        rule = CALLS.get(target.path)
        if rule is None and _POWERS.match(target.path) and not _KNOWN_POWERS.match(target.path):
            run.doubt("unknown-api", line)
        if rule is None and "." in target.path:
            rule = METHODS.get(target.path.rpartition(".")[2])
        if rule is None:
            for arg in args:
                if arg.path in ("eval", "Function", "child_process.exec", "child_process.execSync"):
                    run.doubt("dangerous-reference-escapes", line)
            return None
        return rule(run, args, line)

    def mention(self, run: Evaluator, path: str, line: int) -> None:
        if path in ("process.binding", "process.dlopen") or "constructor.constructor" in path:
            run.harm("sandbox-escape", line)

    def loaded(self, run: Evaluator, module: str, line: int) -> None:
        loaded(run, module, line)

    def assigned(self, run: Evaluator, name: str, value: Value, line: int) -> None:
        spelled = value.text is not None and not value.number and len(value.text) > 3
        if spelled and _SECRET_NAME.search(name) and not _NOT_A_SECRET.search(value.text or ""):
            run.harm("hard-coded-secret", line)
        made_at_random = value.path.startswith("Math.random()") or (
            value.text is None and "Math.random()" in run.line_text(line)
        )
        if made_at_random and _SECRET_PURPOSE.search(name):
            run.harm("weak-randomness", line)
        if name == "$where" and value.taint:
            run.harm("code-injection", line, value.taint)
        settings.judge(run, name, value, line)

    def stored(
        self, run: Evaluator, owner: Value, name: str | None, index: Value, value: Value, line: int
    ) -> None:
        if name in ("innerHTML", "outerHTML", "srcdoc") and _kinds(value, "remote"):
            run.harm("cross-site-scripting", line, value.taint)
        elif name in ("href", "location", "src") and owner.path.startswith(
            ("location", "document", "globalThis")
        ):
            if _kinds(value, "remote") and name != "src":
                run.harm("open-redirect", line, value.taint)
        elif name == "NODE_TLS_REJECT_UNAUTHORIZED":
            run.harm("tls-verification-off", line)
        if name in effects.SINKS and effects.leaks(value) and not effects.stays_here(value):
            run.harm("exfiltration", line, value.taint)
        if name in ("src", "href", "action") and value.text is not None and value.text.startswith("http"):
            run.report.effects.add("network")
        if (
            name == "__proto__"
            or "__proto__" in owner.path
            or (name == "prototype" and owner.path == "constructor")
        ):
            run.harm("prototype-pollution", line)
        if name is None and _kinds(index, "remote"):
            run.doubt("prototype-pollution", line, index.taint)
        if name is not None:
            self.assigned(run, name, value, line)
