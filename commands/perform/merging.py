"""Merging ChangeSets: a candidate and the stack that a dependent task starts on are the same chain of merge commits."""

from collections.abc import Sequence

from commands.document import PlanDocument
from commands.ports.git import Canonical, Merge, Signature
from domain.change.event import TaskConflict
from domain.change.state import ChangeState, TaskState
from domain.kernel.ids import agent_id


def merge_changesets(
    canonical: Canonical, plan: PlanDocument, state: ChangeState, base: str, changesets: Sequence[str]
) -> Merge:
    """Merge the ChangeSets (IDs) in their order onto `base`; all that goes into a commit comes from events."""
    merged = [state.changesets[changeset] for changeset in changesets]

    def describe(index: int) -> tuple[Signature, str]:
        changeset = merged[index]
        task = state.tasks[changeset.task]
        return signature(task), changeset_message(plan, state, task, changeset.run)

    return canonical.compose(base, [changeset.commit for changeset in merged], describe)


def conflicts_of(state: ChangeState, changesets: Sequence[str], merge: Merge) -> tuple[TaskConflict, ...]:
    """The tasks whose ChangeSets don't merge, with the files."""
    return tuple(
        TaskConflict(task=state.changesets[changesets[index]].task, files=files) for index, files in merge.conflicts
    )


def files_of(conflicts: Sequence[TaskConflict], limit: int = 10) -> str:
    """The conflicting files for a sentence."""
    files = sorted({file for conflict in conflicts for file in conflict.files})
    more = f" and {len(files) - limit} more" if len(files) > limit else ""
    return ", ".join(files[:limit]) + more


def signature(task: TaskState) -> Signature:
    """The agent as author; the time is the attempt's start, from its event, so that hashes repeat."""
    agent = agent_id(task.id)
    return Signature(name=agent, email=f"{agent}@rhumbline.invalid", timestamp=task.started_at)


def changeset_message(plan: PlanDocument, state: ChangeState, task: TaskState, run: str) -> str:
    """The task's title and trailers for change, task and the run that made the work."""
    return (
        f"{plan.task(task.key).title}\n\n"
        f"Rhumbline-Change: {state.id}\nRhumbline-Task: {task.id}\nRhumbline-Run: {run}\n"
    )
