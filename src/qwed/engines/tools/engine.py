"""`tool_control`: does any argument of this tool call reach where the policy does not let it?"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.json_text import Unrepresentable
from qwed.domain.registry import TOOL_CONTROL, TOOL_RISK_LEVELS
from qwed.domain.risk import Risk
from qwed.domain.texts import Joined, Text
from qwed.engines.candidates import FoundEffect, find_in_candidates
from qwed.engines.effort import is_small
from qwed.engines.may_act import may_act
from qwed.engines.slots import (
    RUNS_CODE,
    RUNS_JAVASCRIPT,
    RUNS_PYTHON,
    RUNS_SHELL,
    RUNS_SQL,
    TEXT,
    SlotTable,
    SlotUse,
    is_database_tool,
    kind_of,
    sort_texts,
    table_of_tool,
)
from qwed.engines.tools.arguments import (
    ArgumentFamily,
    Role,
    ToolArgument,
    TooManyArguments,
    arguments_of,
    family_of,
)
from qwed.engines.tools.paths import Resolve, inspect_path, risk_of_path
from qwed.engines.tools.payments import inspect_payment
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided
from qwed.engines.tools.recipients import inspect_header, inspect_recipients, split_recipients
from qwed.engines.tools.rules import ToolRules
from qwed.engines.tools.shapes import PATH_SHAPE, URL_SHAPE
from qwed.engines.tools.statements import (
    inspect_condition,
    inspect_identifier,
    inspect_program,
    inspect_statement,
)
from qwed.engines.tools.urls import check_rules, inspect_url

_QUICK_TOKENS: Final = 64
_MAX_PHRASE: Final = 4_096
_PROGRAM_KINDS: Final = frozenset({RUNS_SHELL, RUNS_PYTHON, RUNS_JAVASCRIPT, RUNS_CODE})
_MAX_SHOWN: Final = 20
_MAX_SCANNED: Final = 65_536
_MAX_TEXT: Final = 262_144
_WRITING_WORDS: Final = re.compile(
    r"write|insert|update|upsert|modify|execute|save|store|create|delete|drop|remove", re.I
)
_DELETING_WORDS: Final = re.compile(r"delete|remove|unlink|rmdir|erase|purge", re.I)

_SQL_BREAKOUT: Final = re.compile(
    r"['\"][\s)]*;\s*(?:drop|delete|insert|update|alter|truncate|create|exec|grant|shutdown)\b"
    r"|['\"][\s)]*\b(?:or|and)\s+['\"]?\w{1,40}['\"]?\s?(?:=|like\b)"
    r"|['\"\d][\s)]*\bunion\s+(?:all\s+)?select\b",
    re.I,
)
_SHELL_BREAKOUT: Final = re.compile(
    r"\$\([^)]|\$\{jndi:|[;&|`]\s*(?:rm|curl|wget|nc|bash|sh|zsh|cat|chmod|chown|dd|mkfs|shutdown|reboot|python3?|perl"
    r"|powershell|cmd)\b(?:\s|\Z)",
    re.I,
)
_STRONG_RULES: Final = frozenset({"traversal", "sensitive-place", "control-character", "scheme"})
_ADDRESS_SIGNS: Final = frozenset("/.:@\\")
_PATH_SIGNS: Final = frozenset("/\\~")
_NOSQL_PROGRAMS: Final = frozenset({"$where", "$function", "$accumulator"})
_NOSQL_WRITES: Final = frozenset({"$out", "$merge"})
# What a tool of this family can't do without: an action that does not say it is not understood.
_ESSENTIAL: Final = {
    ArgumentFamily.FILE: (frozenset({Role.PATH}), "no file is named"),
    ArgumentFamily.NETWORK: (frozenset({Role.URL, Role.HOST, Role.REFERENCE}), "no address is given"),
    ArgumentFamily.EMAIL: (frozenset({Role.RECIPIENT}), "no recipient is given"),
    ArgumentFamily.PAYMENT: (frozenset({Role.AMOUNT}), "no amount is given"),
}


class ToolControlEngine:
    """Looks at every argument by its role; no network, no name resolution, no file system.

    `resolve` gives the real path behind links, where the operator wants them followed.
    """

    name: Final = TOOL_CONTROL

    def __init__(self, rules: ToolRules | None = None, *, resolve: Resolve | None = None) -> None:
        self._rules = rules or ToolRules()
        self._resolve = resolve
        check_rules(self._rules.urls)

    def is_quick(self, action: Action) -> bool:
        """Programs go to a worker process; everything else is a few string look-ups."""
        runs = {*table_of_tool(action.type).runs.values(), *self._rules.marks_of(action.type).values()}
        if action.code is not None or not runs.isdisjoint(_PROGRAM_KINDS):
            return False
        weigh = functools.partial(_weigh, table_of_tool(action.type), self._rules.marks_of(action.type))
        if is_small(action, _QUICK_TOKENS, weigh):
            return True
        return is_small(action, _QUICK_TOKENS, weigh, lambda text: not may_act(text))

    def verify(self, action: Action) -> Finding:
        inspection = _Inspection(action, self._rules, self._resolve)
        try:
            inspection.run()
        except TooManyArguments:
            inspection.problems.append(undecided("size", "more arguments than are inspected", action.type))
        # The engine promises an answer for every action; what it trips over is not passed.
        except Exception as error:  # noqa: BLE001
            inspection.problems.append(
                undecided("internal", f"{type(error).__name__} while inspecting", action.type)
            )
        return inspection.finding()


def _weigh(table: SlotTable, marks: Mapping[str, str], slot: str) -> int:
    """A statement is read as SQL alone, what is data by nobody, and anything else in several languages."""
    kind = kind_of(slot, table, marks)
    return 0 if kind == TEXT else 1 if kind == RUNS_SQL else 2


class _Inspection:
    """The inspection of one action: its arguments in order, what was found, and the answer."""

    def __init__(self, action: Action, rules: ToolRules, resolve: Resolve | None) -> None:
        self.problems: list[ArgumentProblem] = []
        self._action = action
        self._rules = rules
        self._resolve = resolve
        self._family = family_of(action.type)
        self._risk = Risk.LOW
        self._inspected: list[ToolArgument] = []
        self._recipients = 0
        self._found: tuple[FoundEffect, ...] = ()

    def run(self) -> None:
        marks = self._rules.marks_of(self._action.type)
        self._judge_texts(sort_texts(TOOL_CONTROL, self._action, marks))
        for argument in arguments_of(self._action, marks):
            self._inspected.append(argument)
            found = self._inspect(argument)
            self.problems += [_place(problem, argument.where) for problem in found]
        if self._recipients > self._rules.email.max_recipients:
            message = (
                f"{self._recipients} recipients, of which {self._rules.email.max_recipients} are allowed"
            )
            self.problems.append(_place(forbidden("recipients", message, ""), "parameters"))
        self.problems += self._missing()

    def _judge_texts(self, use: SlotUse) -> None:
        """What will run is judged in full; in every other text, what is found counts."""
        if not use.is_complete:
            self.problems.append(undecided("size", "more texts than are looked at", self._action.type))
        for text, kind in use.runs:
            self.problems += [_place(problem, text.where) for problem in self._inspect_run(text, kind)]
        dialect = self._action.parameters.get("dialect")
        self._found = find_in_candidates(
            use.candidates,
            use.joined,
            dialect if isinstance(dialect, str) else None,
            in_database=self._family is ArgumentFamily.DATABASE or is_database_tool(self._action.type),
        )
        for found in self._found:
            self._risk = max(self._risk, found.risk)
            problem = self._candidate_problem(found)
            if problem is not None:
                self.problems.append(_place(problem, found.where))

    def _inspect_run(self, text: Text | Joined, kind: str) -> list[ArgumentProblem]:
        parameters = self._action.parameters
        if kind == RUNS_SQL and isinstance(text, Text):
            found, risk = inspect_statement(
                text.value, parameters.get("dialect"), reads_only=self._reads_only()
            )
        else:
            found, risk = inspect_program(text, kind, parameters)
        self._risk = max(self._risk, risk)
        return found

    def _candidate_problem(self, found: FoundEffect) -> ArgumentProblem | None:
        if found.status is Status.FAILED:
            return forbidden(found.rule, found.reason, found.language, Risk.CRITICAL)
        if found.status is Status.UNCERTAIN:
            return undecided(found.rule, found.reason, found.language)
        if found.language == RUNS_SQL and self._family is ArgumentFamily.DATABASE and self._reads_only():
            message = "the statement of a read does more than read"
            return forbidden("read-only", message, found.reason, Risk.CRITICAL)
        return None

    def _reads_only(self) -> bool:
        return not _WRITING_WORDS.search(self._action.type)

    def finding(self) -> Finding:
        failed = [problem for problem in self.problems if problem.failure is not None]
        shown = failed or self.problems
        risk = max([self._risk, *(problem.risk for problem in self.problems)])
        evidence: dict[str, Any] = {
            "inspected": [
                {"parameter": argument.where, "role": argument.role.value}
                for argument in self._inspected[:_MAX_SHOWN]
            ]
        }
        if self._found:
            evidence["found_elsewhere"] = [found.to_evidence() for found in self._found[:_MAX_SHOWN]]
        roles = tuple(sorted({argument.role.value for argument in self._inspected}))
        if not shown:
            return Finding(
                Status.VERIFIED, risk, TOOL_CONTROL, "every argument is allowed", evidence, None, None, roles
            )
        evidence["problems"] = [problem.to_evidence() for problem in shown[:_MAX_SHOWN]]
        rules = tuple(dict.fromkeys(problem.rule for problem in shown))
        reason = f"{shown[0].where}: {shown[0].message}" if shown[0].where else shown[0].message
        status = Status.FAILED if failed else Status.UNCERTAIN
        return Finding(status, risk, TOOL_CONTROL, reason, evidence, None, _worst(failed), (), rules)

    def _missing(self) -> list[ArgumentProblem]:
        essential = _ESSENTIAL.get(self._family) if self._action.type in TOOL_RISK_LEVELS else None
        if essential is None or any(argument.role in essential[0] for argument in self._inspected):
            return []
        return [undecided("missing", essential[1], self._action.type)]

    def _inspect(self, argument: ToolArgument) -> list[ArgumentProblem]:
        value = argument.value
        if isinstance(value, Unrepresentable):
            return [malformed("value", f"the argument is {value.why}", "")]
        if isinstance(value, str) and len(value) > _MAX_TEXT and argument.role is not Role.TEXT:
            return [undecided("size", f"longer than {_MAX_TEXT} characters", value)]
        if "$" in argument.where:
            found = self._nosql(argument)
            if found:
                return found
        return _INSPECTORS[argument.role](self, argument)

    def _inspect_url(self, argument: ToolArgument) -> list[ArgumentProblem]:
        text = argument.value
        if argument.where != "query" or " " not in text.strip() or len(text) > _MAX_PHRASE:
            return inspect_url(text, rules=self._rules.urls)
        # `GET https://example.com/a with my token`: every word that could be an address is one.
        addresses = [word for word in text.split() if not _ADDRESS_SIGNS.isdisjoint(word.rstrip(".,;:!?"))]
        if not addresses:
            return [undecided("url", "the query names no address", text)]
        return [problem for word in addresses for problem in inspect_url(word, rules=self._rules.urls)]

    def _inspect_host(self, argument: ToolArgument) -> list[ArgumentProblem]:
        return inspect_url(argument.value, rules=self._rules.urls, as_host=True)

    def _inspect_path(self, argument: ToolArgument) -> list[ArgumentProblem]:
        text = argument.value
        if URL_SHAPE.match(text) and not text.lower().lstrip().startswith("file:"):
            self._risk = max(self._risk, Risk.MEDIUM)
            return inspect_url(text, rules=self._rules.urls)
        problems = self._path_problems(text)
        if not problems and argument.where == "query" and " " in text:
            for word in text.split():
                if not _PATH_SIGNS.isdisjoint(word):
                    problems += self._path_problems(word)
        return problems

    def _path_problems(self, text: str) -> list[ArgumentProblem]:
        for name in dict.fromkeys((text, *text.split()[:_MAX_SHOWN])):
            self._risk = max(self._risk, risk_of_path(name))
        deletes = _DELETING_WORDS.search(self._action.type) is not None
        return inspect_path(text, rules=self._rules.files, resolve=self._resolve, deletes=deletes)

    def _inspect_condition(self, argument: ToolArgument) -> list[ArgumentProblem]:
        return inspect_condition(argument.value, self._action.parameters.get("dialect"))

    def _inspect_identifier(self, argument: ToolArgument) -> list[ArgumentProblem]:
        return inspect_identifier(argument.value)

    def _inspect_recipient(self, argument: ToolArgument) -> list[ArgumentProblem]:
        self._recipients += len(split_recipients(argument.value))
        return inspect_recipients(argument.value, rules=self._rules.email)

    def _inspect_header(self, argument: ToolArgument) -> list[ArgumentProblem]:
        return inspect_header(argument.value)

    def _inspect_amount(self, argument: ToolArgument) -> list[ArgumentProblem]:
        currency = self._action.parameters.get("currency")
        return inspect_payment(argument.value, currency, rules=self._rules.payments)

    def _inspect_plain(self, argument: ToolArgument) -> list[ArgumentProblem]:
        """The name says nothing: only what is unmistakably a URL, a climbing path or an injection counts."""
        text = argument.value
        if not isinstance(text, str) or len(text) < 3:
            return []
        head = text[:_MAX_SCANNED]
        if URL_SHAPE.match(head) and not re.search(r"\s", head.strip()):
            return inspect_url(text, rules=self._rules.urls)
        if _SQL_BREAKOUT.search(head):
            return [
                forbidden("injection", "the argument breaks out of a quoted SQL value", head, Risk.CRITICAL)
            ]
        if _SHELL_BREAKOUT.search(head):
            return [forbidden("injection", "the argument starts a shell command", head, Risk.CRITICAL)]
        if PATH_SHAPE.search(head) and not re.search(r"\s", head.strip()):
            found = inspect_path(head, rules=self._rules.files)
            return [problem for problem in found if problem.rule in _STRONG_RULES]
        return []

    def _nosql(self, argument: ToolArgument) -> list[ArgumentProblem]:
        operators = set(re.findall(r"\$\w+", argument.where))
        if operators & _NOSQL_PROGRAMS:
            return [forbidden("nosql-program", "the query carries a program", argument.value, Risk.CRITICAL)]
        if operators & _NOSQL_WRITES and not _WRITING_WORDS.search(self._action.type):
            return [forbidden("read-only", "the query of a read writes", argument.value, Risk.CRITICAL)]
        return []

    def _inspect_text(self, argument: ToolArgument) -> list[ArgumentProblem]:
        return []


def _place(problem: ArgumentProblem, where: str) -> ArgumentProblem:
    return ArgumentProblem(problem.rule, problem.message, problem.value, problem.failure, problem.risk, where)


def _worst(failed: list[ArgumentProblem]) -> Failure | None:
    if not failed:
        return None
    kinds = {problem.failure for problem in failed}
    return Failure.FORBIDDEN if Failure.FORBIDDEN in kinds else Failure.MALFORMED


_INSPECTORS: Final[dict[Role, Callable[[_Inspection, ToolArgument], list[ArgumentProblem]]]] = {
    Role.URL: _Inspection._inspect_url,
    Role.HOST: _Inspection._inspect_host,
    Role.REFERENCE: _Inspection._inspect_url,
    Role.PATH: _Inspection._inspect_path,
    Role.SQL: _Inspection._inspect_text,
    Role.CONDITION: _Inspection._inspect_condition,
    Role.IDENTIFIER: _Inspection._inspect_identifier,
    Role.RECIPIENT: _Inspection._inspect_recipient,
    Role.HEADER: _Inspection._inspect_header,
    Role.AMOUNT: _Inspection._inspect_amount,
    Role.CURRENCY: _Inspection._inspect_text,
    Role.PROGRAM: _Inspection._inspect_text,
    Role.TEXT: _Inspection._inspect_text,
    Role.PLAIN: _Inspection._inspect_plain,
}
