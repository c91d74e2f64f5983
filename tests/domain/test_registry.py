"""Every aggregate and every state machine by its name."""

import re

import pytest

from domain.kernel.event import EVENT_CLASSES
from domain.registry import AGGREGATES, MACHINES, decider_of, machines, mermaid


@pytest.mark.parametrize(
    ("stream", "prefix"),
    [
        ("prj_1", "prj"),
        ("chg_1", "chg"),
        ("run_00000000-0000-4000-8000-000000000001_t1_1", "run"),
        ("rel_1_3", "rel"),
        ("bud_prj_1_2026-03", "bud"),
    ],
)
def test_a_stream_s_prefix_names_its_decider(stream: str, prefix: str) -> None:
    assert decider_of(stream) is AGGREGATES[prefix]


@pytest.mark.parametrize("stream", ["", "prj", "_", "tsk_1_t1", "PRJ_1", "job_1"])
def test_other_streams_have_none(stream: str) -> None:
    with pytest.raises(ValueError, match="no aggregate"):
        decider_of(stream)


def test_type_names_are_dotted_words() -> None:
    names = [name for name, cls in EVENT_CLASSES.items() if cls.__module__.startswith("domain.")]
    assert len(names) > 50
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+", name) for name in names)


def test_every_arrow_s_event_is_a_class() -> None:
    for table in MACHINES.values():
        assert set(table.events) <= set(EVENT_CLASSES), table.kind


def test_the_machines_that_are_printed() -> None:
    printed = machines()
    assert list(printed) == ["change", "task", "candidate", "release"]
    assert ["created", "compiling", "planning starts"] in printed["change"]
    for rows in printed.values():
        assert all(len(row) == 3 for row in rows)
        assert any(source == "*" for source, _, _ in rows)
        assert len({tuple(row) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", MACHINES)
def test_a_diagram_has_exactly_the_table_s_arrows(name: str) -> None:
    lines = mermaid(name).splitlines()
    assert lines[0] == "stateDiagram-v2"
    arrows = [re.fullmatch(r"  (\S+) --> (\S+)(?:: ([^:;]+))?", line) for line in lines[1:]]
    assert all(arrows)
    drawn = [match.groups() for match in arrows if match]
    rows = {("[*]" if source == "*" else source, target) for source, target, _ in machines()[name]}
    assert {(source, target) for source, target, why in drawn if why} == rows
    assert {source for source, _, why in drawn if why is None} == MACHINES[name].terminal


def test_an_unknown_machine() -> None:
    with pytest.raises(KeyError):
        mermaid("door")
