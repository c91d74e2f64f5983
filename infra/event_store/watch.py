"""When a heartbeat counts as stopped."""

from collections.abc import Callable
from typing import Final

DEFAULT_TTL_SECONDS: Final = 30.0

Clock = Callable[[], float]
"""Monotonic seconds."""


class HeartbeatWatch:
    """Sees a heartbeat as stopped once its value stayed unchanged for the whole TTL on our own monotonic clock.

    Times written by others are never compared: their clocks may jump. A new watcher therefore waits a whole TTL.
    """

    def __init__(self, clock: Clock, ttl: float) -> None:
        self._clock = clock
        self._ttl = ttl
        self._seen: dict[str, tuple[object, float]] = {}

    def has_stopped(self, name: str, beat: object) -> bool:
        """Note the present value; True if it has been this one for the TTL or longer."""
        now = self._clock()
        value, since = self._seen.get(name, (None, now))
        if value != beat or name not in self._seen:
            self._seen[name] = (beat, now)
            return False
        return now - since >= self._ttl

    def forget(self, name: str) -> None:
        """Start anew with the next value."""
        self._seen.pop(name, None)
