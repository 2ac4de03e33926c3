"""The configuration files of MCP clients: which servers they start, and the same servers behind the proxy.

Claude Desktop and Cursor keep them in JSON under `mcpServers`, VS Code in JSON with comments under `servers`,
Codex in TOML under `mcp_servers`. What is not a server is left as it is.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

MAX_BYTES: Final = 4 * 1024 * 1024
_SECTIONS: Final = ("mcpServers", "servers", "mcp_servers")
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_COMMENT: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_TOML_HEADER: Final = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?$")
_BARE_KEY: Final = re.compile(r"^[A-Za-z0-9_-]+$")
_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9-]+")
_HEADER_VARIABLE: Final = "MCP_HEADER_"


class UnreadableConfig(Exception):
    """Not such a file, or one that cannot be changed without losing something; the sentence says why."""


class ServerEntry(msgspec.Struct, frozen=True):
    """One server as a client starts it."""

    name: str
    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}

    @property
    def is_proxied(self) -> bool:
        return self.command[1:3] == ("mcp", "proxy") or self.command[1:5] == ("-m", "qwed", "mcp", "proxy")


class ClientFile:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.is_toml = path.suffix == ".toml"
        self._content = _read(path, text, is_toml=self.is_toml)
        self.section = next((name for name in _SECTIONS if isinstance(self._content.get(name), dict)), "")
        if not self.section:
            raise UnreadableConfig(f"{path}: names no MCP servers")

    def entries(self) -> list[ServerEntry]:
        """Raises `UnreadableConfig`."""
        return [_entry(self.path, name, given) for name, given in self._content[self.section].items()]

    def rewritten(self, replace: Callable[[ServerEntry], Mapping[str, Any] | None]) -> str:
        """The file's text with each server replaced, where `replace` answers what by.

        Raises `UnreadableConfig`."""
        servers = {
            entry.name: _merge(self._content[self.section][entry.name], replace(entry))
            for entry in self.entries()
        }
        wanted = {**self._content, self.section: servers}
        if not self.is_toml:
            return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
        text = _without_tables(self.text, self.section) + _tables(self.section, servers)
        try:
            is_same = tomllib.loads(text) == wanted
        except tomllib.TOMLDecodeError:
            is_same = False
        if not is_same:
            raise UnreadableConfig(
                f"{self.path}: is written in a way that cannot be changed safely; edit it by hand"
            )
        return text


def open_file(path: Path) -> ClientFile:
    """Raises `UnreadableConfig`."""
    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            raise UnreadableConfig(f"{path}: is larger than {MAX_BYTES} bytes")
        return ClientFile(path, content.decode("utf-8-sig"))
    except OSError as error:
        raise UnreadableConfig(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableConfig(f"{path}: is not UTF-8") from None


def put_proxy_before(
    entry: ServerEntry, program: tuple[str, ...], options: tuple[str, ...], env: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """The entry that starts the proxy in front of this server; None where it does already."""
    if entry.is_proxied:
        return None
    variables = {f"{_HEADER_VARIABLE}{n}": value for n, value in enumerate(entry.headers.values(), 1)}
    named = [f"{header}={name}" for header, name in zip(entry.headers, variables, strict=True)]
    target = ["--", *entry.command]
    if entry.url is not None:
        target = ["--url", entry.url, *(part for pair in named for part in ("--header", pair))]
    arguments = [*program[1:], "mcp", "proxy", *options, "--name", safe_name(entry.name), *target]
    return {"command": program[0], "args": arguments, "env": {**entry.env, **variables, **env}}


def safe_name(name: str) -> str:
    """What may stand before a tool's name, and can be told from it."""
    return _NOT_A_NAME.sub("-", name).strip("-")[:40] or "server"


# --- reading -------------------------------------------------------------------------------------


def _read(path: Path, text: str, *, is_toml: bool) -> dict[str, Any]:
    try:
        content = tomllib.loads(text) if is_toml else json.loads(_plain(text) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UnreadableConfig(f"{path}: is no configuration of a client")
    return content


def _plain(text: str) -> str:
    return _LAST_COMMA.sub(_keep, _COMMENT.sub(_keep, text))


def _keep(found: re.Match[str]) -> str:
    """Strings stay; comments and commas before an end go."""
    return found.group() if found.group().startswith('"') else ""


def _entry(path: Path, name: str, given: Any) -> ServerEntry:
    try:
        read = msgspec.convert(given, _Given)
    except msgspec.ValidationError as error:
        raise UnreadableConfig(f"{path}: the server {name!r}: {error}") from None
    if (read.command is None) == (read.url is None):
        raise UnreadableConfig(f"{path}: the server {name!r} has a command or an address")
    command = () if read.command is None else (read.command, *read.args)
    env = {key: str(value) for key, value in read.env.items()}
    return ServerEntry(name, command, read.url, env, {**read.headers, **read.http_headers})


class _Given(msgspec.Struct, frozen=True):
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str | int | float | bool] = {}
    headers: dict[str, str] = {}
    http_headers: dict[str, str] = {}


def _merge(given: Mapping[str, Any], replaced: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a client says about a server beside how to start it stays."""
    if replaced is None:
        return dict(given)
    gone = {"command", "args", "url", "env", "headers", "http_headers"}
    kept = {name: value for name, value in given.items() if name not in gone}
    if "type" in kept:
        kept["type"] = "stdio"
    return {**kept, **replaced}


# --- writing TOML --------------------------------------------------------------------------------


def _without_tables(text: str, section: str) -> str:
    lines: list[str] = []
    is_ours = False
    for line in text.splitlines(keepends=True):
        header = _TOML_HEADER.match(line)
        if header is not None:
            is_ours = header.group(1).split(".")[0].strip().strip("\"'") == section
        if not is_ours:
            lines.append(line)
    return "".join(lines).rstrip() + "\n"


def _tables(section: str, servers: Mapping[str, Mapping[str, Any]]) -> str:
    parts: list[str] = []
    for name, server in servers.items():
        parts.append(f"\n[{section}.{_key(name)}]\n")
        parts += [f"{_key(key)} = {_value(value)}\n" for key, value in server.items()]
    return "".join(parts)


def _key(name: str) -> str:
    return name if _BARE_KEY.match(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)
