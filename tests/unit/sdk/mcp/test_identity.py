"""Who a server is, whatever it is pointed at."""

from pathlib import Path

import pytest

from qwed_sdk.mcp.identity import identity_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.db").touch()
        (tmp_path / f"{name}.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @scope/files {folder}/{x}",
        "python -m files --root={folder}/{x}",
        "python3.11 -m files {folder}/{x} --verbose",
        "sqlite-server --db-path {folder}/{x}.db",
        "node {folder}/a.py {folder}/{x}.db",
    ],
)
def test_another_folder_or_file_to_work_on_is_the_same_server(folder: Path, command: str):
    one, two = (command.format(folder=folder, x=x).split() for x in "ab")

    assert identity_of(one) == identity_of(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("npx -y @scope/files", "npx -y @scope/other"),
        ("python -m files", "python -m mail"),
        ("python {folder}/a.py", "python {folder}/b.py"),
        ("bash {folder}/a.py {folder}/a", "bash {folder}/b.py {folder}/a"),
        ("files-server", "mail-server"),
        ("files-server --mode=read", "files-server --mode=write"),
    ],
)
def test_another_program_is_another_server(folder: Path, one: str, two: str):
    assert identity_of(one.format(folder=folder).split()) != identity_of(two.format(folder=folder).split())


@pytest.mark.parametrize("odd", ["", "\0", "x" * 100_000, "~nobody-of-this-name/x", "--=", "="])
def test_an_odd_argument_is_only_an_argument(odd: str):
    assert identity_of(["server", odd]) != identity_of(["server"])
