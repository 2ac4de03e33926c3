"""Types say something: `Any` is rare, and what JSON holds has one name."""

import re
from pathlib import Path

SDK = Path(__file__).parents[3] / "src" / "qwed_sdk"


def test_any_is_rare() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SDK.glob("*.py")]
    lines = sum(text.count("\n") for text in texts)
    found = sum(len(re.findall(r"\bAny\b", text)) for text in texts)

    assert found / lines * 1000 <= 40


def test_files_of_the_sdk_are_short() -> None:
    long = {path.name for path in SDK.rglob("*.py") if path.read_text(encoding="utf-8").count("\n") > 400}

    assert long == set()
