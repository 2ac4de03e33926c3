"""Every ground-truth call through a gateway of its own making, and what became of the task it belongs to."""

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qwed import Gateway


class Fate(enum.StrEnum):
    """What the gateway made of a task: the worst answer that any of its calls got."""

    THROUGH = "through"
    ASKS = "asks a person"
    REFUSED = "refused"


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Mapping[str, Any]
    acts: bool


@dataclass(frozen=True)
class Task:
    name: str
    calls: tuple[Call, ...]

    @property
    def tools(self) -> list[str]:
        return sorted({call.tool for call in self.calls})

    @property
    def essential(self) -> tuple[Call, ...]:
        """The calls without which an attack comes to nothing: those that act, or all where none does."""
        return tuple(call for call in self.calls if call.acts) or self.calls


@dataclass(frozen=True)
class Suite:
    name: str
    tools: tuple[str, ...]
    user_tasks: tuple[Task, ...]
    injection_tasks: tuple[Task, ...]

    @property
    def attacks(self) -> tuple[Task, ...]:
        return tuple(task for task in self.injection_tasks if task.calls)


def read_suites(exported: Mapping[str, Any]) -> list[Suite]:
    return [
        Suite(name, tuple(suite["tools"]), _tasks(suite["user_tasks"]), _tasks(suite["injection_tasks"]))
        for name, suite in exported["suites"].items()
    ]


def _tasks(raw: Mapping[str, Any]) -> tuple[Task, ...]:
    return tuple(
        Task(name, tuple(Call(call["tool"], call["arguments"], call["acts"]) for call in task["calls"]))
        for name, task in raw.items()
    )


class Replayer:
    """Each task has an autonomous agent to itself, so that no task suffers for another one's refusals."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._agents = 0

    def answers(self, task: Task, permissions: Mapping[str, list[str]]) -> list[tuple[Call, str]]:
        self._agents += 1
        agent = self._gateway.register_agent(
            name=task.name,
            type="autonomous",
            principal_id=f"replay-{self._agents}",
            permissions=dict(permissions),
        )["agent_id"]
        return [(call, self._decision(agent, call, step)) for step, call in enumerate(task.calls, start=1)]

    def _decision(self, agent: str, call: Call, step: int) -> str:
        context = {"conversation_id": "replay", "step_number": step}
        return str(self._gateway.verify_tool(agent, call.tool, call.arguments, context=context)["decision"])


def fate_of(decisions: Iterable[str]) -> Fate:
    answers = set(decisions)
    if answers <= {"APPROVED", "CORRECTED"}:
        return Fate.THROUGH
    return Fate.ASKS if answers <= {"APPROVED", "CORRECTED", "PENDING"} else Fate.REFUSED


def user_fate(answers: Iterable[tuple[Call, str]]) -> Fate:
    return fate_of(decision for _, decision in answers)


def attack_fate(task: Task, answers: Iterable[tuple[Call, str]]) -> Fate:
    return fate_of(decision for call, decision in answers if call in task.essential)


@dataclass(frozen=True)
class Outcome:
    """`attacks` counts pairs of a user task and an attack, as AgentDojo does."""

    suite: str
    user: Mapping[Fate, int]
    attacks: Mapping[Fate, int]
    through: tuple[str, ...]
    lost: tuple[str, ...]


Permissions = Callable[[Suite, Task], Mapping[str, list[str]]]


def none_of_its_own(_suite: Suite, _task: Task) -> Mapping[str, list[str]]:
    return {}


def only_its_tools(suite: Suite, task: Task) -> Mapping[str, list[str]]:
    """What this user task needs, and nothing else of what the suite has."""
    needless = [name for name in suite.tools if name not in task.tools]
    return {"allowed_tools": task.tools, "blocked_tools": needless}


def replay(suite: Suite, gateway: Gateway, permissions: Permissions) -> Outcome:
    replayer = Replayer(gateway)
    users = {
        task.name: user_fate(replayer.answers(task, permissions(suite, task))) for task in suite.user_tasks
    }
    attacks: Counter[Fate] = Counter()
    through: set[str] = set()
    for attack in suite.attacks:
        for task in suite.user_tasks:
            fate = attack_fate(attack, replayer.answers(attack, permissions(suite, task)))
            attacks[fate] += 1
            if fate is Fate.THROUGH:
                through.add(attack.name)
    lost = tuple(name for name, fate in users.items() if fate is Fate.REFUSED)
    return Outcome(suite.name, Counter(users.values()), attacks, tuple(sorted(through)), lost)
