"""What a person does to a Change: approve, reject, cancel, raise its budget. Each is stored with its ID."""

from collections.abc import Callable
from typing import Any

from commands.context import Context, handling_of, meta
from commands.handlers.promotion import role_of
from commands.message import Name, derived
from commands.ports.store import Handled, Message
from commands.unit import Unit
from domain.change.command import (
    ApproveCandidate,
    CancelChange,
    RaiseBudget,
    RejectCandidate,
    RetryDeadLetter,
)
from domain.change.error import NothingToApprove
from domain.change.state import CandidateState, ChangeState
from domain.change.status import CandidateStatus
from domain.kernel.errors import NotFound
from domain.kernel.event import Event


def approve(ctx: Context, change: str, actor: str) -> None:
    """Approve the waiting candidate where that is required, then ask for its promotion.

    Raises:
        NotFound, NothingToApprove, NotAllowed
    """

    def decide(unit: Unit, bookkeeping: dict[str, Any]) -> tuple[tuple[Event, ...], tuple[Message, ...]]:
        state = _change(unit, change)
        candidate = _waiting(state)
        role = role_of(unit, change, actor)
        events: tuple[Event, ...] = ()
        if candidate.approval_requested:
            events = unit.decide(change, ApproveCandidate(**bookkeeping, candidate=candidate.id, role=role))
        promote = derived(
            Name.PROMOTE,
            cause=bookkeeping["command_id"],
            at=bookkeeping["at"],
            project=state.project,
            change=change,
            actor=actor,
            candidate=candidate.id,
            trigger="person",
        )
        return events, (promote,)

    _carry_out(ctx, "change.approve", change, actor, {}, decide)


def reject(ctx: Context, change: str, actor: str) -> None:
    """Reject the waiting candidate; without another one the Change ends.

    Raises:
        NotFound, NothingToApprove, NotAllowed
    """

    def decide(unit: Unit, bookkeeping: dict[str, Any]) -> tuple[tuple[Event, ...], tuple[Message, ...]]:
        candidate = _waiting(_change(unit, change))
        role = role_of(unit, change, actor)
        return unit.decide(change, RejectCandidate(**bookkeeping, candidate=candidate.id, role=role)), ()

    _carry_out(ctx, "change.reject", change, actor, {}, decide)


def cancel(ctx: Context, change: str, actor: str) -> None:
    """End the Change; its agents stop at once.

    Raises:
        NotFound, NotAllowed, IllegalTransition
    """

    def decide(unit: Unit, bookkeeping: dict[str, Any]) -> tuple[tuple[Event, ...], tuple[Message, ...]]:
        _change(unit, change)
        return unit.decide(change, CancelChange(**bookkeeping, role=role_of(unit, change, actor))), ()

    _carry_out(ctx, "change.cancel", change, actor, {}, decide)


def raise_budget(ctx: Context, change: str, actor: str, budget: int) -> None:
    """Raise the Change's budget to `budget` micro-dollars and resume what it stopped.

    Raises:
        NotFound, NotAllowed, InvalidInput
    """

    def decide(unit: Unit, bookkeeping: dict[str, Any]) -> tuple[tuple[Event, ...], tuple[Message, ...]]:
        _change(unit, change)
        command = RaiseBudget(**bookkeeping, budget=budget, role=role_of(unit, change, actor))
        return unit.decide(change, command), ()

    _carry_out(ctx, "change.budget", change, actor, {"budget": budget}, decide)


def retry_dead_letters(ctx: Context, change: str, actor: str) -> int:
    """Bring back every dead-lettered task of the Change; returns how many there were.

    Raises:
        NotFound, NotAllowed
    """
    count = 0

    def decide(unit: Unit, bookkeeping: dict[str, Any]) -> tuple[tuple[Event, ...], tuple[Message, ...]]:
        nonlocal count
        state = _change(unit, change)
        role = role_of(unit, change, actor)
        dead = [task for task in state.tasks.values() if task.is_dead_letter]
        count = len(dead)
        events: tuple[Event, ...] = ()
        for task in dead:
            events += unit.decide(change, RetryDeadLetter(**bookkeeping, task=task.id, role=role))
        return events, ()

    _carry_out(ctx, "change.retry", change, actor, {}, decide)
    return count


def _carry_out(
    ctx: Context,
    name: str,
    change: str,
    actor: str,
    payload: dict[str, Any],
    decide: Callable[[Unit, dict[str, Any]], tuple[tuple[Event, ...], tuple[Message, ...]]],
) -> None:
    command_id = f"cmd_{ctx.new_uuid()}"

    def work(unit: Unit) -> None:
        bookkeeping = meta(command_id, actor, ctx.clock(), None, change)
        events, messages = decide(unit, bookkeeping)
        handled = Handled(
            command_id=command_id,
            name=name,
            actor=actor,
            at=bookkeeping["at"],
            handling=handling_of((*events, *messages)),
            correlation=change,
            payload={"change": change, **payload},
        )
        unit.commit(handled=(handled,), messages=messages)

    ctx.writer.transact(work)


def _change(unit: Unit, change: str) -> ChangeState:
    state: ChangeState | None = unit.state(change)
    if state is None:
        raise NotFound("Change", change)
    return state


def _waiting(state: ChangeState) -> CandidateState:
    """The candidate that a person can ship or reject now."""
    verified = [c for c in state.candidates.values() if c.status == CandidateStatus.VERIFIED]
    if not verified:
        raise NothingToApprove(
            f"{state.id} is {state.status} and has no verified candidate: there is nothing to decide on"
        )
    return next((c for c in verified if c.selected), verified[-1])
