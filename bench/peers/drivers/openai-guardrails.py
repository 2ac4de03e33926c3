"""OpenAI Guardrails without a model: its keyword filter, the nearest it has to a tool policy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import asyncio
import json
from types import SimpleNamespace

from guardrails import instantiate_guardrails, load_config_bundle, run_guardrails
from work import ALLOWED, REFUSED, arguments

BUNDLE = {"version": 1, "guardrails": [{"name": "Keyword Filter", "config": {"keywords": [REFUSED]}}]}


def works():
    guardrails = instantiate_guardrails(load_config_bundle(BUNDLE))
    context = SimpleNamespace(guardrail_llm=None)
    loop = asyncio.new_event_loop()

    def ask(text):
        running = run_guardrails(context, text, "text/plain", guardrails, suppress_tripwire=True)
        return not any(result.tripwire_triggered for result in loop.run_until_complete(running))

    def decide(number):
        assert ask(f"{ALLOWED} {json.dumps(arguments(number))}")

    assert not ask(f"{REFUSED} {{}}")
    return {"decision": decide}
