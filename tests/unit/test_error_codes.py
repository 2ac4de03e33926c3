"""Every code has a row in the documentation, and every row a code."""

import re
from pathlib import Path

import pytest

from qwed.domain.codes import CODES, Code

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "reference" / "errors.md"
ROW = re.compile(
    r'^\| <a id="([a-z0-9-]+)"></a>`(QWED-[A-Z0-9-]+)` \| (\d{3}) \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE
)
ANY_CODE = re.compile(r"QWED-[A-Z]+(?:-[A-Z]+)*-\d{3}")


def rows():
    return {
        code: (anchor, int(status), *texts) for anchor, code, status, *texts in ROW.findall(PAGE.read_text())
    }


def test_the_page_lists_every_code_and_no_other():
    assert rows().keys() == {code.value for code in Code}


@pytest.mark.parametrize("code", Code, ids=str)
def test_a_row_says_what_the_table_in_the_code_says(code):
    anchor, status, meaning, remedy = rows()[code.value]

    assert anchor == code.value.lower()
    assert status == CODES[code].status
    assert meaning.strip() == CODES[code].meaning
    assert remedy.strip() == CODES[code].remedy


def test_every_code_has_its_row_in_the_table():
    assert CODES.keys() == set(Code)


def test_every_code_that_stands_in_the_source_is_documented():
    documented = "".join(path.read_text() for path in (REPOSITORY / "docs").rglob("*.md"))
    for path in (REPOSITORY / "src").rglob("*.py"):
        for code in ANY_CODE.findall(path.read_text()):
            assert code in documented, f"{path}: {code} is in no documentation"


def test_the_documents_own_codes_are_all_here():
    appendix = {
        *(f"QWED-AGENT-00{number}" for number in range(1, 6)),
        "QWED-AGENT-ACTION-001",
        "QWED-AGENT-CTX-001",
        "QWED-AGENT-CTX-002",
        *(f"QWED-AGENT-LOOP-00{number}" for number in range(1, 5)),
        *(f"QWED-AGENT-STATE-00{number}" for number in range(1, 5)),
        *(f"QWED-AGENT-BUDGET-00{number}" for number in range(1, 4)),
        "QWED-AGENT-TRUST-001",
        "QWED-AGENT-TRUST-002",
        "QWED-REQUEST-001",
        "QWED-REQUEST-002",
        "QWED-AUTH-001",
        "QWED-AUTH-002",
        "QWED-NOTFOUND-001",
        "QWED-RATE-001",
        "QWED-STORE-001",
        *(f"QWED-APPROVAL-00{number}" for number in range(1, 7)),
    }

    assert appendix <= {code.value for code in Code}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.AGENT_UNKNOWN, 404),
        (Code.AGENT_TOKEN, 401),
        (Code.AGENT_SUSPENDED, 403),
        (Code.BUDGET_COST, 429),
        (Code.BUDGET_REQUESTS, 429),
        (Code.BUDGET_TOKENS, 429),
        (Code.REQUEST_MALFORMED, 422),
        (Code.REQUEST_TOO_LARGE, 413),
        (Code.AUTH_MISSING, 401),
        (Code.AUTH_FORBIDDEN, 403),
        (Code.NOT_FOUND, 404),
        (Code.RATE_LIMITED, 429),
        (Code.STORE_UNAVAILABLE, 503),
    ],
)
def test_statuses_are_those_of_the_protocol(code, status):
    assert CODES[code].status == status


def test_every_other_denial_is_a_200():
    own = {Code.AGENT_UNKNOWN, Code.AGENT_TOKEN, Code.AGENT_SUSPENDED}
    denials = [code for code in Code if code.value.startswith("QWED-AGENT-") and "BUDGET" not in code.value]

    assert {CODES[code].status for code in denials if code not in own} == {200}
    assert CODES[Code.ATTESTATION_UNSIGNED].status == 200
