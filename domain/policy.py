"""The promotion policy in force (seed 001: project_policies, DEFAULT_POLICY)."""

from typing import Final

from domain.kernel.value import Text, Value
from domain.plan import RiskTier


class Policy(Value):
    """Which tiers promote on their own. protected_resources: percent-encoded glob patterns of paths."""

    name: Text
    auto_promote_risk_tiers: tuple[RiskTier, ...]
    human_gate_risk_tiers: tuple[RiskTier, ...]
    protected_resources: tuple[Text, ...] = ()


DEFAULT_POLICY: Final = Policy(
    name="policy-1",
    auto_promote_risk_tiers=(RiskTier.LOW, RiskTier.MEDIUM),
    human_gate_risk_tiers=(RiskTier.HIGH, RiskTier.CRITICAL),
)
