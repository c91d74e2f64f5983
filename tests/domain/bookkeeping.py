"""The bookkeeping that every command carries, fixed for tests."""

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OWNER = "usr_owner"
COMMIT = "a" * 40
OTHER_COMMIT = "b" * 40
TREE = "c" * 40


def by(actor: str = OWNER, at: datetime = NOW) -> dict[str, Any]:
    """To be splatted into a command's constructor."""
    return {"command_id": "cmd_1", "actor": actor, "at": at}
