"""The official conformance suite, against a server alone and behind the proxy: `… NODE SUITE`.

Behind the proxy everything must pass that the server alone passes: started by the proxy, over pipes, and at
its address, over HTTP.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.protected import POLICY, Protected
from tests.support.server import clean_environment

REVISIONS = ("2025-11-25", "2026-07-28")
ROOT = Path(__file__).parents[2]
EVERYTHING = [sys.executable, "-W", "ignore", "-m", "tests.support.mcp_everything"]
#: The suite makes the same call again and again, which an agent may not.
UNHURRIED = """
loops: {max_steps: 10000, max_repeats: 1000, window: 1000, no_progress: 1000, cycle_rounds: 100}
"""
SECONDS = 1200
STAMP = re.compile(r"-20\d\d-\d\d-\d\dT[-\d]+Z$")

Passed = set[tuple[str, str, str]]


@contextmanager
def listening(command: list[str], environ: dict[str, str], at: Path) -> Iterator[str]:
    """The last word of the first line that a server says is its port or address."""
    process = subprocess.Popen(
        command, env=environ, cwd=at, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    word = (process.stdout.readline().split() or [""])[-1]
    try:
        yield word if word.startswith("http") else f"http://127.0.0.1:{int(word)}/mcp"
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def run(suite: list[str], url: str, folder: Path) -> Passed:
    return {
        found
        for revision in REVISIONS
        for found in checked(suite, url, folder / revision, revision, "--suite", "all")
    }


def lost_in(suite: list[str], url: str, folder: Path, alone: Passed) -> Passed:
    """What does not pass behind the proxy. A scenario that fails is tried once more by itself: the suite has
    limits of time that a busy machine does not keep."""
    missing = alone - run(suite, url, folder)
    for revision, scenario in sorted({(revision, scenario) for revision, scenario, _ in missing}):
        missing -= checked(suite, url, folder / "again" / revision, revision, "--scenario", scenario)
    return missing


def checked(suite: list[str], url: str, results: Path, revision: str, *which: str) -> Passed:
    subprocess.run(
        [*suite, "server", "--url", url, *which, "--spec-version", revision, "-o", str(results)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    passed: Passed = set()
    for file in results.glob("server-*/checks.json"):
        scenario = STAMP.sub("", file.parent.name.removeprefix("server-"))
        checks = json.loads(file.read_text())
        passed |= {
            (revision, scenario, check["id"]) for check in checks if check["status"] in ("SUCCESS", "INFO")
        }
    return passed


def main(suite: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        protected = Protected(folder / "gateway")
        tools = "".join(f"  {tool}: {{group: safe}}\n" for tool in tool_names())
        policy = POLICY.replace("tools:\n", f"tools:\n{tools}") + UNHURRIED
        (folder / "gateway" / "qwed.yaml").write_text(policy, encoding="utf-8")
        protected.start()
        stack.callback(protected.stop)
        environ = clean_environment(PYTHONPATH=str(ROOT))
        address = stack.enter_context(listening([*EVERYTHING, "http"], environ, ROOT))
        alone = run(suite, address, folder / "alone")
        lost = 0
        for how, target in (("pipes", ["--", *EVERYTHING]), ("HTTP", ["--url", address])):
            with proxied(protected, folder, target) as url:
                missing = sorted(lost_in(suite, url, folder / how, alone))
            lost += len(missing)
            print(f"behind the proxy, over {how}: {len(alone) - len(missing)} of {len(alone)} checks")
            for revision, scenario, check in missing:
                print(f"  lost: {revision} {scenario} {check}")
        print(f"{2 * len(alone) - lost} passed, {lost} failed")
        return 1 if lost or len(alone) < 150 else 0


@contextmanager
def proxied(protected: Protected, folder: Path, target: list[str]) -> Iterator[str]:
    """For an agent of its own: what the suite leaves unfinished is not allowed again to the same one."""
    agent = protected.client.register_agent(
        "suite", "autonomous", "acme", permissions={"allowed_engines": ["logic"]}, budget=UNLIMITED
    )
    environ = clean_environment(
        PYTHONPATH=str(ROOT),
        QWED_BASE_URL=protected.server.base_url,
        QWED_AGENT_TOKEN=str(agent["agent_token"]),
        QWED_MCP_PINS_FILE=str(folder / "pins.json"),
    )
    proxy = [sys.executable, "-m", "qwed", "mcp", "proxy", "--agent", agent.agent_id, "--name", "everything"]
    proxy += ["--renew-conversation", "--show-all", "--listen", "127.0.0.1:0", *target]
    with listening(proxy, environ, ROOT) as url:
        yield url


UNLIMITED = dict.fromkeys(("max_daily_cost_usd", "max_requests_per_hour", "max_requests_per_day"))


def tool_names() -> list[str]:
    from tests.support import mcp_everything

    return [*mcp_everything.CONTENTS, *mcp_everything.RUN, *mcp_everything.ROUNDS]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
