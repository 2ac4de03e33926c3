"""The command group, and the one place that turns errors into sentences and exit codes."""

import io
import sys
from typing import Any

import click

from qwed import __version__
from qwed.cli import COMMANDS, load
from qwed.cli.errors import CannotReach
from qwed.cli.groups import CommandGroup
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.settings import SettingsError

#: One line per command, so that `--help` loads none of them.
_HELP = {
    "activity": "Read an agent's audit trail: list, tail.",
    "agents": "Manage agents: list, show, register, suspend, complain, reactivate.",
    "approvals": "Answer what waits for a person: list, show, approve, deny, watch.",
    "attest": "Check an attestation with its issuer's public keys.",
    "backup": "Keep the store in a folder, while the gateway runs; the copy is verified.",
    "broker": "Hold the credentials that the agent must not have: run, serve.",
    "cells": "Put many deployments behind one proxy: route, tag.",
    "doctor": "Say what is wrong with this installation and how to fix it.",
    "ect": "Inspect, verify and issue execution context tokens.",
    "guard": "Check an agent's output with guards.",
    "hook": "Put the gateway before the tools of a coding agent: install, status, doctor.",
    "keys": "Manage API keys: create, list, revoke.",
    "ledger": "Verify, export and prove the record.",
    "mcp": "Protect MCP servers: proxy, pin, serve.",
    "migrate": "Move a SQLite store to PostgreSQL.",
    "policy": "Write, check, try, compare and change the policy.",
    "resume": "End a stop.",
    "stop": "Stop every agent, a team or a tool, everywhere at once.",
    "redact": "Erase what old entries say; the ledger still verifies.",
    "profile": "Show which assurance profile is in force, and why.",
    "provenance": "Ask where data came from: who, transformed, complete, graph.",
    "report": "Write a compliance report: JSON, CSV or PDF.",
    "restore": "Put a backup back, verified and all at once.",
    "run": "Start a coding agent in a sandbox whose only way out is the gateway.",
    "serve": "Start the gateway.",
    "signing-key": "Create, show, rotate or revoke the key that signs.",
    "simulate": "Simulate trust scores of honest and hostile agents over weeks.",
    "state": "Check and commit an agent's state file.",
    "tools": "Propose a policy for tools that were refused as unknown.",
    "trust": "Show and change how far an agent is trusted: show, history, explain, set, request.",
    "verify": "Verify one action, or ask one engine.",
    "webhooks": "Notify other systems and see what arrived: list, add, remove, deliveries, test.",
    "witness": "Witness ledgers that others keep, or have this one witnessed: serve, ask, key.",
    "workspace": "Snapshot, diff and roll back a workspace.",
}


class LazyGroup(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = load(cmd_name)
        return command

    def summary(self, ctx: click.Context, name: str) -> str:
        return _HELP[name]


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="qwed")
def cli() -> None:
    """Stop an AI agent before it drops a table, overspends or loops, and prove later what it did.

    \b
    First steps:
      qwed serve                       start a gateway on 127.0.0.1:8000
      qwed verify math "15% of 200 = 30"
      qwed doctor                      say what is wrong, and how to fix it
    """


def run(arguments: list[str] | None = None) -> None:
    # What a terminal can't show is replaced: an agent's name must not end a command.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        status: Any = cli.main(arguments, standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (SettingsError, CannotReach, StoreUnavailable) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except RequestError as error:
        click.echo(f"Error: {error.refusal.message} ({error.refusal.code})", err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
