"""What people may do, by the groups that their identity provider names."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from qwed.domain.risk import Risk
from qwed.domain.scopes import OPERATOR_ROLE, Scope

MAX_GROUPS: Final = 500
#: What a group gives that names no scopes: to look.
LOOKING: Final = (Scope.READ,)


class GroupRights(msgspec.Struct, frozen=True):
    """What everybody in one group may do. An operator belongs to no principal."""

    roles: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = LOOKING
    principal: str | None = None


class Rights(msgspec.Struct, frozen=True):
    """What one person may do: all that their groups give, within one principal."""

    roles: tuple[str, ...]
    scopes: tuple[Scope, ...]
    principal: str | None


class SlackUser(msgspec.Struct, frozen=True):
    """Who somebody in Slack is: their subject at the identity provider, and their groups."""

    subject: str
    groups: tuple[str, ...] = ()


class PeopleRules(msgspec.Struct, frozen=True):
    """`groups_claim` is where the provider says which groups somebody is in. It is asked again when its last
    answer is `recheck_seconds` old, so who leaves a group loses its rights by then."""

    groups: Mapping[str, GroupRights] = msgspec.field(default_factory=dict)
    groups_claim: str = "groups"
    recheck_seconds: int = 300
    only_people_approve: bool = False
    #: From these risks on, whoever approves signs with a passkey; whoever answers says why. None: never.
    passkey_from: str | None = None
    reason_from: str | None = None
    #: By the id of a Slack user: who may press its buttons, as whom.
    slack: Mapping[str, SlackUser] = msgspec.field(default_factory=dict)

    def needs_passkey(self, risk: Risk) -> bool:
        return _is_reached(self.passkey_from, risk)

    def needs_reason(self, risk: Risk) -> bool:
        return _is_reached(self.reason_from, risk)

    def rights_of(self, groups: Iterable[str]) -> Rights | str:
        """What somebody in these groups may do, or why nothing."""
        given = [self.groups[group] for group in dict.fromkeys(groups) if group in self.groups]
        if not given:
            return "none of your groups is in this gateway's policy (people.groups)"
        roles = tuple(dict.fromkeys(role for each in given for role in each.roles))
        scopes = tuple(dict.fromkeys(scope for each in given for scope in each.scopes))
        if OPERATOR_ROLE in roles:
            return Rights(roles, scopes, None)
        principals = sorted({each.principal for each in given if each.principal is not None})
        if len(principals) != 1:
            return f"your groups belong to more than one principal: {', '.join(principals)}"
        return Rights(roles, scopes, principals[0])


def _is_reached(limit: str | None, risk: Risk) -> bool:
    return limit is not None and risk >= Risk.from_wire(limit)
