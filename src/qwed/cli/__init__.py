"""The `qwed` command. Each command's module is loaded when it is called, so that `--help` is quick."""

import importlib
import sys
from typing import Any

#: Command → module and object.
COMMANDS = {
    "activity": ("qwed.cli.activity", "activity"),
    "agents": ("qwed.cli.agents", "agents"),
    "approvals": ("qwed.cli.approvals", "approvals"),
    "attest": ("qwed.cli.attest", "attest"),
    "backup": ("qwed.cli.backup", "backup"),
    "broker": ("qwed.cli.broker", "broker"),
    "cells": ("qwed.cli.cells", "cells"),
    "doctor": ("qwed.cli.doctor", "doctor"),
    "ect": ("qwed.cli.ect", "ect"),
    "guard": ("qwed.cli.guard", "guard"),
    "hook": ("qwed.cli.hook", "hook"),
    "keys": ("qwed.cli.keys", "keys"),
    "ledger": ("qwed.cli.ledger", "ledger"),
    "mcp": ("qwed.cli.mcp", "mcp"),
    "migrate": ("qwed.cli.migrate", "migrate"),
    "policy": ("qwed.cli.policy", "policy"),
    "resume": ("qwed.cli.stop", "resume"),
    "redact": ("qwed.cli.redact", "redact"),
    "profile": ("qwed.cli.profile", "profile"),
    "provenance": ("qwed.cli.provenance", "provenance"),
    "report": ("qwed.cli.report", "report"),
    "restore": ("qwed.cli.backup", "restore"),
    "run": ("qwed.cli.run", "run"),
    "serve": ("qwed.cli.serve", "serve"),
    "signing-key": ("qwed.cli.signing_key", "signing_key"),
    "simulate": ("qwed.cli.simulate", "simulate"),
    "state": ("qwed.cli.state", "state"),
    "stop": ("qwed.cli.stop", "stop"),
    "tools": ("qwed.cli.tools", "tools"),
    "trust": ("qwed.cli.trust", "trust"),
    "verify": ("qwed.cli.verify", "verify"),
    "webhooks": ("qwed.cli.webhooks", "webhooks"),
    "witness": ("qwed.cli.witness", "witness"),
    "workspace": ("qwed.cli.workspace", "workspace"),
}


def main() -> None:
    try:
        run = importlib.import_module("qwed.cli.main").run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        sys.exit(f"the qwed command needs {error.name}: pip install 'qwed-gateway[server]'")
    run()


def load(name: str) -> Any:
    module, attribute = COMMANDS[name]
    return getattr(importlib.import_module(module), attribute)
