"""A plan is a Work Graph of 1 to 12 tasks, or it is refused with the reason."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.plan import (
    MAX_TASKS_PER_CHANGE,
    TITLE_LIMIT,
    RiskTier,
    TaskKind,
    WorkGraphPlan,
    find_cycle,
    title_from_goal,
    work_graph_order,
)


def task(key: str, *depends_on: str, kind: str = "implement") -> dict[str, Any]:
    return {"key": key, "title": key, "kind": kind, "instructions": "do it", "dependsOn": list(depends_on)}


def plan(*tasks: dict[str, Any], **changed: Any) -> WorkGraphPlan:
    fields = {"title": "t", "riskTier": "low", "complexity": "small", "tasks": list(tasks)}
    return WorkGraphPlan.model_validate(fields | changed)


def test_the_schema_is_complete() -> None:
    full = plan(
        {**task("t1"), "resources": ["api:users"], "acceptance": ["it works"]},
        task("t2", "t1", kind="test"),
        title="Add users",
        assumptions=["none exist"],
        riskTier="critical",
        humanApprovalRequired=True,
        destructiveMigration=True,
        complexity="large",
        acceptance=["all of it works"],
    )
    assert full.risk_tier is RiskTier.CRITICAL
    assert full.tasks[1].depends_on == ("t1",)
    assert WorkGraphPlan.model_validate_json(full.model_dump_json()) == full


def test_a_plan_may_have_no_tier() -> None:
    assert plan(task("t1"), riskTier=None).risk_tier is None


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ([], "at least 1"),
        ([task(f"t{n}") for n in range(13)], "at most 12"),
        ([task("t1"), task("t1")], "two tasks have the key t1"),
        ([task("t1", "t2")], "task t1 depends on t2, which the plan doesn't have"),
        ([task("t1", "t1")], "in a circle: t1 → t1"),
        ([task("t1", "t2"), task("t2", "t1")], "in a circle: t1 → t2 → t1"),
        ([task("a"), task("t1", "t3"), task("t2", "t1"), task("t3", "t2")], "in a circle: t1 → t3 → t2 → t1"),
        ([task("t1", kind="research"), task("t2", kind="review")], "at least one task of kind implement"),
        ([task("t1", kind="deploy")], "kind"),
        ([task("")], "key"),
        ([task("a_b")], "key"),
        ([task("../x")], "key"),
        ([task("a" * 33)], "key"),
        ([{**task("t1"), "instructions": ""}], "instructions"),
        ([{**task("t1"), "instructions": "x" * 40_001}], "instructions"),
        ([{**task("t1"), "title": ""}], "title"),
        ([{**task("t1"), "resources": [""]}], "resources"),
        ([{**task("t1"), "sudo": True}], "sudo"),
    ],
)
def test_what_is_no_work_graph_is_refused_with_the_reason(tasks: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        plan(*tasks)


@pytest.mark.parametrize("tasks", [1, MAX_TASKS_PER_CHANGE])
def test_1_to_12_tasks(tasks: int) -> None:
    assert len(plan(*(task(f"t{n}") for n in range(tasks))).tasks) == tasks


@pytest.mark.parametrize("kind", TaskKind)
def test_each_kind_beside_one_that_writes(kind: TaskKind) -> None:
    assert plan(task("t1"), task("t2", kind=kind)).tasks[1].kind is kind


@pytest.mark.parametrize(
    "changed",
    [
        {"title": ""},
        {"title": "x" * (TITLE_LIMIT + 1)},
        {"riskTier": "none"},
        {"complexity": "huge"},
        {"assumptions": ["a"] * 9},
        {"autoApprove": True},
    ],
)
def test_its_other_fields_are_checked_too(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        plan(task("t1"), **changed)


def test_tiers_are_ordered() -> None:
    assert sorted(RiskTier, key=lambda tier: tier.rank) == ["low", "medium", "high", "critical"]


def test_work_graph_order_is_the_plan_s_where_nothing_waits() -> None:
    assert work_graph_order({"c": (), "a": (), "b": ()}) == ["c", "a", "b"]
    assert work_graph_order({"c": ("b",), "a": (), "b": ("a",)}) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="cycle"):
        work_graph_order({"a": ("b",), "b": ("a",)})


GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True, max_size=3).map(tuple), max_size=6
).map(lambda edges: {node: tuple(n for n in needs if n in edges) for node, needs in edges.items()})


@given(GRAPHS)
def test_a_graph_has_a_cycle_or_an_order(edges: dict[str, tuple[str, ...]]) -> None:
    cycle = find_cycle(edges)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(after in edges[before] for before, after in pairwise(cycle))
        with pytest.raises(ValueError, match="cycle"):
            work_graph_order(edges)
    else:
        order = work_graph_order(edges)
        assert sorted(order) == sorted(edges)
        assert all(order.index(need) < order.index(node) for node, needs in edges.items() for need in needs)


@pytest.mark.parametrize(
    ("goal", "title"),
    [
        ("Add a thing", "Add a thing"),
        ("\n\n  Add   a\tthing \nand more", "Add a thing"),
        ("x" * 60, "x" * 47 + "…"),
        (
            "Make the whole application much faster, and then even faster",
            "Make the whole application much faster, and…",
        ),
        ("[/b] {0}", "[/b] {0}"),
    ],
)
def test_a_title_from_a_goal(goal: str, title: str) -> None:
    assert title_from_goal(goal) == title


@given(st.text(min_size=1).filter(str.strip))
def test_a_title_always_fits(goal: str) -> None:
    assert len(title_from_goal(goal)) <= TITLE_LIMIT
