"""`qwed broker`: a proxy that holds the credentials which the agent must not have."""

import asyncio
import logging
from pathlib import Path

import click

from qwed.broker.broker_runs import run_program, serve_programs
from qwed.broker.redemption import GatewayAddress
from qwed.broker.refusals import BrokerRefused
from qwed.broker.service import Broker
from qwed.broker.surroundings import hide_memory
from qwed.cli.groups import CommandGroup
from qwed.coding.surroundings import inherit_without
from qwed.policy import PolicyError, load_policy
from qwed.settings import read_settings


@click.group(cls=CommandGroup)
def broker() -> None:
    """Hold the credentials that the agent must not have, and use them for what was approved."""


_CONFIG = click.option(
    "--config", metavar="FILE", help="The policy file, with a section `broker` [QWED_CONFIG, else qwed.yaml]."
)
_GATEWAY = click.option(
    "--gateway", metavar="URL", help="The gateway that gives out permits [QWED_BASE_URL]."
)
_AGENT = click.option(
    "--agent",
    "agent_id",
    metavar="ID",
    help="Take permits of this agent alone, and find the permit of a request that carries none.",
)
_REPLAY = click.option(
    "--replay", default="gateway", metavar="WHO", help="Who counts uses: gateway, or redis://… [gateway]."
)


@broker.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@_CONFIG
@_GATEWAY
@_AGENT
@_REPLAY
def run(
    command: tuple[str, ...], config: str | None, gateway: str | None, agent_id: str | None, replay: str
) -> int:
    """Start COMMAND behind a broker of its own.

    The program gets a proxy address, a bundle of certificates to trust, and an environment without the
    credentials. The broker's own key, with the scope `permits`, is QWED_BROKER_KEY.
    """
    made = _broker(config, gateway, agent_id, replay)
    try:
        return asyncio.run(run_program(made, command, inherit_without(), _say))
    except BrokerRefused as refusal:
        raise click.ClickException(f"{refusal.message} ({refusal.code.value})") from None
    except FileNotFoundError:
        raise click.ClickException(f"there is no program {command[0]!r}") from None


@broker.command()
@_CONFIG
@_GATEWAY
@_AGENT
@_REPLAY
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="Of this machine; 0 is any that is free."
)
@click.option("--socket", metavar="FILE", help="Also a Unix socket, for `qwed run --broker`.")
@click.option(
    "--folder", metavar="PATH", required=True, help="Where programs find their environment and certificates."
)
def serve(
    config: str | None,
    gateway: str | None,
    agent_id: str | None,
    replay: str,
    port: int,
    socket: str | None,
    folder: str,
) -> None:
    """Be a broker for programs that are started elsewhere, until Ctrl-C."""
    made = _broker(config, gateway, agent_id, replay)

    async def work() -> None:
        place = None if socket is None else Path(socket)
        await serve_programs(made, Path(folder), port, place, _say, asyncio.Event())

    try:
        asyncio.run(work())
    except (BrokerRefused, OSError) as problem:
        raise click.ClickException(str(problem)) from None


def _broker(config: str | None, gateway: str | None, agent_id: str | None, replay: str) -> Broker:
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    settings = read_settings()
    file = Path(config or settings.config or "qwed.yaml")
    try:
        policy = load_policy(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise click.ClickException(f"{file} can't be read ({type(error).__name__})") from None
    except PolicyError as error:
        raise click.ClickException(str(error)) from None
    if policy.broker is None:
        raise click.ClickException(f"{file} has no section `broker`: it says which hosts are reached")
    if settings.broker_key is None:
        raise click.ClickException(
            "set QWED_BROKER_KEY to a key with the scope permits:"
            " qwed keys create --principal ID --scope permits"
        )
    address = gateway or settings.base_url or f"http://{settings.host}:{settings.port}"
    where = GatewayAddress(address, settings.broker_key.reveal(), agent_id, replay)
    made = Broker(policy.broker, where, inherit_without(), file.resolve())
    if not hide_memory():
        _say("this system can't hide the broker's memory from other programs of the same user")
    return made


def _say(text: str) -> None:
    click.echo(f"broker: {text}", err=True)
