"""Whom commands run as, and who therefore owns workspaces."""

import os
import zlib
from pathlib import Path
from typing import Final

from infra.sandbox.ownership import give, open_up
from infra.sandbox.settings import SandboxSettings

USER_INSIDE: Final = 1000
"""The user ID that an ordinary user has in the sandbox's user namespace."""


class Identity:
    """The user of a workspace. Started as root: one of the dedicated user IDs; else the person's own, mapped."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._first, self._slots = settings.user_id, settings.user_slots

    @property
    def as_root(self) -> bool:
        return os.geteuid() == 0

    def is_dedicated(self, user: int) -> bool:
        return self._first <= user < self._first + self._slots

    def _slot(self, folder: Path) -> int:
        """The same for the same path, also in another process: nothing needs to remember it."""
        above = folder.parent.lstat().st_uid
        if self.is_dedicated(above):
            return above
        return self._first + zlib.crc32(os.fsencode(folder.resolve())) % self._slots

    def own(self, folder: Path) -> None:
        """See `Sandbox.own`. An ordinary user's files belong to the right user already."""
        if self.as_root:
            user = self._slot(folder)
            give(folder, user, user)

    def disown(self, folder: Path) -> None:
        """See `Sandbox.disown`."""
        if self.as_root:
            give(folder, os.geteuid(), os.getegid())
        else:
            open_up(folder)

    def user_of(self, folders: list[Path]) -> int:
        """The user inside for a command that writes in `folders`: who owns the first of them that was given away.

        The others that were given away change over to that user, so that one command can write in all of them.
        """
        if not self.as_root:
            return USER_INSIDE
        owners = [(folder, folder.lstat().st_uid) for folder in folders]
        given = [(folder, owner) for folder, owner in owners if self.is_dedicated(owner)]
        if not given:
            return self._first
        user = given[0][1]
        for folder, owner in given:
            if owner != user:
                give(folder, user, user)
        return user
