"""Agent Governance Toolkit: PolicyEvaluator, and govern() with its audit log."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from agent_os.policies import (
    PolicyCondition,
    PolicyDefaults,
    PolicyDocument,
    PolicyEvaluator,
    PolicyRule,
)
from agentmesh.governance import govern
from work import ALLOWED, REFUSED, arguments

POLICY = (Path(__file__).parents[1] / "agt-policy.yaml").read_text()


def works():
    condition = PolicyCondition(field="tool_name", operator="eq", value=ALLOWED)
    rule = PolicyRule(name="allow-lookup", condition=condition, action="allow")
    document = PolicyDocument(name="shop", rules=[rule], defaults=PolicyDefaults(action="deny"))
    evaluator = PolicyEvaluator([document])
    governed = govern(lambda action, **_: True, policy=POLICY, agent_id="agent-1", audit=True)
    refusing = govern(
        lambda action, **_: True, policy=POLICY, agent_id="agent-1", on_deny=lambda decision: False
    )

    def decide(number):
        assert evaluator.evaluate({"tool_name": ALLOWED, **arguments(number)}).allowed

    def recorded(number):
        assert governed(action=ALLOWED, **arguments(number))

    assert not evaluator.evaluate({"tool_name": REFUSED}).allowed
    assert refusing(action=REFUSED) is False
    return {"decision": decide, "audit": recorded}
