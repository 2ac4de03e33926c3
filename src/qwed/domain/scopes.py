"""What a credential may do, one word for each right."""

import enum
from typing import Final

OPERATOR_ROLE: Final = "operator"


class Scope(enum.StrEnum):
    VERIFY = "verify"
    REGISTER = "register"
    READ = "read"
    APPROVE = "approve"
    TRUST = "trust"
    #: For whoever runs tools: use permits, and say what was run.
    PERMITS = "permits"
    #: For whoever collects metrics: nothing else.
    METRICS = "metrics"
    #: Read, try and change the policy, stop and resume: everything that it says holds for everybody.
    POLICY = "policy"
    #: Follow the whole ledger by its hashes and signatures; with `read`, read the record of all principals.
    AUDIT = "audit"
