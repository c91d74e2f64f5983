"""Planning, dispatch and settling of a Change."""

from datetime import datetime

from commands.context import Context, handled_message, handling_of, message_meta
from commands.handlers.promotion import policy_of
from commands.message import Name, derived
from commands.ports.store import Handling, Message
from commands.unit import Unit
from domain.change.command import DispatchTasks, SettleChange, StartCompiling
from domain.change.state import ChangeState
from domain.change.waiting import due
from domain.kernel.event import Command


def plan(ctx: Context, message: Message) -> Handling:
    """Start compiling; the planning itself is the effect that this intends."""
    return _decide(ctx, message, StartCompiling)


def dispatch(ctx: Context, message: Message) -> Handling:
    return _decide(ctx, message, DispatchTasks)


def settle(ctx: Context, message: Message) -> Handling:
    """Judge a Change that nothing else moves; what it then waits for that no event sends is sent from here."""
    assert message.change is not None
    stream = message.change

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        command = SettleChange(**message_meta(message, now), policy=policy_of(unit, stream))
        events = unit.decide(stream, command)
        follow_up = _follow_up(message, now, unit.state(stream))
        handling = handling_of((*events, *follow_up))
        unit.commit(handled=(handled_message(message, now, handling),), messages=follow_up)
        return handling

    return ctx.writer.transact(work)


def _follow_up(message: Message, now: datetime, state: ChangeState) -> tuple[Message, ...]:
    what = due(state)
    if what is None:
        return ()
    payload = {} if what.candidate is None else {"candidate": what.candidate, "trigger": "auto"}
    sent = derived(
        Name(what.command), cause=message.message_id, at=now, project=state.project, change=state.id, **payload
    )
    return (sent,)


def _decide(ctx: Context, message: Message, command: type[Command]) -> Handling:
    assert message.change is not None
    stream = message.change

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        events = unit.decide(stream, command(**message_meta(message, now)))
        handling = handling_of(events)
        unit.commit(handled=(handled_message(message, now, handling),))
        return handling

    return ctx.writer.transact(work)
