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
    "agents": "Your agents: list, show, register, suspend, complain, reactivate.",
    "approvals": "What waits for you: list, show, approve, deny, watch.",
    "attest": "Check an attestation with its issuer's public keys.",
    "doctor": "Say what is wrong with this installation and how to fix it.",
    "ect": "Execution context tokens: inspect, verify, issue.",
    "guard": "Check an agent's output with guards.",
    "keys": "API keys: create, list, revoke.",
    "ledger": "Verify, export and prove the record.",
    "mcp": "The Model Context Protocol: proxy, pin, serve.",
    "migrate": "Move a SQLite store to PostgreSQL.",
    "policy": "Check a policy file and explain what is in force.",
    "redact": "Erase what old entries say; the ledger still verifies.",
    "profile": "Which assurance is in force here, and why.",
    "provenance": "Where data came from: who, transformed, complete, graph.",
    "report": "Write a compliance report: JSON, CSV or PDF.",
    "serve": "Start the gateway.",
    "signing-key": "Create, show, rotate or revoke the key that signs.",
    "simulate": "What trust scores do to honest and hostile agents over weeks.",
    "state": "Check and commit an agent's state file.",
    "tools": "Propose a policy for tools that were refused as unknown.",
    "trust": "How far an agent is trusted, and why: show, history, explain, set, request.",
    "verify": "Verify one action, or ask one engine.",
    "webhooks": "Who is told, and whether it arrived: list, add, remove, deliveries, test.",
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
    """QWED stands between AI agents and the world: it proves, decides, records, and then answers.

    \b
    First steps:
      qwed serve                       start a gateway on 127.0.0.1:8000
      qwed verify math "15% of 200 = 30"
      qwed doctor                      what is wrong here, and how to fix it
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
