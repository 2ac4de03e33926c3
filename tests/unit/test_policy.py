"""The policy file: what it changes, and how its mistakes are told."""

import importlib
import re
import typing
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from qwed.domain.policy import (
    DEFAULT_POLICY,
    ActionRule,
    DeniedCells,
    ParameterCheck,
    Policy,
    PrincipalCeilings,
    RateLimit,
    Separate,
    ToolGroup,
)
from qwed.domain.registry import ACTION_ENGINES, DANGEROUS_TOOLS, SAFE_TOOLS, TOOL_RISK_LEVELS
from qwed.domain.risk import Risk
from qwed.engines.sql.rules import SqlRules
from qwed.engines.tools import EmailRules, FileRules, PaymentRules, ToolRules, UrlRules
from qwed.engines.tools.rules import CheckerKind
from qwed.policy import PolicyError, PolicyMistake, engine_rules, explain, load_policy, sections
from qwed.policy.broker import BROKER
from qwed.policy.engines import CHECK_KINDS, RULES
from qwed.policy.people import PEOPLE
from qwed.policy.provenance import SECTION
from qwed.policy.rules import RULE, TEAM

ROOT = Path(__file__).parents[2]


def load(text: str) -> Policy:
    return load_policy(text, "qwed.yaml")


def mistakes(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        load(text)
    return str(caught.value).splitlines()


def mistake(text: str) -> str:
    (only,) = mistakes(text)
    return only


# The default


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "~", "actions:\ntools:\nloops:\nsql:\nguards:\n"]
)
def test_an_empty_file_is_the_default_policy(text: str):
    assert load(text) == DEFAULT_POLICY
    assert load(text).version == DEFAULT_POLICY.version


def test_the_default_holds_the_tables_of_the_protocol():
    for name, engine in ACTION_ENGINES.items():
        assert DEFAULT_POLICY.engine_of(name) == engine
    for name, risk in TOOL_RISK_LEVELS.items():
        assert (DEFAULT_POLICY.engine_of(name), DEFAULT_POLICY.risk_of(name)) == ("tool_control", risk)
    assert DEFAULT_POLICY.safe_tools == SAFE_TOOLS
    assert DEFAULT_POLICY.dangerous_tools == DANGEROUS_TOOLS
    assert DEFAULT_POLICY.risk_of("execute_sql") is None
    assert DEFAULT_POLICY.risk_of("execute_code") is None
    assert DEFAULT_POLICY.risk_of("calculate") is Risk.LOW


def test_a_type_that_is_not_registered_has_no_engine_and_no_risk():
    assert DEFAULT_POLICY.engine_of("launch") is None
    assert DEFAULT_POLICY.risk_of("launch") is None
    assert not DEFAULT_POLICY.is_registered("launch")


def test_a_policy_cannot_be_changed():
    with pytest.raises(AttributeError):
        DEFAULT_POLICY.default_price_usd = Decimal(0)  # type: ignore[misc]


# What it changes


def test_the_annotated_example_loads_and_does_what_it_says():
    policy = load((ROOT / "examples" / "qwed.yaml").read_text(encoding="utf-8"))

    assert policy.tools_require_context is True
    assert policy.actions["deploy"] == ActionRule("tool_control", Risk.HIGH)
    assert not policy.is_registered("execute_code")
    assert policy.price_of("calculate_tax") == Decimal("0.005")
    assert policy.price_of("prove") == Decimal("0.02")
    assert policy.price_of("calculate") == Decimal("0.01")
    assert {"lookup_order", "fetch_page"} <= policy.safe_tools
    assert "refund" in policy.dangerous_tools
    assert policy.risk_of("refund") is Risk.CRITICAL
    assert policy.cost_of("refund") == Decimal("0.10")
    assert policy.limits.requests_per_credential == RateLimit(600, 60.0)
    assert policy.ceilings_of("acme") == PrincipalCeilings(200, Decimal(1000))
    assert policy.ceilings_of("other") == PrincipalCeilings(50)
    assert policy.approvals.role == "operator:shop"


def test_every_number_of_a_section_reaches_its_field():
    policy = load(
        """
loops: {max_steps: 1, max_repeats: 2, window: 30, no_progress: 4, cycle_max_period: 6, cycle_rounds: 7,
        cycle_rounds_without_hashes: 8, cross_conversation: 9, same_state_only: true,
        max_failed_repeats: 3, agents: {agent_1: {max_steps: 5}}}
limits: {max_body_bytes: 2048, max_depth: 10, engine_seconds: 0.5, engine_queue: 3, write_queue: 4,
         lease_seconds: 5, failed_auth: {limit: 7},
         refusals_per_hour: 6, stop_when_ledger_lags: true}
budgets: {max_daily_cost_usd: null, max_per_request_cost_usd: "0.5", max_requests_per_hour: 0,
          max_requests_per_day: 2, max_tokens_per_request: 3, max_daily_tokens: 4}
approvals: {ttl_seconds: 10, max_open: 2, approvers: 3, remind_after_seconds: 4, escalate_after_seconds: 5,
  escalate_to_role: chief, separate: always}
notifications: {timeout_seconds: 1, first_retry_seconds: 2, max_retry_seconds: 3, max_attempts: 4,
  give_up_after_seconds: 5, private: [127.0.0.0/8]}
retention: {activity_days: 1, approval_days: 2, security_log_days: null}
trust: {denied_cells: pending}
"""
    )

    assert msgspec.structs.astuple(policy.loops) == (1, 2, 30, 4, 6, 7, 8, 9, True, 3)
    assert msgspec.structs.astuple(policy.loops_of("agent_1")) == (5, 2, 30, 4, 6, 7, 8, 9, True, 3)
    limits = (2048, 10, 0.5, 3, 4, 5.0, None, RateLimit(7, 10.0), 6, True)
    assert msgspec.structs.astuple(policy.limits) == limits
    assert msgspec.structs.astuple(policy.budgets) == (None, Decimal("0.5"), 0, 2, 3, 4)
    assert msgspec.structs.astuple(policy.approvals) == (10, 2, 3, None, 4, 5, "chief", Separate.ALWAYS)
    assert msgspec.structs.astuple(policy.notifications) == ((), ("127.0.0.0/8",), 1.0, 2.0, 3.0, 4, 5)
    assert msgspec.structs.astuple(policy.retention) == (1, 2, None, 30)
    assert policy.denied_cells is DeniedCells.PENDING


def test_a_built_in_tool_keeps_what_the_file_does_not_change():
    policy = load("tools: {send_email: {price_usd: 1}, file_read: {risk: high}}")

    assert policy.actions["send_email"] == ActionRule(
        "tool_control", Risk.MEDIUM, Decimal(1), group=ToolGroup.SAFE
    )
    assert policy.actions["file_read"] == ActionRule("tool_control", Risk.HIGH)


@pytest.mark.parametrize(
    ("text", "risk"),
    [
        ("tools: {t: {group: safe}}", Risk.LOW),
        ("tools: {t: {group: dangerous}}", Risk.CRITICAL),
        ("tools: {t: {}}", Risk.MEDIUM),
        ("tools: {t: }", Risk.MEDIUM),
        ("tools: {t: {group: dangerous, risk: high}}", Risk.HIGH),
        ("actions: {t: {engine: math}}", Risk.LOW),
        ("actions: {t: {engine: sql}}", None),
        ("actions: {t: {engine: code}}", None),
        ("actions: {t: {engine: code, risk: high}}", Risk.HIGH),
        ("actions: {t: {engine: tool_control}}", Risk.MEDIUM),
    ],
)
def test_a_new_name_has_the_risk_of_its_group_or_engine(text: str, risk: Risk | None):
    assert load(text).risk_of("t") is risk


def test_a_built_in_tool_that_changes_its_group_changes_its_risk_with_it():
    policy = load("tools: {read_database: {group: dangerous}, send_money: {group: null}}")

    assert policy.risk_of("read_database") is Risk.CRITICAL
    assert policy.risk_of("send_money") is Risk.MEDIUM
    assert "send_money" not in policy.dangerous_tools


def test_an_action_that_gets_another_engine_forgets_what_it_was():
    policy = load("actions: {read_database: {engine: sql}}")

    assert policy.actions["read_database"] == ActionRule("sql")


def test_members_of_sql_and_code_actions_can_be_marked():
    rules = engine_rules(
        load(
            """
actions:
  execute_sql: {checks: {note: text}}
  run_line: {engine: code, checks: {line: shell, note: text}}
"""
        )
    )

    assert rules.sql.slots == {"execute_sql": {"note": "text"}}
    assert rules.code.slots == {"run_line": {"line": "shell", "note": "text"}}


def test_a_mark_that_says_nothing_to_the_engine_is_a_mistake():
    assert mistake("actions: {execute_sql: {checks: {note: shell}}}") == (
        "qwed.yaml:1: actions.execute_sql.checks.note: shell says nothing to the sql engine; "
        "expected one of sql, text"
    )
    assert mistake("actions: {calculate: {checks: {note: text}}}").endswith(
        "text says nothing to the math engine; expected none"
    )


def test_checks_of_parameters_reach_the_engine():
    policy = load("tools: {fetch: {checks: {folder: path, address: url}}}")

    assert policy.actions["fetch"].checks == (
        ParameterCheck("address", "url"),
        ParameterCheck("folder", "path"),
    )
    assert engine_rules(policy).tools.marks_of("fetch") == {"address": "url", "folder": "path"}


def test_the_cost_is_price_and_usage_but_at_least_the_minimum():
    policy = load("actions: {calculate: {price_usd: 0.02, min_price_usd: 0.5}}")

    assert policy.cost_of("calculate", Decimal("0.1")) == Decimal("0.5")
    assert policy.cost_of("calculate", Decimal(3)) == Decimal("3.02")
    assert policy.cost_of("unknown") == Decimal("0.01")


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("", False),
        ("profile: relaxed", False),
        ("profile: standard", True),
        ("profile: regulated", True),
        ("profile: regulated\ntools: {require_context: false}", False),
        ("tools: {require_context: true}", True),
    ],
)
def test_a_profile_asks_for_the_context_unless_the_file_says_otherwise(text: str, required: bool):
    assert load(text).tools_require_context is required


@pytest.mark.parametrize(
    ("text", "separate"),
    [
        ("", Separate.WHEN_POSSIBLE),
        ("profile: standard", Separate.WHEN_POSSIBLE),
        ("profile: regulated", Separate.ALWAYS),
        ("approvals: {separate: off}", Separate.OFF),
        ("profile: standard\napprovals: {separate: always}", Separate.ALWAYS),
        ("profile: regulated\napprovals: {separate: always, approvers: 2}", Separate.ALWAYS),
    ],
)
def test_the_regulated_profile_always_separates_who_holds_a_token_from_who_answers(text, separate):
    assert load(text).approvals.separate is separate


@pytest.mark.parametrize("given", ["off", "when_possible"])
def test_the_regulated_profile_refuses_to_separate_less(given: str):
    with pytest.raises(PolicyError, match=r"approvals.separate.*must be always in the regulated profile"):
        load(f"profile: regulated\napprovals:\n  separate: {given}")


def test_named_principals_inherit_what_they_do_not_state():
    policy = load(
        'principals: {max_agents: 5, max_requests_per_day: 9, named: {"a@b.example": {max_agents: null}}}'
    )

    assert policy.ceilings_of("a@b.example") == PrincipalCeilings(None, None, 9)


def test_guards_are_kept_as_written():
    policy = load("guards: {tool_guard: {block: [a, 1, 0.5, null, true]}}")

    assert policy.guards == {"tool_guard": {"block": ["a", 1, 0.5, None, True]}}
    assert load("guards: [math, {tool: {}}]").guards == ["math", {"tool": {}}]


# The engines' rules


def test_rules_reach_the_engines():
    rules = engine_rules(
        load(
            """
sql: {default_dialect: PostgreSQL, forbidden_columns: [secret]}
files: {roots: [/srv/x], relative: false}
urls: {private: [10.0.0.0/8], ports: [443]}
email: {deny: ["*.example"], max_recipients: 1}
payments: {limits: {EUR: 5.50}, default_currency: EUR}
"""
        )
    )

    assert rules.sql == SqlRules(default_dialect="PostgreSQL", forbidden_columns=("secret",))
    assert rules.tools == ToolRules(
        files=FileRules(roots=("/srv/x",), relative=False),
        urls=UrlRules(private=("10.0.0.0/8",), ports=(443,)),
        email=EmailRules(deny=("*.example",), max_recipients=1),
        payments=PaymentRules(limits={"EUR": Decimal("5.50")}, default_currency="EUR"),
    )


def test_engines_without_rules_are_left_at_their_own_defaults():
    rules = engine_rules(DEFAULT_POLICY)

    assert (rules.sql, rules.tools) == (None, None)
    assert rules.actions == ACTION_ENGINES
    assert rules.tool_risks == TOOL_RISK_LEVELS


def test_new_actions_and_tools_are_told_to_the_engines():
    rules = engine_rules(load("actions: {tax: {engine: math}}\ntools: {fetch: {risk: high}}"))

    assert rules.actions["tax"] == "math"
    assert rules.tool_risks["fetch"] is Risk.HIGH
    assert "fetch" not in rules.actions


@pytest.mark.parametrize(
    ("section", "struct"),
    [
        ("sql", SqlRules),
        ("files", FileRules),
        ("urls", UrlRules),
        ("email", EmailRules),
        ("payments", PaymentRules),
    ],
)
def test_the_file_knows_every_rule_of_an_engine_and_its_default(section: str, struct: type[msgspec.Struct]):
    default = struct()

    assert {key: rule.default for key, rule in RULES[section].items()} == {
        field: getattr(default, field) for field in struct.__struct_fields__ if field != "slots"
    }


def test_a_rule_that_needs_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'sqlglot'", name="sqlglot")

    monkeypatch.setattr(importlib, "import_module", missing)

    assert mistake("sql: {default_dialect: mysql}").endswith(
        "needs sqlglot: pip install 'qwed-gateway[engines]'"
    )


def test_the_file_knows_every_kind_of_check():
    assert typing.get_args(CheckerKind) == CHECK_KINDS


# Mistakes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "actions:\n  deploy:\n    engine: tool_control\n    risk: hihg",
            '4: actions.deploy.risk: "hihg" is not a risk; expected one of low, medium, high, critical',
        ),
        ("actons: {}", "1: actons: unknown key; did you mean actions?"),
        ("loops:\n  max_step: 5", "2: loops.max_step: unknown key; did you mean max_steps?"),
        (
            "approvals: {xyzzy: 1}",
            "1: approvals.xyzzy: unknown key; expected one of ttl_seconds, max_open, app",
        ),
        ("actions: {x: {risk: low}}", "1: actions.x: a new action type needs an engine: one of math, logic"),
        (
            "actions: {x: {engine: maths}}",
            '1: actions.x.engine: "maths" is not an engine; expected one of math',
        ),
        ("actions: [calculate]", "1: actions: expected a mapping, not a list"),
        ("actions: {'a b': {engine: math}}", '1: actions: "a b" is not a name: letters'),
        ("actions: {x: {engine: math}}\ntools: {x: {}}", "2: tools.x: is under actions as well; keep one of"),
        ("actions: {x: {enabled: false, engine: math}}", "1: actions.x: is not there by default"),
        ("tools: {drop_table: {enabled: false}}", "1: tools.drop_table: is dangerous: forgetting it would"),
        ("tools: {calculate: {risk: low}}", "1: tools.calculate: is an action of the math engine; change it"),
        ("tools: {x: {group: unsafe}}", '1: tools.x.group: "unsafe" is not a group; expected one of safe, d'),
        (
            "tools: {Drop-Table: {group: safe}}",
            "1: tools.Drop-Table: reads like drop_table, which is dangerous",
        ),
        ("tools: {require_context: yes}", '1: tools.require_context: expected true or false, not "yes"'),
        ("tools: {x: {checks: [url]}}", "1: tools.x.checks: expected a mapping, not a list"),
        (
            "tools: {x: {checks: {a: html}}}",
            '1: tools.x.checks.a: "html" is not a check; expected one of url',
        ),
        ("prices: {maths: 1}", '1: prices: "maths" is not an engine; expected one of math, logic'),
        (
            "prices: {math: -0.01}",
            "1: prices.math: expected an amount in USD from 0 to 1000000000, not -0.01",
        ),
        (
            "default_price_usd: .nan",
            '1: default_price_usd: expected an amount in USD from 0 to 1000000000, not ".n',
        ),
        ("default_price_usd: 1e-10", "1: default_price_usd: an amount has at most 9 decimal places"),
        (
            "default_price_usd: null",
            "1: default_price_usd: expected an amount in USD from 0 to 1000000000, not nul",
        ),
        (
            "default_price_usd: true",
            "1: default_price_usd: expected an amount in USD from 0 to 1000000000, not tru",
        ),
        ("loops: {max_steps: 50.0}", "1: loops.max_steps: expected a whole number from 1 to 10000, not 50.0"),
        ("loops: {max_steps: true}", "1: loops.max_steps: expected a whole number from 1 to 10000, not true"),
        ("loops: {max_steps: '50'}", '1: loops.max_steps: expected a whole number from 1 to 10000, not "50"'),
        (
            "loops: {max_steps: 1_000}",
            '1: loops.max_steps: expected a whole number from 1 to 10000, not "1_000"',
        ),
        ("loops: {no_progress: 21}", "1: loops.no_progress: could never be reached within loops.window"),
        ("limits: {lease_seconds: 1}", "1: limits.lease_seconds: must be longer than limits.engine_seconds"),
        (
            "limits: {engine_seconds: .inf}",
            '1: limits.engine_seconds: expected seconds from 0.05 to 60, not ".inf"',
        ),
        (
            "limits: {requests_per_credential: {limit: 5}}",
            "1: limits.requests_per_credential: needs limit and",
        ),
        ("limits: {failed_auth: null}", "1: limits.failed_auth: cannot be switched off"),
        (
            "budgets: {max_requests_per_hour: -1}",
            "1: budgets.max_requests_per_hour: expected a whole number from 0",
        ),
        ("principals: {named: {' ': {}}}", '1: principals.named: " " is not a principal'),
        ("approvals: {role: ''}", '1: approvals.role: expected text of 1 to 256 characters, not ""'),
        ("trust: {denied_cells: allow}", '1: trust.denied_cells: "allow" is not a way to treat denied cells'),
        (
            "profile: strict",
            '1: profile: "strict" is not a profile; expected one of relaxed, standard, regulated',
        ),
        (
            "retention: {activity_days: 0}",
            "1: retention.activity_days: expected a whole number from 1 to 36500, not",
        ),
        ("sql: {default_dialect: klingon}", '1: sql.default_dialect: "klingon" is not a dialect of SQL'),
        ("sql: {default_dialect: 5}", "1: sql.default_dialect: expected text of 1 to 256 characters, not 5"),
        ("files: {roots: [srv]}", '1: files.roots[0]: expected an absolute path, not "srv"'),
        (
            "urls:\n  allow:\n    - ok.example\n    - 'http://'",
            "4: urls.allow[1]: 'http://' is not a host pattern",
        ),
        ("urls: {allow: ok.example}", '1: urls.allow: expected a list of at most 10000 entries, not "ok.exa'),
        ("urls: {ports: [0]}", "1: urls.ports[0]: expected a whole number from 1 to 65535, not 0"),
        ("email: {allow: ['a@b.example']}", "1: email.allow[0]: expected a domain such as example.com"),
        (
            "payments: {limits: {eur: 5}}",
            '1: payments.limits: "eur" is not a currency; expected one such as EUR',
        ),
        (
            "payments: {limits: {EUR: five}}",
            "1: payments.limits.EUR: expected an amount in that currency from 0",
        ),
        ("[]", "1: expected a mapping, not a list"),
        ("just text", '1: expected a mapping, not "just text"'),
        ("guards: 5", "1: guards: expected a mapping, not 5"),
    ],
)
def test_a_mistake_is_told_with_its_line_its_key_and_what_was_expected(text: str, told: str):
    assert mistake(text).startswith(f"qwed.yaml:{told}")


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file():
    text = "tools:\n  x: {group: no}\nloops: {max_steps: x}\nzzz: 1\n"
    text += "actions:\n  a: {engine: math, risk: 1}\nloops: {}\n"

    assert [int(line.split(":")[1]) for line in mistakes(text)] == [2, 3, 4, 6, 7]


def test_mistakes_are_data_too():
    with pytest.raises(PolicyError) as caught:
        load("a: 1\nloops: {window: 0}")

    assert caught.value.source == "qwed.yaml"
    assert caught.value.mistakes[1] == PolicyMistake(
        2, "loops.window", "expected a whole number from 1 to 1000, not 0"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loops:\n  window: 5\n  window: 6", "3: loops.window: is given twice, first in line 2"),
        ("a: [1,\nb", "2: is not YAML: expected ',' or ']'"),
        ("\tloops: {}", "1: is not YAML: found character"),
        ("loops: {}\n---\nloops: {}", "2: is not YAML: but found another document"),
        ("loops: 'x", "1: is not YAML: found unexpected end of stream"),
        ("loops: {window: !!python/object/apply:os.system [id]}", "1: loops.window: the tag"),
        ("loops: {window: !secret 5}", '1: loops.window: the tag "!secret" has no meaning here'),
        ("1: 2", "1: a key that is not text; write it in quotes"),
        ("? [a]\n: 2", "1: a key that is not text"),
        ("\x00", "1: is not YAML"),
        ("a" * 600_000, "1: is longer than 524288 characters"),
        ("[" * 5_000, "1: is nested too deeply"),
        ("- " * 5_000, "1: is nested too deeply"),
        ("guards: " + "{a: " * 40 + "1" + "}" * 40, "1: holds more than a policy can need"),
    ],
)
def test_yaml_that_is_not_acceptable_is_told_like_any_mistake(text: str, told: str):
    assert mistakes(text)[0].startswith(f"qwed.yaml:{told}")


def test_aliases_that_unfold_without_end_are_refused():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))

    assert (
        "once its aliases are unfolded" in mistakes(f"guards:\n  {bomb.replace(chr(10), chr(10) + '  ')}")[0]
    )
    assert "once its aliases are unfolded" in mistakes("guards: &a {b: *a}")[0]


def test_an_alias_stands_for_a_copy():
    policy = load("budgets: &b {max_daily_cost_usd: 5}\nprincipals: *b")

    assert policy.budgets.max_daily_cost_usd == policy.principals.max_daily_cost_usd == 5


def test_a_merge_key_is_told_like_any_unknown_key():
    assert "loops.<<: unknown key" in mistake("guards: &x {a: 1}\nloops: {<<: *x}")


@pytest.mark.parametrize(
    "text", ["%YAML 1.1\n---\ntools: {require_context: yes}", "tools: {require_context: on}"]
)
def test_yes_and_on_are_text_whatever_version_the_file_declares(text: str):
    assert "expected true or false" in mistake(text)


def test_hostile_values_are_shown_within_bounds():
    (told,) = mistakes(f"profile: {'x' * 5000}")

    assert len(told) < 250


# Version and explanation


def test_the_version_is_of_the_content_and_not_of_the_formatting():
    one = load("loops: {max_steps: 5, window: 9}\nprices: {math: 0.50}\nurls: {allow: [a.example]}")
    other = load(
        "# same\nurls:\n  allow:\n  - 'a.example'\nprices:\n  math: '0.5'\n"
        "loops:\n  window: 0x9\n  max_steps: 5\n"
    )

    assert one.version == other.version
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", one.version)


def test_a_value_written_out_at_its_default_changes_nothing():
    text = "loops: {max_steps: 50}\nsql: {known_functions: []}\n"
    text += "urls: {redirects: inspect}\ntools: {send_email: {risk: medium}}"

    assert load(text).version == DEFAULT_POLICY.version


@pytest.mark.parametrize(
    "text",
    [
        "loops: {max_steps: 49}",
        "trust: {denied_cells: pending}",
        "payments: {limits: {EUR: 1}}",
        "guards: {a: 1}",
        "guards: {a: '1'}",
        "guards: {a: 1.0}",
        "tools: {x: {checks: {a: url}}}",
        "profile: relaxed",
    ],
)
def test_every_change_of_meaning_changes_the_version(text: str):
    versions = {load(text).version, DEFAULT_POLICY.version, load("guards: {a: true}").version}

    assert len(versions) == 3


def test_an_explanation_names_what_differs_from_the_default():
    explanation = explain(
        load(
            "profile: standard\nloops: {max_steps: 5}\n"
            "actions: {execute_code: {enabled: false}}\nurls: {ports: [443]}"
        )
    )

    assert [(change.path, change.default, change.in_force) for change in explanation.changes[1:]] == [
        ("loops.max_steps", 50, 5),
        ("profile", None, "standard"),
        ("tools.require_context", False, True),
        ("urls.ports", [], [443]),
    ]
    assert explanation.changes[0].path == "actions.execute_code"
    assert explanation.changes[0].in_force is None
    assert explanation.in_force["loops"]["max_steps"] == 5
    assert not explanation.is_default
    assert msgspec.json.encode(explanation)


def test_the_explanation_of_the_default_is_that_nothing_differs():
    explanation = explain(load(""))

    assert explanation.is_default
    assert explanation.changes == ()
    assert explanation.version == DEFAULT_POLICY.version


# Documentation


def documented() -> dict[str, dict[str, str]]:
    """Section → key → default, as the reference states them."""
    text = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {
        heading: dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", body, re.MULTILINE))
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }


def test_every_key_of_the_file_is_documented_and_no_other():
    assert {heading: list(rows) for heading, rows in documented().items()} == {
        "The top level": list(sections.FILE),
        "actions": list(sections.ACTION),
        "tools": [*sections.TOOL, "require_context"],
        "loops": [*sections.LOOPS, "agents"],
        "limits": list(sections.LIMITS),
        "budgets": list(sections.BUDGETS),
        "principals": [*sections.CEILINGS, "named"],
        "approvals": list(sections.APPROVALS),
        "trust": ["denied_cells"],
        "notifications": list(sections.NOTIFICATIONS),
        "retention": list(sections.RETENTION),
        "policy": ["change"],
        "assurance": list(sections.ASSURANCE),
        "rules": list(RULE),
        "provenance": list(SECTION),
        "teams": list(TEAM),
        "people": list(PEOPLE),
        "permits": list(sections.PERMITS),
        "broker": list(BROKER),
        "cedar": [],
        **{name: list(rules) for name, rules in RULES.items()},
    }


def written(value: Any) -> str:
    if isinstance(value, tuple | list | dict | bool) or value is None:
        return msgspec.json.encode(value).decode().replace('","', '", "')
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_the_documented_defaults_are_the_ones_in_force():
    rows = documented()
    for section in ("loops", "limits", "budgets", "principals", "approvals", "notifications", "retention"):
        for key, default in rows[section].items():
            if key not in ("named", "failed_auth", "agents"):
                assert default == written(getattr(getattr(DEFAULT_POLICY, section), key)), (section, key)
    for section, rules in RULES.items():
        for key, rule in rules.items():
            assert rows[section][key] == written(rule.default), (section, key)
    assert rows["The top level"]["default_price_usd"] == str(DEFAULT_POLICY.default_price_usd)
    assert rows["trust"]["denied_cells"] == DEFAULT_POLICY.denied_cells.value


def test_seconds_may_be_exactly_the_least():
    assert load("limits: {engine_seconds: 0.05}").limits.engine_seconds == 0.05


PEOPLE_FILE = """
teams:
  pay: {principals: [acme]}
  many: {principals: [one, two]}
people:
  recheck_seconds: 60
  groups:
    admins: {roles: [operator]}
    finance: {team: pay, roles: [finance], scopes: [read, approve]}
    onlookers: {principal: acme}
"""


def test_groups_give_roles_scopes_and_the_principal_of_a_team():
    people = load_policy(PEOPLE_FILE, "policy").people

    assert people.recheck_seconds == 60
    finance = people.rights_of(["finance", "unknown"])
    assert (finance.principal, finance.roles, finance.scopes) == ("acme", ("finance",), ("read", "approve"))
    assert people.rights_of(["onlookers"]).scopes == ("read",)
    assert people.rights_of(["admins", "onlookers"]).principal is None


def test_people_are_part_of_the_version_once_the_file_has_them():
    policy = load_policy(PEOPLE_FILE, "policy")

    assert policy.version != load_policy(PEOPLE_FILE.replace("60", "61"), "policy").version
    assert Policy.from_wire(policy.to_wire()) == policy
    assert "people" not in DEFAULT_POLICY.to_wire()


@pytest.mark.parametrize(
    ("group", "why"),
    [
        ("{roles: [finance]}", "needs principal or team, or the role operator"),
        ("{principal: acme, team: pay}", "needs principal or team, or the role operator"),
        ("{principal: acme, roles: [operator]}", "an operator belongs to no principal and no team"),
        ("{team: many}", "which has to have one principal"),
        ("{team: nobody}", "which has to have one principal"),
        ("{principal: acme, scopes: [everything]}", "scope"),
        ("{principal: acme, may: [read]}", "may"),
    ],
)
def test_a_group_that_means_nothing_is_a_mistake_of_the_policy(group: str, why: str):
    with pytest.raises(PolicyError, match=why):
        load_policy(PEOPLE_FILE.replace("{principal: acme}", group), "policy")
