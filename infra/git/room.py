"""A full disk, said by name: git, the sandbox and Python each tell it in their own way."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from commands.ports.git import NoRoom
from infra.git.confined import NO_ROOM, ConfinedGitFailed
from infra.git.process import GitFailed

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS: Final = (errno.ENOSPC, errno.EDQUOT)


class HasPath(Protocol):
    @property
    def path(self) -> Path: ...


S = TypeVar("S", bound=HasPath)


@contextmanager
def telling_no_room(path: Path) -> Iterator[None]:
    """Failures for want of room at `path` become `NoRoom`."""
    try:
        yield
    except ConfinedGitFailed as error:
        if error.no_room:
            raise NoRoom(path) from error
        raise
    except GitFailed as error:
        if any(mark.decode() in error.stderr for mark in NO_ROOM):
            raise NoRoom(path) from error
        raise
    except OSError as error:
        if error.errno in _NUMBERS:
            raise NoRoom(path) from error
        raise


def needs_room(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """For a method that writes below its object's `path`."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with telling_no_room(self.path):
            return method(self, *args, **keywords)

    return guarded
