"""How fast read models are rebuilt and verified, on a made-up history in a real PostgreSQL."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.store import Commit, Sealed, StreamAppend
from infra.bench.synthetic import History
from infra.event_store.migrate import migrate
from infra.event_store.postgres import PostgresStore
from infra.postgres import EmbeddedPostgres
from infra.projections.postgres import PostgresHome
from infra.projections.rebuild import rebuild
from infra.projections.verify import verify
from projections import MODELS

EVENTS: Final = 100_000
BATCH: Final = 2_000


@dataclass(frozen=True, slots=True)
class ReplayMeasure:
    """Events a second of a full rebuild and of a verification of all read models, on `events` events."""

    events: int
    rows: int
    rebuild_per_second: float
    verify_per_second: float


def load(store: PostgresStore, history: History, events: int) -> None:
    """Store a made-up history, many of its commits in one, to be quick."""
    for commit in _batched(history.commits(events)):
        store.events.commit(commit)


def _batched(commits: Iterator[Commit]) -> Iterator[Commit]:
    waiting: dict[str, list[Sealed]] = {}
    count = 0
    for commit in commits:
        for append in commit.appends:
            waiting.setdefault(append.stream, []).extend(append.events)
            count += len(append.events)
        if count >= BATCH:
            yield _merged(waiting)
            waiting, count = {}, 0
    if waiting:
        yield _merged(waiting)


def _merged(waiting: dict[str, list[Sealed]]) -> Commit:
    return Commit(
        appends=tuple(
            StreamAppend(stream, events[0].envelope.version - 1, tuple(events)) for stream, events in waiting.items()
        )
    )


def measure_store(store: PostgresStore) -> ReplayMeasure:
    """Rebuild and verify all read models of this store once."""
    home = PostgresHome(store.datastore)
    events = store.events.last_position()
    began = time.perf_counter()
    results = rebuild(store.events, home, MODELS)
    rebuilt = time.perf_counter()
    report = verify(store.events, home, MODELS)
    verified = time.perf_counter()
    wrong = [result.name for result in results if result.failure] + [m.name for m in report.models if not m.ok]
    if wrong:
        raise RuntimeError(f"the read models {', '.join(wrong)} aren't right")
    rows = sum(result.rows for result in results)
    return ReplayMeasure(events, rows, events / (rebuilt - began), events / (verified - rebuilt))


def measure(events: int = EVENTS) -> ReplayMeasure:
    """The same in a PostgreSQL of its own, filled with a made-up history."""
    with tempfile.TemporaryDirectory(prefix="rhb-") as folder:
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        with EmbeddedPostgres(Path(folder) / "home", runtime) as postgres:
            migrate(postgres.dsn)
            with PostgresStore(postgres.dsn) as store:
                load(store, History(seed=1), events)
                return measure_store(store)
