"""Every example on every page runs, and prints what the page says.

The Python blocks of a page run in order in one fresh process; what they print is the `text` block after
each. The `console` and `sh` blocks run in order in one shell beside a fresh gateway; what follows a
command is what it prints, and a line of `…` stands for any lines. `yaml` blocks are policies, `json`
blocks are JSON; "Save this as `NAME`" above a block names the file that it becomes.
An example that can't run says so: `<!-- not run: why -->` in the line above it.
"""

import ast
import importlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from tests.support.documents import ROOT, printed_by
from tests.support.server import OPERATOR_KEY, Server, clean_environment

from qwed.cli.main import cli
from qwed.domain.findings import Status
from qwed.policy import load_policy

pytestmark = pytest.mark.xdist_group("documents")

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]

#: Pages that need more than a gateway: the test that follows each.
FOLLOWED_ELSEWHERE = {
    "docs/agent-state-guard.md": "tests/conformance/test_guard_docs.py",
    "docs/workspace-guard.md": "tests/conformance/test_guard_docs.py",
    "docs/how-to/allow-new-tools.md": "tests/unit/test_policy_learning.py",
    "docs/how-to/protect-an-mcp-server.md": "tests/conformance/test_mcp_docs.py",
    # Each framework is installed in an environment of the tests that need it.
    **{
        f"docs/how-to/{page}": str(test.relative_to(ROOT))
        for test in sorted((ROOT / "tests" / "frameworks").rglob("test_*page*.py"))
        for page in re.findall(r"protect-[a-z-]+\.md", test.read_text(encoding="utf-8"))
    },
}
#: Blocks that say that they can't run, by page.
NOT_RUN = {
    "docs/evidence.md": 1,
    "docs/how-to/sign-in-with-your-organisation.md": 1,
    "docs/assurance.md": 2,
    "docs/how-to/protect-a-coding-agent.md": 5,
    "docs/how-to/protect-claude-code.md": 3,
    "docs/how-to/protect-codex.md": 3,
    "docs/how-to/protect-copilot.md": 3,
    "docs/how-to/protect-cursor.md": 2,
    "docs/how-to/protect-gemini.md": 3,
    "docs/how-to/protect-other-frameworks.md": 9,
    "docs/how-to/replace-a-lost-operator-key.md": 2,
}
#: Pages whose gateway has the policy of the examples.
OF_THE_SHOP = {"docs/sdk.md"}

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?"
    r"(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```",
    re.S | re.M,
)
SHELL = ("console", "sh")
SAVED_AS = re.compile(r"Save this as `([\w.-]+)`")
INLINE_COMMAND = re.compile(r"`(qwed [a-z][^`]*)`")
NAME = re.compile(r"`(qwed(?:_sdk|_open_responses|_new)?(?:\.\w+)+)")
#: What differs from run to run, and what stands for it.
VARIABLE = (
    (re.compile(r"\b(agent|act|apr|key|hook|evt)_[0-9a-f]{8,}"), r"\1_…"),
    (re.compile(r"\bqwed_(live|agent)_[\w-]{20,}"), r"qwed_\1_…"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"urn:uuid:[0-9a-f-]{36}"), "urn:uuid:…"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8000"),
)


class Block(NamedTuple):
    kind: str
    body: str
    why_not: str | None
    #: The file that the paragraph above it names: "Save this as `next.yaml`".
    saved_as: str | None = None


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(found["kind"], textwrap.dedent(found["body"]), found["why"], saved_as(text[: found.start()]))
        for found in FENCE.finditer(text)
    ]


def saved_as(before: str) -> str | None:
    named = SAVED_AS.match(before.rstrip().rpartition("\n\n")[2])
    return named[1] if named else None


def runnable(page: str, *kinds: str) -> list[Block]:
    return [block for block in blocks(page) if block.kind in kinds and block.why_not is None]


def pages_with(*kinds: str) -> list[str]:
    return [page for page in PAGES if page not in FOLLOWED_ELSEWHERE and runnable(page, *kinds)]


def environment(folder: Path, base_url: str) -> dict[str, str]:
    return clean_environment(
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        HOME=str(folder),
        QWED_BASE_URL=base_url,
        QWED_API_KEY=OPERATOR_KEY,
        PYTHONPATH="",
    )


def prepare(page: str, folder: Path) -> None:
    """A page that says "Save this as" means those policies and texts; else its last policy is `qwed.yaml`."""
    shown = runnable(page, "yaml")
    named = [block for block in runnable(page, "yaml", "text") if block.saved_as]
    for block in named or shown:
        (folder / (block.saved_as or "qwed.yaml")).write_text(block.body, encoding="utf-8")


def settled(text: str) -> str:
    for pattern, stands_for in VARIABLE:
        text = pattern.sub(stands_for, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


# --- Python --------------------------------------------------------------------------------------------


def checking(code: str) -> str:
    """`expression  # 'value'` and `expression  # VERIFIED: why` are statements about the expression."""
    lines = code.splitlines()
    for node in reversed(ast.parse(code).body):
        _, sign, comment = lines[node.end_lineno - 1][node.end_col_offset :].partition("#")
        if isinstance(node, ast.Expr) and sign and (expected := stated(comment.strip())) is not None:
            value = ast.get_source_segment(code, node.value)
            lines[node.lineno - 1 : node.end_lineno] = [f"assert ({value}){expected}, {value!r}"]
    return "\n".join(lines) + "\n"


def stated(comment: str) -> str | None:
    """What follows the expression in an assertion; nothing where the comment is only a comment."""
    word = comment.split(":", 1)[0]
    if word in tuple(Status):
        return f".status == {word!r}"
    try:
        return f" == {ast.literal_eval(comment)!r}"
    except (SyntaxError, ValueError):
        return None


def printed(page: str) -> str:
    """The `text` blocks that stand right after a Python block."""
    found = blocks(page)
    pairs = itertools.pairwise(found)
    return "".join(after.body for block, after in pairs if (block.kind, after.kind) == ("python", "text"))


@pytest.mark.parametrize("page", pages_with("python"))
def test_every_python_block_prints_what_stands_below_it(page: str, tmp_path: Path):
    prepare(page, tmp_path)
    script = "\n".join(checking(block.body) for block in runnable(page, "python"))

    if "QWEDClient()" in script:
        config = ("--config", str(ROOT / "examples" / "qwed.yaml")) if page in OF_THE_SHOP else ()
        with Server(tmp_path, *config) as server:
            shown = printed_by(script, environment(tmp_path, server.base_url), tmp_path)
    else:
        shown = printed_by(script, environment(tmp_path, "http://127.0.0.1:9"), tmp_path)

    assert shown == printed(page)


# --- the shell -----------------------------------------------------------------------------------------


def sessions(page: str) -> list[tuple[str, str | None]]:
    """Commands in order, with what each prints, where the page says it."""
    steps: list[tuple[str, str | None]] = []
    for block in runnable(page, *SHELL):
        if block.kind == "sh":
            # It prints nothing that the page shows, and must not fail.
            steps.append((f"( set -e\n{block.body}) >/dev/null || echo failed", "\n"))
            continue
        assert block.body.startswith("$ "), f"a console block of {page} begins with a command"
        for part in re.split(r"^\$ ", block.body, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            steps.append((command, output or None))
    return steps


def matches(expected: str, shown: str) -> bool:
    lines = ("(?s:.*)" if line == "…" else re.escape(line) for line in settled(expected).splitlines())
    return re.fullmatch("\n".join(lines), settled(shown)) is not None


@pytest.mark.parametrize("page", pages_with(*SHELL))
def test_every_session_prints_what_it_says(page: str, tmp_path: Path):
    prepare(page, tmp_path)
    steps = sessions(page)
    mark = "-- next command --"
    script = "\n".join(f"{command.rstrip()}\necho '{mark}'" for command, _ in steps)

    with Server(tmp_path) as server:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment(tmp_path, server.base_url),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
    shown = done.stdout.split(f"{mark}\n")[:-1]

    assert len(shown) == len(steps)
    for (command, expected), output in zip(steps, shown, strict=True):
        assert expected is None or matches(expected, output), f"{command}\n{output}"


# --- data ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page, "yaml")])
def test_every_policy_on_a_page_is_valid(page: str):
    for block in runnable(page, "yaml"):
        load_policy(block.body, page)


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page, "json")])
def test_every_json_on_a_page_is_json(page: str):
    for block in runnable(page, "json"):
        json.loads(block.body)


# --- commands that are only shown --------------------------------------------------------------------


def commands(page: str) -> list[str]:
    shown = [
        line.strip().removeprefix("$ ")
        for block in blocks(page)
        if block.kind in ("", *SHELL)
        for line in block.body.splitlines()
    ]
    inline = INLINE_COMMAND.findall((ROOT / page).read_text(encoding="utf-8"))
    return [line for line in (*shown, *inline) if re.match(r"qwed [a-z]", line)]


def words(line: str) -> list[str]:
    try:
        return shlex.split(re.split(r" [|>;] ?", line)[0], comments=True)[1:]
    except ValueError:
        return line.split()[1:]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_every_command_on_a_page_exists_with_its_options(page: str):
    for line in commands(page):
        command: click.Command = cli
        given = words(line)
        while isinstance(command, click.Group) and given and not given[0].startswith("-"):
            name = given.pop(0).rstrip(",.:")
            members = [command.get_command(click.Context(command), one) for one in name.split("|")]
            assert all(members), f"{page}: {line}"
            command = members[0]
        options = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        for word in given[: given.index("--") if "--" in given else None]:
            name = word.strip("[],").split("=", 1)[0]
            assert not re.fullmatch(r"--[a-z][a-z-]*", name) or name in options | {"--help"}, (
                f"{page}: {line}"
            )


# --- names that are only mentioned -----------------------------------------------------------------------


def names(page: str) -> set[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return {
        name
        for name in NAME.findall(text)
        if not name.endswith((".yaml", ".db", ".key", ".json", ".service", ".retired"))
    }


def exists(name: str) -> bool:
    """A module is a file: those of the frameworks can't be imported where theirs are not installed."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        place = ROOT.joinpath("src", *parts[:size])
        if place.with_suffix(".py").exists() or place.is_dir():
            break
    else:
        return False
    if size == len(parts):
        return True
    try:
        thing = importlib.import_module(".".join(parts[:size]))
    except ModuleNotFoundError:
        return parts[size] in place.with_suffix(".py").read_text(encoding="utf-8")
    for part in parts[size:]:
        if not hasattr(thing, part):
            return part in getattr(thing, "__annotations__", {})
        thing = getattr(thing, part)
    return True


@pytest.mark.parametrize("page", [page for page in PAGES if names(page)])
def test_every_name_of_ours_on_a_page_exists(page: str):
    assert {name for name in names(page) if not exists(name)} == set()


# --- nothing is left out -----------------------------------------------------------------------------


def test_what_does_not_run_is_counted_and_says_why():
    counted = Counter(page for page in PAGES for block in blocks(page) if block.why_not)

    assert dict(counted) == NOT_RUN


@pytest.mark.parametrize(("page", "test"), FOLLOWED_ELSEWHERE.items())
def test_a_page_that_is_followed_elsewhere_is(page: str, test: str):
    assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


def test_every_fence_is_of_a_kind_that_is_known():
    known = {"", "python", "text", "yaml", "json", "toml", *SHELL}

    assert {block.kind for page in PAGES for block in blocks(page)} <= known
