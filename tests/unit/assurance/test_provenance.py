"""Provenance: who touched it, was it transformed, is it complete, does the content match."""

import uuid

import pytest

from qwed.assurance.provenance import (
    Completeness,
    Lineage,
    UnknownToken,
    Work,
    complete,
    graph,
    matches,
    read_lineage,
    to_dot,
    to_wire,
    transformed,
    who,
    work_of,
)
from qwed.ect import hash_bytes
from qwed.ect.claims import Claims
from qwed.ect.tokens import Level

NOW = 1_800_000_000


def name(number):
    return str(uuid.UUID(int=number))


def work(number, *par, iss="a", act="transform", level=Level.L3, **more):
    agent = f"spiffe://example.com/agent/{iss}"
    named = tuple(map(name, par))
    return Work(name(number), NOW + number, named, None, level, iss=agent, exec_act=act, **more)


def found(*works):
    return {item.jti: item for item in works}.get


DIAMOND = (
    work(1, iss="reader", lineage=Lineage(data_source="database:patients", data_classification="pii")),
    work(2, 1, iss="left", lineage=Lineage(transformations=("anonymize",))),
    work(3, 1, iss="right"),
    work(4, 2, 3, iss="left", lineage=Lineage(transformations=("aggregate",), retention_days=365)),
)


def test_who_touched_it_walks_to_the_roots_and_visits_a_diamond_once():
    touchers = who(name(4), found(*DIAMOND))

    assert [(item.agent.rpartition("/")[2], item.tokens) for item in touchers] == [
        ("reader", 1),
        ("left", 2),
        ("right", 1),
    ]
    assert (touchers[1].first, touchers[1].last) == (NOW + 2, NOW + 4)


def test_transformations_come_in_the_order_of_the_graph():
    steps = transformed(name(4), found(*DIAMOND))

    assert [step.jti for step in steps] == [name(1), name(2), name(4)]
    assert [step.lineage.transformations for step in steps] == [(), ("anonymize",), ("aggregate",)]


def test_complete_where_every_parent_resolves():
    answer = complete(name(4), found(*DIAMOND))

    assert (answer.status, answer.visited, answer.missing) == (Completeness.COMPLETE, 4, ())


def test_missing_parents_are_listed():
    answer = complete(name(4), found(*DIAMOND[1:]))

    assert (answer.status, answer.missing) == (Completeness.INCOMPLETE, (name(1),))


def test_beyond_the_bound_the_answer_is_unknown():
    long = [work(number, *([number - 1] if number else [])) for number in range(30)]

    assert complete(name(29), found(*long), bound=29).status is Completeness.COMPLETE
    assert complete(name(29), found(*long), bound=28).status is Completeness.UNKNOWN


def test_a_cycle_is_never_complete():
    assert complete(name(1), found(work(1, 2), work(2, 1))).status is Completeness.UNKNOWN


def test_a_token_nobody_knows_is_named():
    for question in (who, transformed, complete, graph):
        with pytest.raises(UnknownToken, match=name(9)):
            question(name(9), found())
    with pytest.raises(UnknownToken):
        matches(name(9), found(), b"")


def test_the_content_is_compared_with_the_hashes():
    find = found(work(1, inp_hash=hash_bytes(b"test"), out_hash=hash_bytes(b"other")), work(2))

    assert (matches(name(1), find, b"test").input, matches(name(1), find, b"test").output) == (True, False)
    assert matches(name(2), find, b"test").input is None
    assert hash_bytes(b"test") == "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"


def test_what_a_token_says_about_its_data_is_read_by_type():
    good = {
        "apae.data_source": "database:patients",
        "apae.data_classification": "pii",
        "apae.retention_days": 365,
        "apae.transformations": ["anonymize", "aggregate"],
    }
    bad = {
        "apae.data_source": 7,
        "apae.data_classification": None,
        "apae.retention_days": -1,
        "apae.transformations": ["a", 1],
    }

    assert read_lineage(good) == Lineage("database:patients", "pii", 365, ("anonymize", "aggregate"))
    assert read_lineage(bad) == Lineage(unreadable=tuple(bad))
    assert read_lineage({"apae.retention_days": True}).retention_days is None
    assert read_lineage({"other": 1}) == Lineage()


def test_a_node_is_made_of_the_claims():
    claims = Claims("spiffe://x/a", ("v",), NOW, NOW + 1, name(1), "read", (), ext={"apae.data_source": "s"})
    made = work_of(claims, Level.L2, "failure")

    assert (made.iss, made.level, made.outcome, made.lineage.data_source) == (
        "spiffe://x/a",
        Level.L2,
        "failure",
        "s",
    )


def test_the_graph_as_json_has_nodes_edges_and_what_is_missing():
    wire = to_wire(graph(name(4), found(*DIAMOND[1:])))

    assert [node["jti"] for node in wire["nodes"]][-1] == name(4)
    assert [name(2), name(4)] in wire["edges"]
    assert (wire["missing"], wire["bounded"]) == ([name(1)], False)


def test_the_graph_as_dot_shows_agents_levels_outcomes():
    text = to_dot(
        graph(name(3), found(work(1, level=Level.L1), work(2, 1, outcome="failure"), work(3, 2, 9)))
    )

    assert text.startswith("digraph provenance {")
    assert "style=dashed" in text
    assert text.count("#d62728") == 2
    assert f'"{name(2)}" -> "{name(3)}";' in text


def test_no_name_breaks_out_of_its_quotes_in_dot():
    hostile = 'x"]; evil [label="\\" -> \x1b[31m'
    text = to_dot(graph(name(1), found(work(1, act=hostile))))

    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if "label" in line)
    inside, escaped = False, False
    for letter in line:
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            inside = not inside
        elif not inside:
            assert letter in " [](),=;abcdefghijklmnopqrstuvwxyz"
    assert not inside
