"""`make walk`: the path of one plain decision through our files, as a list that can be read.

It counts, and times nothing: functions of ours that a warm `calculate` enters, without comprehensions and
generated methods, the files they are in, and how often the path goes from one room into another.
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import qwed

ROOT = Path(qwed.__file__).parents[1]
LEFT_OUT = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>", "__init__"})


class Call(NamedTuple):
    depth: int
    file: str
    function: str

    @property
    def room(self) -> str:
        """The folder: `gateway/decide`, `domain`, `stores/sqlite`."""
        parts = self.file.split("/")[1:-1]
        return "/".join(parts[:2]) or "."


class Walk:
    """What was entered, on every thread, while it was watched."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._depth = 0

    def watch(self, work: Callable[[], Any]) -> Any:
        sys.setprofile(self._note)
        try:
            return work()
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)) or code.co_name in LEFT_OUT:
            return
        if event == "call":
            file = Path(code.co_filename).relative_to(ROOT).as_posix()
            self.calls.append(Call(self._depth, file, code.co_qualname))
            self._depth += 1
        elif event == "return":
            self._depth = max(0, self._depth - 1)

    def within(self, *rooms: str) -> "Walk":
        chosen = Walk()
        chosen.calls = [call for call in self.calls if call.file.split("/")[1] in rooms]
        return chosen

    @property
    def files(self) -> int:
        return len({call.file for call in self.calls})

    @property
    def functions(self) -> int:
        return len({(call.file, call.function) for call in self.calls})

    @property
    def switches(self) -> int:
        rooms = [call.room for call in self.calls]
        return sum(one != other for one, other in itertools.pairwise(rooms))


def walk_one(database: str = ":memory:") -> Walk:
    """A decision like many before it: everything is loaded, known and cached."""
    from qwed.embedded import Gateway

    with Gateway.open(database) as gateway:
        agent = gateway.register_agent(name="walker", type="autonomous", principal_id="acme")
        walk = Walk()
        for step in range(1, 5):
            action = {"type": "calculate", "query": f"{step}+{step}"}
            place = {"conversation_id": "walk", "step_number": step}

            def ask(action: dict[str, str] = action, place: dict[str, Any] = place) -> Any:
                return gateway.verify_action(agent["agent_id"], action, place)

            answer = walk.watch(ask) if step == 4 else ask()
        assert answer["decision"] == "APPROVED", answer
    return walk


def tell(walk: Walk) -> list[str]:
    lines, room = [], ""
    for call in walk.calls:
        if call.room != room:
            room = call.room
            lines.append(f"{room}")
        lines.append(f"    {Path(call.file).stem}.{call.function}")
    lines.append(f"{walk.files} files, {walk.functions} functions, {walk.switches} changes of room")
    return lines


if __name__ == "__main__":
    print("\n".join(tell(walk_one())))
