"""Reading the whole log once, for many folds, with progress."""

import gc
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Final

from commands.ports.store import EventStore
from projections.fold import Events, FanOut

PAGE: Final = 2_000

Progress = Callable[[int, int, float], None]
"""Told after each page: events done, events in total (positions, so gaps count), events a second so far."""


def read_page(store: EventStore, after: int, limit: int = PAGE) -> Events:
    """A page of the log as folds take it."""
    return store.envelopes(after, limit)


def no_progress(done: int, total: int, rate: float) -> None:
    """Nobody watches."""


def fold_log(
    store: EventStore, fan: FanOut, until: int, after_page: Callable[[], None], progress: Progress = no_progress
) -> None:
    """Feed the log up to position `until` to `fan`, calling `after_page` after each page."""
    began = time.monotonic()
    start = min((fold.position for fold in fan.folds), default=until)
    with few_collections(), closing(_pages(store, start, until)) as pages:
        for events in pages:
            fan.feed([event for event in events if event[0] <= until] if events[-1][0] > until else events)
            after_page()
            position = min(events[-1][0], until)
            progress(position, until, (position - start) / max(time.monotonic() - began, 1e-6))
    fan.advance(until)


def _pages(store: EventStore, after: int, until: int) -> Generator[Events, None, None]:
    """Pages up to the one that reaches `until`; while one is used, the database is at the next."""
    if after >= until:
        return
    with ThreadPoolExecutor(1, "log-reader") as reader:
        following = reader.submit(read_page, store, after)
        while events := following.result():
            last = events[-1][0]
            if last < until:
                following = reader.submit(read_page, store, last)
            yield events
            if last >= until:
                return


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
