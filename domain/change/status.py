"""The transition tables of Change, Task and Candidate (seed 001, "Status state machines"; SEED-NOTES, "Transitions
in text but in no diagram"). Guards, `rhumb machines`, diagrams and the full Status × Command test all read these."""

from enum import StrEnum
from typing import Final

from domain.kernel.table import Transition, TransitionTable


class ChangeStatus(StrEnum):
    CREATED = "created"
    COMPILING = "compiling"
    RUNNING = "running"
    VERIFYING = "verifying"
    BLOCKED = "blocked"
    BUDGET_BLOCKED = "budget_blocked"
    AWAITING_APPROVAL = "awaiting_approval"
    PROMOTING = "promoting"
    RELEASING = "releasing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL_CHANGE: Final = (ChangeStatus.COMPLETED, ChangeStatus.FAILED, ChangeStatus.CANCELLED)

CANCELLABLE_FROM: Final = (
    ChangeStatus.CREATED,
    ChangeStatus.COMPILING,
    ChangeStatus.RUNNING,
    ChangeStatus.VERIFYING,
    ChangeStatus.AWAITING_APPROVAL,
    ChangeStatus.BUDGET_BLOCKED,
    ChangeStatus.BLOCKED,
)
"""A person can cancel a Change in these; nobody can once it has a promoted Candidate."""

PROMOTABLE_FROM: Final = (
    ChangeStatus.VERIFYING,
    ChangeStatus.AWAITING_APPROVAL,
    ChangeStatus.RUNNING,
    ChangeStatus.BUDGET_BLOCKED,
)

CHANGE_TABLE: Final = TransitionTable(
    "Change",
    (
        Transition(None, "change.created", "created", "submitted"),
        Transition("created", "change.compile_started", "compiling", "planning starts"),
        Transition("compiling", "change.compiled", "running", "Work Graph stored"),
        Transition("compiling", "change.failed", "failed", "planner failed or the base is red"),
        Transition("compiling", "change.budget_blocked", "budget_blocked", "a budget refused a planner call"),
        Transition("budget_blocked", "budget.raised", "compiling", "budget raised while planning"),
        Transition("budget_blocked", "budget.raised", "running", "person raises the budget"),
        Transition("running", "change.budget_blocked", "budget_blocked", "budget or limit stop"),
        Transition("running", "change.failed", "failed", "a Task failed and none can run"),
        Transition("running", "verification.started", "verifying", "last Task completed"),
        Transition("verifying", "tasks.rerun", "running", "Tasks re-run after a merge conflict or an integration"),
        Transition("verifying", "change.blocked", "blocked", "re-runs used up, or stale Candidate not rebuilt"),
        Transition("blocked", "budget.raised", "verifying", "budget raise recomposes the stale Candidate"),
        Transition("verifying", "change.failed", "failed", "no Candidate can ship"),
        Transition("verifying", "approval.requested", "awaiting_approval", "winner needs a person"),
        Transition("awaiting_approval", "approval.lapsed", "verifying", "no verified Candidate left"),
        *(
            Transition(source, "canonical.promotion.requested", "promoting", "promotion requested")
            for source in PROMOTABLE_FROM
        ),
        *(
            Transition("promoting", "canonical.promotion.refused", target, "compare-and-swap refused")
            for target in PROMOTABLE_FROM
        ),
        Transition("promoting", "build.started", "releasing", "advanced, live app exists"),
        Transition("promoting", "change.completed", "completed", "advanced, no live app"),
        Transition("releasing", "change.completed", "completed", "deployed or superseded"),
        Transition("releasing", "change.failed", "failed", "release failed or stuck"),
        *(Transition(source, "change.cancelled", "cancelled", "person cancels") for source in CANCELLABLE_FROM),
    ),
    TERMINAL_CHANGE,
)


class TaskStatus(StrEnum):
    PENDING = "pending"
    READY = "ready"
    ASSIGNED = "assigned"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


OPEN_TASK: Final = (
    TaskStatus.PENDING,
    TaskStatus.READY,
    TaskStatus.ASSIGNED,
    TaskStatus.RUNNING,
    TaskStatus.BLOCKED,
)
ACTIVE_TASK: Final = (TaskStatus.ASSIGNED, TaskStatus.RUNNING)
"""The statuses that take one of the Change's agent places."""

MAX_ACTIVE_AGENTS: Final = 8

TASK_TABLE: Final = TransitionTable(
    "Task",
    (
        Transition(None, "task.created", "pending", "plan stored"),
        Transition(None, "task.created", "cancelled", "planned while the Change was cancelled"),
        Transition("pending", "task.ready", "ready", "dependencies completed"),
        Transition("pending", "task.blocked", "blocked", "a dependency failed or stopped"),
        Transition("ready", "task.assigned", "assigned", "slot free"),
        Transition("ready", "task.deferred", "ready", "deferred at 8 active Agents"),
        Transition("ready", "task.wake_dropped", "ready", "wake dropped"),
        Transition("ready", "task.wake_requested", "ready", "woken again"),
        Transition("ready", "task.blocked", "blocked", "wake dead-lettered"),
        Transition("assigned", "task.blocked", "blocked", "wake dead-lettered, or no budget left for its run"),
        Transition("assigned", "task.started", "running", "run starts"),
        Transition("assigned", "task.requeued", "assigned", "lost lease"),
        Transition("running", "task.retried", "running", "retry"),
        Transition("running", "task.escalated", "running", "escalate"),
        Transition("running", "task.requeued", "running", "lost lease"),
        Transition("running", "task.completed", "completed", "completed and published"),
        Transition("running", "task.failed", "failed", "terminal failure"),
        Transition("running", "task.blocked", "blocked", "budget or limit stop, or the third lost lease"),
        Transition("blocked", "task.unblocked", "ready", "dead letter retried, or budget raised"),
        Transition("blocked", "task.unblocked", "pending", "what it waits for goes on"),
        Transition("completed", "task.reopened", "pending", "re-run after a merge conflict or an integration"),
        Transition("completed", "task.reopened", "ready", "re-run, none of its dependencies re-runs"),
        Transition("failed", "task.reopened", "pending", "built on a Task that re-runs"),
        *(Transition(source, "task.cancelled", "cancelled", "the Change ended") for source in OPEN_TASK),
    ),
    (TaskStatus.CANCELLED,),
)


class CandidateStatus(StrEnum):
    COMPOSING = "composing"
    VERIFYING = "verifying"
    VERIFIED = "verified"
    REJECTED = "rejected"
    STALE = "stale"
    PROMOTED = "promoted"


LIVE_CANDIDATE: Final = (CandidateStatus.COMPOSING, CandidateStatus.VERIFYING, CandidateStatus.VERIFIED)
MAX_LIVE_CANDIDATES: Final = 3

CANDIDATE_TABLE: Final = TransitionTable(
    "Candidate",
    (
        Transition(None, "candidate.created", "composing", "inserted"),
        Transition("composing", "candidate.composed", "verifying", "composed, plan recorded"),
        Transition("composing", "candidate.rejected", "rejected", "incompatible, merge conflict, or Sandbox budget"),
        Transition("verifying", "candidate.verified", "verified", "every required check passes"),
        Transition("verifying", "candidate.rejected", "rejected", "a required check fails or has a gap"),
        Transition("verified", "candidate.rejected", "rejected", "approver rejects, or a sibling wins the selection"),
        Transition("verified", "candidate.promoted", "promoted", "compare-and-swap succeeds"),
        Transition("composing", "candidate.stale", "stale", "canonical advanced"),
        Transition("verifying", "candidate.stale", "stale", "canonical advanced"),
        Transition("verified", "candidate.stale", "stale", "canonical advanced"),
        Transition("stale", "candidate.rejected", "rejected", "Change cancelled, or its Tasks re-run"),
    ),
    (CandidateStatus.PROMOTED, CandidateStatus.REJECTED),
)
