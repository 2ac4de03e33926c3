"""What an HTTP request is to the gateway: an action, made of its path, query and body. No I/O.

Whatever is not read here could change what the request does without changing the action, so a request that
is not read completely is refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from qwed.domain import json_text
from qwed_sdk.results import Json
from qwed_sdk.tool_map import NotShowable, ToolMap, action_of_call

MAX_FIELDS: Final = 1_000
MAX_DEPTH: Final = 60
_UTF8: Final = ("utf-8", "utf8", "us-ascii", "ascii")
FORM: Final = "application/x-www-form-urlencoded"
_PLACE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})\}")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,30})")
#: Two servers read these differently.
_AMBIGUOUS: Final = re.compile(r"(?i)//|\\|;|%2f|%5c|%00|[\x00-\x20\x7f]|(?:^|/)(?:\.|%2e){1,2}(?:/|$)")


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("is true or false")
    return text == "true"


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("is an integer")
    return int(text)


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError("is a number") from None
    if not number.is_finite() or len(text) > 40:
        raise ValueError("is a number")
    return number


#: What a text of a path, a query or a form stands for.
KINDS: Final[Mapping[str, Callable[[str], Json]]] = {
    "text": str,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}


class RequestAction(msgspec.Struct, frozen=True):
    """`path` is a template such as `/v1/accounts/{account}/transfers`. The fields of path, query and body,
    all of them, are the action's parameters; `fields` says which texts are an integer, a number or a boolean.
    Without a template the request's URL is the action's `target`."""

    action_type: str
    method: str
    path: str | None = None
    fields: Mapping[str, str] = {}

    def fits(self, method: str, path: str) -> bool:
        """Whether this is about such a request. A request that can be read in two ways fits nothing."""
        if method != self.method or _AMBIGUOUS.search(path):
            return False
        return self.path is None or _match(self.path, path) is not None


class PlainRequest(msgspec.Struct, frozen=True):
    """`path` as it came, without the query; `origin` is scheme and host."""

    method: str
    path: str
    query: str = ""
    content_type: str = ""
    body: bytes = b""
    origin: str = ""


def action_of_request(rule: RequestAction, request: PlainRequest, tool_map: ToolMap) -> Mapping[str, Json]:
    """Raises `NotShowable` for a request whose fields can't all be read."""
    if not rule.fits(request.method, request.path):
        raise NotShowable("the request is not the one that the rule is about")
    arguments: dict[str, Json] = {}
    if rule.path is None:
        query = f"?{request.query}" if request.query else ""
        target = f"{request.origin}{request.path}{query}"
        _add(arguments, _body_fields(rule, request))
        action = dict(action_of_call(rule.action_type, arguments, tool_map, is_strict=True).action)
        if action.get("target") is not None:
            raise NotShowable("the request's URL is the action's target, and the tool map names another")
        return {**action, "target": target}
    found = _match(rule.path, request.path)
    assert found is not None
    _add(arguments, _convert(rule, found.items()))
    _add(arguments, _convert(rule, _pairs(request.query)))
    _add(arguments, _body_fields(rule, request))
    return action_of_call(rule.action_type, arguments, tool_map, is_strict=True).action


def rules_of(routes: Mapping[str, str | RequestAction]) -> Sequence[RequestAction]:
    """`{"POST /payments/{account}": "send_money"}`, as a framework writes its routes."""
    return [_rule(route, to) for route, to in routes.items()]


def _rule(route: str, to: str | RequestAction) -> RequestAction:
    if isinstance(to, RequestAction):
        return to
    method, _, path = route.partition(" ")
    if not method.isupper() or not path.startswith("/"):
        raise ValueError(f"{route[:80]!r} is not a route such as 'POST /payments/{{account}}'")
    return RequestAction(to, method, path)


def _match(template: str, path: str) -> dict[str, str] | None:
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    found: dict[str, str] = {}
    for pattern, segment in zip(wanted, given, strict=True):
        place = _PLACE.fullmatch(pattern)
        if place is None:
            if pattern != segment:
                return None
        elif not segment or (text := _decode(segment)) is None:
            return None
        else:
            found[place[1]] = text
    return found


def _decode(segment: str) -> str | None:
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        return None


def _body_fields(rule: RequestAction, request: PlainRequest) -> Mapping[str, Json]:
    if not request.body:
        return {}
    media, _, parameters = request.content_type.partition(";")
    media = media.strip().lower()
    if not _is_utf8(parameters):
        raise NotShowable("the body is in another character set than UTF-8")
    if media == "application/json" or media.endswith("+json"):
        return _json_fields(request.body)
    if media == FORM:
        try:
            text = request.body.decode("ascii")
        except UnicodeDecodeError:
            raise NotShowable("the form is not ASCII") from None
        return _convert(rule, _pairs(text))
    raise NotShowable(f"the fields of a body of type {media[:80]!r} can't be read")


def _is_utf8(parameters: str) -> bool:
    """Of a media type: one that says otherwise could be read otherwise."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in _UTF8:
            return False
    return True


def _json_fields(body: bytes) -> Mapping[str, Json]:
    try:
        value = json_text.loads(body, max_depth=MAX_DEPTH)
    except json_text.JsonError as error:
        raise NotShowable(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise NotShowable("the body is not a JSON object")
    return value


def _pairs(text: str) -> Sequence[tuple[str, str]]:
    if not text:
        return []
    try:
        return parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise NotShowable("the query or form is not a list of names and values") from None


def _convert(rule: RequestAction, pairs: Iterable[tuple[str, str]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, text in pairs:
        if name in found:
            raise NotShowable(f"the field {name[:80]!r} is given twice")
        try:
            found[name] = KINDS[rule.fields.get(name, "text")](text)
        except ValueError as problem:
            raise NotShowable(f"the field {name[:80]!r} {problem}") from None
    return found


def _add(arguments: dict[str, Json], more: Mapping[str, Json]) -> None:
    for name, value in more.items():
        if name in arguments:
            raise NotShowable(f"the field {name[:80]!r} is given twice")
        arguments[name] = value
