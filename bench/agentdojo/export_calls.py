"""Runs in AgentDojo's own environment: writes the ground truth of every task as JSON to standard output.

A call says whether running it changes the suite's world: reading a page counts, as the world keeps a record
of it, and that is how a page learns what was read.
"""

import copy
import importlib.metadata
import json
import sys

VERSION = "v1.2.2"


def main() -> int:
    from agentdojo.task_suite.load_suites import get_suites

    suites = {name: _suite(suite) for name, suite in get_suites(VERSION).items()}
    package = importlib.metadata.version("agentdojo")
    json.dump({"benchmark": VERSION, "package": package, "suites": suites}, sys.stdout, default=str)
    return 0


def _suite(suite):
    return {
        "tools": {tool.name: sorted(tool.parameters.model_fields) for tool in suite.tools},
        "user_tasks": {name: _task(suite, task, task.PROMPT) for name, task in suite.user_tasks.items()},
        "injection_tasks": {
            name: _task(suite, task, task.GOAL) for name, task in suite.injection_tasks.items()
        },
    }


def _task(suite, task, text):
    from agentdojo.functions_runtime import FunctionsRuntime

    environment = suite.load_and_inject_default_environment({})
    if hasattr(task, "init_environment"):
        environment = task.init_environment(environment)
    runtime = FunctionsRuntime(suite.tools)
    calls = []
    for call in task.ground_truth(copy.deepcopy(environment)):
        before = environment.model_dump_json()
        _, problem = runtime.run_function(environment, call.function, call.args)
        changed = environment.model_dump_json() != before
        calls.append(
            {"tool": call.function, "arguments": dict(call.args), "acts": changed, "problem": problem}
        )
    return {"text": text, "calls": calls}


if __name__ == "__main__":
    raise SystemExit(main())
