"""Compare-and-swap of refs by dulwich, which is atomic across processes and with git's own ref commands.

Only single refs are read and written with it: dulwich's `pack_refs`, `gc` and `maintenance` lose updates.
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from infra.git.durable import sync_folder
from infra.git.process import GitFailed, git, require_object_name

if TYPE_CHECKING:
    from dulwich.refs import DiskRefsContainer

PATIENCE: Final = 5.0
"""Seconds for which the same lock file must have been there before it counts as left by a killed process.

A ref's lock is held for the time of one small synced write.
"""

PAUSES: Final = (0.001, 0.05)
"""Bounds in seconds of the random pause between two attempts at a locked ref."""

VANISHED_FOLDERS: Final = 20
"""Times in a row that a ref's folder may be removed under an attempt."""

T = TypeVar("T")


class Refs:
    """The refs of one repository of ours."""

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        self._path, self._patience = path, patience

    def read(self, ref: str) -> str | None:
        """The object name at `ref`, None if there is no such ref."""
        from dulwich.refs import Ref

        found = self._container().read_ref(Ref(ref.encode()))
        return None if found is None else found.decode()

    def create(self, ref: str, new: str) -> bool:
        """Make `ref` at `new`; False when it exists, wherever it is.

        Raises:
            ValueError: not a well-formed ref under `refs/`.
        """
        from dulwich.objects import ObjectID
        from dulwich.refs import Ref

        name, value = Ref(_checked(ref)), ObjectID(require_object_name(new).encode())
        done = self._locked(lambda refs: refs.add_if_new(name, value))
        return done and self._synced(ref)

    def swap(self, ref: str, expected: str, new: str) -> bool:
        """Move `ref` from `expected` to `new`; False when it isn't at `expected`."""
        from dulwich.objects import ObjectID
        from dulwich.refs import Ref

        name, old = Ref(_checked(ref)), ObjectID(require_object_name(expected).encode())
        value = ObjectID(require_object_name(new).encode())
        done = self._locked(lambda refs: refs.set_if_equals(name, old, value))
        return done and self._synced(ref)

    def put(self, ref: str, new: str) -> None:
        """Set `ref` to `new` wherever it is: for refs with a single writer, such as those of one run."""
        while not self.create(ref, new):
            current = self.read(ref)
            if current is not None and self.swap(ref, current, new):
                return

    def delete(self, ref: str) -> None:
        """Remove `ref`; nothing happens when there is none. By git itself, which also rewrites packed refs safely."""
        name = _checked(ref).decode()
        self._locked(lambda _: self._delete(name))

    def list(self, prefix: str) -> dict[str, str]:
        """Every ref under `prefix` (with its slash) and its object name."""
        shown = git("for-each-ref", "--format=%(objectname) %(refname)", prefix, git_dir=self._path).stdout.decode()
        return {name: value for value, _, name in (row.partition(" ") for row in shown.splitlines())}

    def _delete(self, name: str) -> None:
        from dulwich.file import FileLocked

        try:
            git("update-ref", "-d", name, git_dir=self._path)
        except GitFailed:
            for file in (self._path / name, self._path / "packed-refs"):
                lock = file.with_name(f"{file.name}.lock")
                if lock.exists():
                    raise FileLocked(str(file), str(lock)) from None
            raise

    def _container(self) -> "DiskRefsContainer":
        from dulwich.refs import DiskRefsContainer

        return DiskRefsContainer(self._path)

    def _synced(self, ref: str) -> bool:
        folder = (self._path / ref).parent
        while folder != self._path and folder.exists():
            sync_folder(folder)
            folder = folder.parent
        return True

    def _locked(self, attempt: "Callable[[DiskRefsContainer], T]") -> T:
        from dulwich.file import FileLocked

        seen: tuple[int, int] | None = None
        since = time.monotonic()
        vanished = 0
        while True:
            try:
                return attempt(self._container())
            except FileNotFoundError:
                # Whoever deletes the last ref of a folder removes the folder, maybe under this one's lock file.
                vanished += 1
                if vanished == VANISHED_FOLDERS:
                    raise
            except FileLocked as error:
                lock = Path(os.fsdecode(error.lockfilename))
                now = identity(lock)
                if now != seen:
                    seen, since = now, time.monotonic()
                elif now is not None and time.monotonic() - since >= self._patience:
                    break_lock(self._path, lock, now)
            time.sleep(random.uniform(*PAUSES))


def break_lock(repository: Path, lock: Path, watched: tuple[int, int]) -> None:
    """Move a dead process's lock away, if it is still the one that was watched."""
    if identity(lock) == watched:
        grave = repository / f"stale-lock-{os.getpid()}-{watched[0]}"
        lock.replace(grave)
        grave.unlink()


def identity(lock: Path) -> tuple[int, int] | None:
    """What tells a lock file from a later one of the same name; None if there is none."""
    try:
        status = lock.lstat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _checked(ref: str) -> bytes:
    from dulwich.refs import Ref, check_ref_format

    name = ref.encode()
    if not name.startswith(b"refs/") or not check_ref_format(Ref(name)):
        raise ValueError(f"not a ref name: {ref!r}")
    return name
