"""Drives an engine in real time: a thread that steps while there is something to do, and one that keeps leases."""

import threading
from typing import Final

import structlog

from commands.ports.store import StoreError
from infra.runtime.engine import Engine

log = structlog.get_logger(__name__)

IDLE_SECONDS: Final = 0.5
"""How long nothing can be heard of before the store is looked at anyway: deferred work becomes due by time alone."""

TROUBLE_SECONDS: Final = 2.0


class Runner:
    """Runs until `stop`. A store that is away or full is tried again; nothing is lost meanwhile.

    trouble: why the last step couldn't be made; None if it could. A defect ends the engine: see `require_alive`.
    """

    def __init__(self, engine: Engine, lease_seconds: float) -> None:
        self._engine = engine
        self._lease_seconds = lease_seconds
        self._stopping = threading.Event()
        self._stepped = threading.Condition()
        self._idle = False
        self._defect: Exception | None = None
        self.trouble: str | None = None
        self._threads = (
            threading.Thread(target=self._drive, name="engine", daemon=True),
            threading.Thread(target=self._beat, name="leases", daemon=True),
        )

    def start(self) -> None:
        self._engine.ctx.writer.events.listen(self._engine.wake)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads, then the engine; what is open stays open for whoever goes on."""
        self._stopping.set()
        self._engine.wake.set()
        for thread in self._threads:
            thread.join()
        self._engine.stop()
        self._engine.ctx.writer.events.unlisten(self._engine.wake)

    def wait_step(self, timeout: float) -> bool:
        """Wait until the engine has stepped; True if it found nothing to do then."""
        with self._stepped:
            self._stepped.wait(timeout)
            return self._idle

    def require_alive(self) -> None:
        """Raise what ended the engine, if something did: whoever waits for it would wait for ever."""
        if self._defect is not None:
            raise self._defect

    def _drive(self) -> None:
        while not self._stopping.is_set():
            self._engine.wake.clear()
            pause = IDLE_SECONDS
            try:
                progressed = self._engine.step()
                self.trouble = None
            except StoreError as error:
                log.warning("engine.store_trouble", error=str(error))
                self.trouble, progressed, pause = str(error), False, TROUBLE_SECONDS
            except Exception as error:
                log.error("engine.defect", error=type(error).__name__, exc_info=error)
                self._defect = error
                return
            with self._stepped:
                self._idle = not progressed and self.trouble is None
                self._stepped.notify_all()
            if not progressed:
                self._engine.wake.wait(pause)

    def _beat(self) -> None:
        while not self._stopping.wait(self._lease_seconds / 3):
            try:
                self._engine.heartbeat()
            except StoreError as error:
                log.warning("leases.store_trouble", error=str(error))
