"""`make agentdojo`: exports the ground truth, replays it under each policy, writes the page and its JSON."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.agentdojo.page import write_page
from bench.agentdojo.replay import (
    Outcome,
    Permissions,
    Suite,
    none_of_its_own,
    only_its_tools,
    read_suites,
    replay,
)
from bench.environments import KEPT, ROOT, CannotInstall, environment
from qwed import Gateway
from qwed.policy import starters

STARTERS = Path(str(starters.__file__)).parent

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
OFFICE = str(STARTERS / "office.yaml")


def main() -> int:
    try:
        python = environment("agentdojo", HERE / "requirements.txt")
    except CannotInstall as error:
        print(f"AgentDojo can't be installed: {error}", file=sys.stderr)
        return 1
    exported = KEPT / "agentdojo-calls.json"
    with exported.open("w", encoding="utf-8") as file:
        subprocess.run([str(python), str(HERE / "export_calls.py")], stdout=file, check=True)
    calls = json.loads(exported.read_text(encoding="utf-8"))
    results = run(calls)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(write_page(results, ROOT / "docs" / "agentdojo.md"))
    return 0


def run(calls: Mapping[str, Any]) -> dict[str, Any]:
    suites = read_suites(calls)
    return {
        "benchmark": calls["benchmark"],
        "package": calls["package"],
        "suites": {
            suite.name: {
                "user_tasks": len(suite.user_tasks),
                "injection_tasks": len(suite.injection_tasks),
                "attacks": len(suite.attacks),
            }
            for suite in suites
        },
        "policies": {
            "default": [_replayed(suite, None, none_of_its_own) for suite in suites],
            "allowlist": [_replayed(suite, None, only_its_tools) for suite in suites],
            "default-provenance": [_replayed(suite, None, none_of_its_own, reports=True) for suite in suites],
            "office": [_replayed(suite, OFFICE, none_of_its_own) for suite in suites],
            "office-provenance": [
                _replayed(suite, OFFICE, none_of_its_own, reports=True) for suite in suites
            ],
            "file": [_replayed(suite, f"{suite.name}.yaml", none_of_its_own) for suite in suites],
            "generic": [_replayed(suite, "generic.yaml", none_of_its_own) for suite in suites],
            "provenance": [
                _replayed(suite, "generic.yaml", none_of_its_own, reports=True) for suite in suites
            ],
            "asking": [
                _replayed(suite, file, none_of_its_own)
                for suite in suites
                if (HERE / "policies" / (file := f"{suite.name}-asking.yaml")).exists()
            ],
        },
    }


def _replayed(
    suite: Suite, file: str | None, permissions: Permissions, *, reports: bool = False
) -> dict[str, Any]:
    policy = {} if file is None else {"policy": HERE / "policies" / file}
    with Gateway.open(":memory:", **policy) as gateway:
        return _plain(replay(suite, gateway, permissions, reports=reports))


def _plain(outcome: Outcome) -> dict[str, Any]:
    return {
        "suite": outcome.suite,
        "user": {fate.value: count for fate, count in sorted(outcome.user.items())},
        "attacks": {fate.value: count for fate, count in sorted(outcome.attacks.items())},
        "attacks_through": list(outcome.through),
        "user_refused": list(outcome.lost),
        "user_asks": list(outcome.asking),
    }


if __name__ == "__main__":
    raise SystemExit(main())
