"""Guards that several decisions share."""

from domain.change.error import ChangeEnded, NotAllowed, WrongStatus
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.kernel.event import Command
from domain.project.role import Role


def require_open(state: ChangeState) -> None:
    """ChangeEnded in a terminal Change."""
    if state.is_terminal:
        raise ChangeEnded(state.id, state.status)


def require_status(state: ChangeState, what: str, *statuses: ChangeStatus) -> None:
    """ChangeEnded in a terminal Change, WrongStatus in one that has none of `statuses`."""
    if state.status in statuses:
        return
    require_open(state)
    raise WrongStatus(state.id, state.status, what, statuses)


def require_manager(state: ChangeState, role: Role | None, what: str) -> None:
    """NotAllowed for everybody but owners and admins."""
    if role is None or not role.manages:
        raise NotAllowed(what, state.id, "an owner or admin of the project")


def require_requester_or_manager(state: ChangeState, command: Command, role: Role | None, what: str) -> None:
    """NotAllowed for everybody but the requester, owners and admins."""
    if command.actor == state.requester or (role is not None and role.manages):
        return
    raise NotAllowed(what, state.id, "its requester, or an owner or admin of the project")
