"""Killed writers, a restarting database, a full disk: nothing acknowledged is lost, nothing happens twice."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from commands.ports.store import StoreFull
from infra.event_store.datastore import PoolSettings
from infra.event_store.errors import StoreUnavailable
from infra.event_store.migrate import migrate
from infra.event_store.postgres import PostgresStore
from infra.postgres import EmbeddedPostgres
from tests.infra.event_store.samples import append, handled, notes
from tests.support.own_postgres import postmaster

WRITER = """
import sys
from infra.event_store.postgres import PostgresStore
from tests.infra.event_store.samples import append, handled, notes
with PostgresStore(sys.argv[1]) as store:
    last, number = None, 0
    while True:
        fresh = notes("s", f"{number}", after=last, command_id=f"c{number}")
        store.events.commit(append(fresh, handled=(handled(f"c{number}"),)))
        print(number, flush=True)
        last, number = fresh.events[-1], number + 1
"""


def test_what_a_killed_writer_acknowledged_is_there(database_url: str) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, database_url], stdout=subprocess.PIPE, text=True)
    assert writer.stdout
    for number in range(50):
        assert writer.stdout.readline() == f"{number}\n"
    writer.kill()
    rest, _ = writer.communicate()
    acknowledged = 50 + rest.count("\n")
    with PostgresStore(database_url) as store:
        stored = store.events.read("s")
        assert acknowledged <= len(stored) <= acknowledged + 1
        assert [s.envelope.version for s in stored] == list(range(1, len(stored) + 1))
        assert all(later.envelope.previous_hash == s.hash for s, later in pairwise(stored))
        assert all(store.events.handled(f"c{number}") for number in range(len(stored)))
        store.events.commit(append(notes("s", "next", after=stored[-1])))


@pytest.fixture
def restartable(own_postgres: EmbeddedPostgres) -> Iterator[PostgresStore]:
    migrate(own_postgres.dsn)
    with PostgresStore(own_postgres.dsn, on_lost=own_postgres.ensure_running) as store:
        yield store


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_database_that_ends_in_the_middle_strands_nobody(restartable: PostgresStore, home: Path, how: int) -> None:
    commits, half = 200, threading.Event()
    store, woken = restartable, threading.Event()
    store.events.listen(woken)

    def write() -> None:
        last = None
        for number in range(commits):
            fresh = notes("s", f"{number}", after=last)
            store.events.commit(append(fresh, handled=(handled(f"c{number}"),)))
            last = fresh.events[-1]
            if number == commits // 2:
                half.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert half.wait(60)
    old = postmaster(home)
    old.send_signal(how)
    old.wait(60)
    writer.join()
    assert len(store.events.read("s")) == commits
    assert postmaster(home) != old
    # Whether the listener is back already or comes back now, those who listen wake.
    woken.clear()
    store.events.commit(append(notes("t", "1")))
    assert woken.wait(30)


def test_a_database_that_stays_away_is_an_error_after_the_patience(own_postgres: EmbeddedPostgres, home: Path) -> None:
    migrate(own_postgres.dsn)
    with PostgresStore(own_postgres.dsn, pool=PoolSettings(timeout=0.2, patience=0.5)) as store:
        store.events.commit(append(notes("s", "1")))
        server = postmaster(home)
        server.send_signal(signal.SIGINT)
        server.wait(60)
        with pytest.raises(StoreUnavailable):
            store.events.commit(append(notes("t", "1")))
        own_postgres.ensure_running()
        store.events.commit(append(notes("t", "1")))
        assert [s.envelope.id for s in store.events.log(0, 10)] == ["s:1", "t:1"]


def test_a_full_disk_is_named_and_work_goes_on_when_there_is_room(small_disk: Path, runtime: Path) -> None:
    with EmbeddedPostgres(small_disk / "home", runtime) as server:
        migrate(server.dsn)
        with PostgresStore(server.dsn, on_lost=server.ensure_running, pool=PoolSettings(patience=20)) as store:
            last = None

            def fill() -> None:
                nonlocal last
                for number in range(10_000):
                    fresh = notes("s", *(f"{number} " * 700 for _ in range(40)), after=last)
                    store.events.commit(append(fresh))
                    last = fresh.events[-1]

            with pytest.raises(StoreFull, match="full"):
                fill()
            subprocess.run(["mount", "-o", "remount,size=600m", small_disk], check=True)
            assert last
            store.events.commit(append(notes("s", "there is room", after=last)))
            assert len(store.events.read("s")) == last.envelope.version + 1
