"""Candidates with what was composed, what judged them, and who approved."""

from dataclasses import dataclass
from typing import Any, Final

from domain.change import event as e
from domain.change.status import CANDIDATE_TABLE
from domain.check import Evidence
from domain.kernel.event import Envelope, Event
from projections.core import Changed, ReadModel, Row, Rows, Table
from projections.query import Select, Views

CANDIDATES: Final = Table(
    "candidates",
    {
        "id": "text",
        "change": "text",
        "status": "text",
        "ordinal": "bigint",
        "base_generation": "bigint",
        "base_commit": "text",
        "changesets": "text[]",
        "recomposes": "text null",
        "recompositions": "bigint",
        "commit": "text null",
        "tree": "text null",
        "plan": "jsonb",
        "reason": "text null",
        "detail": "text null",
        "conflicts": "jsonb",
        "selected": "boolean",
        "approval": "text",
        "gate_trigger": "text null",
        "gate_reason": "text null",
        "gate_files": "text[]",
        "approved_by": "text null",
        "approved_in_advance": "boolean",
        "promoted_generation": "bigint null",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(("change", "ordinal"),),
)
"""approval: `none`, `requested` or `granted`."""

EVIDENCE: Final = Table(
    "evidence",
    {
        "position": "bigint",
        "ordinal": "bigint",
        "change": "text",
        "candidate": "text null",
        "check_name": "text",
        "variant": "text",
        "passed": "boolean",
        "exit_code": "bigint null",
        "killed": "text null",
        "duration_ms": "bigint",
        "output_sha256": "text",
        "output_size": "bigint",
        "sandboxed": "boolean",
        "at": "timestamptz",
    },
    key=("position", "ordinal"),
    indexes=(("candidate",), ("change",)),
    append_only=True,
)
"""Each run of a check; `candidate` is None for the checks of the base while compiling."""

MODEL: Final = ReadModel("candidates", __name__, CANDIDATES, EVIDENCE)


def _candidate(event: Any, envelope: Envelope) -> str:
    identifier: str = event.candidate
    return identifier


def _moved(row: Row, event: Event) -> Row:
    return {"status": str(CANDIDATE_TABLE.after(row["id"], row["status"], event.type))}


@MODEL.creates(e.CandidateCreated, CANDIDATES)
def _created(event: e.CandidateCreated, envelope: Envelope) -> Row:
    return {
        "id": event.candidate,
        "change": envelope.stream,
        "status": str(CANDIDATE_TABLE.after(event.candidate, None, event.type)),
        "ordinal": envelope.version,
        "base_generation": event.base_generation,
        "base_commit": event.base_commit,
        "changesets": list(event.changesets),
        "recomposes": event.recomposes,
        "recompositions": event.recompositions,
        "plan": [],
        "conflicts": [],
        "selected": False,
        "approval": "none",
        "gate_files": [],
        "approved_in_advance": False,
        "created_at": envelope.at,
        "updated_at": envelope.at,
    }


@MODEL.patches(e.CandidateComposed, table=CANDIDATES, key=_candidate)
def _composed(row: Row, event: e.CandidateComposed, envelope: Envelope) -> Row:
    plan = [{"check": p.check, "variant": p.variant.value, "overlay": list(p.overlay)} for p in event.plan]
    return {**_moved(row, event), "commit": event.commit, "tree": event.tree, "plan": plan}


@MODEL.patches(e.CandidateVerified, e.CandidateStale, table=CANDIDATES, key=_candidate)
def _only_moved(row: Row, event: Event, envelope: Envelope) -> Row:
    return _moved(row, event)


@MODEL.patches(e.CandidateRejected, table=CANDIDATES, key=_candidate)
def _rejected(row: Row, event: e.CandidateRejected, envelope: Envelope) -> Row:
    conflicts = [{"task": conflict.task, "files": list(conflict.files)} for conflict in event.conflicts]
    why = {"reason": event.reason.value, "detail": event.detail, "conflicts": conflicts}
    return {**_moved(row, event), **why}


@MODEL.patches(e.CandidateSelected, table=CANDIDATES, key=_candidate)
def _selected(row: Row, event: e.CandidateSelected, envelope: Envelope) -> Row:
    return {"selected": True}


@MODEL.patches(e.ApprovalRequested, table=CANDIDATES, key=_candidate)
def _approval_requested(row: Row, event: e.ApprovalRequested, envelope: Envelope) -> Row:
    return {
        "approval": row["approval"] if row["approval"] == "granted" else "requested",
        "gate_trigger": event.trigger,
        "gate_reason": event.reason,
        "gate_files": list(event.files),
    }


@MODEL.patches(e.ApprovalGranted, table=CANDIDATES, key=_candidate)
def _approved(row: Row, event: e.ApprovalGranted, envelope: Envelope) -> Row:
    return {"approval": "granted", "approved_by": envelope.actor, "approved_in_advance": event.in_advance}


@MODEL.patches(e.CandidatePromoted, table=CANDIDATES, key=_candidate)
def _promoted(row: Row, event: e.CandidatePromoted, envelope: Envelope) -> Row:
    return {**_moved(row, event), "promoted_generation": event.generation}


@MODEL.on(e.EvidenceRecorded, keys=lambda event, envelope: ())
def _evidence(event: e.EvidenceRecorded, envelope: Envelope, position: int, rows: Rows) -> Changed:
    return _evidence_rows(envelope, position, event.candidate, (event.evidence,))


@MODEL.on(e.BaseVerified, keys=lambda event, envelope: ())
def _base_evidence(event: e.BaseVerified, envelope: Envelope, position: int, rows: Rows) -> Changed:
    return _evidence_rows(envelope, position, None, event.evidence)


def _evidence_rows(envelope: Envelope, position: int, candidate: str | None, runs: tuple[Evidence, ...]) -> Changed:
    return {
        (EVIDENCE.name, position, ordinal): {
            "position": position,
            "ordinal": ordinal,
            "change": envelope.stream,
            "candidate": candidate,
            "check_name": run.check,
            "variant": run.variant.value,
            "passed": run.passed,
            "exit_code": run.exit_code,
            "killed": run.killed,
            "duration_ms": run.duration_ms,
            "output_sha256": run.output.sha256,
            "output_size": run.output.size,
            "sandboxed": run.sandboxed,
            "at": envelope.at,
        }
        for ordinal, run in enumerate(runs)
    }


@dataclass(frozen=True, slots=True)
class CandidateQueries:
    """The questions that are asked about Candidates."""

    views: Views

    def get(self, candidate: str) -> Row | None:
        return self.views.get(CANDIDATES, candidate)

    def of_change(self, change: str) -> list[Row]:
        """In the order of their creation."""
        return self.views.select(Select(CANDIDATES, {"change": change}, ("ordinal",)))

    def evidence(self, candidate: str) -> list[Row]:
        """Every run of a check, oldest first."""
        return self.views.select(Select(EVIDENCE, {"candidate": candidate}, ("position", "ordinal")))

    def base_evidence(self, change: str) -> list[Row]:
        """The runs of the checks on the base, before any agent."""
        return self.views.select(Select(EVIDENCE, {"change": change, "candidate": None}, ("position", "ordinal")))
