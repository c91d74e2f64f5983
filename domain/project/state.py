"""What a Project's decisions need to know, folded from its events."""

from dataclasses import dataclass, replace

from domain.kernel.errors import ImpossibleHistory, UnknownEvent
from domain.kernel.event import Event
from domain.policy import Policy
from domain.project.event import (
    CanonicalAdvanced,
    CanonicalImported,
    CanonicalRefMoved,
    MemberAdded,
    MemberRemoved,
    PolicySet,
    ProjectCreated,
)
from domain.project.role import Role


@dataclass(frozen=True, slots=True)
class Step:
    """One generation of canonical. change and candidate are None for an imported one and for generation 0.

    lacks: for an import, the promoted Changes that its commit doesn't contain.
    """

    generation: int
    commit: str
    change: str | None = None
    candidate: str | None = None
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectState:
    """generation and commit are canonical's now; history has one `Step` per generation, without a gap.

    ref_move: the last move of main that was recorded.
    """

    id: str
    repository: str
    branch: str
    members: dict[str, Role]
    policy: Policy
    generation: int
    commit: str
    history: tuple[Step, ...]
    ref_move: CanonicalRefMoved | None = None

    def step_of_candidate(self, candidate: str) -> Step | None:
        """The generation at which `candidate` was promoted."""
        return next((step for step in reversed(self.history) if step.candidate == candidate), None)

    def promoted_changes(self, generation: int | None = None) -> tuple[str, ...]:
        """The promoted Changes that the commit of `generation` (canonical's now if None) contains, oldest first.

        An import that lacks some takes them away until they are promoted again.
        """
        last = self.generation if generation is None else generation
        contained: dict[str, None] = {}
        for step in self.history[: last + 1]:
            for change in step.lacks:
                contained.pop(change, None)
            if step.change is not None:
                contained[step.change] = None
        return tuple(contained)

    def generation_of(self, commit: str) -> int | None:
        """The newest generation whose commit is `commit`."""
        return next((step.generation for step in reversed(self.history) if step.commit == commit), None)


def evolve(state: ProjectState | None, event: Event) -> ProjectState:
    """The state after `event`.

    Raises:
        UnknownEvent: not an event of a Project.
        ImpossibleHistory: the log creates twice, starts otherwise, skips a generation or loses its last owner.
    """
    if isinstance(event, ProjectCreated):
        return _created(state, event)
    if state is None:
        raise ImpossibleHistory(f"a Project's log starts with {event.type}")
    match event:
        case MemberAdded(user=user, role=role):
            return replace(state, members={**state.members, user: role})
        case MemberRemoved(user=user):
            return replace(state, members={member: role for member, role in state.members.items() if member != user})
        case PolicySet(policy=policy):
            return replace(state, policy=policy)
        case CanonicalImported(generation=generation, commit=commit, lacks=lacks):
            return _advanced(state, Step(generation, commit, lacks=lacks))
        case CanonicalAdvanced(generation=generation, commit=commit, change=change, candidate=candidate):
            return _advanced(state, Step(generation, commit, change, candidate))
        case CanonicalRefMoved():
            return replace(state, ref_move=event)
    raise UnknownEvent(f"Project {state.id}: {event.type}")


def _created(state: ProjectState | None, event: ProjectCreated) -> ProjectState:
    if state is not None:
        raise ImpossibleHistory(f"Project {state.id} is created twice")
    return ProjectState(
        id=event.project,
        repository=event.repository,
        branch=event.branch,
        members={event.owner: Role.OWNER},
        policy=event.policy,
        generation=event.generation,
        commit=event.commit,
        history=(Step(event.generation, event.commit),),
    )


def _advanced(state: ProjectState, step: Step) -> ProjectState:
    if step.generation != state.generation + 1:
        raise ImpossibleHistory(f"Project {state.id}: generation {step.generation} follows {state.generation}")
    return replace(state, generation=step.generation, commit=step.commit, history=(*state.history, step))
