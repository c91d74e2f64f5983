"""A person's word on a Candidate. Approving isn't promoting; rejecting is a decision of the same place."""

from domain.change.command import ApproveCandidate, RejectCandidate
from domain.change.draft import Draft
from domain.change.error import CandidateGone, NothingToApprove
from domain.change.event import ApprovalGranted, CandidateRejected, RejectReason
from domain.change.graph import candidate_of
from domain.change.guard import require_manager, require_open, require_status
from domain.change.progress import dead_end
from domain.change.state import CandidateState, ChangeState
from domain.change.status import PROMOTABLE_FROM, CandidateStatus
from domain.change.verification import lapse
from domain.kernel.event import Event


def approve(state: ChangeState, command: ApproveCandidate) -> tuple[Event, ...]:
    """Owner or admin, only where an approval was requested; it belongs to this one Candidate."""
    candidate = candidate_of(state, command.candidate)
    require_manager(state, command.role, "approving a Candidate of")
    if candidate.approved:
        return ()
    require_open(state)
    _require_verified(candidate, "approved")
    if not candidate.approval_requested:
        raise NothingToApprove(f"nobody asked to approve {candidate.id}: wait until it is selected, or promote it")
    return (ApprovalGranted(candidate=candidate.id, in_advance=command.in_advance),)


def reject(state: ChangeState, command: RejectCandidate) -> tuple[Event, ...]:
    """Owner or admin. With no other Candidate left the Change ends, with a reason of its own and no repair."""
    candidate = candidate_of(state, command.candidate)
    require_manager(state, command.role, "rejecting a Candidate of")
    if candidate.reason is RejectReason.APPROVER:
        return ()
    require_status(state, "a Candidate is rejected", *PROMOTABLE_FROM)
    _require_verified(candidate, "rejected")
    draft = Draft(state)
    draft.record(
        CandidateRejected(candidate=candidate.id, reason=RejectReason.APPROVER, detail="an approver rejected it")
    )
    lapse(draft)
    dead_end(draft)
    return draft.events


def _require_verified(candidate: CandidateState, what: str) -> None:
    if candidate.status is not CandidateStatus.VERIFIED:
        raise CandidateGone(candidate.id, candidate.status, candidate.detail, what)
