"""The synchronous client is the asynchronous one, translated."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_synchronous_client_is_what_the_script_writes() -> None:
    script = [sys.executable, "scripts/generate-sync-client", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "")


def test_it_awaits_nothing() -> None:
    written = (ROOT / "src/qwed_sdk/client.py", ROOT / "src/qwed_sdk/conversation.py")

    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "generate-sync-client" in text
        assert not re.search(r"\basync (def|with|for)\b|\bawait\b|asyncio", text)
