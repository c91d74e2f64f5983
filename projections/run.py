"""Runs: each attempt of an agent on a Task."""

from dataclasses import dataclass
from typing import Final

from domain.kernel.event import BlobRef, Envelope
from domain.run.event import RouteDecided, RunFinished, RunStarted, TurnRecorded
from domain.run.status import RUN_TABLE
from projections.core import ReadModel, Row, Table, stream
from projections.query import Select, Views

RUNS: Final = Table(
    "runs",
    {
        "id": "text",
        "task": "text",
        "change": "text",
        "project": "text",
        "attempt": "bigint",
        "provider": "text",
        "status": "text",
        "reason": "text null",
        "tier": "text null",
        "model": "text null",
        "turns": "bigint",
        "base_commit": "text",
        "commit": "text null",
        "tree": "text null",
        "continues": "text null",
        "sandboxed": "boolean",
        "reserved_micros": "bigint null",
        "cost_micros": "bigint null",
        "exit_code": "bigint null",
        "duration_ms": "bigint null",
        "log_sha256": "text null",
        "log_size": "bigint null",
        "report_sha256": "text null",
        "report_size": "bigint null",
        "started_at": "timestamptz",
        "finished_at": "timestamptz null",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(("task", "attempt"), ("change", "started_at", "id")),
)
"""cost_micros is None while it runs, and afterwards where the cost is unknown."""

MODEL: Final = ReadModel("runs", __name__, RUNS)


@MODEL.creates(RunStarted, RUNS)
def _started(event: RunStarted, envelope: Envelope) -> Row:
    return {
        "id": envelope.stream,
        "task": event.task,
        "change": event.change,
        "project": event.project,
        "attempt": event.attempt,
        "provider": event.provider,
        "status": str(RUN_TABLE.after(envelope.stream, None, event.type)),
        "turns": 0,
        "base_commit": event.base_commit,
        "continues": event.continues.run if event.continues else None,
        "sandboxed": event.sandboxed,
        "reserved_micros": event.reservation,
        "started_at": envelope.at,
        "updated_at": envelope.at,
    }


@MODEL.patches(RouteDecided, table=RUNS, key=stream)
def _routed(row: Row, event: RouteDecided, envelope: Envelope) -> Row:
    return {"tier": event.tier, "model": event.model}


@MODEL.patches(TurnRecorded, table=RUNS, key=stream)
def _turned(row: Row, event: TurnRecorded, envelope: Envelope) -> Row:
    return {"turns": event.turn, "tree": event.tree or row["tree"]}


@MODEL.patches(RunFinished, table=RUNS, key=stream)
def _finished(row: Row, event: RunFinished, envelope: Envelope) -> Row:
    return {
        "status": str(RUN_TABLE.after(row["id"], row["status"], event.type, event.outcome)),
        "reason": event.reason,
        "exit_code": event.exit_code,
        "cost_micros": event.cost,
        "duration_ms": event.duration_ms,
        "log_sha256": event.log.sha256 if event.log else None,
        "log_size": event.log.size if event.log else None,
        "report_sha256": event.report.sha256 if event.report else None,
        "report_size": event.report.size if event.report else None,
        "commit": event.commit,
        "tree": event.tree or row["tree"],
        "finished_at": envelope.at,
    }


@dataclass(frozen=True, slots=True)
class RunQueries:
    """The questions that are asked about Runs."""

    views: Views

    def get(self, run: str) -> Row | None:
        return self.views.get(RUNS, run)

    def of_task(self, task: str) -> list[Row]:
        return self.views.select(Select(RUNS, {"task": task}, ("attempt",)))

    def of_change(self, change: str) -> list[Row]:
        """Oldest first."""
        return self.views.select(Select(RUNS, {"change": change}, ("started_at", "id")))


def log_of(row: Row) -> BlobRef | None:
    """Where the agent's log lies."""
    return BlobRef(sha256=row["log_sha256"], size=row["log_size"]) if row["log_sha256"] else None
