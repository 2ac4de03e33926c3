"""Laws of the tool checkers, against small models of their own."""

import ipaddress
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.tools import ToolControlEngine, UrlRules, inspect_path, inspect_url

_ENGINE = ToolControlEngine()
_LABEL = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
_TOP = st.sampled_from(["com", "org", "net", "io", "de", "co.uk"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_TOOLS = st.sampled_from(
    [
        "file_read",
        "file_delete",
        "api_call",
        "send_email",
        "send_money",
        "query_data",
        "log_message",
        "anything",
    ]
)
_NAMES = st.sampled_from(
    ["url", "path", "to", "amount", "table", "host", "headers", "body", "file", "x", "subject"]
)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_host_passes_only_if_the_standard_library_calls_it_global(number: int) -> None:
    address = ipaddress.IPv4Address(number)

    if not inspect_url(f"http://{address}/"):
        assert address.is_global


@given(st.integers(0, 2**128 - 1) | st.integers(0x2000 << 112, (0x4000 << 112) - 1))
def test_an_ipv6_host_passes_only_if_the_standard_library_calls_it_global(number: int) -> None:
    address = ipaddress.IPv6Address(number)

    if not inspect_url(f"http://[{address}]/"):
        assert address.is_global
        assert address.ipv4_mapped is None or address.ipv4_mapped.is_global


@given(st.integers(0, 2**32 - 1), st.sampled_from([str, hex, lambda number: f"0{number:o}"]))
def test_a_host_written_as_one_number_never_passes(number: int, spell: object) -> None:
    assert inspect_url(f"http://{spell(number)}/")  # type: ignore[operator]


@given(st.lists(_LABEL.filter(lambda label: not label[0].isdigit()), min_size=1, max_size=3), _TOP)
def test_a_public_name_passes_and_its_case_and_final_dot_do_not_matter(labels: list[str], top: str) -> None:
    host = ".".join([*labels, top])

    assert inspect_url(f"https://{host}/") == []
    assert inspect_url(f"https://{host.upper()}./") == []


@given(st.lists(_LABEL, min_size=1, max_size=3), _TOP, _LABEL)
def test_a_host_matches_its_own_pattern_and_no_suffix_trick_does(
    labels: list[str], top: str, other: str
) -> None:
    host = ".".join([*labels, top])
    rules = UrlRules(allow=(host,), private=("*",))
    broken = {problem.rule for problem in inspect_url(f"https://{host}.{other}.com/", rules=rules)}

    assert "allow-list" not in {problem.rule for problem in inspect_url(f"https://{host}/", rules=rules)}
    assert "allow-list" in broken


@given(st.text(max_size=200))
def test_any_text_at_all_gets_an_answer_from_both_checkers(text: str) -> None:
    assert isinstance(inspect_url(text), list)
    assert isinstance(inspect_path(text), list)


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), min_size=1, max_size=8))
def test_a_path_of_names_and_dots_passes_exactly_when_it_never_goes_below_zero(parts: list[str]) -> None:
    path = "/".join(parts)
    levels = [{"..": -1, ".": 0, "": 0}.get(part, 1) for part in parts]
    climbs = any(sum(levels[: index + 1]) < 0 for index in range(len(levels)))
    is_absolute_or_empty = path.startswith("/") or not path.strip()

    assert bool(inspect_path(path)) == (climbs or is_absolute_or_empty)


@settings(max_examples=300, deadline=None)
@given(_TOOLS, st.dictionaries(_NAMES, _JSON, max_size=4), st.none() | st.text(max_size=60))
def test_any_action_gets_a_finding_and_the_same_one_twice(
    tool: str, parameters: dict[str, object], query: str | None
) -> None:
    action = Action(tool, query=query, parameters=parameters)
    finding = _ENGINE.verify(action)

    assert finding == _ENGINE.verify(action)
    assert (finding.status is Status.FAILED) == (finding.failure is not None)


@given(st.text(max_size=300))
def test_free_text_never_raises_an_alarm(text: str) -> None:
    assert _ENGINE.verify(Action("log_message", parameters={"message": text})).status is Status.VERIFIED
    mail = Action("send_email", parameters={"to": "a@example.com", "body": text})

    assert _ENGINE.verify(mail).status is Status.VERIFIED
