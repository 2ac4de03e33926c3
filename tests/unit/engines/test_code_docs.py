"""Every rule the code engine can name has a row in its documentation, and every row a rule."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMED = re.compile(r'(?:harm|doubt|Problem|_judge_pieces)\(\s*(?:run, call, )?"([a-z-]+)"')


def rules_in_source():
    found = set()
    for path in (ROOT / "src/qwed/engines/code").rglob("*.py"):
        text = path.read_text()
        found |= set(NAMED.findall(text))
        table = re.search(r"_SERVICE_VERBS: Final = \{(.*?)\n\}", text, re.DOTALL)
        found |= set(re.findall(r'\), "([a-z-]+)"\)', table.group(1))) if table else set()
    return found


def test_every_rule_is_documented_and_every_documented_rule_exists():
    page = (ROOT / "docs/engines/code.md").read_text()
    documented = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))

    assert len(documented) > 70
    assert documented == rules_in_source()
