"""What a Run's decisions need to know, folded from its events."""

from dataclasses import dataclass, replace

from domain.kernel.errors import ImpossibleHistory, UnknownEvent
from domain.kernel.event import Event
from domain.kernel.ids import run_id
from domain.run.event import RouteDecided, RunFinished, RunStarted, TurnRecorded
from domain.run.status import RUN_TABLE, RunStatus


@dataclass(frozen=True, slots=True)
class RunState:
    """turn: the last one recorded (0: none) and its tree; cost: the known micro-dollars of the turns so far."""

    id: str
    started: RunStarted
    status: RunStatus
    route: RouteDecided | None = None
    turn: int = 0
    tree: str | None = None
    cost: int = 0
    finished: RunFinished | None = None


def evolve(state: RunState | None, event: Event) -> RunState:
    """The state after `event`.

    Raises:
        UnknownEvent: not an event of a Run.
        ImpossibleHistory: the log contradicts `RUN_TABLE` or skips a turn.
    """
    if isinstance(event, RunStarted):
        return _started(state, event)
    if not isinstance(event, RouteDecided | TurnRecorded | RunFinished):
        raise UnknownEvent(f"Run: {event.type}")
    if state is None:
        raise ImpossibleHistory(f"a Run's log starts with {event.type}")
    target = event.outcome.value if isinstance(event, RunFinished) else None
    status = RunStatus(RUN_TABLE.after(state.id, state.status, event.type, target))
    match event:
        case RouteDecided():
            return replace(state, route=event)
        case TurnRecorded(turn=turn, tree=tree, cost=cost):
            if turn != state.turn + 1:
                raise ImpossibleHistory(f"Run {state.id}: turn {turn} follows {state.turn}")
            return replace(state, turn=turn, tree=tree, cost=state.cost + (cost or 0))
        case RunFinished():
            return replace(state, status=status, finished=event)


def _started(state: RunState | None, event: RunStarted) -> RunState:
    identifier = run_id(event.task, event.attempt)
    status = RUN_TABLE.after(identifier, state.status if state else None, event.type)
    return RunState(id=identifier, started=event, status=RunStatus(status))
