"""The site builds without a warning, loads nothing from elsewhere, and its reference is that of the code."""

import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.server import clean_environment

ROOT = Path(__file__).parents[2]
#: What a browser fetches by itself.
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?(https?:)?//", re.I)

pytestmark = pytest.mark.xdist_group("documents")


def load_script():
    loader = importlib.machinery.SourceFileLoader(
        "generate_reference", str(ROOT / "scripts" / "generate-reference")
    )
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    return script


SCRIPT = load_script()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built where no name can be resolved: a proxy that is not there stands before everything else."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=clean_environment(
            NO_MKDOCS_2_WARNING="1", http_proxy=nowhere, https_proxy=nowhere, PATH=os.environ["PATH"]
        ),
        capture_output=True,
        text=True,
        timeout=150,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("name", SCRIPT.PAGES)
def test_a_page_of_the_reference_is_what_the_code_says(name):
    committed = (ROOT / "docs" / name).read_text(encoding="utf-8")

    assert committed == SCRIPT.PAGES[name](), "run scripts/generate-reference"


def test_every_page_is_on_the_site(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}

    assert {path for path in pages if not (site / path).exists()} == set()


def test_the_site_loads_nothing_from_elsewhere(site):
    found = {
        path.name: FETCHED.search(text)[0]
        for path in site.rglob("*.html")
        if FETCHED.search(text := path.read_text(encoding="utf-8"))
    }

    assert found == {}


def test_the_site_can_be_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))

    assert len(index["docs"]) > 100
    assert any("QWED-AGENT-LOOP-003" in page["text"] for page in index["docs"])
