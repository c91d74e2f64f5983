"""Reading the whole log once, for many folds, with progress."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from commands.ports.store import EventStore
from projections.fold import Events, FanOut

PAGE: Final = 2_000

Progress = Callable[[int, int, float], None]
"""Told after each page: events done, events in total (positions, so gaps count), events a second so far."""


def read_page(store: EventStore, after: int, limit: int = PAGE) -> Events:
    """A page of the log as folds take it."""
    return [(stored.position, stored.envelope) for stored in store.log(after, limit)]


def no_progress(done: int, total: int, rate: float) -> None:
    """Nobody watches."""


def fold_log(
    store: EventStore, fan: FanOut, until: int, after_page: Callable[[], None], progress: Progress = no_progress
) -> None:
    """Feed the log up to position `until` to `fan`, calling `after_page` after each page."""
    began = time.monotonic()
    start = position = min((fold.position for fold in fan.folds), default=until)
    with few_collections():
        while position < until and (events := read_page(store, position)):
            fan.feed([event for event in events if event[0] <= until] if events[-1][0] > until else events)
            position = min(events[-1][0], until)
            after_page()
            progress(position, until, (position - start) / max(time.monotonic() - began, 1e-6))
    fan.advance(until)


@contextmanager
def few_collections() -> Iterator[None]:
    """Without the garbage collector: folding makes many objects that live and no cycles for it to find."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
