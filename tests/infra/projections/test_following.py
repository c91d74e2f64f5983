"""Following the log gives what folding it gives, in every home, and a read model that fails stops alone."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from psycopg import Rollback

from infra.bench.synthetic import History
from infra.event_store.datastore import PoolSettings
from infra.event_store.memory import MemoryStore
from infra.event_store.postgres import PostgresStore
from infra.projections.memory import MemoryHome
from infra.projections.postgres import PostgresHome, PostgresTransaction
from infra.projections.projector import Projector, ReadModelStopped
from infra.projections.rebuild import prepare, rebuild
from infra.projections.verify import verify
from projections import MODELS
from projections.core import ReadModel
from tests.infra.projections.broken import a_tally, nosy
from tests.infra.projections.conftest import all_rows, write_history
from tests.projections.logs import folded, made_up

PLAIN = (str, int, bool, type(None))


@pytest.mark.parametrize("seed", range(4))
def test_following_in_memory_gives_the_same_rows_as_folding(seed: int) -> None:
    store = MemoryStore(lambda: 0.0)
    home = MemoryHome(MODELS)
    projector = Projector(store.events, home, MODELS, batch=1 + 7 * seed)
    for number, commit in enumerate(History(seed, projects=2, in_flight=3).commits(1_200)):
        store.events.commit(commit)
        if number % (seed + 2) == 0:
            projector.step()
    projector.catch_up()
    assert projector.failures() == {}
    log = made_up(seed, 1_200)
    for model in MODELS:
        assert all_rows(home, model) == folded(model, log)
        assert projector.position(model.name) == store.events.last_position()


@pytest.mark.parametrize("seed", [11, 12])
def test_following_rebuilding_and_memory_agree_in_postgres(store: PostgresStore, home: PostgresHome, seed: int) -> None:
    prepare(store.events, home, MODELS)
    projector = Projector(store.events, home, MODELS, batch=1 + 16 * (seed - 11))
    for end in write_history(store, seed, 400):
        if end % 3 == 0:
            projector.step()
    projector.catch_up()
    assert projector.failures() == {}
    followed = {model.name: all_rows(home, model) for model in MODELS}
    results = rebuild(store.events, home, MODELS)
    assert {result.failure for result in results} == {None}
    rebuilt = {model.name: all_rows(home, model) for model in MODELS}
    log = [(stored.position, stored.envelope) for stored in store.events.log(0, 10_000)]
    for model in MODELS:
        assert followed[model.name] == rebuilt[model.name] == folded(model, log)
        assert home.states()[model.name].position == store.events.last_position()


class Forgetful(PostgresHome):
    """Its database loses what it acknowledged, as one does that isn't synced and crashes."""

    forgets = False

    @contextmanager
    def transaction(self, models: Sequence[ReadModel]) -> Iterator[PostgresTransaction]:
        with super().transaction(models) as transaction:
            yield transaction
            if self.forgets:
                raise Rollback


def test_what_a_crash_of_the_database_took_back_is_done_again(store: PostgresStore) -> None:
    home = Forgetful(store.datastore)
    prepare(store.events, home, MODELS)
    projector = Projector(store.events, home, MODELS, batch=5)
    for end in write_history(store, 13, 120):
        home.forgets = end % 7 == 0
        projector.step()
    home.forgets = False

    projector.catch_up()

    assert projector.failures() == {}
    assert verify(store.events, home, MODELS).ok
    assert home.states()["timeline"].position == store.events.last_position()


def test_rows_hold_plain_values_of_their_columns() -> None:
    """An enum would be stored under its member's name, a tuple as a record."""
    for model in MODELS:
        for key, row in folded(model, made_up(21, 1_500)).items():
            kinds = model.table(key[0]).columns
            assert row.keys() == kinds.keys()
            for column, value in row.items():
                if kinds[column] == "timestamptz":
                    assert value.tzinfo is not None
                elif kinds[column].endswith("[]"):
                    assert type(value) is list
                    assert all(type(item) is str for item in value)
                elif not kinds[column].startswith(("jsonb", "timestamptz")):
                    assert type(value) in PLAIN, (key, column, value)
                if value is None:
                    assert kinds[column].endswith(" null"), (key, column)


def test_two_followers_at_once_apply_each_event_once(store: PostgresStore, home: PostgresHome) -> None:
    prepare(store.events, home, MODELS)
    ends = list(write_history(store, 31, 300))
    projectors = [Projector(store.events, home, MODELS, batch=5) for _ in range(3)]
    threads = [threading.Thread(target=projector.catch_up) for projector in projectors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {projector.position("tasks") for projector in projectors} == {ends[-1]}
    log = [(stored.position, stored.envelope) for stored in store.events.log(0, 10_000)]
    for model in MODELS:
        assert all_rows(home, model) == folded(model, log)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (a_tally(fails=True), "ZeroDivisionError"),
        (a_tally(value=2**63), "NumericValueOutOfRange"),
        (a_tally(note="\0"), "DataError"),
        (a_tally(note="\ud800"), "UnicodeEncodeError"),
    ],
    ids=["raises", "out-of-range", "nul", "surrogate"],
)
def test_a_model_that_fails_stops_alone_before_the_event(
    store: PostgresStore, home: PostgresHome, broken: ReadModel, reason: str
) -> None:
    models = (*MODELS, broken)
    prepare(store.events, home, models)
    end = list(write_history(store, 41, 200))[-1]
    projector = Projector(store.events, home, models)
    projector.catch_up()
    (name, failure), *others = projector.failures().items()
    assert (name, others) == ("tally", [])
    compiled = next(s for s in store.events.log(0, 1_000) if s.envelope.type == "change.compiled")
    assert (failure.position, failure.event) == (compiled.position, compiled.envelope.id)
    assert reason in failure.reason
    assert projector.position("tally") < compiled.position
    assert all(projector.position(model.name) == end for model in MODELS)
    before = [s for s in store.events.log(0, compiled.position - 1) if s.position < compiled.position]
    created = {s.envelope.stream for s in before if s.envelope.type == "change.created"}
    assert {row["change"] for row in all_rows(home, broken).values()} == created
    with pytest.raises(ReadModelStopped, match=f"tally stopped at {failure.position}"):
        projector.wait_until(end, ("tally",), timeout=60)
    assert projector.wait_until(end, ("tasks",), timeout=0)


def test_the_next_process_sees_the_failure_and_a_rebuild_ends_it(store: PostgresStore, home: PostgresHome) -> None:
    broken = a_tally(fails=True)
    prepare(store.events, home, [broken])
    list(write_history(store, 42, 150))
    Projector(store.events, home, [broken]).catch_up()
    again = Projector(store.events, home, [broken])
    assert again.failures().keys() == {"tally"}
    assert again.step() is False
    (result,) = rebuild(store.events, home, [broken])
    assert result.failure is not None
    sound = a_tally()
    (result,) = rebuild(store.events, home, [sound])
    assert result.failure is None
    again.refresh()
    assert again.failures() == {}
    assert again.position("tally") == store.events.last_position()


def test_a_model_may_not_read_rows_that_it_does_not_name() -> None:
    store = MemoryStore(lambda: 0.0)
    model = nosy()
    for commit in History(1).commits(60):
        store.events.commit(commit)
    projector = Projector(store.events, MemoryHome([model]), [model])
    projector.catch_up()
    assert "UndeclaredRow" in projector.failures()["tally"].reason


def test_a_process_leaves_models_of_other_code_alone(store: PostgresStore, home: PostgresHome) -> None:
    prepare(store.events, home, [a_tally()])
    list(write_history(store, 43, 50))
    with store.transaction() as cursor:
        cursor.execute("UPDATE views.tracking SET definition = 'newer'")
    projector = Projector(store.events, home, [a_tally()])
    assert projector.step() is False
    assert "another version" in projector.failures()["tally"].reason
    assert home.states()["tally"].position == 0


def test_who_waits_is_told_when_another_thread_has_come_far_enough(store: PostgresStore, home: PostgresHome) -> None:
    prepare(store.events, home, MODELS)
    *_, last = write_history(store, 51, 120)
    projector = Projector(store.events, home, MODELS, batch=20)
    stepping = threading.Thread(target=projector.catch_up)
    stepping.start()
    assert projector.wait_until(last, [model.name for model in MODELS], timeout=60)
    stepping.join()
    assert projector.step() is False


def test_another_process_can_read_its_own_writes(database_url: str, store: PostgresStore, home: PostgresHome) -> None:
    prepare(store.events, home, MODELS)
    with PostgresStore(database_url, pool=PoolSettings(max_size=2)) as other:
        end = list(write_history(store, 52, 80))[-1]
        projector = Projector(other.events, PostgresHome(other.datastore), MODELS)
        projector.catch_up(end + 1_000)
        assert projector.position("timeline") == end
