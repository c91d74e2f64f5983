"""What Changes, Projects and months cost. One row for each Run and for each Change's planning; sums are queries."""

from dataclasses import dataclass
from typing import Final

from domain.change.event import ChangeCompiled, ChangeCreated
from domain.kernel.event import Envelope
from domain.run.event import RunFinished, RunStarted
from projections.core import ReadModel, Row, Table, stream
from projections.query import Totals, Views

COSTS: Final = Table(
    "costs",
    {
        "source": "text",
        "kind": "text",
        "project": "text",
        "change": "text",
        "month": "text",
        "known_micros": "bigint",
        "unknown": "bigint",
    },
    key=("source",),
    indexes=(("project", "month"), ("change",)),
)
"""kind: `planning` or `run`; month: `YYYY-MM` in UTC; unknown: how many of its costs nobody knows."""

MODEL: Final = ReadModel("costs", __name__, COSTS)


def _month(envelope: Envelope) -> str:
    at = envelope.at
    return f"{at.year:04}-{at.month:02}"


def _begun(kind: str, project: str, change: str, envelope: Envelope) -> Row:
    return {
        "source": envelope.stream,
        "kind": kind,
        "project": project,
        "change": change,
        "month": _month(envelope),
        "known_micros": 0,
        "unknown": 0,
    }


def _charged(row: Row, cost: int | None, envelope: Envelope) -> Row:
    if cost is None:
        return {"month": _month(envelope), "unknown": row["unknown"] + 1}
    return {"month": _month(envelope), "known_micros": row["known_micros"] + cost}


@MODEL.creates(ChangeCreated, COSTS)
def _change_created(event: ChangeCreated, envelope: Envelope) -> Row:
    return _begun("planning", event.project, envelope.stream, envelope)


@MODEL.patches(ChangeCompiled, table=COSTS, key=stream)
def _compiled(row: Row, event: ChangeCompiled, envelope: Envelope) -> Row:
    return _charged(row, event.cost, envelope)


@MODEL.creates(RunStarted, COSTS)
def _run_started(event: RunStarted, envelope: Envelope) -> Row:
    begun = _begun("run", event.project, event.change, envelope)
    # What an agent costs that holds no reservation is unknown from its start on, also if nobody ever hears of its end.
    return {**begun, "unknown": 1 if event.reservation is None else 0}


@MODEL.patches(RunFinished, table=COSTS, key=stream)
def _run_finished(row: Row, event: RunFinished, envelope: Envelope) -> Row:
    return _charged({**row, "unknown": 0}, event.cost, envelope) | ({"unknown": 0} if event.cost is not None else {})


@dataclass(frozen=True, slots=True)
class Cost:
    """known: micro-dollars of all whose cost is known; unknown: how many others there are."""

    known: int
    unknown: int

    @property
    def total(self) -> int | None:
        """Micro-dollars; None where a part is unknown, never 0 for it."""
        return None if self.unknown else self.known


@dataclass(frozen=True, slots=True)
class CostQueries:
    """The questions that are asked about costs."""

    views: Views

    def of_change(self, change: str) -> Cost:
        return next(iter(self._sums({"change": change}, "change").values()), Cost(0, 0))

    def by_month(self, project: str) -> dict[str, Cost]:
        """Month (`YYYY-MM`) → what the Project cost in it."""
        return self._sums({"project": project}, "month")

    def by_change(self, project: str) -> dict[str, Cost]:
        return self._sums({"project": project}, "change")

    def by_project(self, month: str) -> dict[str, Cost]:
        return self._sums({"month": month}, "project")

    def _sums(self, where: dict[str, str], group: str) -> dict[str, Cost]:
        rows = self.views.totals(Totals(COSTS, where, group, ("known_micros", "unknown")))
        return {row[group]: Cost(int(row["known_micros"]), int(row["unknown"])) for row in rows}
