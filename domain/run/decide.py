"""What a Run decides: one start, one end, nothing after it."""

from typing import Final

from domain.kernel.decider import Decider
from domain.kernel.errors import InvalidInput, NotFound, StaleAttempt
from domain.kernel.event import Command, Event
from domain.kernel.money import show_usd
from domain.run.command import DecideRoute, FinishRun, RecordTurn, StartRun
from domain.run.event import RouteDecided, RunFinished, RunStarted, TurnRecorded
from domain.run.state import RunState, evolve
from domain.run.status import RUN_TABLE, RunOutcome, RunStatus


def decide(state: RunState | None, command: Command) -> tuple[Event, ...]:
    """The events of `command`; `()` when it is already so.

    Raises:
        StaleAttempt: the Run has ended, and what the command wants isn't what it ended with.
        DomainError: the rules refuse it.
    """
    if isinstance(command, StartRun):
        return _start(state, command)
    if state is None:
        raise NotFound("run", "of that task and attempt")
    match command:
        case DecideRoute():
            return _decide_route(state, command)
        case RecordTurn():
            return _record_turn(state, command)
        case FinishRun():
            return _finish(state, command)
    raise InvalidInput(f"a Run has no command {type(command).__name__}")


def _start(state: RunState | None, command: StartRun) -> tuple[Event, ...]:
    started = RunStarted(
        task=command.task,
        change=command.change,
        project=command.project,
        attempt=command.attempt,
        provider=command.provider,
        base_commit=command.base_commit,
        reservation=command.reservation,
        budget=command.budget,
        sandboxed=command.sandboxed,
        continues=command.continues,
    )
    if state is None:
        return (started,)
    if state.started != started:
        raise StaleAttempt(f"run {state.id} was started otherwise: an attempt number is never used twice")
    return ()


def _require_running(state: RunState) -> None:
    if state.status is not RunStatus.RUNNING:
        raise StaleAttempt(f"run {state.id} is {state.status}: what its worker writes now counts no more")


def _decide_route(state: RunState, command: DecideRoute) -> tuple[Event, ...]:
    decided = RouteDecided(tier=command.tier, model=command.model, reason=command.reason)
    if state.route == decided:
        return ()
    _require_running(state)
    if state.route is not None:
        raise InvalidInput(f"run {state.id} has the tier {state.route.tier}: another tier is a new attempt")
    return (decided,)


def _record_turn(state: RunState, command: RecordTurn) -> tuple[Event, ...]:
    if command.turn < state.turn or (command.turn, command.tree) == (state.turn, state.tree):
        return ()
    _require_running(state)
    if command.turn != state.turn + 1:
        raise InvalidInput(f"run {state.id} has recorded turn {state.turn}: turn {command.turn} doesn't follow it")
    return (TurnRecorded(turn=command.turn, tree=command.tree, cost=command.cost),)


def _finish(state: RunState, command: FinishRun) -> tuple[Event, ...]:
    finished = RunFinished(
        outcome=command.outcome,
        reason=command.reason,
        exit_code=command.exit_code,
        cost=command.cost,
        log=command.log,
        commit=command.commit,
        tree=command.tree,
        report=command.report,
        duration_ms=command.duration_ms,
    )
    if state.finished == finished:
        return ()
    _require_running(state)
    _require_sound(state, finished)
    RUN_TABLE.require(state.id, state.status, finished.type, finished.outcome)
    return (finished,)


def _require_sound(state: RunState, finished: RunFinished) -> None:
    if finished.cost is not None and finished.cost < state.cost:
        raise InvalidInput(f"run {state.id} has cost {show_usd(state.cost)} already, not {show_usd(finished.cost)}")
    if finished.commit is not None and (finished.tree is None or finished.outcome is not RunOutcome.COMPLETED):
        raise InvalidInput(f"run {state.id}: only a completed run has a ChangeSet, with commit and tree")


RUN: Final = Decider(decide, evolve)
