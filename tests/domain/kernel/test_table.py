"""Transition tables: what guards, `evolve` and diagrams read."""

import pytest

from domain.kernel.errors import IllegalTransition, ImpossibleHistory
from domain.kernel.table import Transition, TransitionTable
from domain.registry import MACHINES
from domain.run.status import RUN_TABLE

TABLE = TransitionTable(
    "Door",
    (
        Transition(None, "door.made", "open", "made"),
        Transition("open", "door.closed", "shut", "pushed"),
        Transition("open", "door.left", "open", "wind"),
        Transition("open", "door.left", "shut", "wind"),
        Transition("shut", "door.closed", "shut", "pushed"),
    ),
    ("shut",),
)


def test_it_knows_its_statuses_and_events_in_order() -> None:
    assert TABLE.statuses == ("open", "shut")
    assert TABLE.events == ("door.made", "door.closed", "door.left")
    assert TABLE.sources("door.closed") == {"open", "shut"}
    assert TABLE.sources("door.opened") == frozenset()


def test_it_allows_what_it_has_an_arrow_for() -> None:
    assert TABLE.allows(None, "door.made")
    assert TABLE.allows("open", "door.left", "shut")
    assert not TABLE.allows("open", "door.made")
    assert not TABLE.allows("shut", "door.left")
    assert not TABLE.allows("open", "door.closed", "open")


def test_a_guard_names_object_status_and_event() -> None:
    TABLE.require("d1", "open", "door.closed")
    with pytest.raises(IllegalTransition, match=r"Door d1 is shut: door\.left") as refusal:
        TABLE.require("d1", "shut", "door.left")
    assert (refusal.value.identifier, refusal.value.status, refusal.value.event) == ("d1", "shut", "door.left")
    with pytest.raises(IllegalTransition, match="not there yet"):
        TABLE.require("d1", None, "door.left")


def test_it_gives_the_status_afterwards() -> None:
    assert TABLE.after("d1", "open", "door.closed") == "shut"
    assert TABLE.after("d1", "open", "door.left", "open") == "open"


@pytest.mark.parametrize(
    ("source", "event", "target"),
    [("open", "door.left", None), ("open", "door.closed", "open"), ("shut", "door.left", None), (None, "x", None)],
)
def test_what_it_cannot_tell_or_has_no_arrow_for_is_an_impossible_history(
    source: str | None, event: str, target: str | None
) -> None:
    with pytest.raises(ImpossibleHistory):
        TABLE.after("d1", source, event, target)


def test_its_rows_are_one_per_arrow_and_label() -> None:
    assert TABLE.rows() == [
        ["*", "open", "made"],
        ["open", "shut", "pushed"],
        ["open", "open", "wind"],
        ["open", "shut", "wind"],
        ["shut", "shut", "pushed"],
    ]


ALL_TABLES = [*MACHINES.values(), RUN_TABLE]


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.kind)
class TestEveryTable:
    def test_every_status_can_be_reached(self, table: TransitionTable) -> None:
        reached: set[str | None] = {None}
        while more := {t.target for t in table.transitions if t.source in reached} - reached:
            reached |= more
        assert reached - {None} == set(table.statuses)

    def test_a_terminal_status_has_no_way_out_and_every_other_one_leads_to_the_end(
        self, table: TransitionTable
    ) -> None:
        assert not {t.source for t in table.transitions} & table.terminal
        ending: set[str] = set(table.terminal)
        while more := {t.source for t in table.transitions if t.target in ending and t.source} - ending:
            ending |= more
        assert ending >= set(table.statuses)

    def test_every_arrow_says_why_and_is_there_once(self, table: TransitionTable) -> None:
        assert all(t.why for t in table.transitions)
        assert len(set(table.transitions)) == len(table.transitions)
