"""How much harm an action could do, from harmless to irreversible."""

import enum


class Risk(enum.IntEnum):
    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def wire(self) -> str:
        """The name used in JSON: lower case."""
        return _WIRE[self]

    @classmethod
    def from_wire(cls, name: str) -> "Risk":
        return _BY_WIRE[name]


_WIRE = {risk: risk.name.lower() for risk in Risk}
_BY_WIRE = {name: risk for risk, name in _WIRE.items()}
RISK_NAMES = tuple(_BY_WIRE)
