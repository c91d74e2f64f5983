"""Changes as people see them: where each is, why, what it cost, what it waits for."""

from dataclasses import dataclass
from typing import Any, Final

from domain.change import event as e
from domain.change.status import CHANGE_TABLE, ChangeStatus
from domain.kernel.event import BlobRef, Envelope, Event
from projections.core import ReadModel, Row, Table, stream
from projections.query import Page, Select, Views, page

CHANGES: Final = Table(
    "changes",
    {
        "id": "text",
        "project": "text",
        "requester": "text",
        "client_request_id": "text",
        "goal_sha256": "text",
        "goal_size": "bigint",
        "status": "text",
        "reason": "text null",
        "phase": "text null",
        "outcome": "text null",
        "plan_sha256": "text null",
        "plan_size": "bigint null",
        "risk_tier": "text null",
        "human_approval_required": "boolean",
        "destructive_migration": "boolean",
        "complexity": "text null",
        "policy": "text",
        "sandboxed": "boolean",
        "budget_micros": "bigint",
        "known_micros": "bigint",
        "unknown_costs": "bigint",
        "base_generation": "bigint",
        "base_commit": "text",
        "candidate": "text null",
        "gate_trigger": "text null",
        "gate_reason": "text null",
        "gate_files": "text[]",
        "dead_letters": "text[]",
        "needs_attention": "boolean",
        "promoted_candidate": "text null",
        "promoted_generation": "bigint null",
        "promoted_commit": "text null",
        "release": "text null",
        "exported_branch": "text null",
        "export_refused": "text null",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(
        ("requester", "client_request_id"),
        ("project", "created_at", "id"),
        ("status", "created_at", "id"),
        ("created_at", "id"),
    ),
)

MODEL: Final = ReadModel("changes", __name__, CHANGES)

WAITS_FOR_A_PERSON: Final = (ChangeStatus.AWAITING_APPROVAL, ChangeStatus.BUDGET_BLOCKED, ChangeStatus.BLOCKED)


def moved(row: Row, event: Event, target: str | None = None) -> Row:
    """The new status along the table, and what goes with it.

    Raises:
        ImpossibleHistory: the table has no such arrow.
    """
    return at_status(row, str(CHANGE_TABLE.after(row["id"], row["status"], event.type, target)))


def at_status(row: Row, status: str) -> Row:
    attention = status in WAITS_FOR_A_PERSON or (status == ChangeStatus.RUNNING and bool(row["dead_letters"]))
    return {"status": status, "needs_attention": attention}


def charged(row: Row, cost: int | None) -> Row:
    """What an ended attempt or a planner's call adds."""
    if cost is None:
        return {"unknown_costs": row["unknown_costs"] + 1}
    return {"known_micros": row["known_micros"] + cost}


@MODEL.creates(e.ChangeCreated, CHANGES)
def _created(event: e.ChangeCreated, envelope: Envelope) -> Row:
    return {
        "id": envelope.stream,
        "project": event.project,
        "requester": event.requester,
        "client_request_id": event.client_request_id,
        "goal_sha256": event.goal.sha256,
        "goal_size": event.goal.size,
        "status": str(CHANGE_TABLE.after(envelope.stream, None, event.type)),
        "human_approval_required": False,
        "destructive_migration": False,
        "policy": event.policy,
        "sandboxed": event.sandboxed,
        "budget_micros": event.budget,
        "known_micros": 0,
        "unknown_costs": 0,
        "base_generation": event.base_generation,
        "base_commit": event.base_commit,
        "gate_files": [],
        "dead_letters": [],
        "needs_attention": False,
        "created_at": envelope.at,
        "updated_at": envelope.at,
    }


@MODEL.patches(e.CompileStarted, table=CHANGES, key=stream)
def _compile_started(row: Row, event: e.CompileStarted, envelope: Envelope) -> Row:
    # A raise while planning has moved it back already; the second compile only counts.
    return {} if row["status"] == ChangeStatus.COMPILING else moved(row, event)


@MODEL.patches(e.ChangeCompiled, table=CHANGES, key=stream)
def _compiled(row: Row, event: e.ChangeCompiled, envelope: Envelope) -> Row:
    return {
        **moved(row, event),
        **charged(row, event.cost),
        "plan_sha256": event.plan.sha256,
        "plan_size": event.plan.size,
        "risk_tier": event.risk_tier.value if event.risk_tier else None,
        "human_approval_required": event.human_approval_required,
        "destructive_migration": event.destructive_migration,
        "complexity": event.complexity.value,
    }


@MODEL.patches(e.TierRaised, table=CHANGES, key=stream)
def _tier_raised(row: Row, event: e.TierRaised, envelope: Envelope) -> Row:
    return {"risk_tier": event.tier.value}


@MODEL.patches(e.ChangeFailed, table=CHANGES, key=stream)
def _failed(row: Row, event: e.ChangeFailed, envelope: Envelope) -> Row:
    return {**moved(row, event), "phase": event.phase, "reason": event.reason}


@MODEL.patches(e.ChangeBlocked, e.ChangeBudgetBlocked, table=CHANGES, key=stream)
def _blocked(row: Row, event: e.ChangeBlocked | e.ChangeBudgetBlocked, envelope: Envelope) -> Row:
    return {**moved(row, event), "reason": event.reason}


@MODEL.patches(e.ChangeCancelled, table=CHANGES, key=stream)
def _cancelled(row: Row, event: e.ChangeCancelled, envelope: Envelope) -> Row:
    return {**moved(row, event), "reason": None, "candidate": None}


@MODEL.patches(e.ChangeCompleted, table=CHANGES, key=stream)
def _completed(row: Row, event: e.ChangeCompleted, envelope: Envelope) -> Row:
    return {**moved(row, event), "outcome": event.outcome, "reason": None}


@MODEL.patches(e.BudgetRaised, table=CHANGES, key=stream)
def _budget_raised(row: Row, event: e.BudgetRaised, envelope: Envelope) -> Row:
    raised: Row = {"budget_micros": event.budget}
    if event.target == row["status"]:
        return raised
    return {**raised, **moved(row, event, event.target), "reason": None}


@MODEL.patches(e.TaskRetried, e.TaskEscalated, e.TaskCompleted, e.TaskFailed, table=CHANGES, key=stream)
def _attempt_ended(
    row: Row, event: e.TaskRetried | e.TaskEscalated | e.TaskCompleted | e.TaskFailed, envelope: Envelope
) -> Row:
    return charged(row, event.cost)


@MODEL.patches(e.TaskBlocked, table=CHANGES, key=stream)
def _task_blocked(row: Row, event: e.TaskBlocked, envelope: Envelope) -> Row:
    changed = charged(row, event.cost) if event.run is not None else {}
    if event.cause is not e.BlockCause.DEAD_LETTER:
        return changed
    return {**changed, **_with_dead_letters(row, [*row["dead_letters"], event.task])}


@MODEL.patches(e.TaskUnblocked, e.TaskReopened, e.TaskCancelled, table=CHANGES, key=stream)
def _task_moves_on(row: Row, event: e.TaskUnblocked | e.TaskReopened | e.TaskCancelled, envelope: Envelope) -> Row:
    return _with_dead_letters(row, [task for task in row["dead_letters"] if task != event.task])


def _with_dead_letters(row: Row, tasks: list[str]) -> Row:
    return {"dead_letters": tasks, **at_status({**row, "dead_letters": tasks}, row["status"])}


@MODEL.patches(e.VerificationStarted, table=CHANGES, key=stream)
def _verification_started(row: Row, event: e.VerificationStarted, envelope: Envelope) -> Row:
    return {**moved(row, event), "reason": None}


@MODEL.patches(e.TasksRerun, table=CHANGES, key=stream)
def _tasks_rerun(row: Row, event: e.TasksRerun, envelope: Envelope) -> Row:
    return {} if row["status"] == ChangeStatus.RUNNING else moved(row, event)


@MODEL.patches(e.ApprovalRequested, table=CHANGES, key=stream)
def _approval_requested(row: Row, event: e.ApprovalRequested, envelope: Envelope) -> Row:
    gate = {
        "candidate": event.candidate,
        "gate_trigger": event.trigger,
        "gate_reason": event.reason,
        "gate_files": list(event.files),
    }
    # A gated winner of a Change that runs, or whose budget is spent, can be shipped by a person; it goes on as it is.
    goes_on = row["status"] in (ChangeStatus.RUNNING, ChangeStatus.BUDGET_BLOCKED)
    return gate if goes_on else {**gate, **moved(row, event)}


@MODEL.patches(e.ApprovalLapsed, table=CHANGES, key=stream)
def _approval_lapsed(row: Row, event: e.ApprovalLapsed, envelope: Envelope) -> Row:
    return {**moved(row, event), **NO_GATE}


NO_GATE: Final[Row] = {"candidate": None, "gate_trigger": None, "gate_reason": None, "gate_files": []}


@MODEL.patches(e.PromotionRequested, table=CHANGES, key=stream)
def _promotion_requested(row: Row, event: e.PromotionRequested, envelope: Envelope) -> Row:
    return {**moved(row, event), "candidate": event.candidate}


@MODEL.patches(e.PromotionRefused, table=CHANGES, key=stream)
def _promotion_refused(row: Row, event: e.PromotionRefused, envelope: Envelope) -> Row:
    return {**moved(row, event, event.target), "reason": event.reason}


@MODEL.patches(e.CandidatePromoted, table=CHANGES, key=stream)
def _promoted(row: Row, event: e.CandidatePromoted, envelope: Envelope) -> Row:
    return {
        **NO_GATE,
        "reason": None,
        "promoted_candidate": event.candidate,
        "promoted_generation": event.generation,
        "promoted_commit": event.commit,
    }


@MODEL.patches(e.BuildStarted, table=CHANGES, key=stream)
def _build_started(row: Row, event: e.BuildStarted, envelope: Envelope) -> Row:
    return {**moved(row, event), "release": event.release}


@MODEL.patches(e.BranchExported, table=CHANGES, key=stream)
def _exported(row: Row, event: e.BranchExported, envelope: Envelope) -> Row:
    return {"exported_branch": None if event.refused else event.branch, "export_refused": event.refused}


@MODEL.patches(
    e.BaseVerified,
    e.TaskCreated,
    e.TaskReady,
    e.TaskDeferred,
    e.TaskWakeDropped,
    e.TaskWakeRequested,
    e.TaskAssigned,
    e.TaskStarted,
    e.TaskRequeued,
    e.ChangeSetProposed,
    e.CandidateCreated,
    e.CandidateComposed,
    e.EvidenceRecorded,
    e.CandidateVerified,
    e.CandidateRejected,
    e.CandidateSelected,
    e.CandidateStale,
    e.ApprovalGranted,
    table=CHANGES,
    key=stream,
)
def _touched(row: Row, event: Event, envelope: Envelope) -> Row:
    """Something inside it moved: only the time of its last event changes."""
    return {}


@dataclass(frozen=True, slots=True)
class ChangeQueries:
    """The questions that are asked about Changes."""

    views: Views

    def get(self, change: str) -> Row | None:
        return self.views.get(CHANGES, change)

    def by_client_request(self, requester: str, client_request_id: str) -> Row | None:
        found = self.views.select(
            Select(CHANGES, {"requester": requester, "client_request_id": client_request_id}, ("created_at", "id"))
        )
        return found[0] if found else None

    def with_prefix(self, prefix: str, limit: int) -> "list[str]":
        """The IDs that begin with `prefix`, at most `limit`, in their order."""
        return [
            row["id"] for row in self.views.select(Select(CHANGES, {}, ("id",), limit=limit, prefix=("id", prefix)))
        ]

    def list(
        self,
        *,
        project: str | None = None,
        status: str | None = None,
        limit: int = 50,
        after: tuple[Any, ...] | None = None,
    ) -> Page:
        """Newest first; `after` is the cursor of the page before."""
        where = {name: value for name, value in (("project", project), ("status", status)) if value is not None}
        return page(self.views, Select(CHANGES, where, ("created_at", "id"), descending=True, after=after), limit)


def goal_of(row: Row) -> BlobRef:
    """Where the goal's text lies."""
    return BlobRef(sha256=row["goal_sha256"], size=row["goal_size"])


def plan_of(row: Row) -> BlobRef | None:
    """Where the Work Graph document lies, once the Change is compiled."""
    return BlobRef(sha256=row["plan_sha256"], size=row["plan_size"]) if row["plan_sha256"] else None


def spent_of(row: Row) -> int | None:
    """Micro-dollars of all ended attempts; None as soon as one of them is unknown."""
    return None if row["unknown_costs"] else int(row["known_micros"])
