"""The rules of the engines: how the file states them, and how the engines get them.

The defaults are stated here again so that a rule written out at its default changes nothing, not even
the version; a test holds them against the engines' own. Engines are loaded only where a rule needs
their judgement: their libraries are heavy, and an installation may lack some.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.policy import Policy
from qwed.domain.registry import CODE, SQL, TOOL_CONTROL
from qwed.engines.catalogue import EngineRules
from qwed.policy import readers
from qwed.policy.readers import Invalid, PolicyReading, Reader, flag, list_of, matching, optional, text, whole
from qwed.policy.yaml_text import YamlNode

CHECK_KINDS: Final = (
    *("url", "path", "email", "payment"),
    *("sql", "shell", "python", "javascript", "code", "text"),
)
# What may be said of a member, by the engine that its action is bound to.
KINDS_BY_ENGINE: Final = {
    SQL: frozenset({"sql", "text"}),
    CODE: frozenset({"shell", "python", "javascript", "code", "text"}),
    TOOL_CONTROL: frozenset(CHECK_KINDS),
}
TOOL_SECTIONS: Final = {
    "files": "FileRules",
    "urls": "UrlRules",
    "email": "EmailRules",
    "payments": "PaymentRules",
}
_TOOLS: Final = "qwed.engines.tools"
_SQL: Final = "qwed.engines.sql"


class EngineRule(msgspec.Struct, frozen=True):
    read: Reader
    default: Any


def _read_with(judge: Callable[[str, str], None]) -> Reader:
    """Text that the engine itself must find meaningful; `judge(key, text)` raises `ValueError`."""

    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        value = text(reading, node, path)
        if isinstance(value, Invalid):
            return value
        try:
            judge(_KEY.sub("", path), value)
        except ModuleNotFoundError as error:
            return reading.fail(node.line, path, f"needs {error.name}: pip install 'qwed-gateway[engines]'")
        except ValueError as error:
            return reading.fail(node.line, path, str(error))
        return value

    return read


def _judge_pattern(key: str, pattern: str) -> None:
    rules = importlib.import_module(_TOOLS).UrlRules(**{key: (pattern,)})
    importlib.import_module(f"{_TOOLS}.urls").check_rules(rules)


def _judge_dialect(_key: str, name: str) -> None:
    if importlib.import_module(f"{_SQL}.dialects").dialect_named(name) is None:
        raise ValueError(f"{readers.shown(name)} is not a dialect of SQL that is known here")


def _currency(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if re.fullmatch(_CURRENCY, key):
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a currency; expected one such as EUR")
    return False


# `urls.allow[3]` is judged as an entry of `allow`.
_KEY: Final = re.compile(r"^.*\.|\[\d+\]$")
_CURRENCY: Final = "[A-Z]{3,10}"
URL_PATTERNS: Final = list_of(_read_with(_judge_pattern))
_DOMAINS: Final = list_of(matching(r"[\w*.-]{1,253}", "a domain such as example.com or *.example.com"))
_ROOT: Final = matching(r"(?:/|[A-Za-z]:[/\\])[^\x00]{0,4000}", "an absolute path")
_SCHEME: Final = matching(r"[a-z][a-z0-9+.-]{0,30}", "a scheme such as https")

RULES: Final[Mapping[str, Mapping[str, EngineRule]]] = {
    "sql": {
        "default_dialect": EngineRule(optional(_read_with(_judge_dialect)), None),
        "correct_missing_limit": EngineRule(optional(whole(1, 10**9)), None),
        "forbidden_columns": EngineRule(list_of(text), ()),
        "no_sensitive_columns": EngineRule(flag, False),
        "allow_system_catalogs": EngineRule(flag, False),
        "reject_cartesian_joins": EngineRule(flag, False),
        "known_functions": EngineRule(list_of(text), ()),
    },
    "files": {
        "roots": EngineRule(list_of(_ROOT), ()),
        "relative": EngineRule(flag, True),
        "sensitive": EngineRule(list_of(text), ()),
    },
    "urls": {
        "schemes": EngineRule(list_of(_SCHEME), ("https", "http", "wss", "ws")),
        "allow": EngineRule(URL_PATTERNS, ()),
        "deny": EngineRule(URL_PATTERNS, ()),
        "private": EngineRule(URL_PATTERNS, ()),
        "ports": EngineRule(list_of(whole(1, 65_535)), ()),
        "redirects": EngineRule(
            readers.one_of("way to treat redirects", ("inspect", "deny", "allow")), "inspect"
        ),
        "credentials": EngineRule(flag, False),
    },
    "email": {
        "allow": EngineRule(_DOMAINS, ()),
        "deny": EngineRule(_DOMAINS, ()),
        "max_recipients": EngineRule(whole(1, 10_000), 50),
    },
    "payments": {
        "limits": EngineRule(readers.mapping_of(_currency, readers.amount_in("that currency")), {}),
        "default_currency": EngineRule(optional(matching(_CURRENCY, "a currency such as EUR")), None),
    },
}


def _section(rules: Mapping[str, EngineRule]) -> Reader:
    read = readers.fields({key: rule.read for key, rule in rules.items()})

    def read_changed(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        given = read(reading, node, path)
        return {key: value for key, value in given.items() if value != rules[key].default}

    return read_changed


RULES_READERS: Final[Mapping[str, Reader]] = {name: _section(rules) for name, rules in RULES.items()}


def engine_rules(policy: Policy) -> EngineRules:
    """What the engines are told; None where the policy leaves one at its own defaults."""
    tools = {name: rule for name, rule in policy.actions.items() if rule.engine == TOOL_CONTROL}
    return EngineRules(
        actions={name: rule.engine for name, rule in policy.actions.items() if name not in tools},
        tool_risks={name: rule.risk for name, rule in tools.items() if rule.risk is not None},
        sql=_sql_rules(policy),
        code=_code_rules(policy),
        tools=_tool_rules(policy),
    )


def _slots(policy: Policy, engine: str) -> dict[str, dict[str, str]]:
    """By action type: what the operator says of its members."""
    return {
        name: {check.parameter: check.kind for check in rule.checks}
        for name, rule in policy.actions.items()
        if rule.engine == engine and rule.checks
    }


def _sql_rules(policy: Policy) -> Any:
    slots = _slots(policy, SQL)
    if not policy.sql and not slots:
        return None
    return importlib.import_module(f"{_SQL}.rules").SqlRules(**policy.sql, slots=slots)


def _code_rules(policy: Policy) -> Any:
    slots = _slots(policy, CODE)
    return importlib.import_module("qwed.engines.code.rules").CodeRules(slots) if slots else None


def _tool_rules(policy: Policy) -> Any:
    given = {name: getattr(policy, name) for name in TOOL_SECTIONS if getattr(policy, name)}
    checked = _slots(policy, TOOL_CONTROL)
    if not given and not checked:
        return None
    module = importlib.import_module(_TOOLS)
    sections = {name: getattr(module, TOOL_SECTIONS[name])(**values) for name, values in given.items()}
    checkers = {
        name: tuple(module.Checker(kind=kind, parameter=parameter) for parameter, kind in checks.items())
        for name, checks in checked.items()
    }
    return module.ToolRules(**sections, checkers=checkers)
