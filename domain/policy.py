"""The promotion policy in force (seed 001: project_policies, DEFAULT_POLICY), and the gate that it makes."""

from dataclasses import dataclass
from typing import Final

from domain.kernel.value import Text, Value
from domain.plan import RiskTier

NAMED_FILES: Final = 10


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


@dataclass(frozen=True, slots=True)
class Gate:
    """Why a winner waits for a person. trigger: judges, policy or acceptance; files: percent-encoded."""

    trigger: str
    reason: str
    files: tuple[str, ...] = ()


def gate(
    policy: Policy,
    tier: RiskTier | None,
    *,
    because: tuple[tuple[str, tuple[str, ...]], ...] = (),
    human_approval_required: bool,
    destructive_migration: bool,
    judges_files: tuple[str, ...] = (),
    acceptance_shortfall: int = 0,
) -> Gate | None:
    """None for a winner that promotes on its own (seed 001, "These Candidates always wait for a person").

    because: code's reasons for the tier with the files that each saw. judges_files: files of the change that make a
    check pass. acceptance_shortfall: criteria that aren't met.
    """
    if judges_files:
        names = ", ".join(judges_files)
        return Gate("judges", f"the change alters what judges it, and fails without that: {names}", judges_files)
    if destructive_migration:
        return Gate("policy", "it destroys data in a schema migration")
    if human_approval_required:
        return Gate("policy", "it changes who may do what, so a person must look at it")
    if tier is None:
        return Gate("policy", "it has no risk tier")
    if tier not in policy.auto_promote_risk_tiers or tier in policy.human_gate_risk_tiers:
        reason = f"its risk tier is {tier}, which policy {policy.name} doesn't promote on its own"
        files = tuple(dict.fromkeys(file for _, seen in because for file in seen))
        return Gate("policy", "; ".join([reason, *(_told(why, seen) for why, seen in because)]), files)
    if acceptance_shortfall:
        return Gate("acceptance", f"{acceptance_shortfall} acceptance criteria aren't met")
    return None


def _told(reason: str, files: tuple[str, ...]) -> str:
    named = ", ".join(files[:NAMED_FILES])
    more = f" and {len(files) - NAMED_FILES} more" if len(files) > NAMED_FILES else ""
    return f"it {reason}: {named}{more}" if files else f"it {reason}"
