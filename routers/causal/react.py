"""The rules: which commands an event leads to. Pure; the same event gives the same commands with the same IDs."""

from collections.abc import Iterable
from typing import Any

from commands.message import Name, derived
from commands.ports.store import Message
from domain.change import event as change
from domain.change.status import MAX_ACTIVE_AGENTS, ChangeStatus, TaskStatus
from domain.kernel.event import Envelope
from domain.project import event as project
from routers.causal.view import ChangeView


def react(envelope: Envelope, view: ChangeView | None, siblings: Iterable[ChangeView] = ()) -> tuple[Message, ...]:
    """The commands that `envelope` leads to.

    view: the Change of the event with the event folded in; None for other streams. siblings: the open Changes of the
    project, for events of a Project.
    """
    match envelope.event:
        case project.CanonicalAdvanced(generation=generation) | project.CanonicalImported(generation=generation):
            return tuple(
                _message(envelope, other, Name.RECOMPOSE, subject=other.change)
                for other in siblings
                if other.behind(generation)
            )
    if view is None:
        return ()
    return (*_of_request(envelope, view), *_of_task(envelope, view), *_of_candidate(envelope, view))


def _message(envelope: Envelope, view: ChangeView, name: Name, **details: Any) -> Message:
    return derived(name, cause=envelope.id, at=envelope.at, project=view.project, change=view.change, **details)


def _wake(envelope: Envelope, view: ChangeView, task: str) -> Message:
    return _message(envelope, view, Name.WAKE, subject=task, task=task)


def _of_request(envelope: Envelope, view: ChangeView) -> tuple[Message, ...]:
    match envelope.event:
        case change.ChangeCreated(start_planning=True):
            return (_message(envelope, view, Name.PLAN),)
        case change.BudgetRaised(target=ChangeStatus.COMPILING):
            return (_message(envelope, view, Name.PLAN),)
        case change.BudgetRaised(target=ChangeStatus.VERIFYING):
            return (_message(envelope, view, Name.RECOMPOSE),)
        case change.ChangeCompiled() | change.TasksRerun() | change.BudgetRaised(target=ChangeStatus.RUNNING):
            return (_message(envelope, view, Name.DISPATCH),)
    return ()


def _of_task(envelope: Envelope, view: ChangeView) -> tuple[Message, ...]:
    match envelope.event:
        case (
            change.TaskReady(task=task)
            | change.TaskWakeRequested(task=task)
            | change.TaskUnblocked(task=task, status=TaskStatus.READY)
            | change.TaskReopened(task=task, status=TaskStatus.READY)
        ):
            return (_wake(envelope, view, task),)
        case change.TaskCompleted():
            return _slot_freed(envelope, view)
        case change.TaskFailed() | change.TaskBlocked():
            return (*_slot_freed(envelope, view), _message(envelope, view, Name.SETTLE))
        case change.TaskWakeDropped() | change.TaskUnblocked(status=TaskStatus.PENDING):
            return (_message(envelope, view, Name.DISPATCH),) if view.status == ChangeStatus.RUNNING else ()
    return ()


def _slot_freed(envelope: Envelope, view: ChangeView) -> tuple[Message, ...]:
    """What the end of a run sets free: tasks that waited for it, and the first that waited for a place."""
    if view.status != ChangeStatus.RUNNING:
        return ()
    dispatch = (_message(envelope, view, Name.DISPATCH),) if view.dispatchable else ()
    places = max(0, MAX_ACTIVE_AGENTS - view.active)
    return (*dispatch, *(_wake(envelope, view, task) for task in view.deferred[:places]))


def _of_candidate(envelope: Envelope, view: ChangeView) -> tuple[Message, ...]:
    match envelope.event:
        case change.VerificationStarted():
            return (_message(envelope, view, Name.CREATE_CANDIDATE),)
        case change.CandidateSelected(candidate=candidate, gated=False):
            return (_promote(envelope, view, candidate, "auto", "system:auto-promotion"),)
        case change.ApprovalRequested(candidate=candidate) if view.approver_in_advance is not None:
            actor = view.approver_in_advance
            return (_message(envelope, view, Name.APPROVE_IN_ADVANCE, actor=actor, candidate=candidate),)
        case change.ApprovalGranted(candidate=candidate, in_advance=True):
            return (_promote(envelope, view, candidate, "person", envelope.actor),)
        case change.PromotionRequested(candidate=candidate, trigger=trigger):
            # Whoever asked for it stands for it: the role is checked again in the compare-and-swap.
            return (_message(envelope, view, Name.ADVANCE, actor=envelope.actor, candidate=candidate, trigger=trigger),)
        case change.CandidateRejected() | change.ApprovalLapsed() if not view.terminal:
            return (_message(envelope, view, Name.SETTLE),)
        case change.PromotionRefused():
            return (_message(envelope, view, Name.RECOMPOSE), _message(envelope, view, Name.SETTLE))
    return ()


def _promote(envelope: Envelope, view: ChangeView, candidate: str, trigger: str, actor: str) -> Message:
    return _message(envelope, view, Name.PROMOTE, actor=actor, candidate=candidate, trigger=trigger)
