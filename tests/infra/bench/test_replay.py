"""The made-up history is a possible one, and what is measured on it is right."""

import pytest

from domain.kernel.event import GENESIS_HASH
from domain.registry import decider_of
from infra.bench.replay import load, measure_store
from infra.bench.synthetic import History
from infra.event_store.postgres import PostgresStore


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_stream_of_a_made_up_history_can_be_folded(seed: int) -> None:
    states: dict[str, object] = {}
    hashes: dict[str, str] = {}
    seen: set[str] = set()
    for commit in History(seed).commits(3_000):
        for append in commit.appends:
            decider = decider_of(append.stream)
            for sealed in append.events:
                assert sealed.envelope.previous_hash == hashes.get(append.stream, GENESIS_HASH)
                hashes[append.stream] = sealed.hash
                states[append.stream] = decider.evolve(states.get(append.stream), sealed.envelope.event)
                seen.add(sealed.envelope.type)
    assert len(seen) >= 35


def test_the_same_seed_gives_the_same_history() -> None:
    first, second = (list(History(4).commits(300)) for _ in range(2))
    assert first == second
    assert first != list(History(5).commits(300))


def test_a_measure_counts_the_events_and_rows_of_its_store(database_url: str) -> None:
    with PostgresStore(database_url) as store:
        load(store, History(6), 600)
        measured = measure_store(store)
        assert measured.events == store.events.last_position() >= 600
        assert measured.rows > measured.events
        assert measured.rebuild_per_second > 0
        assert measured.verify_per_second > 0
