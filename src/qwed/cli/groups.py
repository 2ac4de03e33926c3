"""A group of commands: its help cuts no sentence short, and it knows what was nearly typed right."""

import difflib
from typing import Any

import click


class CommandGroup(click.Group):
    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.context_settings = {"help_option_names": ["-h", "--help"], **self.context_settings}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(ctx, name)) for name in self.list_commands(ctx)])

    def summary(self, ctx: click.Context, name: str) -> str:
        """The first paragraph of the command's help, whole."""
        command = self.get_command(ctx, name)
        paragraph = ((command and command.help) or "").strip().partition("\n\n")[0]
        return " ".join(paragraph.split())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(self._unknown(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, name: str) -> str:
        near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        return f"there is no command {name!r}{meant}"
