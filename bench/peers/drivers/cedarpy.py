"""Cedar: a policy set and entities that are parsed once."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import cedarpy
from work import ALLOWED, REFUSED, arguments


def works():
    policies = cedarpy.PolicySet.from_str(f'permit(principal, action == Action::"{ALLOWED}", resource);')
    entities = cedarpy.Entities.from_json_str("[]")

    def ask(tool, given):
        request = {
            "principal": 'Agent::"agent-1"',
            "action": f'Action::"{tool}"',
            "resource": 'Shop::"shop"',
            "context": given,
        }
        return cedarpy.is_authorized(request, policies, entities).allowed

    def decide(number):
        assert ask(ALLOWED, arguments(number))

    assert not ask(REFUSED, {})
    return {"decision": decide}
