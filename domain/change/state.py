"""What the decisions about a Change need to know, folded from its events.

The states have no slots: `domain.kernel.changed` copies their dictionaries.
"""

from dataclasses import dataclass, field

from domain.change.event import BlockCause, RejectReason, TaskConflict, TierRaised
from domain.change.status import ACTIVE_TASK, LIVE_CANDIDATE, TERMINAL_CHANGE, CandidateStatus, ChangeStatus, TaskStatus
from domain.check import Check, Evidence, PlannedCheck, Setup, Variant
from domain.kernel.event import BlobRef
from domain.kernel.money import Micros
from domain.plan import WRITING_KINDS, RiskTier, TaskKind


@dataclass(frozen=True)
class ChangeSetState:
    """A proposed ChangeSet: the commit `commit`, made on `base_commit` by the attempt `run` of `task`."""

    id: str
    task: str
    run: str
    base_commit: str
    commit: str
    empty: bool


@dataclass(frozen=True)
class TaskState:
    """A node of the Work Graph.

    run: the attempt at work (its fencing token), None if none is. attempt: the highest number used. last_ended: the run
    that ended last, so that hearing of its end again changes nothing.

    A window of attempts opens with the plan, a re-run, a raise, a dead-letter retry: `window` counts the attempts in
    it without requeues and hints, `lost` its lost workers, `hint` is the hint given in it.

    woken: a wake is on its way. reworked: it runs again, so that changing nothing is an answer. left_when_stopped: what
    was left of the budget when that stopped it. changeset: its newest ChangeSet. stack: the ChangeSets that its attempt
    starts on, beside canonical. report: what it handed on.
    """

    id: str
    key: str
    kind: TaskKind
    depends_on: tuple[str, ...]
    resources: tuple[str, ...]
    status: TaskStatus
    run: str | None = None
    attempt: int = 0
    last_ended: str | None = None
    window: int = 0
    lost: int = 0
    hint: str | None = None
    woken: bool = False
    reworked: bool = False
    base_generation: int = 0
    base_commit: str = ""
    started_at: int = 0
    reservation: Micros | None = None
    cause: BlockCause | None = None
    left_when_stopped: int = 0
    reason: str = ""
    detail: str = ""
    conflicts: tuple[TaskConflict, ...] = ()
    changeset: str | None = None
    stack: tuple[str, ...] = ()
    report: BlobRef | None = None

    @property
    def writes(self) -> bool:
        return self.kind in WRITING_KINDS

    @property
    def is_active(self) -> bool:
        """It takes one of the Change's agent places."""
        return self.status in ACTIVE_TASK

    @property
    def is_dead_letter(self) -> bool:
        return self.status is TaskStatus.BLOCKED and self.cause is BlockCause.DEAD_LETTER

    @property
    def name(self) -> str:
        """How a person knows it: what it works on, or else its key."""
        return ", ".join(self.resources) or self.key


@dataclass(frozen=True)
class CandidateState:
    """A composition on one base. round: the verification that it belongs to (the n-th `verification.started`).

    recomposed: another Candidate has taken its place. rerun: its conflicts led to a re-run.
    """

    id: str
    base_generation: int
    base_commit: str
    changesets: tuple[str, ...]
    status: CandidateStatus
    round: int
    recompositions: int = 0
    recomposed: bool = False
    commit: str = ""
    tree: str = ""
    plan: tuple[PlannedCheck, ...] = ()
    evidence: dict[str, Evidence] = field(default_factory=dict)
    selected: bool = False
    approval_requested: bool = False
    approved: bool = False
    reason: RejectReason | None = None
    detail: str = ""
    conflicts: tuple[TaskConflict, ...] = ()
    rerun: bool = False
    exported: bool = False
    export_refused: str | None = None

    @property
    def is_live(self) -> bool:
        return self.status in LIVE_CANDIDATE

    @property
    def base(self) -> tuple[int, str]:
        return self.base_generation, self.base_commit

    @property
    def judges_files(self) -> tuple[str, ...]:
        """Files of the change that judge it: a check passes with them and fails with the base's versions."""
        files: dict[str, None] = {}
        for line in self.plan:
            if line.variant is Variant.BASE_JUDGES and line.key in self.evidence and not self.evidence[line.key].passed:
                files.update(dict.fromkeys(line.overlay))
        return tuple(files)


@dataclass(frozen=True)
class ChangeState:
    """A Change with its Tasks (in the plan's order) and Candidates (in the order of their creation).

    compile: how often compiling began. round: how often verification began. requested_checks are the requester's,
    `checks` those that judge. planned_tier is the plan's; None makes every Candidate wait for a person, whatever code
    raises it to; raises: why it did. spent: micro-dollars of all ended attempts whose cost is known.

    promoting, before: the Candidate in its compare-and-swap, and the status to return to. fresh_lineage: a person's
    raise lets the next recomposition count from 0. raised_while_promoting: a raise that settle applies after a refusal.
    reason: why it is blocked or failed.
    """

    id: str
    project: str
    requester: str
    client_request_id: str
    goal: BlobRef
    settings: BlobRef
    base_generation: int
    base_commit: str
    budget: Micros
    first_budget: Micros
    policy: str
    requested_plan: BlobRef | None
    requested_checks: tuple[Check, ...]
    start_planning: bool
    allow_red_base: bool
    approved_in_advance_by: str | None
    sandboxed: bool
    status: ChangeStatus
    compile: int = 0
    base_verified: bool = False
    plan: BlobRef | None = None
    planned_tier: RiskTier | None = None
    tier: RiskTier | None = None
    raises: tuple[TierRaised, ...] = ()
    human_approval_required: bool = False
    destructive_migration: bool = False
    checks: tuple[Check, ...] = ()
    setup: Setup | None = None
    tasks: dict[str, TaskState] = field(default_factory=dict)
    changesets: dict[str, ChangeSetState] = field(default_factory=dict)
    candidates: dict[str, CandidateState] = field(default_factory=dict)
    spent: Micros = 0
    round: int = 0
    reruns: int = 0
    restacks: int = 0
    promoting: str | None = None
    before: ChangeStatus | None = None
    fresh_lineage: bool = False
    raised_while_promoting: bool = False
    release: str | None = None
    reason: str = ""

    @property
    def is_terminal(self) -> bool:
        return self.status in TERMINAL_CHANGE

    @property
    def reserved(self) -> Micros:
        """What the runs at work may still cost, as far as that is known."""
        return sum(task.reservation or 0 for task in self.tasks.values())

    @property
    def left(self) -> int:
        """What is left of the budget beside spent and reserved money; negative after an overshoot."""
        return self.budget - self.spent - self.reserved

    @property
    def gate_tier(self) -> RiskTier | None:
        """The tier that the policy sees: None as long as the plan gave none, so that a raise never opens the gate."""
        return None if self.planned_tier is None else self.tier

    @property
    def active(self) -> int:
        """How many of the agent places are taken."""
        return sum(task.is_active for task in self.tasks.values())

    @property
    def promoted(self) -> CandidateState | None:
        return next((c for c in self.candidates.values() if c.status is CandidateStatus.PROMOTED), None)
