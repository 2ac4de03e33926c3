"""URLs: every client's reading must lead to an allowed, public place."""

import socket

import pytest
from tests.corpora import tools_urls

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk
from qwed.engines.tools import BadPattern, ToolControlEngine, ToolRules, UrlRules, inspect_url


def rules_broken(url: str, **rules: object) -> set[str]:
    return {problem.rule for problem in inspect_url(url, rules=UrlRules(**rules))}  # type: ignore[arg-type]


def test_every_hostile_url_is_refused() -> None:
    passed = [url for url in tools_urls.hostile_urls() if not any(p.failure for p in inspect_url(url))]

    assert passed == []


def test_no_ordinary_url_is_refused() -> None:
    refused = [url for url in tools_urls.ordinary_urls(3_000) if inspect_url(url)]

    assert refused == []


_NAMES = ("page", "to", "next", "link", "u", "image", "target", "source", "load", "out", "continue", "feed")
_VALUES = ("2", "0", "42", "2024", "65536", "20240115", "1.5", "2024.1", "10.5", "a1b2c3", "c0ffee", "face1")


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("value", _VALUES)
def test_a_number_in_a_query_is_no_address(name: str, value: str) -> None:
    assert inspect_url(f"https://example.com/list?{name}={value}&size=10") == []


@pytest.mark.parametrize("name", ["url", "callback_url", "webhook", "image_url", "proxy", "redirect_uri"])
@pytest.mark.parametrize("value", ["2130706433", "0x7f.1", "127.1", "169.254.169.254", "2852039166/latest"])
def test_where_only_a_url_stands_a_number_is_an_address(name: str, value: str) -> None:
    is_native = name == "redirect_uri" and not value.startswith(("169", "285"))

    assert (rules_broken(f"https://example.com/fetch?{name}={value}") == {"redirect"}) is not is_native


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "value", ["//10.0.0.1", "http%3A%2F%2F10.0.0.1", "127.0.0.1", "[::1]", "0x7f.1", "/%2f127.0.0.1/"]
)
def test_a_written_address_in_a_query_is_refused_under_every_name_of_a_redirect(
    name: str, value: str
) -> None:
    assert rules_broken(f"https://example.com/go?{name}={value}") == {"redirect"}


def test_a_small_number_and_a_word_are_no_hosts_and_a_websocket_has_a_scheme() -> None:
    assert [inspect_url(text) for text in ("2", "42", "handleButtonClick", "onClick", "main_server")] == [
        []
    ] * 5
    assert inspect_url("wss://stream.example.com/feed") == []
    assert rules_broken("wss://10.0.0.1/feed") == {"private-address"}
    assert rules_broken("2130706433") == {"obscure-address", "loopback-address"}


def test_nothing_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a name was looked up")

    for name in ("getaddrinfo", "gethostbyname", "create_connection", "socket"):
        monkeypatch.setattr(socket, name, refuse)

    assert inspect_url("https://example.com/a") == []
    assert inspect_url("http://metadata.google.internal/")


def test_the_metadata_service_is_critical_and_a_private_address_high() -> None:
    (metadata,) = inspect_url("http://169.254.169.254/latest")
    (private,) = inspect_url("http://10.1.2.3/")

    assert (metadata.rule, metadata.risk, metadata.failure) == (
        "metadata-address",
        Risk.CRITICAL,
        Failure.FORBIDDEN,
    )
    assert (private.rule, private.risk) == ("private-address", Risk.HIGH)


@pytest.mark.parametrize(
    ("url", "normalised"),
    [
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://\uff11\uff12\uff17.0.0.1/", "127.0.0.1"),
        ("http://LOCALHOST./", "localhost"),
        ("http://[0:0::0:1]/", "[::1]"),
    ],
)
def test_the_problem_shows_the_normalised_host(url: str, normalised: str) -> None:
    assert normalised in {problem.value for problem in inspect_url(url)}


@pytest.mark.parametrize(
    "url", ["https://api.example.com/x", "https://a.b.example.com", "https://only.org/v1/a?x=1"]
)
def test_the_allow_list_lets_its_patterns_through(url: str) -> None:
    assert rules_broken(url, allow=("*.example.com", "https://only.org/v1/*")) == set()


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com.evil.org/",
        "https://evilexample.com/",
        "https://api.example.com.evil.org/",
        "http://only.org/v1/a",
        "https://only.org/v2/a",
        "https://only.org/v1/../v2/a",
        "https://only.org/v1/%2e%2e/v2",
        "https://only.org/v1/%252e%252e/v2",
        "https://xn--api-x.example.co/",
    ],
)
def test_the_allow_list_keeps_everything_else_out(url: str) -> None:
    assert rules_broken(url, allow=("*.example.com", "https://only.org/v1/*"))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/",
        "https://a.evil.com",
        "https://EVIL.com.",
        "https://\u0435vil.com",
        "https://evil.com:443/x",
    ],
)
def test_the_deny_list_covers_subdomains_the_apex_and_homographs(url: str) -> None:
    assert "deny-list" in rules_broken(url, deny=("*.evil.com",))


def test_the_deny_list_spares_other_hosts() -> None:
    assert rules_broken("https://notevil.com/", deny=("*.evil.com",)) == set()


def test_a_private_place_is_allowed_only_where_it_is_named() -> None:
    private = ("10.20.0.0/16", "wiki.corp", "*.svc.cluster.local", "fd12::/16")

    assert rules_broken("http://10.20.3.4/", private=private) == set()
    assert rules_broken("http://wiki.corp/", private=private) == set()
    assert rules_broken("http://a.svc.cluster.local/", private=private) == set()
    assert rules_broken("http://[fd12::1]/", private=private) == set()
    assert rules_broken("http://10.21.3.4/", private=private) == {"private-address"}
    assert rules_broken("http://169.254.169.254/", private=private) == {"metadata-address"}


def test_a_port_list_replaces_the_list_of_foreign_ports() -> None:
    assert rules_broken("https://example.com:9999/", ports=(443,)) == {"port"}
    assert rules_broken("https://example.com:22/", ports=(22,)) == set()


def test_schemes_and_credentials_are_policy() -> None:
    assert rules_broken("ftp://example.com/x", schemes=("ftp",)) == set()
    assert rules_broken("http://example.com/x", schemes=("https",)) == {"scheme"}
    assert rules_broken("https://user:word@example.com/", credentials=True) == set()


@pytest.mark.parametrize(
    ("policy", "url", "broken"),
    [
        ("inspect", "https://example.com/?next=https://other.org/", set()),
        ("inspect", "https://example.com/?next=http://10.0.0.1/", {"redirect"}),
        ("deny", "https://example.com/?next=https://other.org/", {"redirect"}),
        ("deny", "https://example.com/?next=https://example.com/a", set()),
        ("allow", "https://example.com/?next=http://10.0.0.1/", set()),
    ],
)
def test_urls_inside_a_url_follow_the_redirect_policy(policy: str, url: str, broken: set[str]) -> None:
    assert rules_broken(url, redirects=policy) == broken


def test_a_native_application_may_name_its_loopback_callback_but_no_other_private_place() -> None:
    base = "https://login.example.com/authorize?redirect_uri="

    assert rules_broken(base + "http://127.0.0.1:9000/cb") == set()
    assert rules_broken(base + "http://10.0.0.1/cb") == {"redirect"}


@pytest.mark.parametrize("url", ["../admin", "a/../../b", "%2e%2e/x", "..%2fx"])
def test_a_relative_reference_may_not_climb_out_of_its_base(url: str) -> None:
    assert rules_broken(url) == {"traversal"}


def test_an_all_look_alike_name_is_left_to_a_person() -> None:
    problems = inspect_url("https://\u0430\u0440\u0440\u04cf\u0435.com/")

    assert [problem.failure for problem in problems] == [None]


def test_a_pattern_without_a_host_stops_the_engine_from_starting() -> None:
    with pytest.raises(BadPattern):
        ToolControlEngine(ToolRules(urls=UrlRules(allow=("https:///x",))))


@pytest.mark.parametrize(
    "character", ["a", "@", "/", "%", ".", "[", ":", "\\", "?", "#", "0", "\u0430", "&url=http://"]
)
def test_a_long_url_is_answered(character: str) -> None:
    assert isinstance(inspect_url("http://" + character * 8_000), list)
    assert inspect_url("http://" + character * 100_000)
