"""Which rows wait: `not_before` lies ahead, but no further than a pause can be (see `LONGEST_PAUSE`)."""

from datetime import MAXYEAR, UTC, datetime
from typing import Final

from commands.ports.store import LONGEST_PAUSE

DUE: Final = "(not_before IS NULL OR not_before NOT BETWEEN %s AND %s)"
"""A condition with the two parameters of `waiting`."""

_MOMENT: Final = datetime.resolution


def waiting(now: datetime) -> tuple[datetime, datetime]:
    """The bounds, both included, between which `not_before` holds a row back at `now`."""
    if now.year == MAXYEAR:
        # The end of time, for asking what is open at all.
        return now, datetime.min.replace(tzinfo=UTC)
    return now + _MOMENT, now + LONGEST_PAUSE


def is_due(not_before: datetime | None, now: datetime) -> bool:
    """The same condition in Python."""
    first, last = waiting(now)
    return not_before is None or not first <= not_before <= last
