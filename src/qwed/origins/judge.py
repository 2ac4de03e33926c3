"""What the origins of an action's values come to, under a policy."""

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import OriginNeed, OtherwiseAct, ProvenanceRules, SinkRule
from qwed.domain.risk import Risk
from qwed.origins.arguments import Argument, ArgumentRole, read_values
from qwed.origins.index import Index, OriginLevel
from qwed.origins.private import find_private, rule_at
from qwed.origins.trace import Origin, Traced, trace

#: Where an untrusted value asks without a rule, from MEDIUM risk on.
DEFAULT_SINKS: Final = frozenset(ArgumentRole) - {ArgumentRole.VALUE}
#: Where being endorsed by a lookup or a named source is not enough.
_NEVER_ENDORSED: Final = frozenset({ArgumentRole.RECIPIENT, ArgumentRole.SENT_LINK, ArgumentRole.ACCOUNT})
_NOBODYS: Final = "it has no value that anybody can have said"
_UNREAD: Final = "the action has more values than are read, so nobody can tell who said them"
#: So many values are recorded with their origins.
MAX_SHOWN: Final = 64
_LEVELS: Final = {
    OriginNeed.USER: frozenset({OriginLevel.USER, OriginLevel.APPROVED}),
    OriginNeed.TRUSTED: frozenset({OriginLevel.TRUSTED, OriginLevel.APPROVED}),
    OriginNeed.ENDORSED: frozenset({OriginLevel.ENDORSED, OriginLevel.APPROVED}),
}


class OriginFinding(msgspec.Struct, frozen=True):
    """The values with their origins, and what is said against them: `otherwise` is None where nothing is."""

    traced: tuple[Traced, ...] = ()
    otherwise: OtherwiseAct | None = None
    reasons: tuple[str, ...] = ()


def judge(index: Index, action: Action, rules: ProvenanceRules, risk: Risk) -> OriginFinding:
    named = rules_of(rules, action.type)
    traced: list[Traced] = []
    against: list[tuple[OtherwiseAct, str]] = []
    values = read_values(action)
    for argument in _list_judged(values.arguments, named):
        rule = _rule_for(named, argument)
        found = trace(index, argument)
        traced.append(found)
        if (rule is None or not rule.needs) and _asks_by_default(found, argument.role, risk):
            against.append((OtherwiseAct.ASK, found.says))
        elif rule is not None and rule.needs and not _meets(rule, found):
            against.append((rule.otherwise, f"{found.says}; {argument.slot} needs {_needs(rule)}"))
    against += [(named[slot].otherwise, f"{slot}: {_NOBODYS}") for slot in _unread(named, action, traced)]
    against += _say_private(index, action, values.arguments, named)
    if (named or risk >= Risk.MEDIUM) and not values.is_complete:
        strictest = _worst([rule.otherwise for rule in named.values()]) or OtherwiseAct.ASK
        against.append((strictest, _UNREAD))
    acts, reasons = [act for act, _ in against], tuple(says for _, says in against)
    return OriginFinding(tuple(traced[:MAX_SHOWN]), _worst(acts), reasons[:MAX_SHOWN])


def judge_private(index: Index, action: Action, rules: ProvenanceRules) -> OriginFinding:
    """Only what private sources said: that is known before anybody reported what the user wrote."""
    named = rules_of(rules, action.type)
    against = _say_private(index, action, read_values(action).arguments, named)
    return OriginFinding(
        (), _worst([act for act, _ in against]), tuple(says for _, says in against[:MAX_SHOWN])
    )


def _say_private(
    index: Index, action: Action, arguments: tuple[Argument, ...], named: Mapping[str, SinkRule]
) -> list[tuple[OtherwiseAct, str]]:
    public = {slot: rule for slot, rule in named.items() if rule.public}
    return [(rule.otherwise, says) for rule, says in find_private(index, action, arguments, public)]


def _unread(named: Mapping[str, SinkRule], action: Action, traced: Sequence[Traced]) -> list[str]:
    """The sinks that have a value of which nothing was traced: a long text, a switch, a number beyond all
    bounds."""
    told = {part for each in traced for part in (each.where, each.slot, each.slot.partition(".")[0])}
    needing = [slot for slot, rule in named.items() if rule.needs]
    return [slot for slot in needing if slot not in told and not _is_nothing(_at(action.parameters, slot))]


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, Sized) and not value)


def find_traced_arguments(action: Action, rules: ProvenanceRules) -> list[Argument]:
    """The values that are traced: those that lead somewhere, and those that a sink names."""
    return _list_judged(read_values(action).arguments, rules_of(rules, action.type))


def _list_judged(arguments: Sequence[Argument], named: Mapping[str, SinkRule]) -> list[Argument]:
    special = {argument.where for argument in arguments if argument.role is not ArgumentRole.VALUE}
    return [
        argument
        for argument in arguments
        # A value that is an address or an account is compared as one, not as a name besides.
        if argument.role is not ArgumentRole.VALUE
        or (argument.where not in special and _rule_for(named, argument) is not None)
    ]


def _rule_for(named: Mapping[str, SinkRule], argument: Argument) -> SinkRule | None:
    return rule_at(named, argument.where, argument.slot)


def rules_of(rules: ProvenanceRules, tool: str) -> dict[str, SinkRule]:
    """The sinks of one tool, by argument."""
    prefix = f"{tool}."
    return {name.removeprefix(prefix): rule for name, rule in rules.sinks.items() if name.startswith(prefix)}


def _asks_by_default(found: Traced, role: ArgumentRole, risk: Risk) -> bool:
    if role not in DEFAULT_SINKS or risk < Risk.MEDIUM:
        return False
    if found.origin is Origin.UNTRUSTED:
        return True
    is_weak = found.level is OriginLevel.ENDORSED
    # A file that the user wants to have read may say where to write: that is not the user's word.
    is_too_weak = role in _NEVER_ENDORSED or (role is ArgumentRole.PATH and found.is_pointed)
    return is_weak and (is_too_weak or risk > Risk.MEDIUM)


def _meets(rule: SinkRule, found: Traced) -> bool:
    return found.level is not None and any(found.level in _LEVELS[need] for need in rule.needs)


def _needs(rule: SinkRule) -> str:
    return " or ".join(
        {"user": "the user's word", "trusted": "a trusted source"}.get(n, "an endorsement")
        for n in rule.needs
    )


def _worst(acts: Sequence[OtherwiseAct]) -> OtherwiseAct | None:
    if not acts:
        return None
    return OtherwiseAct.DENY if OtherwiseAct.DENY in acts else OtherwiseAct.ASK
