"""Times and durations as people read them."""

from datetime import datetime


def duration(milliseconds: int) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def since(start: datetime, at: datetime) -> str:
    """How long after `start`, as `+1.2 s`."""
    return f"+{duration(max(0, round((at - start).total_seconds() * 1000)))}"


def clock(at: datetime) -> str:
    """The time of day where the person is."""
    return at.astimezone().strftime("%H:%M:%S")


def moment(at: datetime) -> str:
    """Date and time where the person is."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M")
