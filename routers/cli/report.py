"""A Change as the command line reports it, from the read models' rows: the one place that names their columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from commands.ports.objects import ObjectMissing, Objects
from domain.change.status import TERMINAL_CHANGE, ChangeStatus
from domain.check import Variant
from domain.kernel.event import BlobRef
from projections.change import goal_of
from routers.cli.exits import Exit
from routers.cli.session import Queries

ERASED: Final = "(the text was erased)"

WAITING_STATUSES: Final = (ChangeStatus.AWAITING_APPROVAL, ChangeStatus.BUDGET_BLOCKED, ChangeStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of one check: Evidence. duration in milliseconds; exit_code None when the sandbox ended it (`killed`)."""

    name: str
    variant: str
    passed: bool
    exit_code: int | None
    killed: str | None
    duration_ms: int
    output: BlobRef
    sandboxed: bool

    @property
    def base_judged(self) -> bool:
        """Whether it ran with the base's versions of the files that define it."""
        return self.variant == Variant.BASE_JUDGES


@dataclass(frozen=True, slots=True)
class TaskReport:
    id: str
    kind: str
    status: str
    attempts: int
    reason: str | None
    detail: str | None
    last_run: str | None


@dataclass(frozen=True, slots=True)
class CandidateReport:
    id: str
    status: str
    commit: str | None
    base_commit: str
    reason: str | None
    detail: str | None
    checks: tuple[CheckRun, ...]


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """cost and budget in micro-dollars; cost None if unknown. gate_files and paths are percent-encoded.

    base_checks: the runs of the checks on the base, before any agent. timeline: rows of that read model.
    """

    id: str
    project: str
    goal: str
    status: str
    reason: str | None
    risk_tier: str | None
    cost: int | None
    known_cost: int
    budget: int
    base_commit: str
    commit: str | None
    branch: str | None
    export_refused: str | None
    generation: int | None
    gate_files: tuple[str, ...]
    dead_letters: tuple[str, ...]
    sandboxed: bool
    created_at: datetime
    updated_at: datetime
    tasks: tuple[TaskReport, ...]
    candidates: tuple[CandidateReport, ...]
    base_checks: tuple[CheckRun, ...]
    timeline: tuple[dict[str, Any], ...]

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL_CHANGE

    @property
    def promoted(self) -> bool:
        return self.commit is not None

    @property
    def exit(self) -> Exit:
        """0 promoted (or released), 1 it ended otherwise, 3 it waits for a person."""
        if self.status in (ChangeStatus.FAILED, ChangeStatus.CANCELLED):
            return Exit.NOT_PROMOTED
        return Exit.DONE if self.promoted else Exit.WAITS

    @property
    def candidate(self) -> CandidateReport | None:
        """The promoted candidate, or else the latest one."""
        promoted = [c for c in self.candidates if c.commit is not None and c.commit == self.commit]
        return next(reversed(promoted or self.candidates), None)

    @property
    def failing(self) -> tuple[CheckRun, ...]:
        """The check runs that say why it can't ship: the latest candidate's, or the base's before there is any."""
        runs = self.candidate.checks if self.candidate is not None else self.base_checks
        return tuple(run for run in runs if not run.passed)


def change_report(queries: Queries, objects: Objects, row: dict[str, Any]) -> ChangeReport:
    """The report of the Change whose row of the read model `changes` this is."""
    change = str(row["id"])
    cost = queries.cost(change)
    tasks = tuple(_task(task) for task in queries.tasks(change))
    candidates = tuple(_candidate(each, queries.evidence(each["id"])) for each in queries.candidates(change))
    return ChangeReport(
        id=change,
        project=row["project"],
        goal=goal_text(objects, row),
        status=row["status"],
        reason=_reason(row, tasks, queries.standstill(change)),
        risk_tier=row["risk_tier"],
        cost=cost.total,
        known_cost=cost.known,
        budget=row["budget_micros"],
        base_commit=row["base_commit"],
        commit=row["promoted_commit"],
        branch=row["exported_branch"],
        export_refused=row["export_refused"],
        generation=row["promoted_generation"],
        gate_files=tuple(row["gate_files"]),
        dead_letters=tuple(row["dead_letters"]),
        sandboxed=row["sandboxed"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        tasks=tasks,
        candidates=candidates,
        base_checks=check_runs(queries.base_evidence(change)),
        timeline=tuple(queries.timeline(change)),
    )


def goal_text(objects: Objects, row: dict[str, Any]) -> str:
    """The goal of a row of `changes`, or a remark that it was erased."""
    try:
        return objects.get(goal_of(row)).decode("utf-8", "replace")
    except ObjectMissing:
        return ERASED


def check_runs(rows: Sequence[dict[str, Any]]) -> tuple[CheckRun, ...]:
    return tuple(
        CheckRun(
            name=row["check_name"],
            variant=row["variant"],
            passed=row["passed"],
            exit_code=row["exit_code"],
            killed=row["killed"],
            duration_ms=row["duration_ms"],
            output=BlobRef(sha256=row["output_sha256"], size=row["output_size"]),
            sandboxed=row["sandboxed"],
        )
        for row in rows
    )


def document(report: ChangeReport) -> dict[str, Any]:
    """What `--json` prints: its shape is a contract (issue "From a goal to a promoted commit")."""
    return {
        "change": report.id,
        "status": report.status,
        "reason": report.reason,
        "commit": report.commit,
        "branch": report.branch,
        "generation": report.generation,
        "costUsd": None if report.cost is None else report.cost / 1_000_000,
        "tasks": [{"id": t.id, "kind": t.kind, "status": t.status, "attempts": t.attempts} for t in report.tasks],
        "candidates": [
            {
                "id": candidate.id,
                "status": candidate.status,
                "checks": [
                    # A run with the base's versions of what judges it is a check of its own for whoever reads this.
                    {
                        "name": f"{run.name}@base" if run.base_judged else run.name,
                        "passed": run.passed,
                        "exitCode": run.exit_code,
                    }
                    for run in candidate.checks
                ],
            }
            for candidate in report.candidates
        ],
    }


def unknown_document(change: str) -> dict[str, Any]:
    """The same for a Change of which nothing can be read now."""
    unknown = dict.fromkeys(("status", "reason", "commit", "branch", "generation", "costUsd"))
    return {"change": change, **unknown, "tasks": [], "candidates": []}


def _task(row: dict[str, Any]) -> TaskReport:
    return TaskReport(
        id=row["id"],
        kind=row["kind"],
        status=row["status"],
        attempts=row["attempts"],
        reason=row["reason"],
        detail=row["detail"],
        last_run=row["last_run"],
    )


def _candidate(row: dict[str, Any], evidence: Sequence[dict[str, Any]]) -> CandidateReport:
    return CandidateReport(
        id=row["id"],
        status=row["status"],
        commit=row["commit"],
        base_commit=row["base_commit"],
        reason=row["reason"],
        detail=row["detail"],
        checks=check_runs(evidence),
    )


def _reason(row: dict[str, Any], tasks: Sequence[TaskReport], standstill: str | None) -> str | None:
    """Why it is where it is, in the words of whoever decided; None where the status says it all."""
    status = row["status"]
    said: dict[str, Callable[[], str | None]] = {
        ChangeStatus.COMPLETED: lambda: None,
        ChangeStatus.CANCELLED: lambda: row["reason"] or "cancelled",
        ChangeStatus.AWAITING_APPROVAL: lambda: row["gate_reason"],
        ChangeStatus.RUNNING: lambda: _dead_letters(row, tasks),
    }
    return (said[status]() if status in said else row["reason"]) or standstill


def _dead_letters(row: dict[str, Any], tasks: Sequence[TaskReport]) -> str | None:
    dead = [task for task in tasks if task.id in row["dead_letters"]]
    if not dead:
        return row["reason"]  # type: ignore[no-any-return]
    return "dead-lettered: " + "; ".join(f"{task.id} ({task.detail or task.reason or 'no detail'})" for task in dead)
