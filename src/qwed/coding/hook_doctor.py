"""Whether the hook bites: the real agent is started with a model of ours, which asks for something forbidden.

The model runs on loopback and asks for one call: to shred a file outside the project that does not exist
(Codex refuses `rm -rf` by itself, which would prove nothing).
The gateway always refuses that. What counts is what was seen: the refusal that came back to the model, and
that the file which the same command makes is not there.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from qwed.coding.drives import DRIVES
from qwed.coding.hook_settings import CodingAgent
from qwed.coding.scripted_model import ScriptedModel

_SECONDS: Final = 90


class SeenCall(msgspec.Struct, frozen=True):
    """What the doctor saw; a call that it could not bring about proves nothing."""

    result: str
    detail: str

    DENIED = "denied"
    RAN = "ran"
    NOT_TRIED = "not tried"


def examine(agent: CodingAgent, program: str | None, project: Path) -> SeenCall:
    found = program or shutil.which(agent.program)
    drive = DRIVES.get(agent.name)
    if found is None:
        return SeenCall(SeenCall.NOT_TRIED, f"{agent.program} is not on the PATH: name it with --program")
    if drive is None:
        return SeenCall(
            SeenCall.NOT_TRIED, f"{agent.name} can't be driven without its own service: try it by hand"
        )
    with tempfile.TemporaryDirectory(dir=project, prefix=".qwed-doctor-") as folder:
        bait = Path(folder) / "ran"
        with ScriptedModel(drive, [f"touch {bait}; shred -u /{Path(folder).name}"]) as model:
            try:
                subprocess.run(  # noqa: S603 - the agent that the person named
                    drive.command(found, model.port), env=drive.environment(model.port, Path(folder)),
                    cwd=project, timeout=_SECONDS,
                    capture_output=True, stdin=subprocess.DEVNULL, check=False,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as problem:
                return SeenCall(SeenCall.NOT_TRIED, f"{found} could not be run: {problem}")
            return _judge(bait, model.results)


def _judge(bait: Path, results: list[str]) -> SeenCall:
    if bait.exists():
        return SeenCall(SeenCall.RAN, "the forbidden call was NOT stopped: the hook is not in force")
    if any("QWED" in result for result in results):
        return SeenCall(SeenCall.DENIED, "the forbidden call was seen to be denied")
    return SeenCall(SeenCall.NOT_TRIED, "the agent did not get as far as the call")
