"""The section `people`: what groups of an identity provider may do here."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.credentials import OPERATOR_ROLE, Scope
from qwed.domain.people import MAX_GROUPS, GroupRights, PeopleRules, SlackUser
from qwed.domain.risk import RISK_NAMES
from qwed.policy import readers
from qwed.policy.readers import INVALID, PolicyReading, Reader, flag, whole
from qwed.policy.yaml_text import YamlNode

_GROUP: Final[Mapping[str, Reader]] = {
    "roles": readers.list_of(readers.text, 20),
    "scopes": readers.list_of(readers.member("scope", Scope), len(Scope)),
    "principal": readers.text,
    "team": readers.text,
}


def _group(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(_GROUP)(reading, node, path)
    is_operator = OPERATOR_ROLE in given.get("roles", ())
    wall = [name for name in ("principal", "team") if name in given]
    if is_operator and wall:
        return reading.fail(node.line, path, "an operator belongs to no principal and no team")
    if not is_operator and len(wall) != 1:
        return reading.fail(node.line, path, "needs principal or team, or the role operator")
    return given


def _groups(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    items = readers.members_of(reading, node, path)
    if len(items) > MAX_GROUPS:
        return reading.fail(node.line, path, f"at most {MAX_GROUPS} groups")
    found = {name: _group(reading, item, f"{path}.{name[:80]}") for name, item in items.items()}
    return {name: given for name, given in found.items() if given is not INVALID}


_RISK: Final = readers.optional(readers.one_of("risk", RISK_NAMES))
_SLACK_USER: Final[Mapping[str, Reader]] = {
    "subject": readers.text,
    "groups": readers.list_of(readers.text, 50),
}


def _slack(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    found = {}
    for name, item in readers.members_of(reading, node, path).items():
        given = readers.fields(_SLACK_USER)(reading, item, f"{path}.{name[:80]}")
        if given is INVALID:
            continue
        if "subject" not in given:
            return reading.fail(item.line, path, f"{name[:80]} needs subject: their name at the provider")
        found[name] = SlackUser(given["subject"], tuple(given.get("groups", ())))
    return found


PEOPLE: Final[Mapping[str, Reader]] = {
    "groups": _groups,
    "groups_claim": readers.text,
    "recheck_seconds": whole(10, 86_400),
    "only_people_approve": flag,
    "passkey_from": _RISK,
    "reason_from": _RISK,
    "slack": _slack,
}


def people_rules(given: Mapping[str, Any], teams: Mapping[str, Any]) -> PeopleRules | str:
    """With the principal of each team in its place; a sentence where a team does not stand for one."""
    groups = {}
    for name, group in given.get("groups", {}).items():
        values = dict(group)
        team = values.pop("team", None)
        if team is not None:
            principals: tuple[str, ...] = teams[team].principals if team in teams else ()
            if len(principals) != 1:
                return f"the group {name!r} names the team {team!r}, which has to have one principal"
            values["principal"] = principals[0]
        groups[name] = GroupRights(**values)
    return PeopleRules(**{**given, "groups": groups})
