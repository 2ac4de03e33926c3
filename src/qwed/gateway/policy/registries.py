"""What has a meaning here: the registries in force, and one engine asked alone."""

from typing import Any

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.findings import Finding
from qwed.domain.parameters import parameters_problem
from qwed.domain.policy import ActionRule, Policy, ToolGroup
from qwed.domain.registry import ENGINE_NAMES, TOOL_CONTROL
from qwed.engines.fair_queue import Client
from qwed.gateway.kernel.answers import Answer, RequestError, refuse
from qwed.gateway.kernel.requests import ActionBody, convert, read_verify
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope


def list_actions(policy: Policy) -> Answer:
    rows = [_row(name, rule) for name, rule in sorted(policy.action_rules.items())]
    return Answer({"policy_version": policy.version, "actions": rows})


def list_tools(policy: Policy) -> Answer:
    tools = (
        (name, rule) for name, rule in sorted(policy.action_rules.items()) if rule.engine == TOOL_CONTROL
    )
    rows = [{**_row(name, rule), "group": rule.group} for name, rule in tools]
    return Answer({"policy_version": policy.version, "tools": rows})


def _row(name: str, rule: ActionRule) -> dict[str, Any]:
    return {
        "name": name,
        "engine": rule.engine,
        # Null where the engine reads the risk from the content.
        "risk_level": None if rule.risk is None else rule.risk.wire,
        "verification_required": True,
        "approval_required": rule.group is ToolGroup.DANGEROUS,
    }


async def ask_engine(services: Services, caller: Caller, engine: str, raw: Any) -> Answer:
    """One engine alone: no agent, no decision, nothing recorded."""
    require_own_or_scope(caller, Scope.VERIFY)
    if engine not in ENGINE_NAMES:
        raise refuse(
            Code.NOT_FOUND, f"there is no engine '{engine[:80]}'; there are {', '.join(ENGINE_NAMES)}"
        )
    if isinstance(raw, dict) and "type" not in raw and "action_type" not in raw:
        raw = {"type": engine, **raw}
    convert(raw, ActionBody)
    request = read_verify({"action": raw})
    problem = parameters_problem(request.parameters)
    if problem is not None:
        raise RequestError(problem, status=422)
    # An agent waits in one line, whichever way it asks.
    client = Client(caller.principal_id or caller.name, caller.agent_id or caller.name)
    finding = await services.prover.prove(engine, request.action, client)
    return Answer(finding_wire(finding))


def finding_wire(finding: Finding) -> dict[str, Any]:
    return {
        "status": finding.status,
        "engine": finding.engine,
        "risk_level": finding.risk.wire,
        "reason": finding.reason,
        "failure": finding.failure,
        "checks_passed": finding.checks_passed,
        "checks_failed": finding.checks_failed,
        "evidence": finding.evidence,
        "corrected_action": None if finding.corrected is None else finding.corrected.to_wire(),
    }
