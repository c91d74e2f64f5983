"""What a Project decides: who belongs to it, and what is canonical."""

from typing import Final

from domain.kernel.decider import Decider
from domain.kernel.errors import InvalidInput, NotFound
from domain.kernel.event import Command, Event
from domain.project.command import (
    AddMember,
    AdvanceCanonical,
    CreateProject,
    ImportCommit,
    RecordRefMove,
    RemoveMember,
    SetPolicy,
)
from domain.project.error import LastOwner, NotAllowed, PolicyForbids, StaleBase
from domain.project.event import (
    CanonicalAdvanced,
    CanonicalImported,
    CanonicalRefMoved,
    ImportRelation,
    MemberAdded,
    MemberRemoved,
    PolicySet,
    ProjectCreated,
)
from domain.project.role import Role
from domain.project.state import ProjectState, evolve

SYSTEM: Final = "system:"
"""Prefix of the actors that are parts of Rhumbline."""


def decide(state: ProjectState | None, command: Command) -> tuple[Event, ...]:
    """The events of `command`; `()` when it is already so.

    Raises:
        DomainError: the rules refuse it.
    """
    if isinstance(command, CreateProject):
        return _create(state, command)
    if state is None:
        raise NotFound("project", command.correlation or "of that ID")
    match command:
        case AddMember():
            return _add_member(state, command)
        case RemoveMember():
            return _remove_member(state, command)
        case SetPolicy():
            return _set_policy(state, command)
        case ImportCommit():
            return _import(state, command)
        case AdvanceCanonical():
            return _advance(state, command)
        case RecordRefMove():
            return _record_ref_move(state, command)
    raise InvalidInput(f"a Project has no command {type(command).__name__}")


def _create(state: ProjectState | None, command: CreateProject) -> tuple[Event, ...]:
    if state is None:
        return (
            ProjectCreated(
                project=command.project,
                repository=command.repository,
                branch=command.branch,
                commit=command.commit,
                owner=command.owner,
                policy=command.policy,
            ),
        )
    if (state.repository, state.branch) != (command.repository, command.branch):
        raise InvalidInput(f"project {state.id} is another repository or branch")
    return ()


def _require_manager(state: ProjectState, command: Command) -> Role:
    role = state.members.get(command.actor)
    if role is None or not role.manages:
        raise NotAllowed(f"{command.actor} is neither owner nor admin of project {state.id}")
    return role


def _add_member(state: ProjectState, command: AddMember) -> tuple[Event, ...]:
    present = state.members.get(command.user)
    if present == command.role and command.actor == command.user:
        # Who has just given up a role may ask again.
        return ()
    own = _require_manager(state, command)
    if present == command.role:
        return ()
    if Role.OWNER in (present, command.role) and own is not Role.OWNER:
        raise NotAllowed(f"only an owner of project {state.id} makes or changes an owner")
    if present is Role.OWNER:
        _require_another_owner(state, command.user)
    return (MemberAdded(user=command.user, role=command.role),)


def _remove_member(state: ProjectState, command: RemoveMember) -> tuple[Event, ...]:
    role = state.members.get(command.user)
    if role is None:
        # Who has just left may ask again; nobody else learns here whether somebody is a member.
        if command.actor != command.user:
            _require_manager(state, command)
        return ()
    if command.actor != command.user:
        own = _require_manager(state, command)
        if role is Role.OWNER and own is not Role.OWNER:
            raise NotAllowed(f"only an owner of project {state.id} removes an owner")
    if role is Role.OWNER:
        _require_another_owner(state, command.user)
    return (MemberRemoved(user=command.user),)


def _require_another_owner(state: ProjectState, user: str) -> None:
    if all(role is not Role.OWNER for member, role in state.members.items() if member != user):
        raise LastOwner(f"{user} is the last owner of project {state.id}: make another member owner first")


def _set_policy(state: ProjectState, command: SetPolicy) -> tuple[Event, ...]:
    _require_manager(state, command)
    return () if state.policy == command.policy else (PolicySet(policy=command.policy),)


def _import(state: ProjectState, command: ImportCommit) -> tuple[Event, ...]:
    if command.actor not in state.members and not command.actor.startswith(SYSTEM):
        raise NotAllowed(f"{command.actor} isn't a member of project {state.id}")
    if command.commit == state.commit:
        return ()
    if command.expected_generation != state.generation:
        raise StaleBase(
            f"project {state.id} is at generation {state.generation} now, not {command.expected_generation}: "
            "compare the commit with canonical again"
        )
    if command.relation is ImportRelation.AHEAD and command.lacks:
        raise InvalidInput("a commit ahead of canonical contains every promoted change")
    unknown = sorted(set(command.lacks) - set(state.promoted_changes()))
    if unknown:
        raise InvalidInput(f"canonical of project {state.id} doesn't contain {', '.join(unknown)} either")
    return (
        CanonicalImported(
            generation=state.generation + 1, commit=command.commit, relation=command.relation, lacks=command.lacks
        ),
    )


def _advance(state: ProjectState, command: AdvanceCanonical) -> tuple[Event, ...]:
    promoted = state.step_of_candidate(command.candidate)
    if promoted is not None:
        if (promoted.commit, promoted.change) != (command.commit, command.change):
            raise InvalidInput(f"candidate {command.candidate} was promoted as commit {promoted.commit}")
        return ()
    if (state.generation, state.commit) != (command.base_generation, command.base_commit):
        raise StaleBase(
            f"candidate {command.candidate} was verified on generation {command.base_generation}, "
            f"canonical is at generation {state.generation} now"
        )
    _require_right_to_promote(state, command)
    return (
        CanonicalAdvanced(
            generation=state.generation + 1,
            commit=command.commit,
            candidate=command.candidate,
            change=command.change,
            change_head=command.change_head,
            approver=command.approver,
        ),
    )


def _require_right_to_promote(state: ProjectState, command: AdvanceCanonical) -> None:
    """Policy and role count as they stand at the version that the promotion appends to (DESIGN, "Promotion")."""
    if command.approver is not None:
        role = state.members.get(command.approver)
        if role is None or not role.manages:
            raise NotAllowed(
                f"{command.approver}, who approved candidate {command.candidate}, "
                f"is neither owner nor admin of project {state.id}"
            )
    elif command.tier is not None and command.tier not in state.policy.auto_promote_risk_tiers:
        raise PolicyForbids(f"policy {state.policy.name} doesn't promote the tier {command.tier} without a person")


def _record_ref_move(state: ProjectState, command: RecordRefMove) -> tuple[Event, ...]:
    if command.generation > state.generation or state.history[command.generation].commit != command.commit:
        raise InvalidInput(f"project {state.id} has no generation {command.generation} at {command.commit}")
    moved = CanonicalRefMoved(generation=command.generation, commit=command.commit, was=command.was, lost=command.lost)
    return () if state.ref_move == moved else (moved,)


PROJECT: Final = Decider(decide, evolve)
