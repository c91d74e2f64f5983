"""The commands of a Change. Each carries its time and new IDs; see `domain.kernel.event.Command`."""

from typing import Annotated, Literal

from pydantic import Field

from domain.change.event import BlockCause, TaskConflict
from domain.check import Check, Evidence, PlannedCheck, Setup
from domain.kernel.event import BlobRef, Command, Head
from domain.kernel.money import Micros
from domain.kernel.value import Text, Value
from domain.plan import RiskTier, WorkGraphPlan
from domain.policy import DEFAULT_POLICY, Policy
from domain.project.role import Role

# -- the request -------------------------------------------------------------------------------------------------


class CreateChange(Command):
    """Idempotent: the same requester and clientRequestId again yields nothing; with another content it is refused."""

    change: str
    project: str
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


class StartCompiling(Command):
    pass


class RecordBaseChecks(Command):
    """A red base fails the Change (phase `checks`), unless it was created with `allow_red_base`."""

    evidence: tuple[Evidence, ...]


class CompileChange(Command):
    """Store the plan. In a Change that was cancelled meanwhile the tasks are stored as cancelled.

    raises: tiers that code found necessary from the plan itself.
    """

    plan: WorkGraphPlan
    document: BlobRef
    checks: tuple[Check, ...]
    setup: Setup | None
    cost: Micros | None


class FailCompiling(Command):
    phase: Literal["planning", "checks", "setup"]
    reason: Text


class BlockOnBudget(Command):
    """A budget refused a call of the planner."""

    reason: Text


class RaiseBudget(Command):
    """Upwards only, by the requester, an owner or an admin. Resumes what this budget stopped."""

    budget: Micros
    role: Role | None


class CancelChange(Command):
    """By the requester, an owner or an admin."""

    role: Role | None


class SettleChange(Command):
    """Move on a Change that nothing else moves: dispatch first, then judge, then end it with its reason."""

    policy: Policy = DEFAULT_POLICY


# -- tasks -------------------------------------------------------------------------------------------------------


class DispatchTasks(Command):
    """Make pending tasks ready whose dependencies are completed; wake ready ones without a wake."""


class AssignTask(Command):
    """Give the task one of the 8 places and its next attempt; without a free place it is deferred."""

    task: str


class StartTask(Command):
    """reservation: what the run may cost; None where that can't be known."""

    task: str
    run: str
    base_generation: int
    base_commit: str
    reservation: Micros | None


class DropWake(Command):
    task: str
    reason: Text


class DeadLetterTask(Command):
    """The wake of a task failed too often, or its third worker was lost."""

    task: str
    reason: Text


class RetryDeadLetter(Command):
    task: str
    role: Role | None


class RequeueRun(Command):
    """The worker of `run` is gone. The third lost run of a window is a dead letter."""

    task: str
    run: str


class Made(Value):
    """The run made something: a ChangeSet (writing kinds) or a report (reading kinds)."""

    outcome: Literal["made"] = "made"
    base_commit: str | None = None
    commit: str | None = None
    tree: str | None = None
    empty: bool = False
    report: BlobRef | None = None


class NoChanges(Value):
    """A writing run left its base as it was: what it started on, and that commit's tree."""

    outcome: Literal["no_changes"] = "no_changes"
    base_commit: str
    tree: str


class Broke(Value):
    """The run failed. retryable: another attempt may help.

    conflicts: with reason `dependency_merge_conflict`, the dependencies (Task IDs) that didn't merge, in order.
    """

    outcome: Literal["broke"] = "broke"
    reason: Text
    detail: Text
    retryable: bool
    conflicts: tuple[TaskConflict, ...] = ()


class Stopped(Value):
    """A budget or a limit stopped the run."""

    outcome: Literal["stopped"] = "stopped"
    cause: BlockCause
    detail: Text


RunResult = Annotated[Made | NoChanges | Broke | Stopped, Field(discriminator="outcome")]


class FinishTask(Command):
    """End the attempt `run` (a stale one is refused). next_reservation: held for a retry, if there will be one."""

    task: str
    run: str
    run_head: Head
    result: RunResult
    cost: Micros | None
    next_reservation: Micros | None = None


class RerunTask(Value):
    """A task that runs again and the tasks (IDs) on whose work it is built from now on, beside its present ones."""

    task: str
    on_top_of: tuple[str, ...] = ()


class RerunTasks(Command):
    """Run these tasks, and every task built on them, again (seed 001, part 3). At most 4 times, then blocked."""

    tasks: tuple[RerunTask, ...]
    trigger: Literal["file_conflict", "dependency_merge_conflict", "rebase", "integrate", "repair"]
    candidate: str | None = None


# -- candidates and verification ---------------------------------------------------------------------------------


class CreateCandidate(Command):
    """Compose all ChangeSets in Work Graph order onto this base. The ID is the composition key's.

    recomposes: the stale candidate whose place it takes; None finds it. after_import: canonical moved by imports only
    since then, which doesn't count towards the bound of recompositions.
    """

    base_generation: int
    base_commit: str
    recomposes: str | None = None
    after_import: bool = False


class TierRaise(Value):
    """A reason of code's for a higher tier, and the percent-encoded files that it saw."""

    tier: RiskTier
    reason: Text
    files: tuple[Text, ...] = ()


class RecordComposition(Command):
    """raises: what the composed change touches (policy, CI, lock files, migrations, protected resources)."""

    candidate: str
    commit: str
    tree: str
    plan: tuple[PlannedCheck, ...]
    raises: tuple[TierRaise, ...] = ()


class RejectComposition(Command):
    """The candidate couldn't be composed, or the Sandbox budget ended while it was verified."""

    candidate: str
    reason: Literal["file_conflict", "incompatible", "sandbox_budget"]
    detail: Text
    conflicts: tuple[TaskConflict, ...] = ()
    policy: Policy = DEFAULT_POLICY


class RecordEvidence(Command):
    """The last piece decides the candidate; the last sibling to settle selects the winner under the policy."""

    candidate: str
    evidence: Evidence
    policy: Policy


class MarkStale(Command):
    """Canonical is at `generation` now."""

    generation: int


class ApproveCandidate(Command):
    """Owner or admin, only where an approval was requested. Approving isn't promoting."""

    candidate: str
    role: Role | None
    in_advance: bool = False


class RejectCandidate(Command):
    """Owner or admin."""

    candidate: str
    role: Role | None


class RequestPromotion(Command):
    """trigger `auto` for the policy's own, `person` for owner or admin."""

    candidate: str
    trigger: Literal["auto", "person"]
    role: Role | None
    policy: Policy


class RecordPromotion(Command):
    """The compare-and-swap on Project is in the same transaction. release: its ID if the project has a live app."""

    candidate: str
    generation: int
    commit: str
    change_head: Head
    release: str | None = None


class RefusePromotion(Command):
    """The compare-and-swap was refused. generation: canonical's, if being behind it was the reason."""

    candidate: str
    reason: Text
    generation: int | None = None


class RecordExport(Command):
    candidate: str
    branch: Text
    commit: str
    refused: Text | None = None


class EndRelease(Command):
    """outcome deployed or superseded completes the Change; failed fails it."""

    outcome: Literal["deployed", "superseded", "failed"]
    reason: Text = ""
