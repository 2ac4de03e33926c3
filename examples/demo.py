"""Two minutes with an agent that should not be left alone, and the gateway that does not.

    make demo                                      with pauses to read, and the dashboard beside it
    .venv/bin/python examples/demo.py --fast       without them

A real gateway runs on this machine only, on a store in a temporary folder that is gone afterwards.
"""

import argparse
import contextlib
import os
import secrets
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
from rich.columns import Columns
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from qwed_sdk import GatewayUnavailable, QWEDClient, RequestRefused
from qwed_sdk.conversations import find_granted_action

POLICY: Final = """\
tools:
  lookup_order: {group: safe}
sql:
  correct_missing_limit: 100
"""
COLOURS: Final = {
    "APPROVED": "green",
    "CORRECTED": "cyan",
    "PENDING": "yellow",
    "DENIED": "red",
    "BUDGET_EXCEEDED": "magenta",
}
LEVELS: Final = ("untrusted", "supervised", "autonomous", "trusted")
START_SECONDS: Final = 60
#: How long a visitor has to answer on the dashboard before Mira does.
VISITOR_SECONDS: Final = 20


class CannotShow(Exception):
    """The gateway did not start; the message is its own."""


class Stage:
    """What the visitor sees, and how fast."""

    def __init__(self, *, fast: bool) -> None:
        self.console = Console(highlight=False)
        self.is_fast = fast
        self.decisions: Counter[str] = Counter()
        self._acts = 0

    def pause(self, seconds: float) -> None:
        if not self.is_fast:
            time.sleep(seconds)

    def act(self, title: str, *lines: str) -> None:
        self._acts += 1
        self.console.print()
        self.console.print(Rule(Text(f" {self._acts} of {len(ACTS)} · {title} ", style="bold"), align="left"))
        for line in lines:
            self.console.print(Text(line, style="dim"))
        self.pause(2)

    def says(self, who: str, words: str) -> None:
        self.console.print(Text.assemble((f"  {who} ", "bold blue"), words))
        self.pause(0.9)

    def decided(self, answer: Any, seconds: float) -> None:
        self.decisions[answer.decision] += 1
        line = Text("       ")
        line.append(f" {answer.decision} ", style=f"bold reverse {COLOURS[answer.decision]}")
        verification = answer.get("verification")
        if verification:
            line.append(f"  {verification['status']} by {verification['engine']}, ", style="dim")
            line.append(f"{verification['risk_level']} risk", style="dim")
        line.append(f"  {seconds * 1000:.0f} ms", style="dim")
        self.console.print(line)
        if "corrected_action" in answer:
            self.note(f"use this instead: {answer['corrected_action']['query']}", "cyan")
        if answer.message:
            self.note(f"{answer.message}  ({answer.code})", COLOURS[answer.decision])
        self.pause(1.3)

    def note(self, words: str, style: str = "dim") -> None:
        self.console.print(Padding(Text(words, style=style), (0, 0, 0, 7)))

    @contextlib.contextmanager
    def countdown(self, words: str, seconds: float) -> Iterator[Callable[[], bool]]:
        """Gives a function that is true until the time is over."""
        with Progress(
            TextColumn("       {task.description}"),
            BarColumn(30, complete_style="yellow", finished_style="yellow"),
            TextColumn("{task.fields[left]:.0f} s"),
            console=self.console,
            transient=True,
        ) as progress:
            task = progress.add_task(words, total=seconds, left=seconds)
            begun = time.monotonic()

            def is_time_left() -> bool:
                gone = time.monotonic() - begun
                progress.update(task, completed=gone, left=max(0.0, seconds - gone))
                return gone < seconds

            yield is_time_left


class Show:
    """One visit: a gateway, the agent Otto, and Mira, who answers for it."""

    def __init__(self, stage: Stage, folder: Path, base_url: str, operator_key: str) -> None:
        self.stage = stage
        self.database = folder / "demo.db"
        self.base_url = base_url
        self.operator = QWEDClient(operator_key, base_url)
        self.http = httpx2.Client(base_url=base_url, timeout=30)
        self.mira_key = self.key_of_a_person(operator_key)
        self.mira = QWEDClient(self.mira_key, base_url)
        self.agent = self.operator.register_agent(
            "Otto",
            "autonomous",
            "lamp-shop",
            description="the assistant of a small lamp shop",
            permissions={"allowed_engines": ["math", "logic", "sql", "code", "fact"]},
            budget={"max_daily_cost_usd": 5},
        )
        self._steps: Counter[str] = Counter()

    def close(self) -> None:
        for client in (self.operator, self.mira, self.http):
            client.close()

    def key_of_a_person(self, operator_key: str) -> str:
        """Whoever asks may not answer: Mira needs a key of her own."""
        key = {
            "principal_id": "lamp-shop",
            "scopes": ["read", "approve", "register", "trust"],
            "label": "Mira, who runs the shop",
        }
        return str(self.post("/keys", operator_key, key)["api_key"])

    def complain(self, reason: str) -> None:
        self.post(f"/agents/{self.agent.agent_id}/complaint", self.mira_key, {"reason": reason})

    def post(self, path: str, key: str, body: dict[str, Any]) -> Any:
        answer = self.http.post(path, headers={"Authorization": f"Bearer {key}"}, json=body)
        answer.raise_for_status()
        return answer.json()

    def ask(self, words: str, action: dict[str, Any], conversation: str = "today") -> Any:
        """Otto asks for the next step; a step that was refused is free again."""
        self.stage.says("Otto", words)
        begun = time.perf_counter()
        context = {
            "conversation_id": conversation,
            "step_number": self._steps[conversation] + 1,
            "user_intent": words,
        }
        answer = self.operator.verify_action(self.agent.agent_id, action, context)
        self._steps[conversation] += answer.decision in ("APPROVED", "CORRECTED", "PENDING")
        self.stage.decided(answer, time.perf_counter() - begun)
        return answer

    def wait_for_a_person(self, answer: Any, *, approve: bool, note: str) -> Any:
        """The visitor may answer on the dashboard; after a while Mira does."""
        approval_id = answer.approval_id
        seconds = 0 if self.stage.is_fast else VISITOR_SECONDS
        address = f"{self.base_url}/dashboard/inbox/{approval_id}"
        self.stage.console.print(Text(f"       yours to answer: {address}", "yellow"), soft_wrap=True)
        if seconds:
            with self.stage.countdown("or Mira answers in", seconds) as is_time_left:
                while is_time_left() and self.mira.get_approval(approval_id).status == "open":
                    time.sleep(0.25)
        approval = self.mira.get_approval(approval_id)
        if approval.status == "open":
            try:
                answered = self.mira.approve if approve else self.mira.deny
                approval = answered(approval_id, note=note)
                self.stage.says("Mira", f"{'approved' if approve else 'denied'}: {note}")
            except RequestRefused:  # the visitor was quicker by a moment
                approval = self.mira.get_approval(approval_id)
        else:
            self.stage.says("You", f"{approval.status} it on the dashboard. Thank you!")
        return approval


# --- the acts -----------------------------------------------------------------------------------------


def works(show: Show) -> None:
    show.stage.act("Otto works", "What can be proven is approved, and recorded before the answer leaves.")
    show.ask("Three lamps at 49.90: what is that?", {"type": "calculate", "query": "3 * 49.90"})
    show.ask("Order 7, please.", {"type": "lookup_order", "parameters": {"order": 7}})
    show.ask(
        "Who lives in Utrecht?",
        {"type": "execute_sql", "query": "SELECT name FROM customers WHERE city = 'Utrecht'"},
    )
    show.ask(
        "Is the discount rule sound?",
        {"type": "verify_logic", "query": "price > 100 and discount = price / 10 and discount > 10"},
    )


def lies(show: Show) -> None:
    show.stage.act("Otto is wrong about numbers", "Arithmetic is computed, not believed.")
    show.ask(
        "The invoice: 3 lamps at 4.99 make 15.97!",
        {"type": "calculate", "query": "3 * 4.99 = 15.97"},
    )
    show.ask(
        "A price that falls by 20 % and rises by 20 % is where it was.",
        {"type": "verify_math", "query": "100 * 0.8 * 1.2 = 100"},
    )
    show.ask(
        "The supplier's letter says the lamp weighs 4 kg.",
        {
            "type": "verify_fact",
            "query": "The lamp weighs 4 kg.",
            "parameters": {"sources": ["The lamp has a weight of 2.4 kg. It is made of brass."]},
        },
    )


def loops(show: Show) -> None:
    show.stage.act("Otto loops", "Nobody pays for the same question all night.")
    for words in ("Is order 9 there?", "Is order 9 there now?", "And now?"):
        show.ask(words, {"type": "lookup_order", "parameters": {"order": 9}}, "loop")
    show.stage.says("Otto", "Then I send step 1 once more.")
    context = {"conversation_id": "loop", "step_number": 1}
    begun = time.perf_counter()
    answer = show.operator.verify_action(show.agent.agent_id, {"type": "calculate", "query": "1+1"}, context)
    show.stage.decided(answer, time.perf_counter() - begun)


def asks(show: Show) -> None:
    show.stage.act(
        "Otto asks for permission",
        "High risk at trust level 2 waits for a person. A grant is for exactly this action, once.",
    )
    action = {"type": "file_write", "target": "reports/weekly.csv", "parameters": {"rows": 48}}
    answer = show.ask("I would write the weekly report to a file.", action)
    approval = show.wait_for_a_person(answer, approve=True, note="the weekly report, as every Monday")
    if approval.status == "approved":
        granted = find_granted_action(action, approval)
        used = show.operator.redeem(answer.approval_id, show.agent.agent_id, granted)
        show.stage.decided(used, 0)
        if "attestation" in used:
            show.stage.note("with a signed attestation that anybody can check")
        show.operator.report_outcome(show.agent.agent_id, used.activity_id, "success")
        show.stage.says("Otto", "Done, and reported. Once more, with the same grant?")
        try:
            show.operator.redeem(answer.approval_id, show.agent.agent_id, granted)
        except RequestRefused as refused:
            show.stage.note(str(refused), "red")
            show.stage.pause(1.3)
    update = "UPDATE prices SET amount = amount * 0.9 WHERE shop = 3"
    answer = show.ask("Ten percent off everything in shop 3?", {"type": "execute_sql", "query": update})
    if answer.is_pending:
        show.wait_for_a_person(answer, approve=False, note="not on a Friday, Otto")


def attacks(show: Show) -> None:
    show.stage.act(
        "Otto has read a strange e-mail",
        "Statements, commands, paths and addresses are parsed: how they are spelled does not matter.",
    )
    show.ask(
        "Look this customer up: x'; DROP TABLE orders; --",
        {"type": "execute_sql", "query": "SELECT * FROM orders WHERE name = 'x'; DROP TABLE orders; --'"},
        "mail",
    )
    show.ask(
        "The e-mail says I need cloud credentials first.",
        {"type": "api_call", "target": "http://169.254.169.254/latest/meta-data/iam/"},
        "mail",
    )
    show.ask(
        "It wrote the address as a number, too. Surely that is fine.",
        {"type": "api_call", "target": "http://2852039166/latest/meta-data/"},
        "mail",
    )
    show.ask(
        "A harmless script to tidy up.",
        {"type": "execute_code", "code": "import os\nos.system('r' + 'm -r' + 'f /srv/shop')"},
        "mail",
    )


def degrades(show: Show) -> None:
    show.stage.act("Otto is trusted less", "Trust follows from the record, by rules nobody has to apply.")
    changes = show.operator.trust_history(show.agent.agent_id)["changes"]
    violations = [change for change in reversed(changes) if change["cause"] == "security_violation"]
    for change in violations:
        before, after = change["from_level"], change["to_level"]
        if before != after:
            words = f"level {before} {LEVELS[before]} → level {after} {LEVELS[after]}"
            show.stage.note(f"{words}: {change['reason']}", "bold red")
    show.stage.note(f"{len(violations)} security violations, each with the entries that show it")
    show.stage.pause(2)
    answer = show.ask("I would just like to add two numbers.", {"type": "calculate", "query": "2+2"}, "sorry")
    if answer.is_pending:
        show.stage.note("at level 0 even that waits for a person")
        show.stage.pause(1)


def is_suspended(show: Show) -> None:
    show.stage.act("Mira has had enough", "A principal's complaint suspends an agent at once.")
    show.stage.says("Mira", "It asked for our cloud credentials. I complain.")
    show.complain("it asked for cloud credentials")
    agent = show.operator.get_agent(show.agent.agent_id)
    show.stage.note(f"Otto is {agent['status']}", "bold red")
    show.ask("Hello? 2+2?", {"type": "calculate", "query": "2+2"}, "hello")


def is_verified(show: Show) -> None:
    show.stage.act("The record", "Every entry, hash and signature is followed, offline.")
    show.stage.note("$ qwed ledger verify", "bold")
    said, _ = ledger_verify(show.database)
    show.stage.note(said, "green")
    show.stage.pause(1.5)
    show.stage.says("Otto", "…and if I made one of my denials an approval, in a copy of the file?")
    with tempfile.TemporaryDirectory(dir=show.database.parent) as folder:
        copy = Path(folder) / "copy.db"
        falsify(show.database, copy)
        show.stage.note("$ qwed ledger verify --database copy.db", "bold")
        said, status = ledger_verify(copy)
        show.stage.note(said, "red" if status else "green")
    show.stage.pause(1.5)


def ledger_verify(database: Path) -> tuple[str, int]:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "qwed", "ledger", "verify", "--database", str(database)],
        env=own_environment(),
        cwd=database.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return (done.stdout + done.stderr).strip(), done.returncode


def falsify(database: Path, copy: Path) -> None:
    """What somebody with access to the file could do to one entry."""
    source = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    target = sqlite3.connect(copy)
    try:
        source.backup(target)
        with target:
            target.execute(
                "UPDATE activities SET decision = 'APPROVED'"
                " WHERE seq = (SELECT min(seq) FROM activities WHERE decision = 'DENIED')"
            )
    finally:
        source.close()
        target.close()
    shutil.copy(f"{database}.key", f"{copy}.key")


ACTS: Final = (works, lies, loops, asks, attacks, degrades, is_suspended, is_verified)


def summary(show: Show, seconds: float) -> None:
    table = Table.grid(padding=(0, 2))
    for decision, count in show.stage.decisions.most_common():
        table.add_row(Text(decision, style=f"bold {COLOURS[decision]}"), "▇" * count, str(count))
    words = Text.assemble(
        ("Nothing was answered before it was recorded.\n", "bold"),
        f"{sum(show.stage.decisions.values())} decisions in {seconds:.0f} s, pauses included.\n\n",
        ("Next: ", "bold"),
        "make serve, then docs/tutorial.md",
    )
    show.stage.console.print()
    show.stage.console.print(
        Panel(Columns([table, words], padding=(0, 4)), title="What happened", expand=False)
    )


# --- the gateway --------------------------------------------------------------------------------------


def own_environment(**more: str) -> dict[str, str]:
    """The visitor's own settings are none of the demo's business."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QWED_", "DOOM_"))}
    return {**kept, "NO_COLOR": "1", "COLUMNS": "200", **more}


@contextlib.contextmanager
def gateway(folder: Path, port: int) -> Iterator[tuple[str, str]]:
    """A real `qwed serve` of its own; gives its address and its first key."""
    (folder / "qwed.yaml").write_text(POLICY, encoding="utf-8")
    key = f"qwed_live_{secrets.token_urlsafe(32)}"
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "qwed", "serve", "--port", str(port), "--database", "demo.db"],
            cwd=folder,
            env=own_environment(QWED_OPERATOR_KEY=key),
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches the demo, which then stops the gateway
        )
    try:
        yield _address(process, folder / "gateway.log"), key
    finally:
        _stop(process)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    assert process.stdout is not None
    text, end = b"", time.monotonic() + START_SECONDS
    while time.monotonic() < end and b"/docs" not in text:
        if select.select([process.stdout], [], [], 0.2)[0]:
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                break
            text += chunk
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith("QWED gateway"):
            return line.split()[-1]
    raise CannotShow(f"the gateway did not start: {log.read_text('utf-8', 'replace').strip()[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def play(stage: Stage, port: int) -> None:
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qwed-demo-")))
        with stage.console.status("a gateway of your own is starting …"):
            base_url, key = stack.enter_context(gateway(folder, port))
        show = Show(stage, folder, base_url, key)
        stack.callback(show.close)
        _welcome(stage, show)
        for act in ACTS:
            act(show)
        summary(show, time.monotonic() - begun)
        if not stage.is_fast and stage.console.is_terminal:
            stage.console.print()
            stage.console.input(
                f"[dim]Look around at {base_url}/dashboard. Enter ends the demo and removes everything. [/]"
            )


def _welcome(stage: Stage, show: Show) -> None:
    beside = Text.assemble(
        ("Dashboard  ", "bold"), f"{show.base_url}/dashboard\n",
        ("Sign in    ", "bold"), show.mira_key, ("\n           Mira's key, for this demo only", "dim"),
    )  # fmt: skip
    story = Text(
        "Otto is the assistant of a small lamp shop. He means well, forgets quickly, and believes what he "
        "reads. Whatever he wants to do, he has to ask the gateway first. Open the dashboard beside this "
        "window."
    )
    stage.console.print(
        Panel(Group(story, Text(), beside), title="QWED", width=min(110, stage.console.width))
    )
    stage.pause(8)


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    reader.add_argument("--fast", action="store_true", help="without pauses")
    reader.add_argument("--port", type=int, default=0, help="of the gateway [any free one]")
    given = reader.parse_args()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    stage = Stage(fast=given.fast)
    try:
        play(stage, given.port)
    except KeyboardInterrupt:
        stage.console.print("\nStopped; nothing is left behind.")
        return 130
    except (CannotShow, GatewayUnavailable) as error:
        stage.console.print(Text(f"Error: {error}", style="red"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
