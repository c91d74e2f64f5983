"""Intent, perform, outcome."""

from dataclasses import replace
from typing import Any

import pytest

from commands.ports.store import Commit, VersionConflict
from tests.infra.event_store.samples import AT, append, handled, intent, later, notes


def open_ids(store: Any, at: float = 0, **more: Any) -> list[str]:
    return [effect.effect_id for effect in store.effects.open(later(at), **more)]


def test_an_intent_opens_an_effect(store: Any) -> None:
    store.events.commit(append(notes("s", "1"), effects=(intent("check:cand_1:tests"),)))
    (effect,) = store.effects.open(AT)
    wanted = intent("check:cand_1:tests")
    assert (effect.effect_id, effect.kind, effect.change, effect.project, effect.opened_by) == (
        wanted.effect_id,
        wanted.kind,
        wanted.change,
        wanted.project,
        wanted.opened_by,
    )
    assert effect.payload == wanted.payload
    assert isinstance(effect.payload["big"], float)
    assert (effect.attempts, effect.not_before, effect.last_error) == (0, None, "")


def test_an_effect_exists_once_also_after_it_is_closed(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"), intent("e1"))))
    store.events.commit(Commit(effects=(intent("e1"),)))
    assert open_ids(store) == ["e1"]
    store.events.commit(Commit(effects_closed={"e1": "chg_1:9"}))
    store.events.commit(Commit(effects=(intent("e1"),)))
    assert open_ids(store) == []


def test_an_effect_closes_with_its_outcome_or_not_at_all(store: Any) -> None:
    store.events.commit(append(notes("s", "1"), effects=(intent("e1"), intent("e2")), handled=(handled("c"),)))
    with pytest.raises(VersionConflict):
        store.events.commit(append(notes("s", "1"), effects_closed={"e1": "s:1"}))
    assert open_ids(store) == ["e1", "e2"]
    last = store.events.read("s")[-1]
    store.events.commit(append(notes("s", "2", after=last), effects_closed={"e1": "s:2", "unknown": "s:2"}))
    assert open_ids(store) == ["e2"]


def test_an_effect_may_open_and_close_in_one_commit(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"),), effects_closed={"e1": "s:1"}))
    assert open_ids(store) == []


def test_each_begin_is_counted_until_closed(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"),)))
    assert [store.effects.begin("e1"), store.effects.begin("e1")] == [1, 2]
    assert store.effects.open(AT)[0].attempts == 2
    store.events.commit(Commit(effects_closed={"e1": "s:1"}))
    assert store.effects.begin("e1") == 0
    assert store.effects.begin("unknown") == 0


def test_a_postponed_effect_waits_with_its_error(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"), intent("e2"))))
    store.effects.postpone("e1", "disk\0 gone", later(30))
    assert open_ids(store, at=29) == ["e2"]
    assert open_ids(store, at=30) == ["e1", "e2"]
    (waiting,) = [e for e in store.effects.of_change("chg_1") if e.effect_id == "e1"]
    assert (waiting.last_error, waiting.not_before) == ("disk gone", later(30))


def test_a_clock_that_went_back_holds_no_effect_for_long(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"),)))
    store.effects.postpone("e1", "", later(300))
    assert open_ids(store, at=-200) == []
    assert open_ids(store, at=-86_400) == ["e1"]


def test_who_lost_the_lease_neither_begins_nor_postpones(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1"),)))
    lease = store.leases.acquire("change:chg_1")
    assert store.effects.begin("e1", lease) == 1

    old = replace(lease, epoch=lease.epoch - 1)
    store.effects.postpone("e1", "", later(30), old)

    assert store.effects.begin("e1", old) == 0
    assert open_ids(store) == ["e1"]
    assert store.effects.begin("e1", lease) == 2


def test_effects_are_found_by_change(store: Any) -> None:
    store.events.commit(Commit(effects=(intent("e1", "chg_1"), intent("e2", "chg_2"), intent("e3", None))))
    assert open_ids(store) == ["e1", "e2", "e3"]
    assert open_ids(store, changes=["chg_2"]) == ["e2"]
    assert [e.effect_id for e in store.effects.of_change("chg_1")] == ["e1"]
