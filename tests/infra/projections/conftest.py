"""A store with a home for read models beside it."""

from collections.abc import Iterator

import pytest

from infra.bench.synthetic import History
from infra.event_store.datastore import PoolSettings
from infra.event_store.postgres import PostgresStore
from infra.projections.postgres import PostgresHome
from projections.core import Key, ReadModel, Row
from projections.query import Select, Views


@pytest.fixture
def store(database_url: str) -> Iterator[PostgresStore]:
    with PostgresStore(database_url, pool=PoolSettings(max_size=6)) as store:
        yield store


@pytest.fixture
def home(store: PostgresStore) -> PostgresHome:
    return PostgresHome(store.datastore)


def write_history(store: PostgresStore, seed: int, events: int) -> Iterator[int]:
    """Commit a made-up history; yields the log's end after each commit."""
    for commit in History(seed, projects=2, in_flight=2).commits(events):
        yield store.events.commit(commit)


def all_rows(views: Views, model: ReadModel) -> dict[Key, Row]:
    return {table.key_of(row): row for table in model.tables for row in views.select(Select(table, {}, table.key))}
