"""The release of a promoted Change ends it."""

from domain.change.command import EndRelease
from domain.change.draft import Draft
from domain.change.ending import fail
from domain.change.event import ChangeCompleted
from domain.change.guard import require_status
from domain.change.state import ChangeState
from domain.change.status import TERMINAL_CHANGE, ChangeStatus
from domain.kernel.event import Event


def end(state: ChangeState, command: EndRelease) -> tuple[Event, ...]:
    """deployed and superseded complete the Change, failed fails it; the generation stays promoted in any case."""
    if state.release is not None and state.status in TERMINAL_CHANGE:
        return ()
    require_status(state, "a release ends", ChangeStatus.RELEASING)
    draft = Draft(state)
    if command.outcome == "failed":
        fail(draft, "release", command.reason)
    else:
        draft.record(ChangeCompleted(outcome=command.outcome))
    return draft.events
