"""Questions about the Work Graph of a Change and about its Candidates; pure, for decisions and for handlers."""

from collections.abc import Iterable

from domain.change.event import BlockCause
from domain.change.state import CandidateState, ChangeSetState, ChangeState, TaskState
from domain.change.status import CandidateStatus, TaskStatus
from domain.kernel.errors import NotFound
from domain.plan import work_graph_order

STOPPING = (TaskStatus.FAILED, TaskStatus.BLOCKED, TaskStatus.CANCELLED)
"""A Task in one of these holds up what depends on it."""

Edges = dict[str, tuple[str, ...]]


def task_of(state: ChangeState, task: str) -> TaskState:
    """The Task; NotFound if the Change has none of that ID."""
    found = state.tasks.get(task)
    if found is None:
        raise NotFound("Task", task)
    return found


def candidate_of(state: ChangeState, candidate: str) -> CandidateState:
    """The Candidate; NotFound if the Change has none of that ID."""
    found = state.candidates.get(candidate)
    if found is None:
        raise NotFound("Candidate", candidate)
    return found


def edges_of(state: ChangeState) -> Edges:
    """Task ID → the IDs of what it depends on, in the plan's order."""
    return {task.id: task.depends_on for task in state.tasks.values()}


def work_graph(state: ChangeState) -> tuple[TaskState, ...]:
    """The Tasks in Work Graph order."""
    return tuple(state.tasks[task] for task in work_graph_order(edges_of(state)))


def built_on(edges: Edges, tasks: Iterable[str]) -> frozenset[str]:
    """`tasks` and every Task that depends on one of them, through any number of edges."""
    found = set(tasks)
    for task in work_graph_order(edges):
        if found.intersection(edges[task]):
            found.add(task)
    return frozenset(found)


def dependencies_of(edges: Edges, task: str) -> frozenset[str]:
    """What `task` depends on, through any number of edges."""
    found: set[str] = set()
    todo = list(edges[task])
    while todo:
        dependency = todo.pop()
        if dependency not in found:
            found.add(dependency)
            todo.extend(edges[dependency])
    return frozenset(found)


def dependencies_completed(state: ChangeState, task: TaskState) -> bool:
    return all(state.tasks[dependency].status is TaskStatus.COMPLETED for dependency in task.depends_on)


def stopping_dependencies(state: ChangeState, task: TaskState) -> tuple[TaskState, ...]:
    """The direct dependencies that failed or stopped."""
    return tuple(state.tasks[d] for d in task.depends_on if state.tasks[d].status in STOPPING)


def at_work(state: ChangeState) -> tuple[TaskState, ...]:
    """Tasks that run, are about to, or could: assigned, running, or ready with every dependency completed."""
    return tuple(
        task
        for task in state.tasks.values()
        if task.is_active or (task.status is TaskStatus.READY and dependencies_completed(state, task))
    )


def failed_tasks(state: ChangeState) -> tuple[TaskState, ...]:
    return tuple(task for task in state.tasks.values() if task.status is TaskStatus.FAILED)


def stopped_by(state: ChangeState, *causes: BlockCause) -> tuple[TaskState, ...]:
    """The blocked Tasks with one of these causes."""
    return tuple(t for t in state.tasks.values() if t.status is TaskStatus.BLOCKED and t.cause in causes)


def all_completed(state: ChangeState) -> bool:
    return bool(state.tasks) and all(task.status is TaskStatus.COMPLETED for task in state.tasks.values())


def changesets_in_order(state: ChangeState) -> tuple[ChangeSetState, ...]:
    """The newest ChangeSet of each Task that has one, in Work Graph order: what a Candidate is composed of."""
    return tuple(state.changesets[task.changeset] for task in work_graph(state) if task.changeset is not None)


def stack(state: ChangeState, task: str) -> tuple[ChangeSetState, ...]:
    """What a Task's workspace starts on beside canonical: its dependencies' ChangeSets in Work Graph order."""
    needed = dependencies_of(edges_of(state), task_of(state, task).id)
    return tuple(changeset for changeset in changesets_in_order(state) if changeset.task in needed)


def siblings_of(state: ChangeState, candidate: CandidateState) -> tuple[CandidateState, ...]:
    """The other Candidates on the same base."""
    return tuple(c for c in state.candidates.values() if c.base == candidate.base and c.id != candidate.id)


def unsettled(candidates: Iterable[CandidateState]) -> tuple[CandidateState, ...]:
    """Those that still compose or verify."""
    return tuple(c for c in candidates if c.status in (CandidateStatus.COMPOSING, CandidateStatus.VERIFYING))


def live_candidates(state: ChangeState) -> tuple[CandidateState, ...]:
    return tuple(candidate for candidate in state.candidates.values() if candidate.is_live)


def verified_candidates(state: ChangeState) -> tuple[CandidateState, ...]:
    return tuple(c for c in state.candidates.values() if c.status is CandidateStatus.VERIFIED)


def waiting_stale(state: ChangeState) -> CandidateState | None:
    """The newest stale Candidate whose place no other has taken."""
    stale = [c for c in state.candidates.values() if c.status is CandidateStatus.STALE and not c.recomposed]
    return stale[-1] if stale else None
