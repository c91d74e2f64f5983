"""Promotion as the Change sees it; the compare-and-swap itself is the Project's, in the same transaction."""

from domain.change.command import RecordExport, RecordPromotion, RefusePromotion, RequestPromotion
from domain.change.draft import Draft
from domain.change.ending import clean_up
from domain.change.error import (
    ApprovalMissing,
    CandidateGone,
    NotPromoted,
    NotPromoting,
    NotSelected,
    SiblingsOpen,
)
from domain.change.event import (
    BranchExported,
    BuildStarted,
    CandidatePromoted,
    ChangeCompleted,
    PromotionRefused,
    PromotionRequested,
)
from domain.change.graph import candidate_of, siblings_of, unsettled
from domain.change.guard import require_manager, require_status
from domain.change.selection import gate_of
from domain.change.state import CandidateState, ChangeState
from domain.change.status import PROMOTABLE_FROM, CandidateStatus
from domain.change.verification import lapse, overtake
from domain.kernel.event import Event


def request(state: ChangeState, command: RequestPromotion) -> tuple[Event, ...]:
    """Every precondition applies to both triggers; a person must be owner or admin besides."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is CandidateStatus.PROMOTED or state.promoting == candidate.id:
        return ()
    if command.trigger == "person":
        require_manager(state, command.role, "promoting a Candidate of")
    require_status(state, "a Candidate is promoted", *PROMOTABLE_FROM)
    _require_winner(state, candidate)
    why = gate_of(state, candidate, command.policy)
    if why is not None and not candidate.approved:
        raise ApprovalMissing(candidate.id, why.reason)
    return (PromotionRequested(candidate=candidate.id, trigger=command.trigger, before=state.status),)


def _require_winner(state: ChangeState, candidate: CandidateState) -> None:
    if candidate.status is not CandidateStatus.VERIFIED:
        raise CandidateGone(candidate.id, candidate.status, candidate.detail, "promoted")
    siblings = siblings_of(state, candidate)
    waits_for = unsettled(siblings)
    if waits_for:
        raise SiblingsOpen(candidate.id, [sibling.id for sibling in waits_for])
    if not candidate.selected:
        raise NotSelected(candidate.id)


def record(state: ChangeState, command: RecordPromotion) -> tuple[Event, ...]:
    """The compare-and-swap succeeded: nothing else of this Change can ship any more."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is CandidateStatus.PROMOTED:
        return ()
    if state.promoting != candidate.id:
        raise NotPromoting(candidate.id)
    draft = Draft(state)
    draft.record(
        CandidatePromoted(
            candidate=candidate.id,
            generation=command.generation,
            commit=command.commit,
            change_head=command.change_head,
        )
    )
    clean_up(draft, f"{candidate.id} was promoted")
    if command.release is None:
        draft.record(ChangeCompleted(outcome="promoted"))
    else:
        draft.record(BuildStarted(release=command.release))
    return draft.events


def refuse(state: ChangeState, command: RefusePromotion) -> tuple[Event, ...]:
    """The Change returns to its status before; a Candidate behind canonical is stale. A settle follows."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is CandidateStatus.PROMOTED:
        raise NotPromoting(candidate.id)
    if state.promoting != candidate.id or state.before is None:
        return ()
    draft = Draft(state)
    draft.record(PromotionRefused(candidate=candidate.id, reason=command.reason, target=state.before))
    if command.generation is not None and candidate.base_generation < command.generation:
        overtake(draft, candidate, command.generation)
        lapse(draft)
    return draft.events


def export(state: ChangeState, command: RecordExport) -> tuple[Event, ...]:
    """The promoted commit arrived in the person's repository, or couldn't; a later try may still succeed."""
    candidate = candidate_of(state, command.candidate)
    if candidate.status is not CandidateStatus.PROMOTED:
        raise NotPromoted(candidate.id)
    if candidate.exported or (candidate.export_refused is not None and candidate.export_refused == command.refused):
        return ()
    exported = BranchExported(
        candidate=candidate.id, branch=command.branch, commit=command.commit, refused=command.refused
    )
    return (exported,)
