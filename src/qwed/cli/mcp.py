"""`qwed mcp`: a proxy in front of any MCP server, its pins, and the gateway itself as an MCP server."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from qwed.cli.groups import CommandGroup
from qwed.cli.mcp_import import CLIENTS, file_of, give_back, take_over
from qwed.cli.shared import print_json, printable
from qwed.cli.tables import print_table
from qwed.domain.json_types import Json
from qwed.settings import Settings, environment, read_settings
from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.direct_transport import DirectTransport
from qwed_sdk.mcp.catalogue import Listed, ToolStanding, TooManyTools, examine
from qwed_sdk.mcp.channels import NoPipes
from qwed_sdk.mcp.client_files import UnreadableConfig, open_file, safe_name
from qwed_sdk.mcp.pins import Pin, Pins, PinsUnusable
from qwed_sdk.mcp.results import CATEGORIES, Do, ResultPolicy
from qwed_sdk.mcp.sessions import CannotList, ProxySettings, Upstream, list_tools, serve_session, serve_stdio
from qwed_sdk.tool_map import ToolAs

_NEEDS_SDK = "this needs the MCP SDK: pip install 'qwed-gateway[mcp]'"


@click.group(cls=CommandGroup)
def mcp() -> None:
    """The Model Context Protocol: a proxy in front of any server, and the gateway as a server."""


def with_upstream(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.argument("server_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]"),
        click.option("--url", metavar="URL", help="The server's address, instead of a command."),
        click.option(
            "--header", "headers", multiple=True, metavar="NAME=VARIABLE",
            help="With --url: send this header, its value from an environment variable.",
        ),
        click.option("--name", metavar="NAME", help="What the server's tools are pinned under."),
        click.option("--pins", metavar="FILE", help="The file of pins (QWED_MCP_PINS_FILE)."),
    ):  # fmt: skip
        command = option(command)
    return command


@mcp.command()
@with_upstream
@click.option("--agent", "agent_id", required=True, metavar="ID", help="The agent that calls the tools.")
@click.option("--gateway", metavar="URL", help="The gateway to ask (QWED_BASE_URL).")
@click.option("--map", "mapped", multiple=True, metavar="TOOL=ACTION", help="A tool's action type.")
@click.option("--tool-map", "map_file", metavar="FILE", help="The same in a JSON file.")
@click.option("--show-all", is_flag=True, help="List tools, too, that this agent may never use.")
@click.option("--require-pins", is_flag=True, help="Only tools that 'qwed mcp pin' has pinned.")
@click.option("--verify-resources", is_flag=True, help="Verify resources/read and prompts/get too.")
@click.option("--wait", default=300.0, show_default=True, help="Seconds a call waits for a person.")
@click.option("--gateway-timeout", default=5.0, show_default=True, help="Seconds to wait for its answer.")
@click.option("--renew-conversation", is_flag=True, help="Go on in a new conversation after the last step.")
@click.option(
    "--results", "result_rules", multiple=True, metavar="[TOOL:]KIND=DO",
    help="What happens to results with personal data, secrets or orders: pass, mark, mask or block.",
)  # fmt: skip
@click.option("--max-result-bytes", default=16 * 1024 * 1024, show_default=True, type=click.IntRange(1024))
@click.option(
    "--servers", "servers_file", metavar="FILE",
    help="All servers of a client's configuration, each tool under its server's name, instead of one.",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="Serve clients over HTTP, at /mcp, instead of stdio.")
def proxy(
    agent_id: str,
    gateway: str | None,
    gateway_timeout: float,
    listen: str | None,
    servers_file: str | None,
    mapped: tuple[str, ...],
    map_file: str | None,
    require_pins: bool,
    show_all: bool,
    verify_resources: bool,
    wait: float,
    renew_conversation: bool,
    max_result_bytes: int,
    result_rules: tuple[str, ...],
    **upstream: Any,
) -> int:
    """Stand between an MCP client and its server: every tool call is verified before the server hears of it.

    \b
    qwed mcp proxy --agent agent_… -- npx some-mcp-server
    qwed mcp proxy --agent agent_… --url https://mcp.example.com/mcp

    QWED_AGENT_TOKEN is the agent's token (or QWED_API_KEY a key with the scope 'verify'). The server gets
    this process's environment without anything that begins with QWED_.
    """
    settings = _settings(gateway, upstream["pins"])
    first, *others = [_upstream(**upstream)] if servers_file is None else _servers_in(servers_file, upstream)
    proxied = ProxySettings(
        upstream=first,
        others=tuple(others),
        agent_id=agent_id,
        pins=settings.mcp_pins_file,
        tool_map={**_map_in(map_file), **dict(_pair(text, "--map") for text in mapped)},
        pins_new=not require_pins,
        shows_all=show_all,
        verifies_resources=verify_resources,
        wait_seconds=wait,
        renews=renew_conversation,
        max_result_bytes=max_result_bytes,
        results=_result_policy(result_rules),
    )
    client = _client(settings, agent_id, gateway_timeout)
    try:
        if listen is not None:
            return _listen(proxied, client, listen, settings)
        client_left = asyncio.run(serve_stdio(proxied, client, _log))
    except OSError as error:
        raise click.ClickException(f"the server cannot be started: {error.strerror or error}") from None
    except NoPipes as error:
        raise click.ClickException(str(error)) from None
    except asyncio.CancelledError:
        return 143
    except KeyboardInterrupt:
        return 130
    return 0 if client_left else 1


@mcp.command()
@with_upstream
@click.option("--accept-changes", is_flag=True, help="Pin definitions that changed as they are now.")
@click.option("--accept", "accepted", multiple=True, metavar="TOOL", help="Pin a withheld tool as it is.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def pin(accept_changes: bool, accepted: tuple[str, ...], as_json: bool, **upstream: Any) -> int:
    """Look at a server's tools and pin their definitions as they are.

    Tools that were never seen are pinned. One that changed, or looks dangerous, stays withheld until it is
    accepted by name. Exit code 1 where a tool stays withheld.
    """
    server = _upstream(**upstream)
    pins = Pins(_settings(None, upstream["pins"]).mcp_pins_file)
    try:
        found = examine(asyncio.run(list_tools(server)), pins.of(server.name, server.identity))
        kept = {tool.name: pin for tool in found if (pin := _pin(tool, accept_changes, accepted))}
        pins.add(server.name, server.identity, kept)
        found = examine([tool.definition for tool in found], pins.of(server.name, server.identity))
    except (CannotList, PinsUnusable, TooManyTools) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"the server cannot be started: {error.strerror or error}") from None
    _print_tools(server.name, found, as_json=as_json)
    return 1 if any(tool.standing is not ToolStanding.PINNED for tool in found) else 0


def _pin(tool: Listed, accept_changes: bool, accepted: tuple[str, ...]) -> Pin | None:
    if tool.standing is ToolStanding.NEW:
        return Pin(tool.sha256)
    if tool.standing is ToolStanding.CHANGED and accept_changes:
        return Pin(tool.sha256)
    if tool.name in accepted and tool.standing is not ToolStanding.MALFORMED:
        return Pin(tool.sha256, accepted=True)
    return None


def _print_tools(server: str, found: list[Listed], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {"name": tool.name, "sha256": tool.sha256, "standing": tool.standing, "why": tool.why}
            for tool in found
        ]
        print_json({"server": server, "tools": rows})
        return
    table = [[tool.name, tool.standing, tool.sha256[:12], tool.why or ""] for tool in found]
    print_table(f"Tools of {printable(server)}", ["tool", "standing", "sha256", "why"], table)


@mcp.command("import")
@click.argument("client", required=False, type=click.Choice(CLIENTS))
@click.option("--file", metavar="FILE", help="The configuration, where it is not in its usual place.")
@click.option("--agent", "agent_id", metavar="ID", help="The agent that calls the tools.")
@click.option("--gateway", metavar="URL", help="The gateway to ask (QWED_BASE_URL).")
@click.option("--write", is_flag=True, help="Change the file; without it the difference is shown.")
@click.option("--undo", is_flag=True, help="Give the file back as it was.")
def import_servers(
    client: str | None, file: str | None, agent_id: str | None, gateway: str | None, write: bool, undo: bool
) -> int:
    """Put the proxy in front of what an MCP client starts: Claude Desktop, Cursor, VS Code or Codex.

    \b
    qwed mcp import cursor --agent agent_…            # shows what would change
    qwed mcp import cursor --agent agent_… --write    # changes it, and keeps the file as it was
    qwed mcp import cursor --undo

    QWED_AGENT_TOKEN, where it is set, is written into the file for the proxy to use.
    """
    path = file_of(client, file)
    if undo:
        return give_back(path)
    if agent_id is None:
        raise click.UsageError("name the agent that calls the tools with --agent")
    settings = _settings(gateway, None)
    env = {}
    if settings.base_url is not None:
        env["QWED_BASE_URL"] = settings.base_url
    if settings.agent_token is not None:
        env["QWED_AGENT_TOKEN"] = settings.agent_token.reveal()
    return take_over(path, ("--agent", agent_id), env, write=write)


@mcp.command()
@click.option("--agent", "agent_id", metavar="ID", help="The agent that is meant where a call names none.")
@click.option("--gateway", metavar="URL", help="The gateway to ask (QWED_BASE_URL).")
@click.option("--allow-answers", is_flag=True, help="Offer approving and denying as tools, too.")
@click.option("--listen", metavar="HOST:PORT", help="Serve over HTTP, at /mcp, instead of stdio.")
def serve(agent_id: str | None, gateway: str | None, allow_answers: bool, listen: str | None) -> int:
    """Offer the gateway as an MCP server: verify, approvals, activity, budget.

    With QWED_AGENT_TOKEN it speaks for that agent; with QWED_API_KEY for everything the key may see.
    """
    settings = _settings(gateway, None)
    try:
        from qwed_sdk.mcp.server import gateway_server, serve_stdio as run_stdio  # noqa: PLC0415, I001
    except ModuleNotFoundError:
        raise click.ClickException(_NEEDS_SDK) from None
    client = _client(settings, agent_id, 30.0)
    server = gateway_server(client, agent_id, allows_answers=allow_answers)
    try:
        if listen is not None:
            host, port = _address(listen)
            return _run_http(server.streamable_http_app(host=host), host, port, settings)
        asyncio.run(run_stdio(server, client))
    except KeyboardInterrupt:
        return 130
    return 0


# --- from texts to values ------------------------------------------------------------------------


def _settings(gateway: str | None, pins: str | None) -> Settings:
    return read_settings(options={"base_url": gateway, "mcp_pins_file": pins})


def _client(settings: Settings, agent_id: str | None, timeout: float) -> AsyncQWEDClient:
    if settings.agent_token is None and settings.api_key is None:
        raise click.UsageError("set QWED_AGENT_TOKEN to the agent's token, or QWED_API_KEY to a key")
    credential = settings.api_key or settings.agent_token
    assert credential is not None
    is_plain = settings.base_url is None or settings.base_url.startswith("http:")
    transport = DirectTransport() if is_plain else None
    client = AsyncQWEDClient(credential.reveal(), settings.base_url, timeout=timeout, transport=transport)
    if settings.agent_token is not None:
        if agent_id is None:
            raise click.UsageError("QWED_AGENT_TOKEN belongs to an agent: name it with --agent")
        client.use_agent_token(agent_id, settings.agent_token.reveal())
    return client


def _upstream(
    server_command: tuple[str, ...],
    url: str | None,
    headers: tuple[str, ...],
    name: str | None,
    pins: str | None,
) -> Upstream:
    if (url is None) == (not server_command):
        raise click.UsageError("give the server's command after --, or its address with --url")
    outside = {key: value for key, value in environment().items() if not key.startswith("QWED_")}
    named = dict(_pair(text, "--header") for text in headers)
    missing = [variable for variable in named.values() if variable not in outside]
    if missing:
        raise click.UsageError(f"--header: {missing[0][:80]!r} is not set")
    return Upstream(
        command=server_command,
        url=url,
        environ=outside,
        headers={header: outside[variable] for header, variable in named.items()},
        given_name=name,
    )


def _servers_in(path: str, upstream: Mapping[str, Json]) -> list[Upstream]:
    if upstream["url"] is not None or upstream["server_command"]:
        raise click.UsageError("--servers takes the place of --url and of a command")
    try:
        entries = [entry for entry in open_file(Path(path)).entries() if not entry.is_proxied]
    except UnreadableConfig as problem:
        raise click.ClickException(str(problem)) from None
    names = [safe_name(entry.name) for entry in entries]
    if not entries or len(set(names)) < len(names):
        raise click.ClickException(f"{path}: names no servers, or two that would be called alike")
    outside = {key: value for key, value in environment().items() if not key.startswith("QWED_")}
    return [
        Upstream(entry.command, entry.url, {**outside, **entry.env}, entry.headers, name)
        for entry, name in zip(entries, names, strict=True)
    ]


def _pair(text: str, option: str) -> tuple[str, str]:
    left, separator, right = text.partition("=")
    if not (left and separator and right):
        raise click.UsageError(f"{option} takes two names with = between them, not {text[:80]!r}")
    return left, right


def _map_in(path: str | None) -> Mapping[str, str | ToolAs]:
    if path is None:
        return {}
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, str | ToolAs])
    except OSError as error:
        raise click.UsageError(f"--tool-map: {path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--tool-map: {path}: {error}") from None


def _result_policy(rules: tuple[str, ...]) -> ResultPolicy | None:
    read = dict(_result_rule(text) for text in rules)
    if not read:
        return None
    try:
        from qwed_open_responses.tool_results import look  # noqa: PLC0415 - the guards are heavy

        # What is missing is said now, not at the first result.
        look({"content": "ready?"})
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"--results: {missing}") from None
    return ResultPolicy(look, read)


def _result_rule(text: str) -> tuple[str, Do]:
    about, do = _pair(text, "--results")
    kind = about.rpartition(":")[2]
    if kind not in CATEGORIES or do not in set(Do):
        raise click.UsageError(
            f"--results takes [TOOL:]KIND=DO with KIND one of {', '.join(CATEGORIES)} and DO one of"
            f" {', '.join(Do)}, not {text[:80]!r}"
        )
    return about, Do(do)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "[::1]") or not port.isdigit() or int(port) > 65535:
        raise click.UsageError("--listen takes a loopback address such as 127.0.0.1:8931")
    return host, int(port)


def _log(text: str) -> None:
    sys.stderr.write(f"qwed mcp: {printable(text)[:500]}\n")
    sys.stderr.flush()


# --- over HTTP -----------------------------------------------------------------------------------


def _listen(proxied: ProxySettings, client: AsyncQWEDClient, address: str, settings: Settings) -> int:
    try:
        from qwed_sdk.mcp.client_side import Listener  # noqa: PLC0415
    except ModuleNotFoundError:
        raise click.ClickException(_NEEDS_SDK) from None
    host, port = _address(address)
    listener = Listener(lambda channel: serve_session(proxied, client, channel, _log), _log)
    return _run_http(listener.app(), host, port, settings)


def _run_http(app: Any, host: str, port: int, settings: Settings) -> int:
    from qwed.http.connections import Connections  # noqa: PLC0415
    from qwed.http.descriptors import within_descriptors  # noqa: PLC0415
    from qwed.http.protocol import protocol_with  # noqa: PLC0415
    from qwed_sdk.mcp.mcp_endpoint import run  # noqa: PLC0415

    token = settings.mcp_listen_token.reveal() if settings.mcp_listen_token else None
    protocol = protocol_with(Connections(within_descriptors(settings, _log)))
    bare_host = host.strip("[]")
    run(app, bare_host, port, token, lambda bound: _log(f"listening on http://{host}:{bound}/mcp"), protocol)
    return 0
