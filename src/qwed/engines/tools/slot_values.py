"""What an action names, whichever argument it is in: recipients, hosts, amounts and paths, read and folded as
the checks of this engine read them."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.engines.tools.arguments import Role, ToolArgument, arguments_of
from qwed.engines.tools.hosts import read_host
from qwed.engines.tools.paths import readings_of
from qwed.engines.tools.patterns import as_ascii
from qwed.engines.tools.payments import read_amount
from qwed.engines.tools.problems import ArgumentProblem
from qwed.engines.tools.recipients import address_of, split_recipients
from qwed.engines.tools.shapes import PATH_SHAPE, URL_SHAPE
from qwed.engines.tools.url_parts import split_url

Marks = Mapping[str, str]


class UnreadableSlot(ValueError):
    """A value is in its place and cannot be read as what it has to be."""


def recipients_of(action: Action, marks: Marks) -> list[dict[str, str]]:
    """Everybody who would get it, of every list, without display names. A bare name has no domain."""
    return [
        {"address": f"{local}@{domain}" if domain else local, "local": local, "domain": domain}
        for argument in arguments_of(action, marks)
        if argument.role is Role.RECIPIENT
        for local, domain in _addresses(argument)
    ]


def _addresses(argument: ToolArgument) -> Iterator[tuple[str, str]]:
    for entry in split_recipients(_text(argument)):
        local, at, domain = address_of(entry).rpartition("@")
        yield (local, _host_name(domain)) if at else (domain.casefold(), "")


def hosts_of(action: Action, marks: Marks) -> list[str]:
    """Every host that a URL, a host or a text in the form of a URL names."""
    found = []
    for argument in arguments_of(action, marks):
        is_url = argument.role in (Role.URL, Role.HOST, Role.REFERENCE)
        if is_url or (isinstance(argument.value, str) and URL_SHAPE.match(argument.value)):
            authority = split_url(_text(argument).strip(), [], argument.role is Role.HOST).authority
            if authority:
                found.append(_host_name(_without_port(authority.rpartition("@")[2])))
    return found


def _without_port(authority: str) -> str:
    name, colon, port = authority.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else authority


def _host_name(text: str) -> str:
    return as_ascii(read_host(text).name).casefold()


def paths_of(action: Action, marks: Marks) -> list[str]:
    """Every path in every way that a decoder would read it, without `.` and `..`."""
    found: dict[str, None] = {}
    for argument in arguments_of(action, marks):
        is_path = argument.role in (Role.PATH, Role.REFERENCE)
        if is_path or (isinstance(argument.value, str) and PATH_SHAPE.search(argument.value)):
            for reading in readings_of(_text(argument)):
                found[posixpath.normpath(reading.strip().replace("\\", "/"))] = None
    return list(found)


def amounts_of(action: Action, marks: Marks) -> list[dict[str, Any]]:
    """Every amount, with the currency that stands in it or beside it. Raises `UnreadableSlot`."""
    arguments = list(arguments_of(action, marks))
    named = [str(argument.value).strip().upper() for argument in arguments if argument.role is Role.CURRENCY]
    return [
        _amount(argument, named[0] if len(named) == 1 else "")
        for argument in arguments
        if argument.role is Role.AMOUNT
    ]


def _amount(argument: ToolArgument, beside: str) -> dict[str, Any]:
    value, stated = read_amount(argument.value)
    if isinstance(value, ArgumentProblem):
        raise UnreadableSlot(f"{argument.where} is not an amount")
    return {"value": float(value), "currency": stated or beside}


def _text(argument: ToolArgument) -> str:
    if not isinstance(argument.value, str):
        raise UnreadableSlot(f"{argument.where} is not text")
    return argument.value


SLOT_FUNCTIONS: Final[Mapping[str, Callable[[Action, Marks], list[Any]]]] = {
    "recipients": recipients_of,
    "hosts": hosts_of,
    "amounts": amounts_of,
    "paths": paths_of,
}
