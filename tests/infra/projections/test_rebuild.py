"""Rebuilding beside the live tables: nothing is lost, nothing goes back, a kill harms nothing."""

import subprocess
import sys
import threading

import psycopg
import pytest

from domain.change.event import ChangeCreated
from infra.event_store.datastore import PoolSettings
from infra.event_store.postgres import PostgresStore
from infra.projections.fingerprint import fingerprint
from infra.projections.postgres import PostgresHome
from infra.projections.projector import Projector
from infra.projections.rebuild import prepare, rebuild
from infra.projections.verify import verify
from projections import MODELS
from projections.core import ReadModel, Table
from tests.infra.projections.broken import a_tally
from tests.infra.projections.conftest import all_rows, write_history


def schemas(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'views%'").fetchall()
    return {row[0] for row in rows}


def test_the_first_start_makes_the_tables_and_the_second_does_nothing(
    store: PostgresStore, home: PostgresHome, database_url: str
) -> None:
    assert len(prepare(store.events, home, MODELS)) == len(MODELS)
    assert prepare(store.events, home, MODELS) == []
    assert schemas(database_url) == {"views"}
    assert all(all_rows(home, model) == {} for model in MODELS)


def test_starting_in_several_processes_at_once_makes_them_once(store: PostgresStore, home: PostgresHome) -> None:
    made: list[int] = []
    threads = [threading.Thread(target=lambda: made.append(len(prepare(store.events, home, MODELS)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 0, len(MODELS)]


def test_another_definition_is_rebuilt_at_the_start(store: PostgresStore, home: PostgresHome) -> None:
    prepare(store.events, home, [a_tally()])
    list(write_history(store, 1, 100))
    wider = Table("tally", {"change": "text", "extra": "text null"}, key=("change",))
    changed = ReadModel("tally", __name__, wider)
    changed.creates(ChangeCreated, wider)(lambda event, envelope: {"change": envelope.stream, "extra": "more"})
    assert fingerprint(changed) != fingerprint(a_tally())
    (result,) = prepare(store.events, home, [changed])
    assert result.position == store.events.last_position()
    rows = all_rows(home, changed)
    assert len(rows) == result.rows > 0
    assert {row["extra"] for row in rows.values()} == {"more"}


def test_progress_reaches_the_end_of_the_log(store: PostgresStore, home: PostgresHome) -> None:
    end = list(write_history(store, 2, 300))[-1]
    told: list[tuple[int, int]] = []
    rebuild(store.events, home, MODELS, lambda done, total, rate: told.append((done, total)))
    assert told[-1] == (end, end)
    assert told == sorted(told)


def test_a_rebuild_needs_two_connections(database_url: str, store: PostgresStore, home: PostgresHome) -> None:
    *_, last = write_history(store, 7, 60)
    with PostgresStore(database_url, pool=PoolSettings(max_size=2)) as small:
        results = rebuild(small.events, PostgresHome(small.datastore), MODELS)
    assert {result.position for result in results} == {last}


def test_writes_during_a_rebuild_are_not_lost(store: PostgresStore, home: PostgresHome) -> None:
    history = write_history(store, 3, 500)
    for end in history:
        if end > 200:
            break
    prepare(store.events, home, MODELS)
    projector = Projector(store.events, home, MODELS, batch=50)
    projector.catch_up()
    moved: list[int] = []

    def meanwhile(done: int, total: int, rate: float) -> None:
        # Between the rebuild's first look at the log's end and its swap: writes, and a follower that takes them in.
        for _ in range(15):
            next(history)
        projector.catch_up()
        moved.append(projector.position("tasks"))

    results = rebuild(store.events, home, MODELS, meanwhile)
    assert moved
    assert min(result.position for result in results) >= moved[-1] > end
    for _ in history:
        projector.step()
    projector.refresh()
    projector.catch_up()
    assert verify(store.events, home, MODELS).ok
    assert projector.position("tasks") == store.events.last_position()


@pytest.mark.parametrize(
    "broken",
    [a_tally(fails=True), a_tally(value=2**63), a_tally(value=2**64), a_tally(note="\0"), a_tally(note="\ud800")],
    ids=["raises", "out-of-range", "far-out-of-range", "nul", "surrogate"],
)
def test_a_model_that_fails_keeps_its_live_tables_and_the_others_are_swapped(
    store: PostgresStore, home: PostgresHome, broken: ReadModel
) -> None:
    prepare(store.events, home, [*MODELS, a_tally()])
    list(write_history(store, 4, 150))
    Projector(store.events, home, [*MODELS, a_tally()]).catch_up()
    before = all_rows(home, a_tally())
    results = {r.name: r for r in rebuild(store.events, home, [*MODELS, broken])}
    assert results["tally"].failure is not None
    assert all(results[model.name].failure is None for model in MODELS)
    assert all_rows(home, a_tally()) == before
    assert verify(store.events, home, MODELS).ok


def test_a_new_model_that_fails_is_there_up_to_the_event(store: PostgresStore, home: PostgresHome) -> None:
    list(write_history(store, 5, 150))
    broken = a_tally(fails=True)
    (result,) = prepare(store.events, home, [broken])
    assert result.failure is not None
    assert result.failure.event
    assert home.states()["tally"].failure == result.failure
    assert len(all_rows(home, broken)) == result.rows > 0


KILLED = """
import os, signal, sys
from infra.event_store.datastore import PoolSettings
from infra.event_store.postgres import PostgresStore
from infra.projections import rebuild as module
from infra.projections.postgres import PostgresHome
from projections import MODELS

where = sys.argv[2]
original = getattr(module._Rebuild, where)

def die(self, *arguments):
    if where != "_create":
        original(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(module._Rebuild, where, die)
store = PostgresStore(sys.argv[1])
module.rebuild(store.events, PostgresHome(store.datastore), MODELS)
"""


@pytest.mark.parametrize("where", ["_create", "_fill", "_catch_up", "_lock_live", "_swap", "_finish"])
def test_a_kill_in_the_middle_leaves_the_live_tables_and_the_next_rebuild_works(
    store: PostgresStore, home: PostgresHome, database_url: str, where: str
) -> None:
    prepare(store.events, home, MODELS)
    history = write_history(store, 6, 200)
    for end in history:
        if end > 150:
            break
    projector = Projector(store.events, home, MODELS)
    projector.catch_up()
    live = {model.name: all_rows(home, model) for model in MODELS}
    done = subprocess.run([sys.executable, "-c", KILLED, database_url, where], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert {model.name: all_rows(home, model) for model in MODELS} == live
    assert schemas(database_url) == {"views"}
    list(history)
    projector.catch_up()
    assert {r.failure for r in rebuild(store.events, home, MODELS)} == {None}
    assert verify(store.events, home, MODELS).ok
