"""A comparison with the log finds whatever differs."""

import pytest

from infra.event_store.postgres import PostgresStore
from infra.projections.postgres import PostgresHome
from infra.projections.projector import Projector
from infra.projections.rebuild import prepare
from infra.projections.verify import MAX_DIFFERENCES, ModelReport, verify
from projections import MODELS
from tests.infra.projections.broken import a_tally
from tests.infra.projections.conftest import write_history


@pytest.fixture
def followed(store: PostgresStore, home: PostgresHome) -> Projector:
    prepare(store.events, home, MODELS)
    list(write_history(store, 7, 250))
    projector = Projector(store.events, home, MODELS)
    projector.catch_up()
    return projector


def report_of(store: PostgresStore, home: PostgresHome, name: str) -> ModelReport:
    report = verify(store.events, home, MODELS)
    assert {model.name for model in report.models if not model.ok} <= {name}
    return next(model for model in report.models if model.name == name)


def tamper(store: PostgresStore, statement: str) -> None:
    with store.transaction() as cursor:
        cursor.execute(statement)


@pytest.mark.usefixtures("followed")
def test_nothing_differs(store: PostgresStore, home: PostgresHome) -> None:
    report = verify(store.events, home, MODELS)
    assert report.ok
    assert report.position == store.events.last_position()
    assert all(model.rows > 0 for model in report.models if model.name != "releases")


@pytest.mark.usefixtures("followed")
def test_a_tampered_row_is_found(store: PostgresStore, home: PostgresHome) -> None:
    tamper(store, "UPDATE views.tasks SET status = 'done' WHERE id = (SELECT min(id) FROM views.tasks)")
    report = report_of(store, home, "tasks")
    (difference,) = report.differences
    assert report.differing == 1
    assert difference.live == {"status": "done"}
    assert difference.expected is not None
    assert str(difference).endswith(f"status is 'done', not '{difference.expected['status']}'")


@pytest.mark.usefixtures("followed")
def test_a_missing_row_is_found(store: PostgresStore, home: PostgresHome) -> None:
    tamper(store, "DELETE FROM views.evidence WHERE position = (SELECT min(position) FROM views.evidence)")
    report = report_of(store, home, "candidates")
    assert report.differing == 3
    assert {difference.live for difference in report.differences} == {None}
    assert str(report.differences[0]).endswith("the row is missing")


@pytest.mark.usefixtures("followed")
def test_an_extra_row_is_found(store: PostgresStore, home: PostgresHome) -> None:
    tamper(store, "INSERT INTO views.members SELECT project, 'usr_eve', 'owner', since FROM views.members LIMIT 1")
    (difference,) = report_of(store, home, "projects").differences
    assert difference.expected is None
    assert "usr_eve" in str(difference)


@pytest.mark.usefixtures("followed")
def test_differences_are_all_counted_and_some_reported(store: PostgresStore, home: PostgresHome) -> None:
    tamper(store, "UPDATE views.timeline SET sentence = 'nothing happened'")
    report = report_of(store, home, "timeline")
    assert report.differing == report.rows > MAX_DIFFERENCES
    assert len(report.differences) == MAX_DIFFERENCES


def test_rows_behind_the_log_are_compared_at_their_own_position(
    store: PostgresStore, home: PostgresHome, followed: Projector
) -> None:
    position = followed.position("tasks")
    tail = [s for s in store.events.log(0, 1_000) if s.envelope.stream.startswith("chg_")][-1]
    tamper(store, f"UPDATE views.tracking SET position = {tail.position - 1} WHERE name = 'timeline'")
    report = report_of(store, home, "timeline")
    assert report.position == tail.position - 1
    assert report.differing == position - tail.position + 1


@pytest.mark.usefixtures("followed")
def test_a_position_beyond_the_log_is_told(store: PostgresStore, home: PostgresHome) -> None:
    tamper(store, "UPDATE views.tracking SET position = position + 1000 WHERE name = 'runs'")
    assert "the log ends at" in report_of(store, home, "runs").note


def test_what_was_never_built_or_by_other_code_is_told(store: PostgresStore, home: PostgresHome) -> None:
    assert verify(store.events, home, [a_tally()]).models[0].note == "it was never built"
    prepare(store.events, home, [a_tally()])
    tamper(store, "UPDATE views.tracking SET definition = 'other'")
    report = verify(store.events, home, [a_tally()])
    assert "another version" in report.models[0].note
    assert not report.ok


def test_a_model_that_stopped_is_told(store: PostgresStore, home: PostgresHome) -> None:
    broken = a_tally(fails=True)
    prepare(store.events, home, [broken])
    list(write_history(store, 8, 100))
    Projector(store.events, home, [broken]).catch_up()
    (model,) = verify(store.events, home, [broken]).models
    assert model.failure is not None
    assert (model.differing, model.ok) == (0, False)
