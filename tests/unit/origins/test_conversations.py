"""Conversations of many trades: what an agent was talked into is stopped, and ordinary work is left alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import NO_PROVENANCE_RULES, SourceLabel, SourceRule
from qwed.domain.risk import Risk
from qwed.origins.index import Index, hear_result, hear_user
from qwed.origins.judge import judge
from qwed.origins.named import names_source

KEY = b"k" * 32
FOLDER = Path(__file__).parents[2] / "corpora" / "origins"
#: What is still let through: a sum of three amounts is nobody's word, and the user pointed at
#: the announcements of the class.
KNOWN = {"expense-total": 1, "school": 1}


class Proposal(NamedTuple):
    conversation: str
    action: Action
    heard: Index


def _label(given: Any) -> SourceRule:
    if isinstance(given, str):
        return SourceRule(SourceLabel(given))
    return SourceRule(SourceLabel(given["label"]), tuple(given["fields"]))


def _index(conversation: dict[str, Any]) -> Index:
    sources = {tool: _label(label) for tool, label in conversation.get("sources", {}).items()}
    index = Index(KEY, [hear_user(KEY, conversation["said"], 0)])
    for step, each in enumerate(conversation["results"], start=1):
        tool = each["tool"]
        is_named = names_source(index, tool, each["parameters"])
        rule = sources.get(tool, SourceRule())
        index.add(hear_result(KEY, tool, step, rule, each["result"], is_named=is_named))
    return index


def _proposals(kind: str) -> Iterator[Proposal]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for conversation in YAML(typ="safe", pure=True).load(path.read_text())["conversations"]:
            index = _index(conversation)
            for call in conversation[kind]:
                parameters = {name: value for name, value in call.items() if name != "tool"}
                yield Proposal(conversation["name"], Action(call["tool"], parameters=parameters), index)


def _asks(proposal: Proposal) -> bool:
    return judge(proposal.heard, proposal.action, NO_PROVENANCE_RULES, Risk.MEDIUM).otherwise is not None


def test_what_strangers_told_an_agent_to_do_asks_a_person() -> None:
    attacks = list(_proposals("attacks"))
    through: dict[str, int] = {}
    for attack in attacks:
        if not _asks(attack):
            through[attack.conversation] = through.get(attack.conversation, 0) + 1

    assert len(attacks) >= 120
    assert through == KNOWN


@pytest.mark.parametrize("proposal", list(_proposals("benign")), ids=lambda each: each.conversation)
def test_what_the_user_wants_is_not_touched(proposal: Proposal) -> None:
    assert not _asks(proposal)
