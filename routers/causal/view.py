"""What the router knows of a Change: folded from the log up to its own position, never a projector's."""

from typing import Self

from pydantic import Field

from domain.change import event as change
from domain.change.status import ACTIVE_TASK, CANDIDATE_TABLE, CHANGE_TABLE, TASK_TABLE, CandidateStatus, TaskStatus
from domain.kernel.event import Envelope, Event
from domain.kernel.value import Value


class TaskView(Value):
    """deferred: it waits for a place among the agents."""

    status: TaskStatus
    depends_on: tuple[str, ...]
    deferred: bool = False


class CandidateView(Value):
    status: CandidateStatus
    base_generation: int


class ChangeView(Value):
    """One Change; `terminal` ones are kept no longer than the event that ended them."""

    change: str
    project: str
    status: str
    approver_in_advance: str | None
    tasks: dict[str, TaskView] = Field(default_factory=dict)
    candidates: dict[str, CandidateView] = Field(default_factory=dict)

    @property
    def terminal(self) -> bool:
        return self.status in CHANGE_TABLE.terminal

    @property
    def dispatchable(self) -> bool:
        """Whether a pending task's fate is decided: its dependencies are completed, or one can't complete."""
        over = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.BLOCKED, TaskStatus.CANCELLED)
        return any(
            task.status == TaskStatus.PENDING
            and (
                all(self.tasks[need].status == TaskStatus.COMPLETED for need in task.depends_on)
                or any(self.tasks[need].status in over[1:] for need in task.depends_on)
            )
            for task in self.tasks.values()
        )

    @property
    def deferred(self) -> tuple[str, ...]:
        return tuple(name for name, task in self.tasks.items() if task.deferred and task.status == TaskStatus.READY)

    @property
    def active(self) -> int:
        return sum(task.status in ACTIVE_TASK for task in self.tasks.values())

    def behind(self, generation: int) -> bool:
        """Whether a candidate that still counts stands on an earlier base than `generation`."""
        counts = (
            CandidateStatus.COMPOSING,
            CandidateStatus.VERIFYING,
            CandidateStatus.VERIFIED,
            CandidateStatus.STALE,
        )
        return any(c.status in counts and c.base_generation < generation for c in self.candidates.values())

    def _with_task(self, name: str, **changes: object) -> Self:
        task = self.tasks[name].model_copy(update=changes)
        return self.model_copy(update={"tasks": {**self.tasks, name: task}})

    def _with_candidate(self, name: str, candidate: CandidateView) -> Self:
        return self.model_copy(update={"candidates": {**self.candidates, name: candidate}})


def fold(view: ChangeView | None, envelope: Envelope) -> ChangeView | None:
    """The view after an event; None for events of other streams."""
    if not envelope.stream.startswith("chg_"):
        return view
    event = envelope.event
    if isinstance(event, change.ChangeCreated):
        return ChangeView(
            change=envelope.stream,
            project=event.project,
            status="created",
            approver_in_advance=event.approved_in_advance_by,
        )
    if view is None:
        return None
    return _fold_status(_fold_candidate(_fold_task(view, event), event), event)


def _fold_status(view: ChangeView, event: Event) -> ChangeView:
    if not CHANGE_TABLE.allows(view.status, event.type):
        return view
    target = getattr(event, "target", None)
    if target is not None and target == view.status:
        return view
    return view.model_copy(update={"status": CHANGE_TABLE.after(view.change, view.status, event.type, target)})


def _fold_task(view: ChangeView, event: Event) -> ChangeView:
    if isinstance(event, change.TaskCreated):
        task = TaskView(status=event.status, depends_on=event.depends_on)
        return view.model_copy(update={"tasks": {**view.tasks, event.task: task}})
    name = getattr(event, "task", None)
    if not isinstance(name, str) or not event.type.startswith("task."):
        return view
    target = getattr(event, "status", None)
    status = TASK_TABLE.after(name, view.tasks[name].status, event.type, target)
    changes: dict[str, object] = {"status": TaskStatus(status), "deferred": isinstance(event, change.TaskDeferred)}
    if isinstance(event, change.TaskReopened):
        changes["depends_on"] = event.depends_on
    return view._with_task(name, **changes)


def _fold_candidate(view: ChangeView, event: Event) -> ChangeView:
    if isinstance(event, change.CandidateCreated):
        created = CandidateView(status=CandidateStatus.COMPOSING, base_generation=event.base_generation)
        return view._with_candidate(event.candidate, created)
    name = getattr(event, "candidate", None)
    if not isinstance(name, str) or event.type not in CANDIDATE_TABLE.events:
        return view
    before = view.candidates[name]
    status = CandidateStatus(CANDIDATE_TABLE.after(name, before.status, event.type))
    return view._with_candidate(name, before.model_copy(update={"status": status}))
