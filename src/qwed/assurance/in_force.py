"""What assurance a deployment gives, from its policy: per profile, which mechanisms are on, and why not."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.profiles import Mechanism, MechanismSetting, problems, settle, warnings
from qwed.assurance.scores import Confidence, ScoreRules
from qwed.domain.policy import AssuranceRules, Policy, Profile
from qwed.domain.trust import TrustLevel


class InForce(msgspec.Struct, frozen=True):
    """One profile as this deployment gives it."""

    profile: Profile
    settings: tuple[MechanismSetting, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        return problems(self.settings)

    @property
    def warnings(self) -> tuple[str, ...]:
        return warnings(self.settings)

    def has(self, mechanism: Mechanism) -> bool:
        return any(setting.mechanism is mechanism and setting.is_on for setting in self.settings)


def in_force(policy: Policy, *, lacks: Mapping[Mechanism, str | None]) -> dict[Profile, InForce]:
    """Every profile: a token may ask for a stricter one than the deployment's own."""
    switches = _switches(policy.assurance)
    return {profile: InForce(profile, settle(profile, switches, lacks)) for profile in Profile}


def _switches(rules: AssuranceRules) -> dict[Mechanism, bool]:
    given = {
        Mechanism.TRUST_SCORING: rules.trust_scoring,
        Mechanism.TRUST_THRESHOLDS: rules.trust_thresholds,
        Mechanism.BEHAVIOUR: rules.behaviour_verification,
        Mechanism.HITL: rules.hitl_gates,
        Mechanism.PROVENANCE: rules.data_provenance,
        Mechanism.CHECKPOINTS: rules.checkpoints,
    }
    return {mechanism: switch for mechanism, switch in given.items() if switch is not None}


def score_rules(rules: AssuranceRules) -> ScoreRules:
    """Raises `ValueError` for parameters that turn a rule around."""
    return ScoreRules(
        initial=rules.initial_score,
        alpha=rules.alpha,
        beta=rules.beta,
        floor=rules.floor,
        settle_seconds=rules.settle_seconds,
    )


def level_borne_out(level: TrustLevel, score: Decimal, needs: Mapping[str, Decimal]) -> TrustLevel:
    """The highest level up to the given one that the score meets; who misses a level misses those above."""
    met = TrustLevel.UNTRUSTED
    for candidate in TrustLevel:
        if candidate > level or score < needs.get(str(int(candidate)), 0):
            break
        met = candidate
    return met


def thresholds_of(rules: AssuranceRules) -> Thresholds:
    """Without one of the policy's own, the floor: whoever is below it is trusted with nothing."""
    wanted = rules.min_confidence
    least: Decimal = rules.floor if rules.min_score is None else rules.min_score
    return Thresholds(least, None if wanted is None else Confidence[wanted.upper()])
