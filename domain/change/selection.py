"""The last sibling to settle selects the winner; the policy says whether it waits for a person (seed 001, part 3)."""

from domain.change.draft import Draft
from domain.change.event import (
    ApprovalRequested,
    CandidateRejected,
    CandidateSelected,
    RejectReason,
)
from domain.change.graph import siblings_of, unsettled
from domain.change.state import CandidateState, ChangeState
from domain.change.status import CandidateStatus, ChangeStatus
from domain.policy import Gate, Policy, gate

_SELECTING = (ChangeStatus.VERIFYING, ChangeStatus.RUNNING, ChangeStatus.BUDGET_BLOCKED)


def gate_of(state: ChangeState, candidate: CandidateState, policy: Policy) -> Gate | None:
    """Why `candidate` waits for a person under `policy`; None when it promotes on its own."""
    return gate(
        policy,
        state.gate_tier,
        because=tuple((r.reason, r.files) for r in state.raises if r.tier is state.gate_tier),
        human_approval_required=state.human_approval_required,
        destructive_migration=state.destructive_migration,
        judges_files=candidate.judges_files,
    )


def select(draft: Draft, settled: CandidateState, policy: Policy) -> None:
    """Choose among the siblings on `settled`'s base, if none of them composes or verifies any more.

    In a running or budget_blocked Change a gated winner can be shipped by a person, and is selected again when the
    re-run ends (SEED-NOTES, "Candidates and canonical").
    """
    group = (draft.state.candidates[settled.id], *siblings_of(draft.state, settled))
    verified = [candidate for candidate in group if candidate.status is CandidateStatus.VERIFIED]
    if draft.state.status not in _SELECTING or unsettled(group) or not verified:
        return
    winner = min(verified, key=lambda candidate: _rank(draft.state, candidate))
    for loser in verified:
        if loser is not winner:
            detail = f"its sibling {winner.id} was selected"
            draft.record(CandidateRejected(candidate=loser.id, reason=RejectReason.NOT_SELECTED, detail=detail))
    why = gate_of(draft.state, winner, policy)
    draft.record(CandidateSelected(candidate=winner.id, gated=why is not None))
    if why is not None:
        ask(draft, winner, why)


def _rank(state: ChangeState, candidate: CandidateState) -> tuple[bool, int]:
    """First one that leaves alone what judges it, then the one with the newest work."""
    return bool(candidate.judges_files), -list(state.candidates).index(candidate.id)


def ask(draft: Draft, winner: CandidateState, why: Gate) -> None:
    """A Candidate that waits for a person is never silent."""
    draft.record(ApprovalRequested(candidate=winner.id, trigger=why.trigger, reason=why.reason, files=why.files))
