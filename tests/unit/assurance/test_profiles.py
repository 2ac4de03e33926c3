"""Profiles: the whole table, which one is in force, and what stops the start."""

import itertools

import pytest

from qwed.assurance.profiles import (
    TABLE,
    Behaviour,
    Gates,
    Mechanism,
    Need,
    SettingSource,
    UnknownProfile,
    accepts_without_token,
    behaviour_of,
    effective,
    gates_of,
    minimum_level,
    needs_person,
    problems,
    profile_named,
    settle,
    warnings,
)
from qwed.domain.policy import Profile
from qwed.domain.risk import Risk
from qwed.ect.tokens import Level

ROWS = {
    "ect_level": ("L1", "L2", "L3"),
    "trust_scoring": ("optional", "recommended", "required"),
    "trust_thresholds": ("optional", "recommended", "required"),
    "behaviour_verification": ("off", "periodic", "continuous"),
    "hitl_gates": ("optional", "critical_paths", "mandatory"),
    "data_provenance": ("off", "optional", "required"),
    "checkpoints": ("recommended", "required", "required"),
    "audit_ledger": ("optional", "optional", "required"),
}
RELAXED, STANDARD, REGULATED = Profile
CELLS = [
    (profile, mechanism, says)
    for mechanism, row in ROWS.items()
    for profile, says in zip(Profile, row, strict=True)
]


@pytest.mark.parametrize(("profile", "mechanism", "says"), CELLS, ids=lambda value: str(value))
def test_the_table_is_the_documents(profile, mechanism, says):
    assert TABLE[profile][Mechanism(mechanism)].says == says


def test_there_are_twenty_four_cells():
    assert len(CELLS) == 24 == sum(map(len, TABLE.values()))


@pytest.mark.parametrize(("profile", "mechanism", "says"), CELLS, ids=lambda value: str(value))
def test_each_cell_can_be_turned_on_and_off_as_far_as_it_may(profile, mechanism, says):
    need = TABLE[profile][Mechanism(mechanism)].need
    of = {setting.mechanism: setting for setting in settle(profile, {}, {})}[mechanism]
    off = settle(profile, {Mechanism(mechanism): False}, {})
    on = settle(profile, {Mechanism(mechanism): True}, {})

    assert of.is_on == (need in (Need.RECOMMENDED, Need.REQUIRED))
    assert problems(on) == ()
    assert bool(problems(off)) == (need is Need.REQUIRED)
    assert bool(warnings(off)) == (need is Need.RECOMMENDED)
    if need is Need.REQUIRED:
        assert problems(off) == (f"{mechanism} is required in {profile} and turned off: turn it on",)


def test_what_is_on_and_cannot_work_is_named_with_what_it_lacks():
    lacks = {Mechanism.LEDGER: "set QWED_DATABASE"}

    assert problems(settle(RELAXED, {}, lacks)) == ()
    (problem,) = problems(settle(REGULATED, {}, lacks))
    assert "audit_ledger" in problem
    assert "QWED_DATABASE" in problem


def test_the_strictest_of_deployment_workflow_and_node_holds():
    for deployment, workflow, node in itertools.product(Profile, [None, *Profile], [None, *Profile]):
        asked = [profile for profile in (deployment, workflow, node) if profile is not None]
        answer = effective(deployment, workflow, node)

        assert answer.profile is max(asked, key=list(Profile).index)
    assert effective(STANDARD, RELAXED, RELAXED).source is SettingSource.DEPLOYMENT
    assert effective(RELAXED, STANDARD, REGULATED).source is SettingSource.NODE


@pytest.mark.parametrize("name", ["strict", "", None, 3, "REGULATED", ["regulated"]], ids=str)
def test_an_unknown_profile_is_denied(name):
    with pytest.raises(UnknownProfile, match="relaxed, standard, regulated"):
        profile_named(name)


def test_profiles_set_level_behaviour_and_gates():
    assert [minimum_level(profile) for profile in Profile] == [Level.L1, Level.L2, Level.L3]
    assert [behaviour_of(profile) for profile in Profile] == list(Behaviour)
    assert [gates_of(profile) for profile in Profile] == list(Gates)
    assert [accepts_without_token(profile) for profile in Profile] == [True, True, False]


@pytest.mark.parametrize("risk", Risk, ids=lambda risk: risk.wire)
def test_gates_follow_risk_and_critical_nodes(risk):
    def asks(profile, **more):
        return needs_person(profile, risk, "update_rules", **more)

    assert not asks(RELAXED, is_critical_node=True)
    assert asks(STANDARD) == (risk is Risk.CRITICAL)
    assert asks(STANDARD, is_critical_node=True)
    assert asks(REGULATED) == (risk >= Risk.HIGH)
    assert asks(REGULATED, require_checkpoint_before=["update_rules"])
    assert asks(REGULATED, is_critical_node=True)
