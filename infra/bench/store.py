"""Measures of the store on a real PostgreSQL: appends a second against raw INSERTs, and decoded events a second."""

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final
from uuid import uuid4

import psutil
import psycopg

from commands.ports.store import Commit, Handled, Handling, Sealed, StreamAppend
from domain.kernel.event import GENESIS_HASH, Command, Event, seal
from infra.event_store.postgres import PostgresStore

RUNS: Final = 5
APPENDS: Final = 500
LOG_EVENTS: Final = 50_000
BATCH: Final = 1_000
PAGE: Final = 5_000


class BenchNoted(Event):
    """An event of the usual size (about 500 stored bytes)."""

    type: ClassVar[str] = "bench.noted"

    task: str
    run: str
    summary: str
    files: tuple[str, ...]
    cost_micros: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """Medians over `runs` runs, and the machine they were taken on.

    appends_per_second: one event with its handled command a commit, one writer, fsync on. raw_inserts_per_second: the
    same bytes by a prepared INSERT in its own transaction, taken in turn with the appends. decoded_events_per_second:
    reading the whole log in pages, decoded and hashed.
    """

    appends_per_second: float
    raw_inserts_per_second: float
    appends_of_raw: float
    decoded_events_per_second: float
    stored_bytes: int
    runs: int
    cpus: int
    memory_gib: float


def measure(dsn: str, *, runs: int = RUNS, appends: int = APPENDS, log_events: int = LOG_EVENTS) -> StoreFigures:
    """Measure on the migrated database at `dsn`, which is filled with events of `bench.noted`: give it an own one."""
    with PostgresStore(dsn) as store, psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute(
            "CREATE TABLE IF NOT EXISTS bench_raw (id text, version bigint, state bytea, PRIMARY KEY (id, version))"
        )
        _append_singly(store, 20)
        _insert_singly(raw, 20)
        own, theirs = [], []
        for _ in range(runs):
            own.append(_rate(appends, lambda: _append_singly(store, appends)))
            theirs.append(_rate(appends, lambda: _insert_singly(raw, appends)))
        _fill(store, log_events)
        count = len(_positions(store))
        decoded = [_rate(count, lambda: _read_all(store)) for _ in range(runs)]
    append_rate, raw_rate = statistics.median(own), statistics.median(theirs)
    return StoreFigures(
        appends_per_second=round(append_rate, 1),
        raw_inserts_per_second=round(raw_rate, 1),
        appends_of_raw=round(append_rate / raw_rate, 3),
        decoded_events_per_second=round(statistics.median(decoded), 1),
        stored_bytes=len(_sealed("s", 1, GENESIS_HASH).stored),
        runs=runs,
        cpus=os.cpu_count() or 0,
        memory_gib=round(psutil.virtual_memory().total / 1024**3, 1),
    )


def report(figures: StoreFigures) -> dict[str, float]:
    """The figures as JSON takes them."""
    return asdict(figures)


def _rate(count: int, work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return count / (time.perf_counter() - begun)


def _sealed(stream: str, version: int, previous: str) -> Sealed:
    command = Command(
        command_id=f"{stream}/{version}",
        actor="system:bench",
        at=datetime.now(UTC),
        causation="chg_0:1",
        correlation="chg_0",
    )
    event = BenchNoted(
        task="tsk_0a1b2c3d-0000-4000-8000-000000000000_t1",
        run="run_0a1b2c3d-0000-4000-8000-000000000000_t1_1",
        summary="renders the invoice total with the currency of the customer",
        files=("src/invoice.py", "tests/test_invoice.py"),
        cost_micros=1_250_000,
    )
    return Sealed(*seal(stream, version, previous, event, command, run=event.run))


def _append_singly(store: PostgresStore, count: int) -> None:
    stream, previous = f"bench_{uuid4()}", GENESIS_HASH
    for version in range(1, count + 1):
        sealed = _sealed(stream, version, previous)
        envelope = sealed.envelope
        handled = Handled(envelope.command_id, "bench.note", envelope.actor, envelope.at, Handling.DONE)
        store.events.commit(Commit((StreamAppend(stream, version - 1, (sealed,)),), (handled,)))
        previous = sealed.hash


def _insert_singly(raw: psycopg.Connection[tuple[object, ...]], count: int) -> None:
    stream, previous = f"bench_{uuid4()}", GENESIS_HASH
    for version in range(1, count + 1):
        sealed = _sealed(stream, version, previous)
        raw.execute("INSERT INTO bench_raw VALUES (%s, %s, %b)", (stream, version, sealed.stored), prepare=True)
        previous = sealed.hash


def _fill(store: PostgresStore, count: int) -> None:
    for first in range(0, count, BATCH):
        stream, previous, batch = f"bench_{uuid4()}", GENESIS_HASH, []
        for version in range(1, min(BATCH, count - first) + 1):
            batch.append(_sealed(stream, version, previous))
            previous = batch[-1].hash
        store.events.commit(Commit((StreamAppend(stream, 0, tuple(batch)),)))


def _read_all(store: PostgresStore) -> None:
    after = 0
    while page := store.events.log(after, PAGE):
        after = page[-1].position


def _positions(store: PostgresStore) -> list[int]:
    positions: list[int] = []
    while page := store.events.log(positions[-1] if positions else 0, PAGE):
        positions += [stored.position for stored in page]
    return positions
