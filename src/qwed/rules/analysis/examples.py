"""A concrete action from a model of z3, and the library's own answer about it."""

import contextvars
import datetime
import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import z3
from cel_expr_python import cel

from qwed.domain.risk import Risk
from qwed.rules.analysis.terms import Term
from qwed.rules.analysis.translation import Translator
from qwed.rules.schema import RULE_SCHEMA, make_environment

MAX_LENGTH: Final = 200
_SUNDAY: Final = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
_HOURS: Final = 24 * 366 * 2
#: Under which parameter the values of a function are shown.
_SHOWN_AS: Final = {"recipients": "to", "hosts": "url", "paths": "path", "amounts": "amount"}
_answers: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar("answers")


class Example(msgspec.Struct, frozen=True):
    """What an expression sees: variables, and what functions answer."""

    data: Mapping[str, Any]
    answers: Mapping[str, Any]

    def evaluate(self, text: str) -> bool | None:
        """None where the expression cannot be evaluated."""
        token = _answers.set(self.answers)
        try:
            found = _program(text).eval(data=dict(self.data))
            return bool(found.value()) if found.type() == cel.Type.BOOL else None
        # The library raises what it likes where a limit is reached: it cannot be evaluated.
        except Exception:  # noqa: BLE001
            return None
        finally:
            _answers.reset(token)

    def step(self, what: str) -> "Example":
        """The same with one step more risk, or less trust."""
        if what == "risk":
            return Example({**self.data, "risk": self.data["risk"] + 1}, self.answers)
        agent = {**self.data["agent"], "trust": self.data["agent"]["trust"] - 1}
        return Example({**self.data, "agent": agent}, self.answers)

    def to_wire(self) -> dict[str, Any]:
        """The action as somebody would send it, and beside it what else matters."""
        action = {name: value for name, value in self.data["action"].items() if value != {}}
        parameters = dict(action.get("parameters", {}))
        for name, answer in self.answers.items():
            function, _, about = name.partition("(")
            if function in _SHOWN_AS and about == "action)" and answer:
                parameters.setdefault(_SHOWN_AS[function], _show(function, answer))
        if parameters:
            action["parameters"] = parameters
        wire: dict[str, Any] = {"action": action, "risk": Risk(self.data["risk"]).wire}
        agent = {name: value for name, value in self.data["agent"].items() if name in ("trust", "score")}
        return {**wire, "agent": agent, **{name: self.data[name] for name in ("charge",) if self.data[name]}}


def _show(function: str, answer: list[Any]) -> Any:
    match function:
        case "recipients":
            return [item["address"] for item in answer]
        case "hosts":
            return f"https://{answer[0]}/"
        case "amounts":
            return answer[0]["value"]
    return answer[0] if len(answer) == 1 else answer


@functools.cache
def _environment() -> Any:
    functions = {name: functools.partial(_answer, name) for name in RULE_SCHEMA.functions}
    return make_environment(RULE_SCHEMA, functions)


def _answer(function: str, about: Any) -> Any:
    key = about if isinstance(about, str) else ("asked" if about.get("asked?") else "action")
    return _answers.get().get(f"{function}({key})", "unsaid" if function == "origin" else [])


@functools.lru_cache(maxsize=1024)
def _program(text: str) -> Any:
    return _environment().compile(text)


def example_from(model: Any, translator: Translator) -> Example:
    values = _Values(model, translator)
    action = {"type": "calculate", "parameters": {}, **values.variable("action")}
    data: dict[str, Any] = {
        "action": action,
        "asked": {**action, **values.variable("asked"), "asked?": True},
        "agent": {
            "id": "agent-1",
            "name": "clerk",
            "type": "supervised",
            "trust": 1,
            "principal": "acme",
            **values.variable("agent"),
        },
        "context": {"conversation_id": "c-1", "step_number": 1, **values.variable("context")},
        "finding": {
            "status": "VERIFIED",
            "engine": "tool_control",
            "evidence": {},
            **values.variable("finding"),
        },
        "risk": int(values.plain("risk", 0)),
        "charge": values.plain("charge", 0),
        "now": values.now(),
        **RULE_SCHEMA.constants,
    }
    return Example(data, values.answers())


class _Values:
    def __init__(self, model: Any, translator: Translator) -> None:
        self._model = model
        self._terms = translator.terms

    def plain(self, path: str, default: Any) -> Any:
        term = self._terms.get(path)
        return default if term is None else self._value(path, term)

    def variable(self, root: str) -> dict[str, Any]:
        """The members of a variable that the formulas speak of."""
        members = self._members(root)
        return members if isinstance(members, dict) else {}

    def answers(self) -> dict[str, Any]:
        return {
            path: self._value(path, term)
            for path, term in self._terms.items()
            if path.partition("(")[0] in RULE_SCHEMA.functions and "[" not in path
        }

    def now(self) -> datetime.datetime:
        """A time at which the calendar says what the model says; an hour of a year will do."""
        wanted = {
            path: int(self._number(term.number))
            for path, term in self._terms.items()
            if path.startswith("now.")
        }
        if not wanted and "now" in self._terms:
            return datetime.datetime.fromtimestamp(self._number(self._terms["now"].number), datetime.UTC)
        for hour in range(_HOURS if wanted else 0):
            moment = _SUNDAY + datetime.timedelta(hours=hour)
            if all(_calendar(path, moment) == value for path, value in wanted.items()):
                return moment
        return _SUNDAY

    def _members(self, path: str) -> dict[str, Any]:
        found = {}
        for inner, term in list(self._terms.items()):
            owner, _, field = inner.rpartition(".")
            if owner == path and not {"(", "["} & set(field) and self._is_true(term.ok):
                found[field] = self._value(inner, term)
        return found

    def _value(self, path: str, term: Term) -> Any:
        if self._is_true(term.is_text):
            return self._model.eval(term.text, model_completion=True).as_string()[:MAX_LENGTH]
        if self._is_true(term.is_number):
            number = self._number(term.number)
            return int(number) if number == int(number) else number
        if self._is_true(term.is_bool):
            return self._is_true(term.bool)
        if term.elements is not None and self._is_true(term.is_list):
            return self._items(path, term)
        members = self._members(path)
        if path.startswith(("recipients(", "amounts(")):
            return _complete(path, members)
        return members

    def _items(self, path: str, term: Term) -> list[Any]:
        assert term.elements is not None
        size = self._model.eval(term.size, model_completion=True).as_long()
        items = [
            self._value(f"{path}[{index}]", element) for index, (_, element) in enumerate(term.elements)
        ][:size]
        # Further ones repeat the last: nothing that was asked tells them apart.
        return [*items, *items[-1:] * (min(size, MAX_LENGTH) - len(items))]

    def _is_true(self, formula: Any) -> bool:
        return bool(z3.is_true(self._model.eval(formula, model_completion=True)))

    def _number(self, formula: Any) -> float:
        value = self._model.eval(formula, model_completion=True)
        return float(value.as_fraction())


def _complete(path: str, members: dict[str, Any]) -> dict[str, Any]:
    if path.startswith("amounts("):
        return {"value": 1, "currency": "EUR", **members}
    local, domain = members.get("local", "ann"), members.get("domain", "acme.example")
    return {"local": local, "domain": domain, "address": members.get("address", f"{local}@{domain}")}


def _calendar(path: str, moment: datetime.datetime) -> int:
    """The library's own answer, so that zones mean what they mean there."""
    function, _, zone = path.removeprefix("now.").partition("(")
    text = f'now.{function}("{zone[:-1]}")'
    return int(_clock(text).eval(data={"now": moment}).value())


@functools.cache
def _clock(text: str) -> Any:
    return cel.NewEnv(variables={"now": cel.Type.TIMESTAMP}).compile(text)
