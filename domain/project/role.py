"""Roles live in the Project."""

from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"

    @property
    def manages(self) -> bool:
        """Owners and admins approve, reject, promote, and cancel what others asked for."""
        return self in (Role.OWNER, Role.ADMIN)
