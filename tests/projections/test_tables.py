"""Every arrow of every transition table moves the row of its read model there."""

from typing import Any

import pytest

from domain.change import event as e
from domain.change.status import CANDIDATE_TABLE, CHANGE_TABLE, TASK_TABLE
from domain.kernel.event import Event
from domain.kernel.table import Transition, TransitionTable
from domain.release.event import ReleaseFailed
from domain.release.status import RELEASE_TABLE
from domain.run.status import RUN_TABLE
from projections import candidate, change, release, run, task
from projections.core import ReadModel, Row, Table
from tests.domain.golden import classes
from tests.domain.golden.example import example, example_envelope
from tests.projections.logs import AT

PLAIN: dict[str, Any] = {"text": "x", "bigint": 1, "boolean": False, "timestamptz": AT, "jsonb": []}


def any_row(table: Table) -> Row:
    """A row with something in each column that can't be None."""
    return {
        name: None if kind.endswith(" null") else [] if kind.endswith("[]") else PLAIN[kind]
        for name, kind in table.columns.items()
    }


def event_to(arrow: Transition) -> Event:
    """The event of an arrow, with its target where it carries one."""
    event = example(classes()[arrow.event])
    if isinstance(event, ReleaseFailed) and arrow.source is not None:
        event = event.model_copy(update={"released": None})
    for field in ("target", "status", "outcome"):
        if field in type(event).model_fields and not isinstance(event, e.ChangeCompleted) and field != "target":
            return event.model_copy(update={field: type(getattr(event, field))(arrow.target)})
        if field == "target" and isinstance(event, e.BudgetRaised | e.PromotionRefused):
            return event.model_copy(update={field: type(event.target)(arrow.target)})
    return event


def cases() -> list[Any]:
    wanted: list[tuple[TransitionTable, ReadModel, Table]] = [
        (CHANGE_TABLE, change.MODEL, change.CHANGES),
        (TASK_TABLE, task.MODEL, task.TASKS),
        (CANDIDATE_TABLE, candidate.MODEL, candidate.CANDIDATES),
        (RUN_TABLE, run.MODEL, run.RUNS),
        (RELEASE_TABLE, release.MODEL, release.RELEASES),
    ]
    return [
        pytest.param(model, table, arrow, id=f"{table.name}-{arrow.source}-{arrow.event}-{arrow.target}")
        for transitions, model, table in wanted
        for arrow in transitions.transitions
    ]


@pytest.mark.parametrize(("model", "table", "arrow"), cases())
def test_each_arrow_moves_the_row(model: ReadModel, table: Table, arrow: Transition) -> None:
    event = event_to(arrow)
    envelope = example_envelope(type(event)).model_copy(update={"event": event})
    rows = {}
    if arrow.source is not None:
        (key,) = (key for key in model.keys(envelope) if key[0] == table.name)
        rows[key] = {**any_row(table), "id": key[1], "status": arrow.source}
    changed = model.apply(envelope, 1, rows)
    ((key, row),) = ((key, row) for key, row in changed.items() if key[0] == table.name)
    assert row is not None
    assert row["status"] == arrow.target
    assert type(row["status"]) is str
    assert row.keys() == table.columns.keys()
