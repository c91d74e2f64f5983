"""Performs one effect: the intent is stored already, the outcome is an event that closes it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final

import structlog

from commands.context import Context, Deferred, meta
from commands.ports.git import Canonical, NoRoom, RepositoryError
from commands.ports.objects import ObjectsUnavailable
from commands.ports.sandbox import Bind, Sandbox
from commands.ports.store import DuplicateCommand, Effect, FenceLost, Handled, Handling, Lease, StoreFull
from commands.unit import Unit
from domain.check import Setup
from domain.kernel.errors import DomainError

log = structlog.get_logger(__name__)

RETRY_SECONDS_MAX: Final = 300

TOLD: Final = (RepositoryError, NoRoom, ObjectsUnavailable)
"""Faults whose text is made for people and holds nothing that must not be stored."""


@dataclass(frozen=True, slots=True)
class Performance:
    """One begun performance.

    attempt: 1 for the first; more means that an earlier one was cut off or postponed. cancel: set when the work is
    wanted no more, or the process is stopping. fences: leases that its writes depend on.
    """

    ctx: Context
    effect: Effect
    attempt: int
    cancel: threading.Event
    fences: tuple[Lease, ...] = ()
    lines: Callable[[str, bytes], None] = field(default=lambda _source, _chunk: None)

    def setup_binds(self, setup: Setup | None, canonical: Canonical, commit: str, sandbox: Sandbox) -> tuple[Bind, ...]:
        """What the set-up step made for the base `commit`, running the step if it never did; nothing without one."""
        if setup is None:
            return ()
        report = partial(self.lines, "setup")
        return self.ctx.setups.prepare(setup, canonical, commit, sandbox, self.cancel, report)

    def bookkeeping(self, step: str = "outcome") -> dict[str, Any]:
        """Of the domain commands of one step; the ID derives from the effect, so a step is recorded once."""
        effect = self.effect
        return meta(
            f"{effect.effect_id}/{step}",
            f"system:{effect.kind}",
            self.ctx.clock(),
            effect.opened_by,
            effect.change,
        )

    def record(self, work: Callable[[Unit, dict[str, Any]], None], step: str = "outcome") -> bool:
        """Decide and commit one step once; False when it is recorded already, or nobody wants it any more."""
        bookkeeping = self.bookkeeping(step)

        def attempt(unit: Unit) -> None:
            work(unit, bookkeeping)
            handled = Handled(
                command_id=bookkeeping["command_id"],
                name=f"effect.{self.effect.kind}",
                actor=bookkeeping["actor"],
                at=bookkeeping["at"],
                handling=Handling.DONE,
                causation=self.effect.opened_by,
                correlation=self.effect.change,
            )
            unit.commit(handled=(handled,), fences=self.fences)

        try:
            self.ctx.writer.transact(attempt)
        except DuplicateCommand:
            return False
        except DomainError as refusal:
            log.info("effect.outcome_refused", effect=self.effect.effect_id, refusal=str(refusal))
            return False
        return True


class Performed(StrEnum):
    DONE = "done"
    DEFERRED = "deferred"
    FAILED = "failed"


Performer = Callable[[Performance], None]


def perform(performers: Mapping[str, Performer], performance: Performance) -> Performed:
    """Perform; a fault postpones the effect with a growing pause, never drops it.

    Raises:
        FenceLost, StoreFull: nothing was recorded; whoever holds the lease goes on, or this process when there is room.
    """
    effect = performance.effect
    try:
        performers[effect.kind](performance)
    except Deferred as later:
        _postpone(performance, str(later), later.seconds)
        return Performed.DEFERRED
    except (FenceLost, StoreFull):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, TOLD) else type(error).__name__
        log.warning("effect.failed", effect=effect.effect_id, error=type(error).__name__, exc_info=error)
        pause = min(RETRY_SECONDS_MAX, 2 ** min(performance.attempt, 8))
        _postpone(performance, reason, pause)
        return Performed.FAILED
    return Performed.DONE


def _postpone(performance: Performance, reason: str, seconds: float) -> None:
    """Of the lease on its Change: who lost that must not hold up who has it now."""
    ctx, fence = performance.ctx, next(iter(performance.fences), None)
    not_before = ctx.clock() + timedelta(seconds=seconds)
    ctx.effects.postpone(performance.effect.effect_id, reason, not_before, fence)
