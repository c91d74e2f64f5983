import pytest

from domain.change.event import ChangeCancelled, ChangeCreated, CompileStarted, TaskReady
from projections import MODELS
from projections.core import MissingRow, ReadModel, Table, check_names
from projections.query import Select
from tests.domain.golden import classes
from tests.domain.golden.example import example, example_envelope
from tests.projections.logs import CHG, enveloped

NOTES = Table("notes", {"id": "text", "count": "bigint", "note": "text null"}, key=("id",))


def a_model() -> ReadModel:
    model = ReadModel("notes", __name__, NOTES)

    @model.creates(ChangeCreated, NOTES)
    def created(event, envelope):
        return {"id": envelope.stream, "count": 1}

    @model.patches(CompileStarted, table=NOTES, key=lambda event, envelope: envelope.stream)
    def counted(row, event, envelope):
        return {"count": row["count"] + 1}

    return model


def test_an_event_makes_and_changes_its_row_and_leaves_the_old_row_alone() -> None:
    model = a_model()
    log = enveloped(CHG, [example(ChangeCreated), CompileStarted(compile=1)])
    first = model.apply(log[0][1], 1, {})
    assert first == {("notes", CHG): {"id": CHG, "count": 1, "note": None}}
    assert model.keys(log[1][1]) == (("notes", CHG),)
    second = model.apply(log[1][1], 2, {k: r for k, r in first.items() if r})
    assert second == {("notes", CHG): {"id": CHG, "count": 2, "note": None}}
    assert first == {("notes", CHG): {"id": CHG, "count": 1, "note": None}}


def test_what_a_model_does_not_handle_touches_nothing() -> None:
    model = a_model()
    ((position, envelope),) = enveloped(CHG, [ChangeCancelled()])
    assert model.keys(envelope) == ()
    assert model.apply(envelope, position, {}) == {}


def test_a_change_of_a_row_that_never_began_is_refused() -> None:
    ((position, envelope),) = enveloped(CHG, [CompileStarted(compile=1)])
    with pytest.raises(MissingRow, match=f"no row notes {CHG}"):
        a_model().apply(envelope, position, {})


def test_an_event_has_one_handler() -> None:
    model = a_model()
    with pytest.raises(TypeError, match="twice"):
        model.creates(ChangeCreated, NOTES)(lambda event, envelope: {})


def test_names_are_unique() -> None:
    check_names(MODELS)
    with pytest.raises(ValueError, match="notes"):
        check_names([a_model(), a_model()])


def test_a_column_that_would_cut_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="integer"):
        Table("notes", {"id": "text", "count": "integer null"}, key=("id",))


def test_a_query_names_columns_that_exist() -> None:
    with pytest.raises(ValueError, match="no column status"):
        Select(NOTES, {"status": "open"}, ("id",))


@pytest.mark.parametrize("cls", [pytest.param(cls, id=name) for name, cls in sorted(classes().items())])
def test_every_event_is_handled_by_the_timeline_and_keys_name_tables_of_their_model(cls) -> None:
    envelope = example_envelope(cls)
    assert any(envelope.type in model.handlers for model in MODELS if model.name == "timeline")
    for model in MODELS:
        names = {table.name: table for table in model.tables}
        for key in model.keys(envelope):
            assert len(key) == 1 + len(names[key[0]].key)


def test_a_ready_task_touches_only_its_task_and_its_change() -> None:
    envelope = example_envelope(TaskReady)
    keys = {key for model in MODELS for key in model.keys(envelope)}
    assert keys == {("tasks", "task"), ("changes", envelope.stream)}
