"""Delivers one message of the outbox: handled, deferred or failed (DESIGN, "Effects")."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

import structlog

from commands.context import Context, Deferred, handled_message
from commands.handlers import candidate, change, promotion, task
from commands.message import Name
from commands.ports.store import DuplicateCommand, FenceLost, Handling, Message, OpenMessage, StoreFull
from domain.kernel.errors import DomainError

Handler = Callable[[Context, Message], Handling]

HANDLERS: Final[Mapping[str, Handler]] = {
    Name.PLAN: change.plan,
    Name.DISPATCH: change.dispatch,
    Name.SETTLE: change.settle,
    Name.WAKE: task.wake,
    Name.CREATE_CANDIDATE: candidate.create,
    Name.RECOMPOSE: candidate.recompose,
    Name.APPROVE_IN_ADVANCE: promotion.approve_in_advance,
    Name.PROMOTE: promotion.request,
    Name.ADVANCE: promotion.advance,
}

MAX_DELIVERIES: Final = 6
"""Failed deliveries of one message before it goes to the dead letters."""

log = structlog.get_logger(__name__)


class Delivery(StrEnum):
    HANDLED = "handled"
    DEFERRED = "deferred"
    FAILED = "failed"
    DEAD = "dead"


def deliver(ctx: Context, delivered: OpenMessage) -> Delivery:
    """Handle the message once, whatever happens: a refusal is recorded as one, a fault is tried again later.

    Raises:
        FenceLost, StoreFull: nothing was recorded, and going on makes no sense now.
    """
    message = delivered.message
    try:
        _handle(ctx, message)
    except Deferred as later:
        ctx.outbox.defer(message.message_id, ctx.clock() + timedelta(seconds=later.seconds))
        return Delivery.DEFERRED
    except (FenceLost, StoreFull):
        raise
    except Exception as error:  # noqa: BLE001  any fault of one message must not stop the others; it is counted and kept
        return _failed(ctx, message, error)
    return Delivery.HANDLED


def _handle(ctx: Context, message: Message) -> None:
    try:
        HANDLERS[message.name](ctx, message)
    except DuplicateCommand:
        log.debug("message.repeated", message=message.message_id)
    except DomainError as refusal:
        handled = handled_message(message, ctx.clock(), Handling.REFUSED, str(refusal))
        ctx.writer.transact(lambda unit: unit.commit(handled=(handled,)))


def _failed(ctx: Context, message: Message, error: Exception) -> Delivery:
    # The class only: the text of an unexpected error can hold what must not be stored.
    reason = f"{type(error).__name__} in {message.name}"
    log.warning("message.failed", message=message.message_id, error=type(error).__name__, exc_info=error)
    now = ctx.clock()
    failures = ctx.outbox.failed(message.message_id, reason, now)
    if failures < MAX_DELIVERIES:
        ctx.outbox.defer(message.message_id, now + timedelta(seconds=min(60, 2**failures)))
        return Delivery.FAILED
    ctx.outbox.bury(message.message_id, reason, now)
    if message.name == Name.WAKE:
        task.dead_letter(ctx, message, reason)
    return Delivery.DEAD
