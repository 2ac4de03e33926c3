"""NeMo Guardrails without a model: an input rail that runs one action on the call's text."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import json

from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.rails.llm.options import RailType
from work import ALLOWED, REFUSED, arguments

FLOWS = """
define bot refuse
  "refused"

define subflow check tool
  $allowed = execute check_tool
  if not $allowed
    bot refuse
    stop
"""
CONFIG = "models: []\nrails:\n  input:\n    flows:\n      - check tool\n"


async def check_tool(context=None):
    return context["user_message"].partition(" ")[0] == ALLOWED


def works():
    rails = LLMRails(RailsConfig.from_content(colang_content=FLOWS, yaml_content=CONFIG))
    rails.register_action(check_tool, "check_tool")

    def ask(text):
        result = rails.check([{"role": "user", "content": text}], rail_types=[RailType.INPUT])
        return result.status.value == "passed"

    def decide(number):
        assert ask(f"{ALLOWED} {json.dumps(arguments(number))}")

    assert not ask(f"{REFUSED} {{}}")
    return {"decision": decide}
