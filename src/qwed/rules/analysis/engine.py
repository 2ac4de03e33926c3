"""Analysis inside a worker, which is killed at its deadline."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.rules.analysis.client import ANALYSIS, read_written
from qwed.rules.analysis.differences import compare_rules
from qwed.rules.analysis.findings import analyse_rules


class PolicyAnalysisEngine:
    """The question comes as an action, because that is what workers are asked about."""

    name: Final = ANALYSIS

    def is_quick(self, action: Action) -> bool:
        return False

    def verify(self, action: Action) -> Finding:
        answer = _answer(action.parameters)
        return Finding(Status.VERIFIED, Risk.LOW, ANALYSIS, evidence={"answer": answer})


def _answer(question: Mapping[str, Any]) -> Any:
    policies = [read_written(written) for written in question["policies"]]
    if len(policies) == 1:
        return msgspec.to_builtins(analyse_rules(policies[0]))
    return {"differences": msgspec.to_builtins(compare_rules(*policies))}
