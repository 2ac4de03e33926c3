"""What stops a command, as a sentence."""

import click


class CannotReach(Exception):
    """Neither a gateway nor the store; the message says what to do."""


class CannotRun(click.ClickException):
    """Neither yes nor no: the command could not be carried out."""

    exit_code = 2
