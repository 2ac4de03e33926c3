"""Cases that a policy has to decide: an action, what came before it, and what is expected."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentType
from qwed.domain.decisions import Decision
from qwed.domain.rules import duration_ms
from qwed.domain.times import parse_iso
from qwed.policy import readers
from qwed.policy.mistakes import PolicyError
from qwed.policy.readers import INVALID, PolicyReading, whole
from qwed.policy.yaml_text import YamlError, YamlNode, read

MAX_CASES: Final = 1_000
MAX_HISTORY: Final = 200


class CaseAgent(msgspec.Struct, frozen=True):
    type: AgentType = AgentType.AUTONOMOUS
    trust: int | None = None
    allowed_engines: tuple[str, ...] = ("math", "logic", "fact", "sql", "code")
    allowed_tools: tuple[str, ...] = ()
    blocked_tools: tuple[str, ...] = ()


class Earlier(msgspec.Struct, frozen=True):
    """What the agent did before, `times` times; `{n}` in a text becomes the number of the time."""

    action: Mapping[str, Any]
    ago: int
    outcome: str | None = None
    times: int = 1


class Expected(msgspec.Struct, frozen=True):
    """`rules` None: whichever; else exactly those."""

    decision: Decision
    rules: tuple[str, ...] | None = None
    code: str | None = None


class PolicyCase(msgspec.Struct, frozen=True):
    name: str
    action: Mapping[str, Any]
    expect: Expected
    agent: str = ""
    history: tuple[Earlier, ...] = ()
    #: When it is decided, in milliseconds; a Monday at noon where nothing is said.
    now: int = 1_790_596_800_000
    line: int = 0


class CaseFile(msgspec.Struct, frozen=True):
    """`policy` is a file beside this one."""

    tests: tuple[PolicyCase, ...]
    policy: str = "qwed.yaml"
    agents: Mapping[str, CaseAgent] = {}


def load_cases(text: str, source: str) -> CaseFile:
    """Raises `PolicyError` with every mistake."""
    reading = PolicyReading()
    try:
        root, reading.mistakes = read(text)
    except YamlError as error:
        raise PolicyError(source, [error.mistake]) from None
    given = readers.fields(_FILE)(reading, root or YamlNode({}, 1, 1), "")
    if not reading.mistakes and not given.get("tests"):
        reading.fail(1, "tests", "there is no test")
    for case in given.get("tests", ()):
        if case.agent and case.agent not in given.get("agents", {}):
            reading.fail(case.line, "tests", f"{case.name}: there is no agent {case.agent!r} under agents")
    if reading.mistakes:
        raise PolicyError(source, reading.mistakes)
    return CaseFile(**given)


def _plain(node: YamlNode) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return float(node.value) if isinstance(node.value, Decimal) else node.value


def _action(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    value = _plain(node)
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return reading.expected(node, path, "an action: a mapping with a type")
    return value


def _ago(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    found = duration_ms(node.value) if isinstance(node.value, str) else None
    return reading.expected(node, path, "a duration such as 30m or 2h") if found is None else found


def _moment(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    try:
        return parse_iso(str(node.value))
    except ValueError:
        return reading.expected(node, path, "a time such as 2026-03-01T10:00:00Z")


def _struct(kind: Any, keys: Mapping[str, readers.Reader], *needed: str) -> readers.Reader:
    def read_struct(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        given = readers.fields(keys)(reading, node, path)
        missing = [key for key in needed if key not in given]
        if missing:
            return reading.fail(node.line, path, f"needs {' and '.join(missing)}")
        extra = {"line": node.line} if kind is PolicyCase else {}
        return kind(**given, **extra)

    return read_struct


def _agent_name(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if key.strip() and key.isprintable() and len(key) <= readers.MAX_TEXT:
        return True
    return reading.fail(line, path, "expected a name") is not INVALID


_TEXTS: Final = readers.list_of(readers.text)
_EARLIER: Final = _struct(
    Earlier,
    {
        "action": _action,
        "ago": _ago,
        "outcome": readers.one_of("outcome", ("success", "failure")),
        "times": whole(1, MAX_HISTORY),
    },
    "action",
    "ago",
)
_EXPECTED: Final = _struct(
    Expected,
    {"decision": readers.member("decision", Decision), "rules": _TEXTS, "code": readers.text},
    "decision",
)
_CASE: Final = _struct(
    PolicyCase,
    {
        "name": readers.text,
        "agent": readers.text,
        "action": _action,
        "now": _moment,
        "history": readers.list_of(_EARLIER, MAX_HISTORY),
        "expect": _EXPECTED,
    },
    "name",
    "action",
    "expect",
)
_AGENT: Final = _struct(
    CaseAgent,
    {
        "type": readers.member("type of agent", AgentType),
        "trust": whole(0, 3),
        "allowed_engines": _TEXTS,
        "allowed_tools": _TEXTS,
        "blocked_tools": _TEXTS,
    },
)
_FILE: Final[Mapping[str, readers.Reader]] = {
    "policy": readers.text,
    "agents": readers.mapping_of(_agent_name, _AGENT),
    "tests": readers.list_of(_CASE, MAX_CASES),
}
