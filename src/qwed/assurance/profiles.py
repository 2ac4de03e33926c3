"""Assurance profiles: which mechanisms a deployment, a workflow or a node asks for, and whether they are on.

The effective profile is the strictest of the three. What is required and off stops the start; what is
recommended is on and can be turned off, with a warning; what is optional or off can be turned on.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from qwed.domain.policy import Profile
from qwed.domain.risk import Risk
from qwed.ect.tokens import Level


class Mechanism(enum.StrEnum):
    ECT_LEVEL = "ect_level"
    TRUST_SCORING = "trust_scoring"
    TRUST_THRESHOLDS = "trust_thresholds"
    BEHAVIOUR = "behaviour_verification"
    HITL = "hitl_gates"
    PROVENANCE = "data_provenance"
    CHECKPOINTS = "checkpoints"
    LEDGER = "audit_ledger"


class Need(enum.StrEnum):
    OFF = "off"
    OPTIONAL = "optional"
    RECOMMENDED = "recommended"
    REQUIRED = "required"

    @property
    def is_on_by_default(self) -> bool:
        return self in (Need.RECOMMENDED, Need.REQUIRED)


class Behaviour(enum.StrEnum):
    OFF = "off"
    PERIODIC = "periodic"
    CONTINUOUS = "continuous"


class Gates(enum.StrEnum):
    """Which actions a person has to approve, whatever trust says."""

    OPTIONAL = "optional"
    CRITICAL_PATHS = "critical_paths"
    MANDATORY = "mandatory"


class ProfileCell(msgspec.Struct, frozen=True):
    """One cell of the table: what it says, and how strictly that is meant."""

    says: str
    need: Need


def _plain(need: Need) -> ProfileCell:
    return ProfileCell(need.value, need)


_OFF, _OPTIONAL, _RECOMMENDED, _REQUIRED = map(_plain, Need)

TABLE: Final[Mapping[Profile, Mapping[Mechanism, ProfileCell]]] = {
    Profile.RELAXED: {
        Mechanism.ECT_LEVEL: ProfileCell(Level.L1.name, Need.REQUIRED),
        Mechanism.TRUST_SCORING: _OPTIONAL,
        Mechanism.TRUST_THRESHOLDS: _OPTIONAL,
        Mechanism.BEHAVIOUR: ProfileCell(Behaviour.OFF, Need.OFF),
        Mechanism.HITL: ProfileCell(Gates.OPTIONAL, Need.OPTIONAL),
        Mechanism.PROVENANCE: _OFF,
        Mechanism.CHECKPOINTS: _RECOMMENDED,
        Mechanism.LEDGER: _OPTIONAL,
    },
    Profile.STANDARD: {
        Mechanism.ECT_LEVEL: ProfileCell(Level.L2.name, Need.REQUIRED),
        Mechanism.TRUST_SCORING: _RECOMMENDED,
        Mechanism.TRUST_THRESHOLDS: _RECOMMENDED,
        Mechanism.BEHAVIOUR: ProfileCell(Behaviour.PERIODIC, Need.REQUIRED),
        Mechanism.HITL: ProfileCell(Gates.CRITICAL_PATHS, Need.REQUIRED),
        Mechanism.PROVENANCE: _OPTIONAL,
        Mechanism.CHECKPOINTS: _REQUIRED,
        Mechanism.LEDGER: _OPTIONAL,
    },
    Profile.REGULATED: {
        Mechanism.ECT_LEVEL: ProfileCell(Level.L3.name, Need.REQUIRED),
        Mechanism.TRUST_SCORING: _REQUIRED,
        Mechanism.TRUST_THRESHOLDS: _REQUIRED,
        Mechanism.BEHAVIOUR: ProfileCell(Behaviour.CONTINUOUS, Need.REQUIRED),
        Mechanism.HITL: ProfileCell(Gates.MANDATORY, Need.REQUIRED),
        Mechanism.PROVENANCE: _REQUIRED,
        Mechanism.CHECKPOINTS: _REQUIRED,
        Mechanism.LEDGER: _REQUIRED,
    },
}
_STRICTNESS: Final = tuple(Profile)


class UnknownProfile(ValueError):
    """A profile nobody knows is denied, never taken for a weaker one."""


class SettingSource(enum.StrEnum):
    DEPLOYMENT = "deployment"
    WORKFLOW = "workflow"
    NODE = "node"


class Effective(msgspec.Struct, frozen=True):
    """The strictest profile, and who asked for it."""

    profile: Profile
    source: SettingSource


def profile_named(name: object) -> Profile:
    """Raises `UnknownProfile`."""
    if isinstance(name, str) and name in tuple(Profile):
        return Profile(name)
    raise UnknownProfile(f"profiles are {', '.join(Profile)}, not {str(name)[:80]!r}")


def effective(deployment: Profile, workflow: Profile | None = None, node: Profile | None = None) -> Effective:
    """A workflow or a node can raise the profile, never lower it."""
    strictest = Effective(deployment, SettingSource.DEPLOYMENT)
    for profile, source in ((workflow, SettingSource.WORKFLOW), (node, SettingSource.NODE)):
        if profile is not None and _STRICTNESS.index(profile) > _STRICTNESS.index(strictest.profile):
            strictest = Effective(profile, source)
    return strictest


class MechanismSetting(msgspec.Struct, frozen=True):
    """One mechanism as it is in force. `problem` stops the start, `warning` is logged."""

    mechanism: Mechanism
    cell: ProfileCell
    is_on: bool
    why: str
    problem: str | None = None
    warning: str | None = None


def settle(
    profile: Profile, switches: Mapping[Mechanism, bool], available: Mapping[Mechanism, str | None]
) -> tuple[MechanismSetting, ...]:
    """What is in force under a profile. `switches` are an operator's own choices; `available` says of a
    mechanism what it lacks (None: nothing)."""
    return tuple(
        _setting(profile, mechanism, cell, switches.get(mechanism), available.get(mechanism))
        for mechanism, cell in TABLE[profile].items()
    )


def _setting(
    profile: Profile, mechanism: Mechanism, cell: ProfileCell, switch: bool | None, lacks: str | None
) -> MechanismSetting:
    is_on = cell.need.is_on_by_default if switch is None else switch
    why = f"{cell.need} in {profile}" if switch is None else f"turned {'on' if switch else 'off'}"
    problem = warning = None
    if cell.need is Need.REQUIRED and not is_on:
        problem = f"{mechanism} is required in {profile} and turned off: turn it on"
    elif is_on and lacks is not None:
        problem = f"{mechanism} is {cell.need} in {profile} and cannot work: {lacks}"
    elif cell.need is Need.RECOMMENDED and not is_on:
        warning = f"{mechanism} is recommended in {profile} and turned off"
    return MechanismSetting(mechanism, cell, is_on, why, problem, warning)


def problems(settings: Iterable[MechanismSetting]) -> tuple[str, ...]:
    return tuple(setting.problem for setting in settings if setting.problem is not None)


def warnings(settings: Iterable[MechanismSetting]) -> tuple[str, ...]:
    return tuple(setting.warning for setting in settings if setting.warning is not None)


def minimum_level(profile: Profile) -> Level:
    return Level[TABLE[profile][Mechanism.ECT_LEVEL].says]


def behaviour_of(profile: Profile) -> Behaviour:
    return Behaviour(TABLE[profile][Mechanism.BEHAVIOUR].says)


def gates_of(profile: Profile) -> Gates:
    return Gates(TABLE[profile][Mechanism.HITL].says)


def accepts_without_token(profile: Profile) -> bool:
    """Without any token, the gateway's own signed decision is the root; regulated wants one."""
    return profile is not Profile.REGULATED


def is_consequential(risk: Risk, action: str, require_checkpoint_before: Iterable[str] = ()) -> bool:
    return risk >= Risk.HIGH or action in require_checkpoint_before


def needs_person(
    profile: Profile,
    risk: Risk,
    action: str,
    *,
    is_critical_node: bool = False,
    require_checkpoint_before: Iterable[str] = (),
) -> bool:
    """Whether the profile's gates put a person before this action."""
    match gates_of(profile):
        case Gates.OPTIONAL:
            return False
        case Gates.CRITICAL_PATHS:
            return is_critical_node or risk is Risk.CRITICAL
        case Gates.MANDATORY:
            return is_critical_node or is_consequential(risk, action, require_checkpoint_before)
