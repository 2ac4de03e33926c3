"""Ordinary texts by the thousand pass engines and guards; a file sent with scp is a doubt by decision."""

import pytest
from tests.corpora.ordinary_many import ordinary, ordinary_calls
from tests.support.tiers import scale

from qwed.domain.findings import Status
from qwed.engines.code import inspect_shell
from qwed.engines.sql import inspect_sql
from qwed.engines.tools import inspect_path
from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import MathGuard, SafetyGuard, ToolGuard

_COUNT = scale(ci=150, nightly=4_000)
_GUARDS = [ToolGuard(), SafetyGuard(max_calls=None), MathGuard()]


def _is_refused(tool, arguments):
    return not ResponseVerifier().verify_tool_call(tool, arguments, guards=_GUARDS).verified


@pytest.mark.parametrize(
    ("kind", "tool", "slot"),
    [
        ("commands", "run_command", "command"),
        ("queries", "run_query", "query"),
        ("files", "file_read", "path"),
        ("prompts", "ask", "prompt"),
        ("paragraphs", "ask", "document"),
    ],
)
def test_the_guards_refuse_no_ordinary_text(kind, tool, slot):
    refused = [text for text in ordinary(kind, _COUNT) if _is_refused(tool, {slot: text})]
    assert [text for text in refused if not text.startswith("scp ")] == []


def test_the_guards_refuse_no_ordinary_call():
    refused = [(tool, given) for tool, given in ordinary_calls(_COUNT) if _is_refused(tool, given)]
    assert refused == []


def test_the_engines_refuse_no_ordinary_text():
    commands = [
        text for text in ordinary("commands", _COUNT) if inspect_shell(text).status is not Status.VERIFIED
    ]
    queries = [text for text in ordinary("queries", _COUNT) if inspect_sql(text).problems]
    files = [text for text in ordinary("files", _COUNT) if inspect_path(text)]

    assert [text for text in commands if not text.startswith("scp ")] == []
    assert (queries, files) == ([], [])
