"""What a tool call costs to inspect."""

import time
from collections.abc import Callable

from qwed.domain.actions import Action
from qwed.domain.skeleton import skeleton
from qwed.engines.tools import ToolControlEngine, inspect_path, inspect_url

Figure = tuple[str, float, str, float | None]

_CALLS = {
    "file_read, one path": Action("file_read", parameters={"path": "data/reports/2024.csv"}),
    "api_call, URL, headers and body": Action(
        "api_call",
        parameters={
            "url": "https://api.example.com/v1/users?limit=10",
            "method": "POST",
            "headers": {"Accept": "application/json"},
            "body": {"name": "Ada", "note": "hello"},
        },
    ),
    "send_email, two recipients": Action(
        "send_email",
        parameters={
            "to": ["a@example.com", "b@example.org"],
            "subject": "Report",
            "body": "Here it is. " * 20,
        },
    ),
    "get_weather": Action("get_weather", parameters={"city": "Paris", "units": "metric"}),
}


def figures() -> list[Figure]:
    engine = ToolControlEngine()
    measured: list[Figure] = [
        (f"tool_control: {label}", _microseconds(lambda action=action: engine.verify(action)), "µs", 60.0)
        for label, action in _CALLS.items()
    ]
    parts: dict[str, Callable[[], object]] = {
        "inspect_url": lambda: inspect_url("https://api.example.com/v1?x=1"),
        "inspect_path": lambda: inspect_path("data/reports/2024.csv"),
        "skeleton of a plain name": lambda: skeleton("drop_table"),
    }
    measured += [(label, _microseconds(work), "µs", None) for label, work in parts.items()]
    return measured


def _microseconds(work: Callable[[], object], rounds: int = 7, repeats: int = 1_000) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            work()
        best = min(best, time.process_time() - start)
    return best / repeats * 1e6


if __name__ == "__main__":
    for label, value, unit, target in figures():
        print(f"{label:45} {value:8.1f} {unit}" + (f"  (at most {target:g})" if target else ""))
