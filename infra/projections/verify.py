"""Comparing read models with the log: the rows of one snapshot against a fold of the log up to their position."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from psycopg import Connection, IsolationLevel
from psycopg.rows import DictRow

from commands.ports.store import EventStore
from infra.projections import statement
from infra.projections.fingerprint import fingerprint
from infra.projections.home import ModelState
from infra.projections.log import Progress, few_collections, fold_log, no_progress
from infra.projections.postgres import SCHEMA_LOCK, STATES, PostgresHome, state_of
from projections.core import Key, ReadModel, Row, Table
from projections.fold import Failure, FanOut, Fold

MAX_DIFFERENCES: Final = 50
"""Reported for each read model; all are counted."""

FETCH_ROWS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One row: None in `live` is a missing row, None in `expected` one too many; else the columns that differ."""

    key: Key
    expected: Row | None
    live: Row | None

    def __str__(self) -> str:
        name = " ".join(map(str, self.key))
        if self.live is None:
            return f"{name}: the row is missing"
        if self.expected is None:
            return f"{name}: the log knows no such row"
        return f"{name}: " + ", ".join(f"{c} is {self.live[c]!r}, not {self.expected[c]!r}" for c in self.expected)


@dataclass(slots=True)
class ModelReport:
    """What was compared of one read model, and what differs. `note` says why nothing could be compared."""

    name: str
    position: int
    rows: int = 0
    differing: int = 0
    differences: list[Difference] = field(default_factory=list)
    failure: Failure | None = None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.differing == 0 and self.failure is None and not self.note

    def add(self, difference: Difference) -> None:
        self.differing += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(difference)


@dataclass(frozen=True, slots=True)
class Report:
    """position: the end of the log that was seen."""

    position: int
    models: tuple[ModelReport, ...]

    @property
    def ok(self) -> bool:
        return all(model.ok for model in self.models)


def verify(
    store: EventStore, home: PostgresHome, models: Sequence[ReadModel], progress: Progress = no_progress
) -> Report:
    """Compare rows and position of each read model with the log, in one REPEATABLE READ snapshot.

    The log up to a position never changes, so it may be read outside of the snapshot.

    Raises:
        StoreError: the database failed.
    """
    home.ensure_schema()
    with home.datastore.connection() as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        try:
            with connection.transaction(), few_collections():
                return _compare(store, connection, models, progress)
        finally:
            connection.isolation_level = None


def _compare(
    store: EventStore, connection: Connection[DictRow], models: Sequence[ReadModel], progress: Progress
) -> Report:
    # Shared with other comparisons, exclusive with a swap, which would wait for this snapshot with the rows locked.
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (SCHEMA_LOCK,))
    states = {row["name"]: state_of(row) for row in connection.execute(STATES).fetchall()}
    end = store.last_position()
    reports = [_report(model, states.get(model.name), end) for model in models]
    folds = [
        Fold(model, until=report.position) for model, report in zip(models, reports, strict=True) if not report.note
    ]
    fold_log(store, FanOut(folds), max((fold.until for fold in folds), default=0), _nothing, progress)
    by_name = {fold.model.name: fold for fold in folds}
    for report in reports:
        if report.name in by_name:
            _compare_rows(connection, by_name[report.name], report)
    return Report(end, tuple(reports))


def _nothing() -> None:
    """Nothing to do after a page."""


def _report(model: ReadModel, state: ModelState | None, end: int) -> ModelReport:
    if state is None:
        return ModelReport(model.name, 0, note="it was never built")
    report = ModelReport(model.name, state.position, failure=state.failure)
    if state.definition != fingerprint(model):
        report.note = "it was built by another version of the code"
    elif state.position > end:
        report.note = f"it stands at {state.position}, but the log ends at {end}"
    return report


def _compare_rows(connection: Connection[DictRow], fold: Fold, report: ModelReport) -> None:
    if fold.failure is not None:
        report.failure = fold.failure
    for table in fold.model.tables:
        for live in _rows(connection, table):
            report.rows += 1
            key = table.key_of(live)
            expected = fold.rows.pop(key, None)
            if expected != live:
                report.add(_difference(key, expected, live))
    for key, expected in fold.rows.items():
        report.add(Difference(key, expected, None))


def _rows(connection: Connection[DictRow], table: Table) -> Iterator[Row]:
    with connection.cursor(name="verify") as cursor:
        cursor.itersize = FETCH_ROWS
        cursor.execute(statement.whole(table))
        yield from cursor


def _difference(key: Key, expected: Row | None, live: Row) -> Difference:
    if expected is None:
        return Difference(key, None, live)
    columns = [column for column in expected if expected[column] != live[column]]
    return Difference(key, {c: expected[c] for c in columns}, {c: live[c] for c in columns})
