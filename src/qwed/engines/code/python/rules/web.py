"""What a web application sends back, and how it is set up."""

import re
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import Call, Rule
from qwed.engines.code.python.names import LOCAL, REMOTE
from qwed.engines.code.python.values import Choice, Const, Items, Ref, Taint, Text, Unknown, Value

_SESSION_COOKIE: Final = re.compile(r"sess|token|auth|sid$|^id$|jwt|login|remember|user", re.I)


def _remote(value: Value | None) -> Taint:
    if value is None:
        return ()
    return tuple(origin for origin in value.taint if origin.kind == REMOTE)


def returned(run: Interpreter, function: str, value: Value, line: int) -> None:
    """A Flask view's string answer is HTML."""
    if function != "@flask":
        return
    body = value.items[0] if isinstance(value, Items) and value.kind == "tuple" and value.items else value
    for option in body.options if isinstance(body, Choice) else (body,):
        _judge_body(run, option, line)


def _judge_body(run: Interpreter, body: Value, line: int) -> None:
    if isinstance(body, Text):
        tainted = [part for part in body.parts if isinstance(part, Value) and _remote(part)]
        if tainted:
            run.harm("cross-site-scripting", line, _remote(tainted[0]))
    elif (
        isinstance(body, Ref)
        and _remote(body)
        and "request" in body.path
        and not body.path.endswith("json()")
    ) or (
        isinstance(body, Unknown)
        and not body.shape
        and _remote(body)
        and body.taint[0].text.startswith("parameter")
    ):
        run.harm("cross-site-scripting", line, _remote(body))


def respond(run: Interpreter, call: Call) -> Value | None:
    """`make_response(body)`, `HttpResponse(body)`."""
    body = call.argument(0, "content")
    kind = call.kwargs.get("content_type") or call.kwargs.get("mimetype")
    if isinstance(kind, Const) and "html" not in str(kind.data):
        return None
    escaped = isinstance(body, Unknown) and body.shape != ""
    if isinstance(body, (Text, Ref, Unknown)) and _remote(body) and not escaped:
        run.harm("cross-site-scripting", call.line, _remote(body))
    return Ref(call.path + "()")


def trusted_markup(run: Interpreter, call: Call) -> Value | None:
    body = call.argument(0)
    if _remote(body):
        run.harm("cross-site-scripting", call.line, _remote(body))
    return None


def template(run: Interpreter, call: Call) -> Value | None:
    """A template made from input is a program made from input."""
    source = call.argument(0, "source")
    taint = (
        tuple(origin for origin in source.taint if origin.kind in (REMOTE, LOCAL))
        if source is not None
        else ()
    )
    if taint:
        run.harm("template-injection", call.line, taint)
    return Ref(call.path + "()")


def jinja_environment(run: Interpreter, call: Call) -> Value | None:
    escape = call.kwargs.get("autoescape")
    if escape is None or (isinstance(escape, Const) and not escape.data):
        run.harm("template-without-escaping", call.line)
    return None


def redirect(run: Interpreter, call: Call) -> Value | None:
    target = call.argument(0, "location")
    if isinstance(target, Text) and target.prefix.startswith(("/", "http")) and len(target.prefix) > 1:
        return None
    if _remote(target):
        run.harm("open-redirect", call.line, _remote(target))
    return None


def run_application(run: Interpreter, call: Call) -> Value | None:
    run.report.effects.add("network")
    debug = call.kwargs.get("debug")
    if isinstance(debug, Const) and debug.data is True and not call.path.startswith("asyncio."):
        run.harm("debug-mode", call.line)
    return None


def set_cookie(run: Interpreter, call: Call) -> Value | None:
    name = call.argument(0, "key")
    for flag in ("secure", "httponly"):
        value = call.kwargs.get(flag)
        if isinstance(value, Const) and value.data is False:
            run.harm("insecure-cookie", call.line)
            return None
    if "**" in call.kwargs or not (isinstance(name, Const) and isinstance(name.data, str)):
        return None
    if _SESSION_COOKIE.search(name.data) and not ("secure" in call.kwargs and "httponly" in call.kwargs):
        run.harm("insecure-cookie", call.line)
    return None


def set_header(run: Interpreter, path: str, value: Value, line: int) -> None:
    if path.endswith("headers[]") and _remote(value) and not (isinstance(value, Unknown) and value.shape):
        run.harm("header-injection", line, _remote(value))


def compile_pattern(run: Interpreter, call: Call) -> Value | None:
    pattern = call.argument(0, "pattern")
    if _remote(pattern):
        run.harm("regex-injection", call.line, _remote(pattern))
    return None


def save_upload(run: Interpreter, call: Call) -> Value | None:
    """`file.save(path)` of an uploaded file."""
    receiver = call.receiver
    if receiver is not None and _remote(receiver) and call.args and _remote(call.args[0]):
        run.harm("path-traversal", call.line, _remote(call.args[0]))
    return None


CALLS: dict[str, Rule] = {
    "flask.make_response": respond,
    "flask.Response": respond,
    "django.http.HttpResponse": respond,
    "flask.Markup": trusted_markup,
    "django.utils.safestring.mark_safe": trusted_markup,
    "flask.render_template_string": template,
    "jinja2.Template": template,
    "mako.template.Template": template,
    "django.template.Template": template,
    "jinja2.Environment().from_string": template,
    "jinja2.Environment": jinja_environment,
    "flask.redirect": redirect,
    "django.shortcuts.redirect": redirect,
    "django.http.HttpResponseRedirect": redirect,
    "starlette.responses.RedirectResponse": redirect,
    "fastapi.responses.RedirectResponse": redirect,
    "flask.Flask().run": run_application,
    "uvicorn.run": run_application,
    "re.compile": compile_pattern,
    "re.match": compile_pattern,
    "re.search": compile_pattern,
    "re.sub": compile_pattern,
    "re.findall": compile_pattern,
    "re.fullmatch": compile_pattern,
}
METHODS: dict[str, Rule] = {
    "set_cookie": set_cookie,
    "run": run_application,
    "save": save_upload,
}
