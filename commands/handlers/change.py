"""Planning, dispatch and settling of a Change."""

from commands.context import Context, handled_message, handling_of, message_meta
from commands.ports.store import Handling, Message
from commands.unit import Unit
from domain.change.command import DispatchTasks, SettleChange, StartCompiling
from domain.kernel.event import Command


def plan(ctx: Context, message: Message) -> Handling:
    """Start compiling; the planning itself is the effect that this intends."""
    return _decide(ctx, message, StartCompiling)


def dispatch(ctx: Context, message: Message) -> Handling:
    return _decide(ctx, message, DispatchTasks)


def settle(ctx: Context, message: Message) -> Handling:
    return _decide(ctx, message, SettleChange)


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
