"""The wheel that `make dist` builds: its name, what it needs, what tells that something replaced it."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.support.documents import ROOT
from tests.support.server import clean_environment

pytestmark = pytest.mark.xdist_group("distribution")

UV = Path(sys.executable).parent / "uv"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Frameworks that need other versions of what the rest needs, each group with its own constraints.
ALONE = {
    "requirements/crewai-constraints.txt": {"crewai"},
    "requirements/litellm-constraints.txt": {"litellm"},
    "requirements/more-frameworks-constraints.txt": {
        "ag2",
        "autogen",
        "claude-agent-sdk",
        "google-adk",
        "haystack",
        "semantic-kernel",
        "smolagents",
        "strands",
    },
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True, timeout=120)
    return next(folder.glob("*.whl"))


@pytest.fixture
def site(wheel: Path, tmp_path: Path) -> Path:
    """A folder with the wheel in it, as an installer lays it out."""
    folder = tmp_path / "site"
    command = [UV, "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel]
    subprocess.run(command, check=True, timeout=120)
    return folder


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(PYTHONPATH=str(site), PATH=os.environ["PATH"], HOME=str(site.parent))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=site.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def installation(site: Path) -> list[dict[str, str]]:
    done = run(site, "-W", "ignore", "-m", "qwed", "doctor", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert done.returncode == any(finding["state"] == "wrong" for finding in findings)
    return [finding for finding in findings if finding["check"] == "installation"]


def install_the_other_product(site: Path) -> None:
    """A stand-in with the names that the other product's wheel lists."""
    information = site / "qwed-8.0.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.4\nName: qwed\nVersion: 8.0.0\n")
    (information / "entry_points.txt").write_text("[console_scripts]\nqwed = qwed_sdk.cli:cli\n")
    (information / "RECORD").write_text("qwed_sdk/__init__.py,,\n")
    (site / "qwed_sdk" / "__init__.py").write_text("class QWEDClient: ...\n")


def test_the_distribution_has_a_name_of_its_own_and_the_packages_that_the_documents_import(wheel: Path):
    packages = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert wheel.name.startswith("qwed_gateway-")
    assert {"qwed", "qwed_sdk", "qwed_open_responses", "qwed_new"} <= packages


def test_a_clean_installation_says_nothing_and_the_doctor_finds_it_whole(site: Path):
    imported = run(site, "-W", "error", "-c", "import qwed; print(qwed.__file__)")

    assert imported.stdout.strip() == str(site / "qwed" / "__init__.py")
    assert [finding["state"] for finding in installation(site)] == ["ok"]


def test_a_file_that_was_replaced_is_named_by_the_doctor(site: Path):
    (site / "qwed_sdk" / "client.py").write_text("class QWEDClient: ...\n")

    (finding,) = installation(site)
    assert finding["state"] == "wrong"
    assert "qwed_sdk/client.py" in finding["says"]


def test_another_product_over_ours_is_named_at_import_and_by_the_doctor(site: Path):
    install_the_other_product(site)

    imported = run(site, "-c", "import qwed")
    said = " ".join(finding["says"] for finding in installation(site))
    assert "another product (qwed 8.0.0) is installed over QWED" in imported.stderr
    assert "pip uninstall qwed" in imported.stderr
    assert "qwed_sdk/__init__.py" in said
    assert "the command qwed belongs to qwed" in said


def test_another_product_in_front_of_a_checkout_is_named_at_import(tmp_path: Path):
    site = tmp_path / "site"
    (site / "qwed_sdk").mkdir(parents=True)
    (site / "qwed_sdk" / "__init__.py").write_text("")

    imported = run(site, "-c", "import qwed")
    assert f"qwed_sdk from {site}" in imported.stderr


def test_all_extras_resolve_together_under_the_constraints(tmp_path: Path):
    alone = set().union(*ALONE.values())
    chosen = [name for name in PROJECT["optional-dependencies"] if name not in alone]
    resolved = compile_requirements(tmp_path, "constraints.txt", chosen)

    assert {"openai-agents", "uvicorn", "langchain", "mcp"} <= resolved


@pytest.mark.parametrize("constraints", ALONE)
def test_extras_that_stand_alone_resolve_with_the_guards(tmp_path: Path, constraints: str):
    resolved = compile_requirements(tmp_path, constraints, ["guards", *sorted(ALONE[constraints])])

    assert {"crewai", "google-adk", "litellm"} & resolved


def compile_requirements(folder: Path, constraints: str, extras: list[str]) -> set[str]:
    """The names that the resolver picks. What it fetched once it takes from its own cache."""
    chosen = [word for extra in extras for word in ("--extra", extra)]
    output = folder / "resolved.txt"
    command = [UV, "pip", "compile", "--quiet", "-c", constraints, "pyproject.toml", *chosen, "-o", output]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)
    if done.returncode and "No solution found" not in done.stderr and not os.environ.get("CI"):
        pytest.skip(f"there is no package index here: {done.stderr.strip()[:200]}")

    assert done.returncode == 0, done.stderr
    lines = output.read_text(encoding="utf-8").splitlines()
    return {line.partition("==")[0].partition("[")[0] for line in lines if "==" in line}
