"""The thread that drives a projector: it steps while there is something to do, then waits for the store's wake."""

import random
import threading
from typing import Final

import structlog

from commands.ports.store import EventStore, StoreError
from infra.projections.projector import Projector

FIRST_BACKOFF_SECONDS: Final = 0.1
LONGEST_BACKOFF_SECONDS: Final = 5.0
LONGEST_WAIT_SECONDS: Final = 30.0
"""A lost notification costs at most this long."""

_log = structlog.get_logger(__name__)


class Follower:
    """One per process. A store that is away is asked again with back-off; read models that fail stop by themselves."""

    def __init__(self, store: EventStore, projector: Projector) -> None:
        self._store = store
        self._projector = projector
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="projections", daemon=True)

    def start(self) -> None:
        self._store.listen(self._wake)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current step."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()
        self._store.unlisten(self._wake)

    def _run(self) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        while not self._stopping.is_set():
            # Cleared first: what is committed during the steps sets it again.
            self._wake.clear()
            try:
                while not self._stopping.is_set() and self._projector.step():
                    pass
                backoff = FIRST_BACKOFF_SECONDS
            except StoreError as error:
                _log.warning("projections_store_failed", error=type(error).__name__, retry_seconds=backoff)
                self._stopping.wait(backoff * random.uniform(0.5, 1.0))
                backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
                continue
            if not self._stopping.is_set():
                self._wake.wait(LONGEST_WAIT_SECONDS)
