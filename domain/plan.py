"""The plan of a Change: a Work Graph of 1 to 12 tasks (seed 001, part 1; the schema of the Root Planner's tool)."""

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, StringConstraints, model_validator

from domain.kernel.value import Text, Value

MAX_TASKS_PER_CHANGE: Final = 12
TITLE_LIMIT: Final = 48
MAX_ASSUMPTIONS: Final = 8


class RiskTier(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(RiskTier).index(self)


class Complexity(StrEnum):
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class TaskKind(StrEnum):
    IMPLEMENT = "implement"
    MIGRATE = "migrate"
    TEST = "test"
    RESEARCH = "research"
    REVIEW = "review"


WRITING_KINDS: Final = frozenset({TaskKind.IMPLEMENT, TaskKind.MIGRATE, TaskKind.TEST})
"""Kinds that get a workspace; the others read only and hand on a report."""

TaskKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,31}$")]
Resource = Annotated[Text, StringConstraints(min_length=1, max_length=200)]
Line = Annotated[Text, StringConstraints(min_length=1, max_length=200)]
Paragraph = Annotated[Text, StringConstraints(min_length=1)]


class PlannedTask(Value):
    """A node of the Work Graph; `depends_on` names keys of the same plan."""

    key: TaskKey
    title: Line
    kind: TaskKind
    instructions: Annotated[str, StringConstraints(min_length=1, max_length=40_000)]
    resources: tuple[Resource, ...] = ()
    depends_on: tuple[TaskKey, ...] = ()
    acceptance: tuple[Paragraph, ...] = ()


class WorkGraphPlan(Value):
    """What the planner hands in. Text in it is data: nothing in a plan can lower what code decides.

    Raises (as pydantic's ValidationError): no task or more than 12, equal keys, an unknown dependency, a cycle, no
    task of a kind that writes.
    """

    title: Annotated[Text, StringConstraints(min_length=1, max_length=TITLE_LIMIT)]
    assumptions: Annotated[tuple[Paragraph, ...], Field(max_length=MAX_ASSUMPTIONS)] = ()
    risk_tier: RiskTier | None
    human_approval_required: bool = False
    destructive_migration: bool = False
    complexity: Complexity
    acceptance: tuple[Paragraph, ...] = ()
    tasks: Annotated[tuple[PlannedTask, ...], Field(min_length=1, max_length=MAX_TASKS_PER_CHANGE)]

    @model_validator(mode="after")
    def _is_a_work_graph(self) -> Self:
        keys = [task.key for task in self.tasks]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(f"two tasks have the key {', '.join(twice)}")
        for task in self.tasks:
            unknown = sorted(set(task.depends_on) - set(keys))
            if unknown:
                raise ValueError(f"task {task.key} depends on {', '.join(unknown)}, which the plan doesn't have")
        cycle = find_cycle({task.key: task.depends_on for task in self.tasks})
        if cycle:
            raise ValueError(f"the tasks wait for each other in a circle: {' → '.join(cycle)}")
        if not any(task.kind in WRITING_KINDS for task in self.tasks):
            raise ValueError("a plan needs at least one task of kind implement, migrate or test")
        return self


def find_cycle(edges: dict[str, tuple[str, ...]]) -> list[str]:
    """A cycle of `node → what it depends on`, first node repeated at the end; empty if there is none."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for dependency in edges.get(node, ()):
            found = walk(dependency, [*path, node])
            if found:
                return found
        done.add(node)
        return []

    for start in edges:
        found = walk(start, [])
        if found:
            return found
    return []


def work_graph_order(edges: dict[str, tuple[str, ...]]) -> list[str]:
    """The nodes in Work Graph order: each after what it depends on, otherwise in the plan's order.

    Raises:
        ValueError: `edges` has a cycle.
    """
    left = dict(edges)
    order: list[str] = []
    while left:
        free = next((node for node, needs in left.items() if not any(need in left for need in needs)), None)
        if free is None:
            raise ValueError("the graph has a cycle")
        order.append(free)
        del left[free]
    return order


def title_from_goal(goal: str) -> str:
    """A title for a goal without a planner's: its first line, cut at a word boundary to `TITLE_LIMIT` characters."""
    line = " ".join(next((part for part in goal.splitlines() if part.strip()), goal).split())
    if len(line) <= TITLE_LIMIT:
        return line
    cut = line[: TITLE_LIMIT - 1]
    return (cut[: cut.rfind(" ")] if " " in cut else cut).rstrip(" ,.;:") + "…"
