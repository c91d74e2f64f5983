"""Positions of followers."""

from typing import Any

import pytest

from infra.event_store.errors import TrackingConflict
from tests.infra.event_store.conftest import OpenStore


def test_a_follower_begins_at_zero_and_advances(store: Any) -> None:
    assert store.tracking.position("changes") == 0
    for position in (3, 4, 9):
        with store.transaction() as cursor:
            store.tracking.advance(cursor, "changes", position)
        assert store.tracking.position("changes") == position
    assert store.tracking.position("tasks") == 0


@pytest.mark.parametrize("stale", [5, 4])
def test_a_second_follower_of_the_name_is_refused(open_store: OpenStore, stale: int) -> None:
    mine, theirs = open_store("a"), open_store("b")
    with mine.transaction() as cursor:
        mine.tracking.advance(cursor, "changes", 5)
    with pytest.raises(TrackingConflict), theirs.transaction() as cursor:
        theirs.tracking.advance(cursor, "changes", stale)
    assert mine.tracking.position("changes") == 5


def test_a_position_that_did_not_commit_is_not_there(store: Any) -> None:
    def crash() -> None:
        with store.transaction() as cursor:
            store.tracking.advance(cursor, "changes", 5)
            raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        crash()
    assert store.tracking.position("changes") == 0


def test_a_rebuild_sets_a_position_also_back(store: Any) -> None:
    with store.transaction() as cursor:
        store.tracking.set(cursor, "changes", 9)
    with store.transaction() as cursor:
        store.tracking.set(cursor, "changes", 2)
    assert store.tracking.position("changes") == 2


def test_an_installation_has_one_id(open_store: OpenStore) -> None:
    assert open_store("a").installation_id() == open_store("b").installation_id() != ""
