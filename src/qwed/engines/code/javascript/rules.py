"""The judgements an evaluator is given: calls by their tables, names and properties by what they say."""

import re
from typing import Any, Final

from qwed.engines.code.javascript import effects, settings
from qwed.engines.code.javascript.calls import CALLS, METHODS, loaded
from qwed.engines.code.javascript.evaluator import Evaluator, ScriptValue
from qwed.engines.code.javascript.files import kinds

_SECRET_NAME: Final = re.compile(
    r"(?:^|_|[a-z])(?:password|passwd|secret|apiKey|api_key|token|privateKey|private_key|secretKey)$", re.I
)
_NOT_A_SECRET: Final = re.compile(
    r"^(?:|x+|\*+|<.*>|\$\{.*\}|your[-_ ].*|change[-_ ]?me|example.*|password|secret|"
    r"token|test)$|\s|^https?:",
    re.I,
)
_SECRET_PURPOSE: Final = re.compile(r"token|secret|passw|session|nonce|otp|csrf|salt", re.I)
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


class ScriptRules:
    """The judgements an evaluator is given."""

    def called(
        self, run: Evaluator, target: ScriptValue, args: list[ScriptValue], receiver: ScriptValue, node: Any
    ) -> ScriptValue | None:
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

    def assigned(self, run: Evaluator, name: str, value: ScriptValue, line: int) -> None:
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
        self,
        run: Evaluator,
        owner: ScriptValue,
        name: str | None,
        index: ScriptValue,
        value: ScriptValue,
        line: int,
    ) -> None:
        if name in ("innerHTML", "outerHTML", "srcdoc") and kinds(value, "remote"):
            run.harm("cross-site-scripting", line, value.taint)
        elif name in ("href", "location", "src") and owner.path.startswith(
            ("location", "document", "globalThis")
        ):
            if kinds(value, "remote") and name != "src":
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
        if name is None and kinds(index, "remote"):
            run.doubt("prototype-pollution", line, index.taint)
        if name is not None:
            self.assigned(run, name, value, line)
