"""The combined output of a command, taken as it comes and bounded."""

import os
import threading
from collections.abc import Callable

_CHUNK = 65_536


class Output:
    """Collects output up to `limit` bytes; `overflow` is called once, with the first byte beyond.

    What `on_output` raises ends the execution (`overflow` is called then too) and is raised by `finish`.
    """

    def __init__(self, limit: int, on_output: Callable[[bytes], None] | None, overflow: Callable[[], None]) -> None:
        self._limit, self._on_output, self._overflow = limit, on_output, overflow
        self._lock = threading.Lock()
        self._chunks: list[bytes] = []
        self._size = 0
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self.truncated = False

    @property
    def content(self) -> bytes:
        with self._lock:
            return b"".join(self._chunks)

    def add(self, chunk: bytes) -> None:
        """Take a chunk from any thread; what is beyond the limit is dropped."""
        with self._lock:
            kept = chunk[: self._limit - self._size]
            self._size += len(kept)
            if kept:
                self._chunks.append(kept)
            first_cut = len(kept) < len(chunk) and not self.truncated
            self.truncated = self.truncated or first_cut
        if first_cut:
            self._overflow()
        if kept and self._on_output is not None:
            self._on_output(kept)

    def follow(self, descriptor: int) -> None:
        """Read from `descriptor` in a thread of its own, until no process holds the other end."""
        self._thread = threading.Thread(target=self._read, args=(descriptor,), name="sandbox-output", daemon=True)
        self._thread.start()

    def _read(self, descriptor: int) -> None:
        try:
            while chunk := os.read(descriptor, _CHUNK):
                self.add(chunk)
        except BaseException as error:  # noqa: BLE001 - raised again by `finish`, in the thread that can handle it
            self._error = error
            self._overflow()

    def finish(self) -> None:
        """Wait for the end of the output."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
