"""One store per home: the whole suite runs on both."""

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from infra.event_store.datastore import PoolSettings
from infra.event_store.memory import MemoryStore
from infra.event_store.postgres import PostgresStore

LEASE_TTL = 30.0


class FakeClock:
    """Monotonic seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class OpenStore(Protocol):
    """Opens a further store on the same content, as another process would."""

    def __call__(self, holder: str = "me") -> Any: ...


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "postgres"])
def open_store(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[OpenStore]:
    opened: list[Any] = []

    def in_memory(holder: str = "me") -> MemoryStore:
        beside = opened[0] if opened else None
        store = MemoryStore(clock, lease_ttl=LEASE_TTL, holder=holder, beside=beside)
        opened.append(store)
        return store

    def in_postgres(holder: str = "me") -> PostgresStore:
        url = request.getfixturevalue("database_url")
        store = PostgresStore(url, pool=PoolSettings(max_size=4), clock=clock, lease_ttl=LEASE_TTL, holder=holder)
        opened.append(store)
        return store

    yield in_memory if request.param == "memory" else in_postgres
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Any:
    return open_store()
