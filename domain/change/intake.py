"""A request becomes a Change, once."""

from typing import Final

from domain.change.command import CreateChange
from domain.change.error import RequestDiffers
from domain.change.event import ChangeCreated
from domain.change.state import ChangeState
from domain.kernel.event import Event

_CONTENT: Final = {
    "project": "project",
    "requester": "actor",
    "client_request_id": "client_request_id",
    "goal": "goal",
    "settings": "settings",
    "requested_plan": "plan",
    "first_budget": "budget",
    "requested_checks": "checks",
    "start_planning": "start_planning",
    "allow_red_base": "allow_red_base",
    "approved_in_advance_by": "approved_in_advance_by",
    "sandboxed": "sandboxed",
}
"""What the requester asked for: state field → command field. Base and policy are the moment's, not the request's."""


def create(state: ChangeState | None, command: CreateChange) -> tuple[Event, ...]:
    """Idempotent on clientRequestId per requester; the same ID with another content is refused.

    The same text must come under the same blob: the caller salts a goal by the Change's ID, not at random.
    """
    if state is not None:
        differing = [
            theirs.replace("_", " ")
            for ours, theirs in _CONTENT.items()
            if getattr(state, ours) != getattr(command, theirs)
        ]
        if differing:
            raise RequestDiffers(state.id, differing)
        return ()
    created = ChangeCreated(
        change=command.change,
        project=command.project,
        requester=command.actor,
        client_request_id=command.client_request_id,
        goal=command.goal,
        settings=command.settings,
        base_generation=command.base_generation,
        base_commit=command.base_commit,
        budget=command.budget,
        policy=command.policy,
        plan=command.plan,
        checks=command.checks,
        start_planning=command.start_planning,
        allow_red_base=command.allow_red_base,
        approved_in_advance_by=command.approved_in_advance_by,
        sandboxed=command.sandboxed,
    )
    return (created,)
