"""The Work Graph document of a Change: the whole plan with its texts, in the object store."""

from commands.ports.objects import Objects
from domain.change.state import ChangeState
from domain.kernel.event import BlobRef
from domain.kernel.value import canonical_json
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan, title_from_goal


class PlanDocument:
    """A stored plan, read back."""

    def __init__(self, plan: WorkGraphPlan) -> None:
        self.plan = plan
        self._tasks = {task.key: task for task in plan.tasks}

    def task(self, key: str) -> PlannedTask:
        """The planned task of `key`.

        Raises:
            KeyError: the plan has no such task.
        """
        return self._tasks[key]


def plan_document(plan: WorkGraphPlan) -> bytes:
    """The plan as it is stored."""
    return canonical_json(plan.model_dump(mode="json"))


def store_plan(objects: Objects, project: str, change: str, plan: WorkGraphPlan) -> BlobRef:
    """Store under the seed's name, `work-graphs/<project>/<change>.json`, and by hash for the event."""
    content = plan_document(plan)
    objects.put_named(f"work-graphs/{project}/{change}.json", content)
    return objects.put(content)


def plan_of(objects: Objects, state: ChangeState) -> PlanDocument:
    """The stored plan of a Change that is compiled.

    Raises:
        ValueError: it isn't compiled yet.
        ObjectMissing: the plan was erased.
    """
    if state.plan is None:
        raise ValueError(f"{state.id} has no plan yet")
    return PlanDocument(WorkGraphPlan.model_validate_json(objects.get(state.plan)))


def requested_plan(objects: Objects, state: ChangeState) -> WorkGraphPlan:
    """The plan that the requester handed in, or one task that implements the goal."""
    if state.requested_plan is not None:
        return WorkGraphPlan.model_validate_json(objects.get(state.requested_plan))
    return single_task_plan(objects.get(state.goal).decode())


def single_task_plan(goal: str) -> WorkGraphPlan:
    """The plan of a goal that no planner splits: one task that implements it, of tier low, which code may raise."""
    title = title_from_goal(goal)
    return WorkGraphPlan(
        title=title,
        risk_tier=RiskTier.LOW,
        complexity=Complexity.SMALL,
        tasks=(PlannedTask(key="t1", title=title, kind=TaskKind.IMPLEMENT, instructions=goal),),
    )
