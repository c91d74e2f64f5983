"""bubblewrap's arguments for one execution (TECH-NOTES, "Sandbox", has the measured reasons for them).

They are handed over in a file without a path (`--args`): a command line can be read by every user of the host, and it
would hold the values of the variables and the paths of the backend.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Final

from commands.ports.sandbox import WORKSPACE, Limits
from infra.sandbox.filesystem import (
    HOME,
    HOST_NAME,
    SHARED_MEMORY,
    TEMPORARY,
    synthetic_files,
    system_binds,
    system_files,
)

_MEMORY_FOLDER_BYTES: Final = 1024**3
_SHARED_MEMORY_BYTES: Final = 256 * 1024**2

_NAMESPACES: Final = (
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
)
_AS_ROOT: Final = (
    "--cap-drop",
    "ALL",
    *(w for c in ("SETUID", "SETGID", "SETPCAP") for w in ("--cap-add", f"CAP_{c}")),
)
"""No user namespace: mapped to the host's root, a command could write under /proc/sys. These three let setpriv go."""

Word = str | bytes | PurePath


class Arguments:
    """Collects arguments in bubblewrap's order, which is the order in which it mounts."""

    def __init__(self) -> None:
        self._words: list[bytes] = []
        self._folders: set[PurePath] = {PurePath("/")}

    def add(self, *words: Word | int) -> None:
        self._words.extend(os.fsencode(str(w)) if isinstance(w, int) else os.fsencode(w) for w in words)

    def encoded(self) -> bytes:
        """As `--args` reads it."""
        return b"".join(word + b"\0" for word in self._words)

    def parents(self, target: PurePath) -> None:
        """Make the folders above `target` so that any user may pass: bubblewrap's own default is for root only."""
        for folder in reversed(target.parents):
            self.folder(folder)

    def folder(self, folder: PurePath) -> None:
        if folder not in self._folders:
            self._folders.add(folder)
            self.add("--perms", "0755", "--dir", folder)

    def mount(self, option: str, source: Word, target: PurePath) -> None:
        self.parents(target)
        self._folders.add(target)
        self.add(option, source, target)

    def memory_folder(self, folder: PurePath, mode: str, size: int) -> None:
        self.parents(folder)
        self._folders.add(folder)
        self.add("--perms", mode, "--size", size, "--tmpfs", folder)

    def file(self, descriptor: int, path: PurePath) -> None:
        """A file with the content of `descriptor`, readable by anyone inside."""
        self.parents(path)
        self.add("--perms", "0644", "--file", descriptor, path)


def add_isolation(arguments: Arguments, as_root: bool, user: int) -> None:
    arguments.add(*_NAMESPACES, "--hostname", HOST_NAME)
    if as_root:
        arguments.add(*_AS_ROOT)
    else:
        arguments.add("--unshare-user", "--disable-userns", "--uid", user, "--gid", user)


def add_environment(arguments: Arguments, variables: Mapping[str, str]) -> None:
    """
    Raises:
        ValueError: a name or value that no environment can hold.
    """
    arguments.add("--clearenv")
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"not a variable of an environment: {name!r}")
        arguments.add("--setenv", name, value)


def add_root(arguments: Arguments, limits: Limits) -> None:
    """The system's programs, /proc, /dev and the folders in memory."""
    for option, source, target in system_binds():
        arguments.mount(option, source, PurePath(target))
    arguments.add("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    arguments.add("--dev", "/dev")
    size = min(_MEMORY_FOLDER_BYTES, limits.memory_bytes // 4)
    arguments.memory_folder(SHARED_MEMORY, "1777", min(_SHARED_MEMORY_BYTES, size))
    arguments.memory_folder(TEMPORARY, "1777", size)
    arguments.memory_folder(HOME, "0777", size)
    arguments.folder(PurePath("/run"))
    arguments.folder(PurePath("/var"))
    arguments.add("--symlink", "/tmp", "/var/tmp")


def add_etc(arguments: Arguments, user: int, memory: Callable[[str, bytes], int]) -> None:
    """Single files of /etc; `memory` makes a descriptor of a content."""
    for path, content in {**system_files(), **synthetic_files(user, user)}.items():
        arguments.file(memory("etc", content), PurePath(path))


def seal_root(arguments: Arguments) -> None:
    """Nothing but the workspace, the binds and the folders in memory stays writable, whoever owns it."""
    for folder in ("/dev", "/"):
        arguments.add("--remount-ro", folder)


def working_folder(workspace: Path | None) -> Path:
    return WORKSPACE if workspace is not None else HOME
