"""What a web application sends back, and how it is set up."""

import re
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import LOCAL, REMOTE
from qwed.engines.code.python.values import (
    Choice,
    Const,
    Items,
    PythonTable,
    PythonText,
    PythonUnknown,
    PythonValue,
    Ref,
    Taint,
)

_SESSION_COOKIE: Final = re.compile(r"sess|token|auth|sid$|^id$|jwt|login|remember|user", re.I)


def _remote(value: PythonValue | None) -> Taint:
    if value is None:
        return ()
    return tuple(origin for origin in value.taint if origin.kind == REMOTE)


def returned(run: Interpreter, function: str, value: PythonValue, line: int) -> None:
    """A Flask view's string answer is HTML."""
    if function != "@flask":
        return
    body = value.items[0] if isinstance(value, Items) and value.kind == "tuple" and value.items else value
    for option in body.options if isinstance(body, Choice) else (body,):
        _judge_body(run, option, line)


def _judge_body(run: Interpreter, body: PythonValue, line: int) -> None:
    if isinstance(body, Ref) and body.path.startswith(
        ("traceback.format_exc()", "traceback.format_exception()")
    ):
        run.harm("information-exposure", line)
    if isinstance(body, PythonText):
        tainted = [part for part in body.parts if isinstance(part, PythonValue) and _remote(part)]
        if tainted:
            run.harm("cross-site-scripting", line, _remote(tainted[0]))
    elif (
        isinstance(body, Ref)
        and _remote(body)
        and "request" in body.path
        and not body.path.endswith("json()")
    ) or (
        isinstance(body, PythonUnknown)
        and not body.shape
        and _remote(body)
        and body.taint[0].text.startswith("parameter")
    ):
        run.harm("cross-site-scripting", line, _remote(body))


def respond(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`make_response(body)`, `HttpResponse(body)`."""
    body = call.argument(0, "content")
    kind = call.kwargs.get("content_type") or call.kwargs.get("mimetype")
    if isinstance(kind, Const) and "html" not in str(kind.data):
        return None
    for option in body.options if isinstance(body, Choice) else (body,):
        escaped = isinstance(option, PythonUnknown) and option.shape != ""
        if isinstance(option, (PythonText, Ref, PythonUnknown)) and _remote(option) and not escaped:
            run.harm("cross-site-scripting", call.line, _remote(option))
    return Ref(call.path + "()")


def trusted_markup(run: Interpreter, call: PythonCall) -> PythonValue | None:
    body = call.argument(0)
    pieces = (
        [part for part in body.parts if isinstance(part, PythonValue)] if isinstance(body, PythonText) else []
    )
    raw = [part for part in pieces if not (isinstance(part, PythonUnknown) and part.shape)]
    holds_script = isinstance(body, Const) and "<script" in str(body.data).lower()
    if _remote(body) or raw or holds_script:
        run.harm("cross-site-scripting", call.line, _remote(body))
    return None


def template(run: Interpreter, call: PythonCall) -> PythonValue | None:
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


def jinja_environment(run: Interpreter, call: PythonCall) -> PythonValue | None:
    escape = call.kwargs.get("autoescape")
    if escape is None or (isinstance(escape, Const) and not escape.data):
        run.harm("template-without-escaping", call.line)
    return None


def redirect(run: Interpreter, call: PythonCall) -> PythonValue | None:
    target = call.argument(0, "location")
    for option in target.options if isinstance(target, Choice) else (target,):
        _judge_target(run, call, option)
    return None


def _judge_target(run: Interpreter, call: PythonCall, target: PythonValue | None) -> None:
    if isinstance(target, PythonText) and target.prefix.startswith(("/", "http")) and len(target.prefix) > 1:
        return
    if _remote(target):
        run.harm("open-redirect", call.line, _remote(target))


def run_application(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    debug = call.kwargs.get("debug")
    if isinstance(debug, Const) and debug.data is True and not call.path.startswith("asyncio."):
        run.harm("debug-mode", call.line)
    return None


def set_cookie(run: Interpreter, call: PythonCall) -> PythonValue | None:
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


_HEADERS: Final = ("headers[]", "Response()[]", "make_response()[]", "HttpResponseRedirect()[]")


def set_header(run: Interpreter, path: str, value: PythonValue, line: int) -> None:
    if path.endswith(_HEADERS) and _remote(value) and not (isinstance(value, PythonUnknown) and value.shape):
        run.harm("header-injection", line, _remote(value))


def add_header(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`headers.add(name, value)`, `response.__setitem__(name, value)`, `set_header(name, value)`."""
    path = call.path.rpartition(".")[0]
    value = call.argument(1)
    if value is not None and (path.endswith(("eaders()", ".headers", "Response()")) or "header" in call.path):
        set_header(run, "headers[]", value, call.line)
    return None


def write_page(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`self.wfile.write(data)` of a request handler."""
    receiver = call.receiver
    body = call.argument(0)
    if isinstance(receiver, Ref) and receiver.path.endswith("wfile") and _remote(body):
        run.harm("cross-site-scripting", call.line, _remote(body))
    return None


def share_with_origins(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Any site may use the visitor's session: every origin, with credentials."""
    credentials = call.kwargs.get("supports_credentials") or call.kwargs.get("allow_credentials")
    if not (isinstance(credentials, Const) and credentials.data is True):
        return None
    if any(_is_everyone(call.kwargs.get(name)) for name in ("origins", "allow_origins", "resources")):
        run.harm("permissive-cors", call.line)
    return None


def _is_everyone(origins: PythonValue | None) -> bool:
    match origins:
        case Const(data="*"):
            return True
        case Items():
            return any(map(_is_everyone, origins.items))
        case PythonTable():
            return any(map(_is_everyone, origins.entries.values()))
    return False


def compile_pattern(run: Interpreter, call: PythonCall) -> PythonValue | None:
    pattern = call.argument(0, "pattern")
    if _remote(pattern):
        run.harm("regex-injection", call.line, _remote(pattern))
    return None


def save_upload(run: Interpreter, call: PythonCall) -> PythonValue | None:
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
    "flask_cors.CORS": share_with_origins,
    "flask_cors.cross_origin": share_with_origins,
    "starlette.middleware.cors.CORSMiddleware": share_with_origins,
    "re.compile": compile_pattern,
    "re.match": compile_pattern,
    "re.search": compile_pattern,
    "re.sub": compile_pattern,
    "re.findall": compile_pattern,
    "re.fullmatch": compile_pattern,
}
METHODS: dict[str, Rule] = {
    "set_cookie": set_cookie,
    "__setitem__": add_header,
    "add": add_header,
    "set_header": add_header,
    "send_header": add_header,
    "write": write_page,
    "add_middleware": share_with_origins,
    "run": run_application,
    "save": save_upload,
}
