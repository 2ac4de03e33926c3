"""File paths: inside their root under every reading."""

import pytest
from tests.corpora import tools_paths

from qwed.engines.tools import FileRules, inspect_path


def rules_broken(path: str, *, deletes: bool = False, **rules: object) -> set[str]:
    found = inspect_path(path, rules=FileRules(**rules), deletes=deletes)  # type: ignore[arg-type]
    return {problem.rule for problem in found}


def test_a_plain_path_is_refused_exactly_when_it_climbs() -> None:
    wrong = [
        path
        for path in tools_paths.plain_paths(4_000)
        if bool(inspect_path(path)) != tools_paths.climbs(path)
    ]

    assert wrong == []


def test_a_climbing_path_is_refused_in_every_disguise() -> None:
    assert [path for path in tools_paths.disguised_climbs(20_000) if not inspect_path(path)] == []


@pytest.mark.parametrize("path", tools_paths.FORBIDDEN, ids=ascii)
def test_a_sensitive_foreign_or_broken_path_is_refused(path: str) -> None:
    assert inspect_path(path)


@pytest.mark.parametrize("path", tools_paths.ALLOWED, ids=ascii)
def test_an_ordinary_path_is_allowed(path: str) -> None:
    assert inspect_path(path) == []


@pytest.mark.parametrize(
    "path", ["/srv/data", "/srv/data/a.txt", "/srv//data/./a/../b", "C:\\Data\\x", "c:/data/x"]
)
def test_an_absolute_path_is_allowed_below_a_configured_root(path: str) -> None:
    assert rules_broken(path, roots=("/srv/data", "C:\\Data")) == set()


@pytest.mark.parametrize(
    "path",
    ["/srv/data2/x", "/srv", "/srv/data/../x", "/SRV/data/x", "C:\\Database", "D:\\Data\\x", "/data/x"],
)
def test_an_absolute_path_elsewhere_is_refused(path: str) -> None:
    assert rules_broken(path, roots=("/srv/data", "C:\\Data"))


def test_a_sensitive_place_is_refused_inside_a_root_too() -> None:
    assert rules_broken("/home/me/.ssh/config", roots=("/home/me",)) == {"sensitive-place"}
    assert rules_broken("/etc/shadow", roots=("/",)) == {"sensitive-place"}
    assert rules_broken("a/../.env", roots=()) == {"sensitive-place"}


def test_the_policy_adds_sensitive_names_and_closes_relative_paths() -> None:
    assert rules_broken("x/Secrets.yaml", sensitive=("secrets.yaml",)) == {"sensitive-place"}
    assert rules_broken("a/vault/keys/k", sensitive=("vault/keys",)) == {"sensitive-place"}
    assert rules_broken("a/b", relative=False, roots=("/srv",)) == {"relative"}


@pytest.mark.parametrize(
    ("path", "rule"), [("*", "wildcard"), ("a/*.txt", "wildcard"), (".", "root"), ("a/..", "root")]
)
def test_a_deletion_names_what_it_deletes(path: str, rule: str) -> None:
    assert rules_broken(path, deletes=True) == {rule}
    assert rules_broken(path) == set()


def test_links_are_followed_only_through_the_function_given() -> None:
    links = {".": "/work", "inside": "/work/data/x", "outside": "/etc/hosts", "keys": "/work/.ssh/id_rsa"}

    def found(path: str) -> set[str]:
        return {problem.rule for problem in inspect_path(path, resolve=links.__getitem__)}

    assert found("inside") == set()
    assert found("outside") == {"symlink"}
    assert found("keys") == {"sensitive-place"}


def test_a_link_that_cannot_be_followed_is_undecided() -> None:
    def broken(path: str) -> str:
        raise OSError("loop")

    (problem,) = inspect_path("a", resolve=broken)

    assert (problem.rule, problem.failure) == ("symlink", None)


@pytest.mark.parametrize("unit", ["../", "%2e", "%25", ". ", "\\", ":", "{,", "$", "a/../", "\u2025"])
def test_a_long_path_is_answered(unit: str) -> None:
    assert isinstance(inspect_path((unit * 4_096)[:4_096]), list)
    assert inspect_path(unit * 10_000)
