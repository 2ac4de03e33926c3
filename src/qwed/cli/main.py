"""The command group, and the one place that turns errors into sentences and exit codes."""

import sys
from typing import Any

import click

from qwed import __version__
from qwed.cli import COMMANDS, load
from qwed.cli.errors import CannotReach
from qwed.gateway.answers import RequestError
from qwed.gateway.ports import StoreUnavailable
from qwed.settings import SettingsError

#: One line per command, so that `--help` loads none of them.
_HELP = {
    "activity": "Read an agent's audit trail: list, tail.",
    "agents": "Your agents: list, show, register, suspend, reactivate.",
    "approvals": "What waits for you: list, show, approve, deny.",
    "attest": "Check an attestation with its issuer's public keys.",
    "doctor": "Say what is wrong with this installation and how to fix it.",
    "ect": "Execution context tokens: inspect, verify, issue.",
    "guard": "Check an agent's output with guards.",
    "keys": "API keys: create, list, revoke.",
    "ledger": "Verify the hash chain over the record.",
    "policy": "Check a policy file and explain what is in force.",
    "serve": "Start the gateway.",
    "state": "Check and commit an agent's state file.",
    "verify": "Verify one action, or ask one engine.",
    "workspace": "Snapshot, diff and roll back a workspace.",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = load(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _HELP[name]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
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
