"""How the events of a Candidate change it."""

from collections.abc import Callable
from typing import Any, Final

from domain.change import event as e
from domain.change.state import CandidateState
from domain.change.status import CANDIDATE_TABLE, CandidateStatus
from domain.kernel.changed import changed
from domain.kernel.errors import ImpossibleHistory
from domain.kernel.event import Event


def _moved(candidate: CandidateState, event: Event) -> CandidateStatus:
    return CandidateStatus(CANDIDATE_TABLE.after(candidate.id, candidate.status, event.type))


def _require(candidate: CandidateState, event: Event, status: CandidateStatus) -> None:
    if candidate.status is not status:
        raise ImpossibleHistory(f"Candidate {candidate.id}: {event.type} while {candidate.status}")


def _composed(candidate: CandidateState, event: e.CandidateComposed) -> CandidateState:
    return changed(candidate, status=_moved(candidate, event), commit=event.commit, tree=event.tree, plan=event.plan)


def _evidence(candidate: CandidateState, event: e.EvidenceRecorded) -> CandidateState:
    _require(candidate, event, CandidateStatus.VERIFYING)
    return changed(candidate, evidence={**candidate.evidence, event.evidence.key: event.evidence})


def _moved_only(candidate: CandidateState, event: e.CandidateVerified | e.CandidateStale) -> CandidateState:
    return changed(candidate, status=_moved(candidate, event))


def _rejected(candidate: CandidateState, event: e.CandidateRejected) -> CandidateState:
    return changed(
        candidate,
        status=_moved(candidate, event),
        reason=event.reason,
        detail=event.detail,
        conflicts=event.conflicts,
    )


def _selected(candidate: CandidateState, event: e.CandidateSelected) -> CandidateState:
    _require(candidate, event, CandidateStatus.VERIFIED)
    return changed(candidate, selected=True)


def _approval_requested(candidate: CandidateState, event: e.ApprovalRequested) -> CandidateState:
    _require(candidate, event, CandidateStatus.VERIFIED)
    return changed(candidate, approval_requested=True)


def _approved(candidate: CandidateState, event: e.ApprovalGranted) -> CandidateState:
    _require(candidate, event, CandidateStatus.VERIFIED)
    return changed(candidate, approved=True)


def _in_compare_and_swap(candidate: CandidateState, event: e.PromotionRequested | e.PromotionRefused) -> CandidateState:
    _require(candidate, event, CandidateStatus.VERIFIED)
    return candidate


def _promoted(candidate: CandidateState, event: e.CandidatePromoted) -> CandidateState:
    return changed(candidate, status=_moved(candidate, event))


def _exported(candidate: CandidateState, event: e.BranchExported) -> CandidateState:
    _require(candidate, event, CandidateStatus.PROMOTED)
    return changed(candidate, exported=event.refused is None, export_refused=event.refused)


CANDIDATE_EVENTS: Final[dict[type[Event], Callable[[CandidateState, Any], CandidateState]]] = {
    e.CandidateComposed: _composed,
    e.EvidenceRecorded: _evidence,
    e.CandidateVerified: _moved_only,
    e.CandidateStale: _moved_only,
    e.CandidateRejected: _rejected,
    e.CandidateSelected: _selected,
    e.ApprovalRequested: _approval_requested,
    e.ApprovalGranted: _approved,
    e.PromotionRequested: _in_compare_and_swap,
    e.PromotionRefused: _in_compare_and_swap,
    e.CandidatePromoted: _promoted,
    e.BranchExported: _exported,
}
