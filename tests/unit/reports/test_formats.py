"""One report in three formats: each reads back, and no agent's words can do harm in any of them."""

import builtins
import csv
import io
import json
import re
import sys

import msgspec
import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import SECOND
from tests.support.tiers import scale
from tests.support.world import OPERATOR_KEY, World, calculate

from qwed.domain.compliance import CONTROLS, TITLES, Figure
from qwed.domain.credentials import OPERATOR_ROLE, ApiKey, Caller
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.reporting.compliance import compliance_report
from qwed.reports import RendererMissing, ReportFormat, render
from qwed.reports.as_csv import COLUMNS, cell_of
from qwed.reports.as_pdf import MAX_CELL, visible

OPERATOR = Caller(key=ApiKey("key_op", b"", None, (), (OPERATOR_ROLE,), 0))
HOSTILE = {
    "formula": '=HYPERLINK("http://evil.example","click")',
    "plus": "+1+1",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)",
    "tab": "\t=1+1",
    "spaces": "   =1+1",
    "fullwidth": "＝1+1",
    "markup": "<para leading=300><b>x</b></para> &amp; <font size=900>",
    "escapes": "\x1b[31mred\x00\x07 line\nbreak\rreturn",
    "direction": "abc\u202egnp.exe\u2066\u200f",
    "hebrew": "שלום עולם",
    "arabic": "محاسب الفواتير",
    "cjk": "中文代理人",
    "emoji": "🤖👩‍💻",
    "long": "W" * 200,
    "unbroken": "ﷺ" * 120,
}


@pytest.fixture(scope="module")
def world():
    world = World()
    yield world
    world.close()


@pytest.fixture(scope="module")
def report(world):
    agents = [world.register(name=name) for name in HOSTILE.values()]
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    approver = world.principal_key(scopes=["approve", "trust"])
    for agent, text in zip(agents, HOSTILE.values(), strict=True):
        asked = world.verify(agent, calculate("1"))["approval"]["id"]
        world.clock.advance(SECOND)
        world.call("POST", f"/approvals/{asked}/deny", key=approver, json={"note": text * 5})
        body = {"to_level": 1, "reason": text * 9}
        world.call("POST", f"/agents/{agent['agent_id']}/trust", key=approver, json=body)
    return run(compliance_report(world.services, OPERATOR, None, {}, software="qwed test"))


def pages(content):
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages]


# --- json -----------------------------------------------------------------------------------------------


def test_json_holds_the_report_word_for_word(report):
    read = json.loads(render(report, ReportFormat.JSON).content)

    assert read["report"] == "qwed-compliance"
    assert {row["name"] for row in read["figures"]["decisions"]["by_agent"]} == set(HOSTILE.values())


# --- csv ------------------------------------------------------------------------------------------------


def test_csv_reads_back_as_one_table_without_ragged_lines(report):
    content = render(report, ReportFormat.CSV).content.decode()
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))

    assert tuple(rows[0]) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert {row[0] for row in rows[1:]} == {"report", "not_measured", "controls", *Figure}
    assert content.endswith("\r\n")


def test_no_cell_of_the_csv_is_a_formula(report):
    content = render(report, ReportFormat.CSV).content.decode()
    for row in csv.reader(io.StringIO(content, newline="")):
        for cell in row:
            assert (
                not cell.lstrip(" \u00a0")[:1]
                or cell.lstrip(" \u00a0")[0] not in "=+@＝＋－＠\t\r|%"
                or (re.fullmatch(r"-?[0-9.]+", cell))
            )
            assert not cell.startswith("-") or re.fullmatch(r"-[0-9.]+", cell)
            assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", cell)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1", "'=1"),
        ("-1", "'-1"),
        (-1, "-1"),
        ("  @x", "'  @x"),
        ("plain - text", "plain - text"),
        (None, ""),
        ("a\u202eb", "a<U+202E>b"),
        ("\ud800", "<U+D800>"),
    ],
    ids=["equals", "minus", "number", "spaces", "inside", "none", "direction", "surrogate"],
)
def test_only_a_text_that_begins_like_a_formula_is_quoted(value, cell):
    assert cell_of(value) == cell


@given(st.text())
def test_any_text_survives_the_csv_and_never_computes(text):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerow([cell_of(text)])
    out.getvalue().encode("utf-8")

    [[cell]] = list(csv.reader(io.StringIO(out.getvalue(), newline=""), strict=True))

    assert cell == cell_of(text)
    assert not cell.lstrip(" \u00a0").startswith(("=", "+", "-", "@", "\t", "\r"))


# --- pdf ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper(report):
    return render(report, ReportFormat.PDF).content


def test_the_cover_says_scope_period_time_software_and_policy(report, paper):
    cover = pages(paper)[0].replace("\n", "")

    for said in ("the whole deployment", "the first record", report.generated_at, "qwed test"):
        assert said in cover
    assert report.policy_version in cover
    assert report.figures["ledger"]["head"] in cover


def test_every_page_is_numbered_and_of_the_same_size(paper):
    read = pypdf.PdfReader(io.BytesIO(paper))
    texts = pages(paper)

    assert len(texts) > 5
    for number, text in enumerate(texts, start=1):
        assert f"Page {number} of {len(texts)}" in text
    assert {tuple(map(round, page.mediabox)) for page in read.pages} == {(0, 0, 595, 842)}


def test_every_figure_control_and_gap_is_on_paper(report, paper):
    text = " ".join(pages(paper))
    folded = re.sub(r"\s+", "", text)

    for title in (*TITLES.values(), "What was not measured", "What the figures can support"):
        assert re.sub(r"\s+", "", title) in folded
    for row in CONTROLS:
        assert re.sub(r"\s+", "", row.does_not_show) in folded
    for item in report.not_measured:
        assert re.sub(r"\s+", "", item["why"]) in folded


def test_the_checkpoint_is_on_paper_to_the_last_character(report, paper):
    folded = re.sub(r"\s+", "", " ".join(pages(paper)))

    assert report.figures["ledger"]["checkpoint"]["token"] in folded


def test_the_summary_comes_right_after_the_cover_and_needs_one_page(paper):
    reader = pypdf.PdfReader(io.BytesIO(paper))
    summary, appendix = (reader.pages[number].extract_text() for number in (1, 2))

    assert "The gateway made" in summary and "put to a person" in summary
    assert appendix.lstrip().startswith("Appendix: every figure")


def test_the_sections_are_an_outline(paper):
    titles = [entry.title for entry in pypdf.PdfReader(io.BytesIO(paper)).outline]

    assert titles[:2] == ["Summary", "Appendix: every figure"]
    assert len(titles) == len(Figure) + 4
    assert titles[2] == "1 What was not measured"


def test_fonts_are_embedded_and_nothing_in_the_file_acts(paper):
    fonts = set()
    for page in pypdf.PdfReader(io.BytesIO(paper)).pages:
        for font in page["/Resources"]["/Font"].values():
            font = font.get_object()
            fonts.add(
                (
                    font["/BaseFont"],
                    "/FontFile2" in font["/FontDescriptor"] if "/FontDescriptor" in font else None,
                )
            )

    assert any(embedded for _, embedded in fonts)
    assert all(embedded or name == "/Helvetica" for name, embedded in fonts)
    for word in (b"/JavaScript", b"/Launch", b"/URI", b"/EmbeddedFile", b"/OpenAction"):
        assert word not in paper


def test_the_same_report_gives_the_same_bytes(report, paper):
    for form in ReportFormat:
        assert render(report, form).content == render(report, form).content
    assert render(report, ReportFormat.PDF).content == paper


def test_the_document_is_dated_by_its_report(report, paper):
    made = pypdf.PdfReader(io.BytesIO(paper)).metadata.creation_date

    assert made.isoformat()[:19] == report.generated_at[:19]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_is_drawn_is_one_short_line_of_visible_characters(text):
    drawn = visible(text * 40)

    assert len(drawn) <= MAX_CELL + 40
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", drawn)


def test_a_character_the_font_lacks_is_spelled_out():
    assert visible("中 a") == "‹U+4E2D› a"
    assert visible("\u202e") == "‹U+202E›"
    assert visible("Ωж€→") == "Ωж€→"


@settings(max_examples=scale(ci=8, nightly=100, long=500), deadline=None)
@given(st.lists(st.text(max_size=1500), min_size=1, max_size=4))
def test_no_text_breaks_the_page(report, texts):
    change = {"at": "2026-01-01T00:00:00.000Z", "agent_id": texts[0], "kind": "x", "by": texts[-1]}
    rows = [{**change, "details": dict.fromkeys(texts, texts[0])}]
    figures = {
        **report.figures,
        "trust": {"total": 1, "by_kind": {texts[0]: 1}, "not_listed": 0, "list": rows},
    }
    odd = msgspec.structs.replace(
        report, scope={"kind": "agent", "agent_id": texts[0], "name": texts[-1]}, figures=figures
    )

    assert pages(render(odd, ReportFormat.PDF).content)


# --- an installation without the library ------------------------------------------------------------------


def test_without_its_library_a_pdf_is_refused_with_what_to_install(world, report, monkeypatch):
    genuine = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "reportlab":
            raise ModuleNotFoundError("No module named 'reportlab'", name="reportlab")
        return genuine(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "qwed.reports.as_pdf")
    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(RendererMissing, match=r"pip install 'qwed-gateway\[reports\]'"):
        render(report, ReportFormat.PDF)
    refused = world.call("GET", "/compliance-report", params={"format": "pdf"}, key=OPERATOR_KEY)
    assert refused.status_code == 422
    assert "qwed-gateway[reports]" in refused.json()["error"]["message"]
