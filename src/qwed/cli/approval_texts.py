"""An approval in a few words."""

from collections.abc import Mapping

from qwed.cli.shared import printable, shown
from qwed.domain.json_types import Json


def said(action: Mapping[str, Json]) -> str:
    text = action.get("query") or action.get("code") or action.get("target") or action.get("parameters") or ""
    return printable(f"{action['type']} {text if isinstance(text, str) else shown(text)}"[:80])


def standing(approval: Mapping[str, Json]) -> str:
    """How it stands after an answer."""
    missing = approval["approvers_needed"] - len(approval["votes"])
    more = f"; {missing} more needed" if approval["status"] == "open" else ""
    return f"{approval['id']} is {approval['status']}{more}"
