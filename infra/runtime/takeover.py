"""Going on with a Change whose process gives no sign of life, though it can't be seen to be gone."""

import threading
import time
from collections.abc import Callable
from typing import Final

from commands.ports.store import ChangeBusy
from infra.runtime.engine import Engine, change_lease

PATIENCE_TTLS: Final = 1.5
"""A holder that is alive beats several times in one TTL, so after this time nobody takes it over."""

LOOKS: Final = 20
"""In one TTL."""


def adopt(engine: Engine, change: str, ttl: float, tell: Callable[[str], None]) -> None:
    """Have `engine` work on `change`; waits `ttl` seconds where its holder is stopped or on another machine.

    Raises:
        ChangeBusy: another process works on it.
    """
    told, deadline = False, time.monotonic() + PATIENCE_TTLS * ttl
    while True:
        try:
            engine.adopt(change)
        except ChangeBusy:
            if not engine.ctx.leases.is_silent(change_lease(change)) or time.monotonic() > deadline:
                raise
        else:
            return
        if not told:
            told = True
            tell(f"another process has {change}; it is taken over if that shows no sign of life for {ttl:.0f} s")
        threading.Event().wait(ttl / LOOKS)
