"""Folding in memory takes short cuts; what comes of it is what the pure functions say."""

from copy import deepcopy

import pytest

from domain.change.event import ChangeCreated, CompileStarted
from domain.kernel.event import Envelope
from projections import MODELS
from projections.core import Changed, Key, ReadModel, Row, Table
from projections.fold import Appended, FanOut, Fold
from tests.domain.golden.example import example
from tests.projections.logs import CHG, enveloped, made_up


def purely(model: ReadModel, log: list[tuple[int, Envelope]]) -> dict[Key, Row]:
    """The rows by `apply` alone, which is what following does."""
    rows: dict[Key, Row] = {}
    for position, envelope in log:
        before = deepcopy(rows)
        changed: Changed = model.apply(envelope, position, rows)
        assert rows == before
        for key, row in changed.items():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
    return rows


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_fold_gives_the_rows_of_the_pure_functions(model: ReadModel) -> None:
    log = made_up(61, 400)
    expected = purely(model, log)
    kept, appended = Fold(model), Appended()
    streaming = Fold(model, appended=appended)
    FanOut([kept, streaming]).feed(log)
    assert kept.rows == expected
    streamed = {model.table(name).key_of(row): row for name, rows in appended.items() for row in rows}
    assert {**streaming.rows, **streamed} == expected
    assert appended.keys() == {table.name for table in model.tables if table.append_only}
    assert not any(model.table(key[0]).append_only for key in streaming.rows)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_what_changed_after_a_point_is_noted_as_it_is_now(model: ReadModel) -> None:
    log = made_up(62, 600)
    fold = Fold(model, appended={})
    fan = FanOut([fold])
    fan.feed(log[:300])
    before = deepcopy(fold.rows)
    fold.changed = {}
    fan.feed(log[300:])
    touched = {key for key, row in fold.rows.items() if before.get(key) != row} | (before.keys() - fold.rows.keys())
    assert touched <= fold.changed.keys()
    assert all(fold.rows.get(key) == row for key, row in fold.changed.items())


def test_an_event_that_fails_leaves_the_row_as_it_was() -> None:
    notes = Table("notes", {"id": "text", "count": "bigint"}, key=("id",))
    model = ReadModel("notes", __name__, notes)
    model.creates(ChangeCreated, notes)(lambda event, envelope: {"id": envelope.stream, "count": 1})

    @model.patches(CompileStarted, table=notes, key=lambda event, envelope: envelope.stream)
    def refuses_the_second(row, event, envelope):
        return {"count": 10 // (2 - event.compile)}

    fold = Fold(model)
    events = [example(ChangeCreated), CompileStarted(compile=1), CompileStarted(compile=2), CompileStarted(compile=1)]
    FanOut([fold]).feed(enveloped(CHG, events))
    assert fold.rows == {("notes", CHG): {"id": CHG, "count": 10}}
    assert fold.failure is not None
    assert (fold.failure.position, fold.position) == (3, 2)
