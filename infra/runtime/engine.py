"""The engine of one process: leads if nobody else does, delivers messages and performs effects of its Changes.

`step` is a function of what the store holds; `Runner` drives it in real time.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from commands.context import Context
from commands.effect import EffectKind, run_effect
from commands.handlers.deliver import Delivery, deliver
from commands.perform.performance import Performance, Performer, perform
from commands.ports.store import ChangeBusy, Effect, FenceLost, Lease, StoreError
from commands.unit import HeldLeases
from infra.runtime.router import Router

log = structlog.get_logger(__name__)

LEADER: Final = "leader"
DELIVERIES: Final = 50
POOLED: Final = frozenset({EffectKind.PLAN, EffectKind.RUN, EffectKind.CHECK})
"""Kinds that run foreign commands and so take a place in the installation's one pool."""


class Follower(Protocol):
    """Something that follows the log while this process leads."""

    def step(self) -> bool: ...


class Rounds(Protocol):
    """Something that is done now and then while this process leads. It takes its time, and raises nothing."""

    @property
    def due(self) -> bool: ...

    def run(self) -> None: ...


def change_lease(change: str) -> str:
    """The lease of whoever works on a Change: it has that person's PATH and environment."""
    return f"change:{change}"


@dataclass(slots=True)
class Running:
    """A performance at work in this process."""

    effect: Effect
    cancel: threading.Event
    future: Future[None] | None = None


@dataclass(slots=True)
class Engine:
    """on_output gets (effect, source, chunk) of what agents and checks print, from their threads."""

    ctx: Context
    router: Router
    projector: Follower
    reconciler: Rounds
    performers: Mapping[str, Performer]
    wake: threading.Event
    on_output: Callable[[Effect, str, bytes], None] = field(default=lambda _effect, _source, _chunk: None)
    _leader: Lease | None = None
    _reconciling: Future[None] | None = None
    _running: dict[str, Running] = field(default_factory=dict)
    _over: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(64, "effect"))

    @property
    def _held(self) -> HeldLeases:
        return self.ctx.writer.held

    # -- which Changes are ours --------------------------------------------------------------------------------

    def adopt(self, change: str) -> None:
        """Work on `change` in this process.

        Raises:
            ChangeBusy: another process does.
        """
        lease = self.ctx.leases.acquire(change_lease(change))
        if lease is None:
            raise ChangeBusy(f"{change} is being worked on by another process of this home")
        self._held.hold(change, lease)
        self.wake.set()

    def give_up(self, change: str) -> None:
        lease = self._held.drop(change)
        if lease is not None:
            self.ctx.leases.release(lease)

    def heartbeat(self) -> None:
        """Renew what this process holds; what was taken over is stopped."""
        if self._leader is not None and not self.ctx.leases.renew(self._leader):
            self._leader = None
        for change, lease in self._held.items():
            if not self.ctx.leases.renew(lease):
                log.warning("change.taken_over", change=change)
                self._held.drop(change)
                self._cancel(lambda effect, lost=change: effect.change == lost)  # type: ignore[misc]
        with self._lock:
            pooled = [effect_id for effect_id, running in self._running.items() if running.effect.kind in POOLED]
        for effect_id in pooled:
            self.ctx.slots.renew(effect_id)

    # -- one step ----------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Do what is due now; False when nothing was."""
        self._free_slots()
        progressed = self._lead()
        progressed |= self._deliver()
        progressed |= self._start_effects()
        return progressed

    def _lead(self) -> bool:
        if self._leader is None:
            self._leader = self.ctx.leases.acquire(LEADER)
            if self._leader is None:
                return False
        try:
            routed = self.router.step(self._leader)
        except FenceLost:
            self._leader = None
            return False
        if self.reconciler.due and (self._reconciling is None or self._reconciling.done()):
            self._reconciling = self._pool.submit(self.reconciler.run)
        return self.projector.step() or routed

    def _deliver(self) -> bool:
        changes = self._held.streams
        if not changes:
            return False
        due = self.ctx.outbox.due(self.ctx.clock(), DELIVERIES, changes)
        return [deliver(self.ctx, message) for message in due].count(Delivery.HANDLED) > 0

    def _start_effects(self) -> bool:
        changes = self._held.streams
        if not changes:
            return False
        due = self.ctx.effects.open(self.ctx.clock(), changes)
        self._stop_unwanted(changes)
        with self._lock:
            fresh = [effect for effect in due if not self._waits(effect)]
        return [self._start(effect) for effect in fresh].count(True) > 0

    def _waits(self, effect: Effect) -> bool:
        """At work already; or what is left of a run is to be removed while its processes still end."""
        if effect.effect_id in self._running:
            return True
        return effect.kind == EffectKind.STOP and run_effect(effect.payload["run"]) in self._running

    def _stop_unwanted(self, changes: tuple[str, ...]) -> None:
        """Cancel performances whose effect is closed: their Change was cancelled, or their candidate went stale."""
        with self._lock:
            if not self._running:
                return
        wanted = {effect.effect_id for change in changes for effect in self.ctx.effects.of_change(change)}
        self._cancel(lambda effect: effect.effect_id not in wanted)

    def _cancel(self, which: Callable[[Effect], bool]) -> None:
        with self._lock:
            for running in self._running.values():
                if which(running.effect):
                    running.cancel.set()

    def _start(self, effect: Effect) -> bool:
        pooled = effect.kind in POOLED
        if pooled and not self.ctx.slots.take(effect.effect_id, self.ctx.bounds.slots):
            return False
        lease = self._held.get(effect.change or "")
        attempt = self.ctx.effects.begin(effect.effect_id, lease)
        if attempt == 0:
            if pooled:
                self.ctx.slots.free(effect.effect_id)
            return False
        running = Running(effect, threading.Event())
        performance = Performance(
            ctx=self.ctx,
            effect=effect,
            attempt=attempt,
            cancel=running.cancel,
            fences=(lease,) if lease is not None else (),
            lines=lambda source, chunk: self.on_output(effect, source, chunk),
        )
        with self._lock:
            self._running[effect.effect_id] = running
        running.future = self._pool.submit(self._perform, performance, pooled)
        return True

    def _perform(self, performance: Performance, pooled: bool) -> None:
        effect_id = performance.effect.effect_id
        try:
            perform(self.performers, performance)
        except FenceLost:
            log.warning("effect.fenced", effect=effect_id)
        except StoreError as error:
            # Nothing of the outcome is there, so the effect is open still, and begins again.
            log.warning("effect.store_trouble", effect=effect_id, error=str(error))
        finally:
            with self._lock:
                del self._running[effect_id]
                if pooled:
                    self._over.add(effect_id)
            self.wake.set()

    def _free_slots(self) -> None:
        """Give back the places of what is over; in trouble with the store it is tried again with the next step."""
        with self._lock:
            over = self._over - self._running.keys()
        for effect_id in over:
            self.ctx.slots.free(effect_id)
            self._over.discard(effect_id)

    # -- the end -----------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether performances are at work in this process."""
        with self._lock:
            return bool(self._running)

    def stop(self) -> None:
        """Stop agents and checks, wait for their threads, hand back every lease. What is open stays open.

        A store in trouble keeps nobody from ending: what a process held that is gone is free.
        """
        self._cancel(lambda _effect: True)
        self._pool.shutdown(wait=True)
        try:
            self._free_slots()
            for change in self._held.streams:
                self.give_up(change)
            if self._leader is not None:
                self.ctx.leases.release(self._leader)
                self._leader = None
        except StoreError as error:
            log.warning("engine.stopped_in_trouble", error=str(error))
