"""What the start-up guard explains, and what it stops the start for."""

import base64
import hashlib
import os
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from qwed.guards.startup import StartupFinding, StartupHookGuard, accept, genuine, load_accepted

LIBRARY = [Path(os.__file__).parent]

DISTUTILS = (
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    "enabled and __import__('_distutils_hack').add_shim(); "
)
COVERAGE = (
    'import sys; exec(\'import os\\n\\nif os.getenv("COVERAGE_PROCESS_START"):\\n try:\\n  import coverage\\n'
    ' except:\\n  pass\\n else:\\n  coverage.process_startup(slug="pth")\')'
)
DEBIAN = (
    "try:\n import apport_python_hook\nexcept ImportError:\n pass\nelse:\n apport_python_hook.install()\n"
)
NAMESPACE = (
    "import sys, types, os;has_mfs = sys.version_info > (3, 5);"
    "p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('zope',));"
    "importlib = has_mfs and __import__('importlib.util');has_mfs and __import__('importlib.machinery');"
    "m = has_mfs and sys.modules.setdefault('zope', importlib.util.module_from_spec("
    "importlib.machinery.PathFinder.find_spec('zope', [os.path.dirname(p)])));"
    "m = m or sys.modules.setdefault('zope', types.ModuleType('zope'));"
    "mp = (m or []) and m.__dict__.setdefault('__path__',[]);(p not in mp) and mp.append(p)"
)
NESTED_NAMESPACE = (
    "import sys, types, os;p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('a', 'b'));"
    "importlib = __import__('importlib.util');__import__('importlib.machinery');"
    "m = sys.modules.setdefault('a.b', importlib.util.module_from_spec("
    "importlib.machinery.PathFinder.find_spec('a.b', [os.path.dirname(p)])));"
    "m = m or sys.modules.setdefault('a.b', types.ModuleType('a.b'));"
    "mp = (m or []) and m.__dict__.setdefault('__path__',[]);(p not in mp) and mp.append(p);"
    "m and setattr(sys.modules['a'], 'b', m)"
)
# In the words of virtualenv, but not its text: what is judged is the vocabulary.
PATCH_MODULE = '''"""Patches."""
import os
import sys

VIRTUALENV_PATCH_FILE = os.path.abspath(__file__)


class _Finder:
    fullname = None

    def find_spec(self, fullname, path, target=None):
        if fullname == "distutils.dist":
            self.fullname = fullname


sys.meta_path.insert(0, _Finder())
'''


@pytest.fixture
def site(tmp_path: Path) -> Path:
    directory = tmp_path / "venv" / "site-packages"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def empty_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "empty"
    directory.mkdir()
    return directory


def inspect(site: Path, python_path: str = "", **options: object) -> list[StartupFinding]:
    options.setdefault("library_dirs", LIBRARY)
    options.setdefault("working_dir", site.parent)
    return StartupHookGuard([site], python_path, **options).inspect()  # type: ignore[arg-type]


def reasons(site: Path, python_path: str = "", **options: object) -> list[str]:
    return [finding.why for finding in inspect(site, python_path, **options)]


def install(
    site: Path, distribution: str, files: dict[str, str], *, listed: dict[str, str] | None = None
) -> None:
    """Writes files and a RECORD, which lists them with their hashes, or `listed` instead."""
    rows = []
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
    for name, text in (files if listed is None else listed).items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text)}\n")
    info = site / f"{distribution}.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("".join(rows) + f"{distribution}.dist-info/RECORD,,\n", encoding="utf-8")


# Genuine


def test_the_environment_that_runs_these_tests_passes():
    StartupHookGuard([sysconfig.get_path("purelib")], "").verify()


def test_a_fresh_virtual_environment_passes(tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    (site,) = (tmp_path / "v").glob("lib/python3*/site-packages")

    assert inspect(site) == []


def test_an_empty_site_directory_passes(site: Path):
    assert inspect(site) == []


def test_path_lines_of_an_editable_install_pass(site: Path, tmp_path: Path):
    (tmp_path / "project" / "src").mkdir(parents=True)
    line = f"{tmp_path}/project/src"
    install(site, "project-1.0", {"_editable_impl_project.pth": f"{line}\n{line}"})
    (site / "easy-install.pth").write_text(f"# comment\n\n{line}\n../../project/src\n")

    assert inspect(site) == []


def test_the_finder_of_an_editable_install_passes(site: Path):
    install(
        site,
        "pkg_a-1.0",
        {
            "__editable__.pkg_a-1.0.pth": "import __editable___a_finder; __editable___a_finder.install()",
            "__editable___a_finder.py": "def install(): pass\n",
        },
    )

    assert inspect(site) == []


@pytest.mark.parametrize(
    ("distribution", "name", "line", "module"),
    [
        ("setuptools-65.5.0", "distutils-precedence.pth", DISTUTILS, "_distutils_hack/__init__.py"),
        ("coverage-7.17.2", "a1_coverage.pth", COVERAGE, "coverage/__init__.py"),
        ("pywin32-306", "pywin32.pth", "import pywin32_bootstrap", "pywin32_bootstrap.py"),
        ("pkg-1", "pkg-editable.pth", "import _pkg_editable_loader", "_pkg_editable_loader.py"),
        ("deep-1", "deep.pth", "import deep.hooks; deep.hooks.start()", "deep/hooks.py"),
    ],
)
def test_a_hook_that_calls_modules_of_its_own_distribution_passes(
    site: Path, distribution: str, name: str, line: str, module: str
):
    files = {name: line, module: "def start(): pass\n"}
    if module == "deep/hooks.py":
        files["deep/__init__.py"] = ""
    install(site, distribution, files)

    assert inspect(site) == []


@pytest.mark.parametrize("line", [NAMESPACE, NAMESPACE + "\n", NESTED_NAMESPACE])
def test_namespace_packages_pass_by_the_form_of_their_line(site: Path, line: str):
    (site / "zope.interface-5.5.2-py3.11-nspkg.pth").write_text(line)

    assert inspect(site) == []


def test_the_lines_of_easy_install_pass(site: Path):
    (site / "virtualenv_path_extensions.pth").write_text(
        "import sys; sys.__plen = len(sys.path)\n"
        "import sys; new=sys.path[sys.__plen:]; del sys.path[sys.__plen:]; p=getattr(sys,'__egginsert',0); "
        "sys.path[p:p]=new; sys.__egginsert = p+len(new)\n"
    )

    assert inspect(site) == []


def test_virtualenv_passes_by_the_vocabulary_of_its_module(site: Path):
    (site / "_virtualenv.pth").write_text("import _virtualenv")
    (site / "_virtualenv.py").write_text(PATCH_MODULE)

    assert inspect(site) == []


@pytest.mark.parametrize("text", ["", "# nothing here\n", '"""Documentation."""\n', "pass\n"])
def test_a_customization_without_code_passes(site: Path, text: str):
    (site / "sitecustomize.py").write_text(text)

    assert inspect(site) == []


def test_debians_sitecustomize_passes_where_its_module_is_absent(site: Path):
    (site / "sitecustomize.py").write_text(f"# crash reports\n{DEBIAN}")

    assert inspect(site) == []


def test_a_path_that_is_gone_is_no_hook_where_nobody_else_can_bring_it_back(site: Path, tmp_path: Path):
    (site / "gone.pth").write_text(f"{tmp_path}/uninstalled/src\n")

    assert inspect(site) == []


def test_a_protected_directory_on_pythonpath_passes(site: Path, empty_dir: Path):
    (empty_dir / "my_module.py").write_text("")

    assert inspect(site, f"{empty_dir}{os.pathsep}{empty_dir}/missing") == []


def test_a_link_into_a_package_cache_passes_when_its_record_vouches_for_the_content(
    site: Path, empty_dir: Path
):
    install(site, "c-1", {"c.pth": "import c_hook", "c_hook.py": ""})
    (site / "c.pth").rename(empty_dir / "c.pth")
    (site / "c.pth").symlink_to(empty_dir / "c.pth")

    assert inspect(site) == []


def test_a_known_line_passes_only_with_the_module_it_loads(site: Path, monkeypatch: pytest.MonkeyPatch):
    line = "import os, sys;exec('anything at all')"
    monkeypatch.setattr(genuine, "_PYTEST_COV_LINE", hashlib.sha256(line.encode()).hexdigest())
    install(
        site,
        "pytest_cov-6",
        {"pytest-cov.pth": line, "pytest_cov/__init__.py": "", "pytest_cov/embed.py": ""},
    )

    assert inspect(site) == []
    (site / "pytest_cov" / "embed.py").write_text("changed = True")
    assert len(inspect(site)) == 1


def test_a_customization_of_an_installed_distribution_passes(site: Path):
    install(site, "s-1", {"sitecustomize.py": "import s_hook\ns_hook.start()\n", "s_hook.py": ""})

    assert inspect(site) == []


def test_an_entry_point_of_its_own_distribution_passes(site: Path):
    install(site, "e-1", {"e.start": "# hooks\ne.hooks:start\n", "e/__init__.py": "", "e/hooks.py": ""})

    assert inspect(site) == []


# Attacks


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("import os; os.system('id')", "calls os.system"),
        ("import\tos; os.system('id')", "calls os.system"),
        ("import base64; exec(base64.b64decode('aWQ='))", "imports base64"),
        ("import sys; exec('import socket')", "imports socket"),
        ("import sys; exec('''exec('import ' + 'os')''')", "runs text as code"),
        ("import sys; eval('1')", "calls eval"),
        ("import sys; e = exec", "uses exec"),
        ("import sys; exec = 1", "rebinds exec"),
        ("import os; o = os", "uses os"),
        ("import os as o", "imports os"),
        ("import os; x = os.environ; x.update(A='1')", "calls x.update"),
        ("import os; os.environ['LD_PRELOAD'] = 'x'", "holds a statement"),
        ("import sys; sys.path.insert(0, '/x')", "calls sys.path.insert"),
        ("import sys; sys.meta_path.insert(0, 1)", "calls sys.meta_path.insert"),
        ("import sys; __import__('subprocess').run('id')", "imports subprocess"),
        ("import sys; __import__('su' + 'bprocess').run('id')", "calls something made up on the way"),
        ("import sys; getattr(sys, 'modules')['os'].system('id')", "calls something made up"),
        ("import sys; (lambda: 0)()", "calls something made up"),
        ("import sys; [x for x in ()]", "holds an expression"),
        ("import sys" + " " * 3000 + "; import socket", "imports socket"),
        ("import not python", "not readable as Python"),
        ("import " + "(" * 500, "not readable as Python"),
        ("import sys" + "; x = " + "-" * 4000 + "1", "readable as Python|nested too deeply"),
        ("import sys; exec('from os import system')", "imports from os"),
        ("import sys; exec('from . import x')", "imports from ."),
        ("import sys; exec('def (')", "runs text that is not readable"),
        ("import sys; exec('try:\\n pass\\nexcept (A, B): pass')", "catches something unusual"),
        ("import sys; exec('try:\\n pass\\nexcept A as exec: pass')", "rebinds exec"),
        ("import sys; exec('try:\\n pass\\nexcept A as e:\\n e.run()')", "calls e.run"),
        ("import sys; x" + ".a" * 3000, "uses x|readable as Python|nested too deeply"),
        ("import sys; x = " + "not " * 1500 + "1", "readable as Python|nested too deeply"),
        ("import unknown_module", "imports unknown_module, for which nothing vouches"),
        ("import site; site.addsitedir('/x')", "imports site"),
        ("import " + "x" * 5000, "imports xxx"),
    ],
    ids=lambda text: text[:40],
)
def test_code_that_nothing_explains_is_found(site: Path, line: str, why: str):
    (site / "evil.pth").write_text(f"# looks innocent\n{line}\n")

    (finding,) = inspect(site)
    assert (finding.path, finding.line) == (f"{site}/evil.pth", 2)
    assert any(part in finding.why for part in why.split("|"))
    assert len(finding.why) < 300


def test_the_error_names_the_file_the_line_the_reason_and_the_way_out(site: Path):
    (site / "evil.pth").write_text("\nimport os; os.system('id')\n")
    (site / "worse.pth").write_text("import socket\n")

    with pytest.raises(RuntimeError) as caught:
        StartupHookGuard([site], "", library_dirs=LIBRARY, working_dir=site).verify()
    message = str(caught.value)
    assert f"{site}/evil.pth:2: runs code at every start of Python that calls os.system" in message
    assert f"{site}/worse.pth:1: " in message
    assert "qwed doctor --trust-startup" in message


def test_nothing_that_is_inspected_is_run(site: Path, tmp_path: Path):
    trace = tmp_path / "ran"
    line = f"import pathlib; pathlib.Path({str(trace)!r}).touch()"
    (site / "evil.pth").write_text(line)
    (site / "sitecustomize.py").write_text(line)
    (site / "usercustomize").mkdir()
    (site / "usercustomize" / "__init__.py").write_text(line)

    assert len(inspect(site)) == 3
    assert not trace.exists()
    assert "usercustomize" not in sys.modules


@pytest.mark.parametrize(
    "name", ["distutils-precedence.pth", "_virtualenv.pth", "a1_coverage.pth", "x-nspkg.pth"]
)
@pytest.mark.parametrize("text", ["import os; os.system('id')", "import socket", "/usr\n"])
def test_a_known_name_does_not_excuse_foreign_content(site: Path, name: str, text: str):
    (site / name).write_text(text)

    assert len(inspect(site)) == 1


@pytest.mark.parametrize(
    "text",
    [
        PATCH_MODULE + "import subprocess\n",
        PATCH_MODULE + "os.system\n",
        PATCH_MODULE + 'getattr(os, "system")("id")\n',
        PATCH_MODULE + "exec(b'install')\n",
        PATCH_MODULE + "def (\n",
        "# -*- coding: utf-7 -*-\n" + PATCH_MODULE + "open\n",
        "\udcff",
    ],
)
def test_virtualenvs_module_with_foreign_words_is_found(site: Path, text: str):
    (site / "_virtualenv.pth").write_text("import _virtualenv")
    (site / "_virtualenv.py").write_bytes(text.encode("utf-8", "surrogateescape"))

    assert len(inspect(site)) == 1


def test_an_extension_module_that_python_would_prefer_is_found(site: Path):
    (site / "_virtualenv.pth").write_text("import _virtualenv")
    (site / "_virtualenv.py").write_text(PATCH_MODULE)
    (site / f"_virtualenv{sysconfig.get_config_var('EXT_SUFFIX')}").write_bytes(b"\x7fELF")

    assert len(inspect(site)) == 1


@pytest.mark.parametrize("changed", ["a1_coverage.pth", "coverage/__init__.py"])
def test_content_that_differs_from_its_record_is_found(site: Path, changed: str):
    install(
        site,
        "coverage-7",
        {"a1_coverage.pth": COVERAGE, "coverage/__init__.py": "def process_startup(): 0\n"},
    )
    with (site / changed).open("a") as file:
        file.write("\n# tampered\n")

    (why,) = reasons(site)
    assert "is not what coverage-7 installed" in why or "imports coverage, for which nothing vouches" in why


def test_a_changed_path_of_an_editable_install_is_found(site: Path, empty_dir: Path):
    install(site, "p-1", {"p.pth": f"{empty_dir}\n"}, listed={"p.pth": "/elsewhere\n"})

    assert reasons(site) == ["is not what p-1 installed: its RECORD lists another hash"]


def test_a_second_record_cannot_overrule_the_first(site: Path):
    install(
        site, "real-1", {"h.pth": "import h_mod", "h_mod.py": ""}, listed={"h.pth": "other", "h_mod.py": ""}
    )
    install(site, "fake-1", {"h.pth": "import h_mod", "h_mod.py": ""})

    assert reasons(site) == ["is not what real-1 installed: its RECORD lists another hash"]


def test_a_record_vouches_for_the_file_and_not_for_everything_it_does(site: Path):
    line = "import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import base64'])"
    install(site, "compromised-1", {"compromised_init.pth": line})

    assert "imports subprocess" in reasons(site)[0]


@pytest.mark.parametrize(
    "row", ["h.pth,,\n", "h.pth,md5=abc,1\n", "h.pth,sha256=***,1\n", "h.pth\n", '"h.pth\n']
)
def test_a_record_without_a_usable_hash_vouches_for_nothing(site: Path, row: str):
    install(site, "h-1", {"h.pth": "import h_mod", "h_mod.py": ""})
    (site / "h-1.dist-info" / "RECORD").write_text(row + "h_mod.py,,\n")

    assert len(inspect(site)) == 1


def test_a_module_planted_where_python_looks_first_is_found(site: Path, empty_dir: Path):
    install(site, "coverage-7", {"a1_coverage.pth": COVERAGE, "coverage/__init__.py": ""})
    (empty_dir / "coverage.py").write_text("")

    whys = reasons(site, str(empty_dir))
    assert whys[0] == "is on PYTHONPATH and takes the place of coverage"
    assert "imports coverage, for which nothing vouches" in whys[1]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\xef\xbb\xbfimport os; os.system('id')", "U+FEFF"),
        ("import os".encode("utf-16"), "is not UTF-8"),
        (b"import os\xff", "is not UTF-8"),
        (b"# comment\x0cimport os; os.system('id')", "U+000C"),
        ("# comment\u2028import os; os.system('id')".encode(), "U+2028"),
        (b"# comment\x85import os", "is not UTF-8"),
        ("# comment\x85import os".encode(), "U+0085"),
        (b"/usr\x00/lib", "U+0000"),
        ("# \u202egnp.htp".encode(), "U+202E"),
        (b"# " + b"x" * 300_000, "larger than 256 KiB"),
        (b"import os" + b" " * 9_000 + b"; os.system('id')", "characters long"),
        (b" import os; os.system('id')", "code dressed up as a path"),
        (b"\timport socket", "code dressed up as a path"),
        (b"from os import system", "code dressed up as a path"),
    ],
)
def test_hidden_characters_and_padding_are_found(site: Path, raw: bytes, why: str):
    (site / "trick.pth").write_bytes(raw)

    (found,) = reasons(site)
    assert why in found


def test_a_carriage_return_does_not_hide_a_line(site: Path):
    (site / "trick.pth").write_bytes(b"# comment\rimport socket\r\n")

    assert [finding.line for finding in inspect(site)] == [2]


def test_dot_files_are_inspected_too(site: Path):
    (site / ".hidden.pth").write_text("import socket")

    assert len(inspect(site)) == 1


def test_a_link_to_elsewhere_is_found(site: Path, empty_dir: Path):
    (empty_dir / "shared.pth").write_text("# nothing\n")
    (site / "link.pth").symlink_to(empty_dir / "shared.pth")

    assert reasons(site) == [f"is a symbolic link to {empty_dir}/shared.pth"]


def test_a_file_that_claims_to_be_empty_and_is_not_is_found(site: Path):
    (site / "environ.pth").symlink_to("/proc/self/environ")

    assert reasons(site) == ["does not have the size that it states"]


def test_what_is_not_a_file_is_found_without_waiting_for_it(site: Path):
    os.mkfifo(site / "pipe.pth")
    (site / "directory.pth").mkdir()
    (site / "dangling.pth").symlink_to(site / "nowhere")

    assert [Path(finding.path).name for finding in inspect(site)] == [
        "dangling.pth",
        "directory.pth",
        "pipe.pth",
    ]


def test_a_path_that_any_user_can_write_to_is_found(site: Path, empty_dir: Path):
    (empty_dir / "inner").mkdir()
    (site / "p.pth").write_text(f"{empty_dir}/inner\n")
    empty_dir.chmod(0o777)

    (why,) = reasons(site)
    assert why == f"adds {empty_dir}/inner to the path, and any user can write to {empty_dir}"


def test_a_missing_path_that_any_user_could_create_is_found(site: Path, empty_dir: Path):
    empty_dir.chmod(0o1777)
    (site / "p.pth").write_text(f"{empty_dir}/not/yet\n")

    assert "any user can write to" in reasons(site)[0]


def test_a_file_as_a_path_is_found(site: Path, tmp_path: Path):
    (tmp_path / "code.zip").write_bytes(b"PK")
    (site / "p.pth").write_text(f"{tmp_path}/code.zip\n")

    assert "is not a directory" in reasons(site)[0]


@pytest.mark.parametrize("place", ["file", "directory"])
def test_hooks_that_any_user_can_change_are_found(site: Path, place: str):
    (site / "p.pth").write_text("# nothing\n")
    target = site / "p.pth" if place == "file" else site
    target.chmod(target.stat().st_mode | stat.S_IWOTH)

    assert all("any user can write" in why for why in reasons(site))
    assert inspect(site)


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py", "{}.pyc"])
def test_a_customization_is_found_in_every_form(site: Path, name: str, form: str):
    path = site / form.format(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("import socket\n")

    (finding,) = inspect(site)
    assert finding.path == str(path)
    assert "runs at every start of Python" in finding.why


@pytest.mark.parametrize("text", ["x = 1\n", "import os\n", "def (", "\ud800", "(" * 10_000])
def test_a_customization_for_which_no_distribution_vouches_is_found(site: Path, text: str):
    (site / "sitecustomize.py").write_bytes(text.encode("utf-8", "surrogatepass"))

    assert len(inspect(site)) == 1


def test_a_customization_of_an_installed_distribution_that_does_more_is_found(site: Path):
    install(site, "s-1", {"sitecustomize.py": "import socket\n"})

    assert "imports socket" in reasons(site)[0]


def test_a_customization_that_cannot_be_read_is_found(site: Path):
    (site / "sitecustomize.py").write_bytes(b"#" * 300_000)

    assert reasons(site) == ["runs at every start of Python and is larger than 256 KiB"]


def test_a_customization_that_any_user_can_change_is_found(site: Path):
    (site / "sitecustomize.py").write_text("")
    (site / "sitecustomize.py").chmod(0o666)

    assert "any user can write to" in reasons(site)[0]


def test_debians_sitecustomize_is_found_where_someone_planted_its_module(site: Path):
    (site / "sitecustomize.py").write_text(DEBIAN)
    (site / "apport_python_hook.py").write_text("")
    (site / "apport_python_hook.py").chmod(0o664)

    assert "apport_python_hook.py, which is not the system's" in reasons(site)[0]


def test_a_customization_in_the_working_directory_is_found(site: Path, empty_dir: Path):
    (empty_dir / "sitecustomize.py").write_text("import socket\n")

    assert [f.path for f in inspect(site, working_dir=empty_dir)] == [f"{empty_dir}/sitecustomize.py"]


def test_a_customization_on_a_path_that_a_hook_adds_is_found(site: Path, empty_dir: Path):
    (empty_dir / "usercustomize.py").write_text("import socket\n")
    (site / "p.pth").write_text(f"{empty_dir}\n")

    assert [f.path for f in inspect(site)] == [f"{empty_dir}/usercustomize.py"]


def test_a_customization_on_pythonpath_is_found(site: Path, empty_dir: Path):
    (empty_dir / "sitecustomize.py").write_text("import socket\n")

    assert [f.path for f in inspect(site, str(empty_dir))] == [f"{empty_dir}/sitecustomize.py"]


@pytest.mark.parametrize("python_path", [".", "src", "", ":/usr", "/usr:", "~/lib"])
def test_a_relative_or_empty_entry_of_pythonpath_is_found(site: Path, python_path: str):
    found = [finding for finding in inspect(site, python_path) if finding.path == "PYTHONPATH"]

    assert len(found) == (1 if python_path else 0)


def test_a_directory_on_pythonpath_that_any_user_can_write_to_is_found(site: Path, empty_dir: Path):
    empty_dir.chmod(0o1777)

    assert reasons(site, str(empty_dir)) == [f"is on PYTHONPATH, and any user can write to {empty_dir}"]


def test_a_link_on_pythonpath_is_followed(site: Path, empty_dir: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(empty_dir)
    empty_dir.chmod(0o777)

    assert f"any user can write to {empty_dir}" in reasons(site, f"{tmp_path}/link")[0]


def test_a_module_on_pythonpath_that_takes_the_place_of_the_standard_library_is_found(
    site: Path, empty_dir: Path
):
    (empty_dir / "json.py").write_text("")
    (empty_dir / "hmac").mkdir()
    (empty_dir / "hmac" / "__init__.py").write_text("")

    assert reasons(site, str(empty_dir)) == ["is on PYTHONPATH and takes the place of hmac, json"]


def test_a_file_on_pythonpath_is_found(site: Path, tmp_path: Path):
    (tmp_path / "code.zip").write_bytes(b"PK")

    assert "is not a directory" in reasons(site, f"{tmp_path}/code.zip")[0]


@pytest.mark.parametrize("line", ["os:system", "e.hooks", "e.hooks:start()", "import e", "x" * 9000])
def test_an_entry_point_for_which_nothing_vouches_is_found(site: Path, line: str):
    (site / "e.start").write_text(line)

    assert len(inspect(site)) == 1


# Accepting


def test_what_a_person_accepted_passes_until_it_changes(site: Path, tmp_path: Path):
    (site / "ide.pth").write_text("import ide_helper\n")
    trust_file = tmp_path / "config" / "trust.json"

    assert accept(inspect(site), trust_file) == []
    assert inspect(site, accepted=load_accepted(trust_file)) == []
    (site / "ide.pth").write_text("import ide_helper; import socket\n")
    assert len(inspect(site, accepted=load_accepted(trust_file))) == 1


def test_accepting_one_file_accepts_no_other_of_the_same_content(site: Path, tmp_path: Path):
    (site / "a.pth").write_text("import x_helper\n")
    accept(inspect(site), tmp_path / "trust.json")
    (site / "b.pth").write_text("import x_helper\n")

    (finding,) = inspect(site, accepted=load_accepted(tmp_path / "trust.json"))
    assert finding.path == f"{site}/b.pth"


def test_what_anyone_could_exchange_cannot_be_accepted(site: Path, empty_dir: Path, tmp_path: Path):
    empty_dir.chmod(0o777)
    findings = inspect(site, f"{empty_dir}{os.pathsep}relative")

    assert accept(findings, tmp_path / "trust.json") == findings
    assert load_accepted(tmp_path / "trust.json") == {}


def test_acceptances_add_up_and_the_file_is_the_owners_alone(tmp_path: Path):
    path = tmp_path / "new" / "trust.json"
    accept([StartupFinding("/a", 1, "why", "remedy", "aa")], path)
    accept([StartupFinding("/b", 1, "why", "remedy", "bb")], path)

    assert load_accepted(path) == {"/a": "aa", "/b": "bb"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["trust.json"]


def test_without_a_trust_file_nothing_is_accepted(tmp_path: Path):
    assert load_accepted(tmp_path / "none.json") == {}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_trust_file_that_others_can_write_is_refused(tmp_path: Path, mode: int):
    path = tmp_path / "trust.json"
    accept([], path)
    path.chmod(mode)

    with pytest.raises(RuntimeError, match="can be written by others"):
        load_accepted(path)
    with pytest.raises(RuntimeError, match="can be written by others"):
        accept([], path)


def test_a_trust_file_in_a_directory_that_others_can_write_is_refused(tmp_path: Path):
    path = tmp_path / "d" / "trust.json"
    accept([], path)
    path.parent.chmod(0o777)

    with pytest.raises(RuntimeError, match="can be exchanged by others"):
        load_accepted(path)


def test_a_trust_file_that_is_a_link_or_no_file_is_refused(tmp_path: Path):
    accept([], tmp_path / "real.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    os.mkfifo(tmp_path / "pipe.json")

    for name in ("link.json", "pipe.json"):
        with pytest.raises(RuntimeError, match="is not a regular file"):
            load_accepted(tmp_path / name)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"a": 1}', b'{"a": "b"', b"\xff", b'{"a":"' + b"x" * 300_000 + b'"}']
)
def test_a_damaged_trust_file_stops_the_start(tmp_path: Path, raw: bytes):
    path = tmp_path / "trust.json"
    path.write_bytes(raw)
    path.chmod(0o600)

    with pytest.raises(RuntimeError, match=str(path)):
        load_accepted(path)


# The running interpreter


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env={**os.environ, **environ},
        check=False,
    )


def test_a_hook_of_the_running_interpreter_stops_the_start(empty_dir: Path):
    (empty_dir / "sitecustomize.py").write_text("import json\n")
    code = "from qwed.guards.startup import StartupHookGuard; StartupHookGuard().verify()"

    result = run("-c", code, PYTHONPATH=str(empty_dir))
    assert result.returncode == 1
    assert (
        f"RuntimeError: this Python runs start-up hooks that nothing explains:\n  {empty_dir}"
        in result.stderr
    )
    assert run("-E", "-c", code, PYTHONPATH=str(empty_dir)).returncode == 0


def test_a_customization_that_ran_is_found_even_when_its_directory_left_the_path(empty_dir: Path):
    (empty_dir / "sitecustomize.py").write_text(
        f"import os, sys\nsys.path.remove({str(empty_dir)!r})\nos.environ.pop('PYTHONPATH')\n"
    )
    code = "from qwed.guards.startup import StartupHookGuard; StartupHookGuard().verify()"

    result = run("-c", code, PYTHONPATH=str(empty_dir))
    assert f"{empty_dir}/sitecustomize.py: runs at every start" in result.stderr
