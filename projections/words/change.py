"""What the events of a Change say."""

from collections.abc import Callable
from typing import Any, Final

from domain.change import event as e
from domain.check import Evidence, Variant
from domain.kernel.event import Envelope, Event
from domain.kernel.money import show_usd
from projections.words import name

Sentence = Callable[[Any, Envelope], str]


def _created(event: e.ChangeCreated, envelope: Envelope) -> str:
    unsafe = "" if event.sandboxed else ", without a sandbox"
    return (
        f"{name.person(event.requester)} asked for this Change on generation {event.base_generation} "
        f"({name.commit(event.base_commit)}) with a budget of {show_usd(event.budget)}{unsafe}"
    )


def _base_verified(event: e.BaseVerified, envelope: Envelope) -> str:
    red = [run.check for run in event.evidence if not run.passed]
    if red:
        return f"on the base {name.commit(event.base_commit)} {name.listed(red)} failed before any agent ran"
    return f"{name.counted(len(event.evidence), 'check')} passed on the base {name.commit(event.base_commit)}"


def _compiled(event: e.ChangeCompiled, envelope: Envelope) -> str:
    tier = f"risk tier {event.risk_tier.value}" if event.risk_tier else "no risk tier"
    gate = ", a person has to approve" if event.human_approval_required else ""
    return f"the plan was stored: {tier}, {name.counted(len(event.checks), 'check')} to pass{gate}"


def _tier_raised(event: e.TierRaised, envelope: Envelope) -> str:
    seen = f" ({name.files(event.files)})" if event.files else ""
    return f"the risk tier was raised to {event.tier.value}: {name.code(event.reason)}{seen}"


def _failed(event: e.ChangeFailed, envelope: Envelope) -> str:
    return f"the Change failed in {name.code(event.phase)}: {name.code(event.reason)}"


def _budget_raised(event: e.BudgetRaised, envelope: Envelope) -> str:
    return f"{name.person(envelope.actor)} raised the budget to {show_usd(event.budget)}"


def _task_created(event: e.TaskCreated, envelope: Envelope) -> str:
    after = f" after {name.tasks(event.depends_on)}" if event.depends_on else ""
    return f"{name.task(event.task)} ({event.kind.value}) was planned{after}"


def _started(event: e.TaskStarted, envelope: Envelope) -> str:
    return f"{name.run(event.run)} started on generation {event.base_generation} ({name.commit(event.base_commit)})"


def _retried(event: e.TaskRetried, envelope: Envelope) -> str:
    return f"{name.run(event.ended)} ended ({name.code(event.reason)}) and attempt {event.attempt} began"


def _escalated(event: e.TaskEscalated, envelope: Envelope) -> str:
    return (
        f"{name.run(event.ended)} ended ({name.code(event.reason)}) and attempt {event.attempt} began on the "
        f"{event.tier} models"
    )


def _requeued(event: e.TaskRequeued, envelope: Envelope) -> str:
    return f"the worker of {name.run(event.lost)} was lost; attempt {event.attempt} goes on from what it left"


def _proposed(event: e.ChangeSetProposed, envelope: Envelope) -> str:
    what = "nothing to change" if event.empty else f"commit {name.commit(event.commit)}"
    return f"{name.run(event.run)} handed in {what}"


def _task_failed(event: e.TaskFailed, envelope: Envelope) -> str:
    detail = f" ({event.detail})" if event.detail else ""
    return f"{name.task(event.task)} failed: {name.code(event.reason)}{detail}"


def _task_blocked(event: e.TaskBlocked, envelope: Envelope) -> str:
    why = {
        e.BlockCause.DEPENDENCY: "a Task that it needs failed or stopped",
        e.BlockCause.DEAD_LETTER: "waking its agent failed too often",
        e.BlockCause.BUDGET: "the budget is used up",
        e.BlockCause.LIMIT: "a limit was reached",
    }[event.cause]
    detail = f" ({event.detail})" if event.detail else ""
    return f"{name.task(event.task)} was blocked: {why}{detail}"


def _task_cancelled(event: e.TaskCancelled, envelope: Envelope) -> str:
    stopped = f" and {name.run(event.run)} was stopped" if event.run else ""
    return f"{name.task(event.task)} was cancelled{stopped}"


def _rerun(event: e.TasksRerun, envelope: Envelope) -> str:
    return f"{name.tasks(event.tasks)} had to run again: {name.code(event.trigger)}"


def _candidate_created(event: e.CandidateCreated, envelope: Envelope) -> str:
    instead = f" in place of {name.candidate(event.recomposes)}" if event.recomposes else ""
    return (
        f"{name.candidate(event.candidate)} was begun from {name.counted(len(event.changesets), 'ChangeSet')} on "
        f"generation {event.base_generation}{instead}"
    )


def _composed(event: e.CandidateComposed, envelope: Envelope) -> str:
    return (
        f"{name.candidate(event.candidate)} was composed as {name.commit(event.commit)}; "
        f"{name.counted(len(event.plan), 'check')} to run"
    )


def _evidence(event: e.EvidenceRecorded, envelope: Envelope) -> str:
    return f"check {_outcome(event.evidence)} on {name.candidate(event.candidate)}"


def _outcome(run: Evidence) -> str:
    which = " with the base's versions of what judges it" if run.variant is Variant.BASE_JUDGES else ""
    if run.passed:
        return f"{run.check} passed{which}"
    how = f"was ended by the sandbox ({run.killed})" if run.killed else f"failed with exit code {run.exit_code}"
    return f"{run.check} {how}{which}"


def _rejected(event: e.CandidateRejected, envelope: Envelope) -> str:
    detail = f" ({event.detail})" if event.detail else ""
    return f"{name.candidate(event.candidate)} was rejected: {name.code(event.reason.value)}{detail}"


def _approval_requested(event: e.ApprovalRequested, envelope: Envelope) -> str:
    # The reason names the files already.
    return f"{name.candidate(event.candidate)} waits for a person: {name.code(event.reason)}"


def _approved(event: e.ApprovalGranted, envelope: Envelope) -> str:
    advance = " in advance" if event.in_advance else ""
    return f"{name.person(envelope.actor)} approved {name.candidate(event.candidate)}{advance}"


def _promotion_requested(event: e.PromotionRequested, envelope: Envelope) -> str:
    who = "the policy" if event.trigger == "auto" else name.person(envelope.actor)
    return f"{who} asked to promote {name.candidate(event.candidate)}"


def _promoted(event: e.CandidatePromoted, envelope: Envelope) -> str:
    return (
        f"{name.candidate(event.candidate)} was promoted: {name.commit(event.commit)} is generation {event.generation}"
    )


def _exported(event: e.BranchExported, envelope: Envelope) -> str:
    if event.refused:
        return f"the branch {event.branch} couldn't be written to the repository: {name.code(event.refused)}"
    return f"the promoted commit arrived in the repository as {event.branch}"


CHANGE_SENTENCES: Final[dict[type[Event], Sentence]] = {
    e.ChangeCreated: _created,
    e.CompileStarted: lambda event, envelope: "planning began" if event.compile == 1 else "planning began again",
    e.BaseVerified: _base_verified,
    e.ChangeCompiled: _compiled,
    e.TierRaised: _tier_raised,
    e.ChangeFailed: _failed,
    e.ChangeBlocked: lambda event, envelope: f"the Change was blocked: {name.code(event.reason)}",
    e.ChangeBudgetBlocked: lambda event, envelope: f"the budget stopped the Change: {name.code(event.reason)}",
    e.BudgetRaised: _budget_raised,
    e.ChangeCancelled: lambda event, envelope: f"{name.person(envelope.actor)} cancelled the Change",
    e.ChangeCompleted: lambda event, envelope: f"the Change was completed: {name.code(event.outcome)}",
    e.TaskCreated: _task_created,
    e.TaskReady: lambda event, envelope: f"{name.task(event.task)} became ready",
    e.TaskDeferred: lambda event, envelope: f"{name.task(event.task)} waits for a free place",
    e.TaskWakeDropped: lambda event, envelope: (
        f"a wake of {name.task(event.task)} was dropped: {name.code(event.reason)}"
    ),
    e.TaskWakeRequested: lambda event, envelope: f"{name.task(event.task)} was woken again",
    e.TaskAssigned: lambda event, envelope: f"{name.run(event.run)} got a place",
    e.TaskStarted: _started,
    e.TaskRetried: _retried,
    e.TaskEscalated: _escalated,
    e.TaskRequeued: _requeued,
    e.ChangeSetProposed: _proposed,
    e.TaskCompleted: lambda event, envelope: (
        f"{name.task(event.task)} was completed by its attempt {event.run.rpartition('_')[2]}"
    ),
    e.TaskFailed: _task_failed,
    e.TaskBlocked: _task_blocked,
    e.TaskUnblocked: lambda event, envelope: f"{name.task(event.task)} goes on: it is {event.status.value}",
    e.TaskReopened: lambda event, envelope: f"{name.task(event.task)} runs again: it is {event.status.value}",
    e.TaskCancelled: _task_cancelled,
    e.VerificationStarted: lambda event, envelope: f"verification began: {name.code(event.reason)}",
    e.TasksRerun: _rerun,
    e.CandidateCreated: _candidate_created,
    e.CandidateComposed: _composed,
    e.EvidenceRecorded: _evidence,
    e.CandidateVerified: lambda event, envelope: f"{name.candidate(event.candidate)} passed every required check",
    e.CandidateRejected: _rejected,
    e.CandidateSelected: lambda event, envelope: f"{name.candidate(event.candidate)} was selected as the winner",
    e.CandidateStale: lambda event, envelope: (
        f"{name.candidate(event.candidate)} went stale: generation {event.generation} overtook it"
    ),
    e.ApprovalRequested: _approval_requested,
    e.ApprovalGranted: _approved,
    e.ApprovalLapsed: lambda event, envelope: f"nothing is left to approve: {name.code(event.reason)}",
    e.PromotionRequested: _promotion_requested,
    e.PromotionRefused: lambda event, envelope: (
        f"the promotion of {name.candidate(event.candidate)} was refused: {name.code(event.reason)}"
    ),
    e.CandidatePromoted: _promoted,
    e.BuildStarted: lambda event, envelope: f"release {event.release} began",
    e.BranchExported: _exported,
}
