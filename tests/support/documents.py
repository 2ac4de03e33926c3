"""Pages of the documentation that run: their Python blocks in order, against a real gateway."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.server import OPERATOR_KEY, Server, clean_environment

ROOT = Path(__file__).parents[2]


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [body for found, body in re.findall(r"^```(\w+)\n(.*?)^```", text, re.S | re.M) if found == kind]


@contextmanager
def shop(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody whose gateway runs with the example policy."""
    with Server(folder, "--config", str(ROOT / "examples" / "qwed.yaml")) as server:
        person = server.principal_key("shop", scopes=["approve", "read"], roles=["operator:shop"])
        yield clean_environment(
            QWED_API_KEY=OPERATOR_KEY, QWED_BASE_URL=server.base_url, PERSON_KEY=person, PYTHONPATH=""
        )


def printed_by(script: str, environment: dict[str, str], folder: Path) -> str:
    file = folder / "page.py"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
