"""One LISTEN connection per store, supervised: it reconnects, and wakes everybody after it did."""

import os
import random
import select
import threading
from typing import Final

import psycopg
import structlog
from psycopg import sql

FIRST_BACKOFF_SECONDS: Final = 0.1
LONGEST_BACKOFF_SECONDS: Final = 5.0
KEEPALIVE_SECONDS: Final = 30.0
"""How long a silent connection is trusted before it is asked."""

_log = structlog.get_logger(__name__)


class Listener:
    """Sets events when PostgreSQL notifies `channel`; its thread lives from the first `listen` to `close`."""

    def __init__(self, dsn: str, channel: str) -> None:
        self._dsn = dsn
        self._statement = sql.SQL("LISTEN {}").format(sql.Identifier(channel))
        self._lock = threading.Lock()
        self._wakes: tuple[threading.Event, ...] = ()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._interrupt = -1

    def listen(self, wake: threading.Event) -> None:
        """Have `wake` set from now on; returns once notifications arrive, or the database proved to be away."""
        with self._lock:
            self._wakes = (*self._wakes, wake)
            if self._thread is None:
                reading, self._interrupt = os.pipe()
                self._thread = threading.Thread(target=self._run, args=(reading,), name="store-listener", daemon=True)
                self._thread.start()
        self._ready.wait(LONGEST_BACKOFF_SECONDS)

    def unlisten(self, wake: threading.Event) -> None:
        with self._lock:
            self._wakes = tuple(other for other in self._wakes if other is not wake)

    def close(self) -> None:
        """End the thread and its connection. Idempotent."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                return
            self._stopping.set()
            os.close(self._interrupt)
        thread.join()

    def _run(self, interrupt: int) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        try:
            while not self._stopping.is_set():
                try:
                    with psycopg.connect(self._dsn, autocommit=True, connect_timeout=5) as connection:
                        connection.execute(self._statement)
                        backoff = FIRST_BACKOFF_SECONDS
                        self._follow(connection, interrupt)
                except psycopg.Error as error:
                    _log.warning("store_listener_lost", error=type(error).__name__, retry_seconds=backoff)
                    self._ready.set()
                    self._stopping.wait(backoff * random.uniform(0.5, 1.0))
                    backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
        finally:
            os.close(interrupt)

    def _follow(self, connection: psycopg.Connection[tuple[object, ...]], interrupt: int) -> None:
        # Whatever was committed while nobody listened is found by those who wake now.
        self._wake_all()
        self._ready.set()
        while not self._stopping.is_set():
            readable, _, _ = select.select([connection.fileno(), interrupt], [], [], KEEPALIVE_SECONDS)
            if not readable:
                connection.execute("SELECT 1")
            elif connection.fileno() in readable:
                for _ in connection.notifies(timeout=0):
                    self._wake_all()

    def _wake_all(self) -> None:
        for wake in self._wakes:
            wake.set()
