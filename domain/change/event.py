"""The events of a Change. Their type names ARE the storage format; golden files freeze their JSON.

No free text of people, models or tools lies in them: it is in the object store, under a `BlobRef`. A `reason` is a
code of Rhumbline's own, a `detail` a sentence that code composed from IDs, check names and file names.
"""

from enum import StrEnum
from typing import ClassVar

from domain.change.status import ChangeStatus, TaskStatus
from domain.check import Check, Evidence, PlannedCheck, Setup
from domain.kernel.event import BlobRef, Event, Head
from domain.kernel.money import Micros
from domain.kernel.value import Text, Value
from domain.plan import Complexity, RiskTier, TaskKey, TaskKind

# -- the request -------------------------------------------------------------------------------------------------


class ChangeCreated(Event):
    """change: the stream's own ID, from which those of its Tasks and Candidates are made.

    settings: how the requester's agents run (provider, its command, binds, names of variables), as a blob.
    plan: the Work Graph that the requester handed in; None asks for one.
    checks: what the requester named; empty means that the base's settings or discovery decide while compiling.
    approved_in_advance_by: the person who approves whatever candidate is gated, or None.
    sandboxed: False only by a person's `--unsafe-local`.
    """

    type: ClassVar[str] = "change.created"
    change: str
    project: str
    requester: Text
    client_request_id: Text
    goal: BlobRef
    settings: BlobRef
    base_generation: int
    base_commit: str
    budget: Micros
    policy: Text
    plan: BlobRef | None = None
    checks: tuple[Check, ...] = ()
    start_planning: bool = True
    allow_red_base: bool = False
    approved_in_advance_by: Text | None = None
    sandboxed: bool = True


class CompileStarted(Event):
    """compile: 1 for the first; a budget raised while planning starts another, right after `budget.raised`."""

    type: ClassVar[str] = "change.compile_started"
    compile: int


class BaseVerified(Event):
    """The checks ran on the base before any agent did."""

    type: ClassVar[str] = "base.verified"
    base_commit: str
    evidence: tuple[Evidence, ...]


class ChangeCompiled(Event):
    """plan: the whole Work Graph document, texts included. checks and setup are those that judge this Change."""

    type: ClassVar[str] = "change.compiled"
    plan: BlobRef
    risk_tier: RiskTier | None
    human_approval_required: bool
    destructive_migration: bool
    complexity: Complexity
    acceptance_criteria: int
    checks: tuple[Check, ...]
    setup: Setup | None
    cost: Micros | None


class TierRaised(Event):
    """Code raised the risk tier, or found a further reason for the present one; nothing lowers it.

    files: percent-encoded.
    """

    type: ClassVar[str] = "tier.raised"
    tier: RiskTier
    reason: Text
    files: tuple[Text, ...] = ()


class ChangeFailed(Event):
    type: ClassVar[str] = "change.failed"
    phase: Text
    reason: Text


class ChangeBlocked(Event):
    type: ClassVar[str] = "change.blocked"
    reason: Text


class ChangeBudgetBlocked(Event):
    type: ClassVar[str] = "change.budget_blocked"
    reason: Text


class BudgetRaised(Event):
    """target: the status afterwards; the present one when the raise moves nothing.

    With an unchanged budget it applies a raise that was made while the Change was promoting.
    """

    type: ClassVar[str] = "budget.raised"
    budget: Micros
    target: ChangeStatus


class ChangeCancelled(Event):
    type: ClassVar[str] = "change.cancelled"


class ChangeCompleted(Event):
    """outcome: promoted, deployed or superseded."""

    type: ClassVar[str] = "change.completed"
    outcome: Text


# -- tasks -------------------------------------------------------------------------------------------------------


class TaskCreated(Event):
    """depends_on: Task IDs. status: pending, or cancelled when the Change was cancelled while compiling."""

    type: ClassVar[str] = "task.created"
    task: str
    key: TaskKey
    kind: TaskKind
    depends_on: tuple[str, ...]
    resources: tuple[Text, ...]
    status: TaskStatus = TaskStatus.PENDING


class TaskReady(Event):
    type: ClassVar[str] = "task.ready"
    task: str


class TaskDeferred(Event):
    """No place among the 8 active agents; it is woken when one frees."""

    type: ClassVar[str] = "task.deferred"
    task: str


class TaskWakeDropped(Event):
    type: ClassVar[str] = "task.wake_dropped"
    task: str
    reason: Text


class TaskWakeRequested(Event):
    """A ready Task whose wake was dropped, or that was deferred, is woken again."""

    type: ClassVar[str] = "task.wake_requested"
    task: str


class TaskAssigned(Event):
    """run: the attempt's fencing token."""

    type: ClassVar[str] = "task.assigned"
    task: str
    agent: str
    run: str
    attempt: int


class TaskStarted(Event):
    """reservation: micro-dollars held for the run; None where the agent's cost can't be known.

    base_commit: canonical at the start; the workspace starts on it with the ChangeSets of `stack` merged in their
    order. started_at: Unix seconds; commits take their date from it.
    """

    type: ClassVar[str] = "task.started"
    task: str
    run: str
    base_generation: int
    base_commit: str
    reservation: Micros | None
    started_at: int
    stack: tuple[str, ...] = ()


class TaskRetried(Event):
    """The attempt `ended` is over and `run` begins. hint: a code for the instruction that the new attempt gets."""

    type: ClassVar[str] = "task.retried"
    task: str
    ended: str
    run: str
    attempt: int
    reason: Text
    hint: Text
    reservation: Micros | None
    cost: Micros | None


class TaskEscalated(Event):
    """As `TaskRetried`, on the next tier of models."""

    type: ClassVar[str] = "task.escalated"
    task: str
    ended: str
    run: str
    attempt: int
    tier: Text
    reason: Text
    reservation: Micros | None
    cost: Micros | None


class TaskRequeued(Event):
    """The worker of `lost` is gone; `run` continues its work and takes no attempt from the window."""

    type: ClassVar[str] = "task.requeued"
    task: str
    lost: str
    run: str
    attempt: int
    status: TaskStatus


class ChangeSetProposed(Event):
    """commit lies in canonical under a ref of its own, synced. empty: the same tree as its base."""

    type: ClassVar[str] = "changeset.proposed"
    changeset: str
    task: str
    run: str
    base_commit: str
    commit: str
    tree: str
    empty: bool


class TaskCompleted(Event):
    """run_head: where the Run's stream ended, so that no tail of it can be cut unseen."""

    type: ClassVar[str] = "task.completed"
    task: str
    run: str
    run_head: Head
    changeset: str | None
    report: BlobRef | None
    cost: Micros | None


class TaskConflict(Value):
    """A Task whose ChangeSet didn't merge, and the percent-encoded files."""

    task: str
    files: tuple[Text, ...]


class TaskFailed(Event):
    """conflicts: with reason `dependency_merge_conflict`, the dependencies that didn't merge."""

    type: ClassVar[str] = "task.failed"
    task: str
    run: str
    run_head: Head
    reason: Text
    detail: Text
    cost: Micros | None
    conflicts: tuple[TaskConflict, ...] = ()


class BlockCause(StrEnum):
    """What blocked a Task, and so what brings it back."""

    DEPENDENCY = "dependency"
    DEAD_LETTER = "dead_letter"
    BUDGET = "budget"
    LIMIT = "limit"


class TaskBlocked(Event):
    """run: the attempt that it stopped, if one was at work."""

    type: ClassVar[str] = "task.blocked"
    task: str
    cause: BlockCause
    detail: Text
    run: str | None = None
    cost: Micros | None = None


class TaskUnblocked(Event):
    """ready opens a fresh window of attempts; attempt numbers go on."""

    type: ClassVar[str] = "task.unblocked"
    task: str
    status: TaskStatus


class TaskReopened(Event):
    """depends_on: all dependencies from now on (Task IDs). A fresh window of attempts."""

    type: ClassVar[str] = "task.reopened"
    task: str
    status: TaskStatus
    depends_on: tuple[str, ...]


class TaskCancelled(Event):
    """run: the attempt that is stopped by it, if one was at work."""

    type: ClassVar[str] = "task.cancelled"
    task: str
    run: str | None


# -- candidates and verification ---------------------------------------------------------------------------------


class VerificationStarted(Event):
    type: ClassVar[str] = "verification.started"
    reason: Text


class TasksRerun(Event):
    """The Change runs Tasks again; a running one stays running.

    trigger: file_conflict, dependency_merge_conflict, rebase, integrate or repair.
    """

    type: ClassVar[str] = "tasks.rerun"
    trigger: Text
    tasks: tuple[str, ...]
    candidate: str | None


class CandidateCreated(Event):
    """changesets: in Work Graph order. recomposes: the stale Candidate that it takes the place of.

    recompositions: how many the lineage has behind it after a promotion of others, this one included.
    """

    type: ClassVar[str] = "candidate.created"
    candidate: str
    base_generation: int
    base_commit: str
    changesets: tuple[str, ...]
    recomposes: str | None = None
    recompositions: int = 0


class CandidateComposed(Event):
    """plan: the Verification Plan. The commit lies in canonical under a ref of its own, synced."""

    type: ClassVar[str] = "candidate.composed"
    candidate: str
    commit: str
    tree: str
    plan: tuple[PlannedCheck, ...]


class EvidenceRecorded(Event):
    type: ClassVar[str] = "evidence.recorded"
    candidate: str
    evidence: Evidence


class CandidateVerified(Event):
    type: ClassVar[str] = "candidate.verified"
    candidate: str


class RejectReason(StrEnum):
    """Why a Candidate can't ship."""

    FILE_CONFLICT = "file_conflict"
    INCOMPATIBLE = "incompatible"
    SANDBOX_BUDGET = "sandbox_budget"
    CHECK_FAILED = "check_failed"
    EVIDENCE_GAP = "evidence_gap"
    APPROVER = "approver"
    NOT_SELECTED = "not_selected"
    CHANGE_ENDED = "change_ended"
    TASKS_RERUN = "tasks_rerun"


class CandidateRejected(Event):
    type: ClassVar[str] = "candidate.rejected"
    candidate: str
    reason: RejectReason
    detail: Text
    conflicts: tuple[TaskConflict, ...] = ()


class CandidateSelected(Event):
    """The winner among the siblings on one base. gated: it waits for a person."""

    type: ClassVar[str] = "candidate.selected"
    candidate: str
    gated: bool


class CandidateStale(Event):
    """generation: the canonical generation that overtook it."""

    type: ClassVar[str] = "candidate.stale"
    candidate: str
    generation: int


class ApprovalRequested(Event):
    """A winner waits for a person. In a running or budget_blocked Change it moves nothing (a person may ship it).

    trigger: policy, acceptance or judges (the change touched what judges it). files: percent-encoded."""

    type: ClassVar[str] = "approval.requested"
    candidate: str
    trigger: Text
    reason: Text
    files: tuple[Text, ...] = ()


class ApprovalGranted(Event):
    """Belongs to one candidate; the approver is the envelope's actor."""

    type: ClassVar[str] = "approval.granted"
    candidate: str
    in_advance: bool = False


class ApprovalLapsed(Event):
    type: ClassVar[str] = "approval.lapsed"
    reason: Text


class PromotionRequested(Event):
    """trigger: auto or person. before: the status to return to when the compare-and-swap is refused."""

    type: ClassVar[str] = "canonical.promotion.requested"
    candidate: str
    trigger: Text
    before: ChangeStatus


class PromotionRefused(Event):
    type: ClassVar[str] = "canonical.promotion.refused"
    candidate: str
    reason: Text
    target: ChangeStatus


class CandidatePromoted(Event):
    """change_head: where the Change's stream stood before this event."""

    type: ClassVar[str] = "candidate.promoted"
    candidate: str
    generation: int
    commit: str
    change_head: Head


class BuildStarted(Event):
    type: ClassVar[str] = "build.started"
    release: str


class BranchExported(Event):
    """The promoted commit arrived in the person's repository; refused names why it couldn't."""

    type: ClassVar[str] = "branch.exported"
    candidate: str
    branch: Text
    commit: str
    refused: Text | None = None
