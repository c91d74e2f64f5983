"""The sandbox: every command of an agent, a set-up step or a check runs in it, and it fails closed."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

WORKSPACE: Final = Path("/workspace")
"""Where a workspace lies inside the sandbox: the same for every run, so that paths that a set-up step wrote hold."""


class SandboxUnavailable(Exception):
    """No sandbox can be had on this machine; the text says what is missing and what helps."""


@dataclass(frozen=True, slots=True)
class Bind:
    """`source` of the host appears at `target` inside; read-only unless `writable`."""

    source: Path
    target: Path
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one execution: seconds of wall time, bytes of memory of the whole tree, processes, bytes of output."""

    seconds: float = 600.0
    memory_bytes: int = 4 * 1024**3
    processes: int = 512
    output_bytes: int = 8 * 1024**2
    file_bytes: int = 4 * 1024**3


class Killed(StrEnum):
    """Why the sandbox ended a command before it ended itself."""

    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Execution:
    """One command to run.

    argv: the command and its arguments, never a shell line of untrusted text.
    workspace: a folder of the host, the only writable place, at `WORKSPACE` inside and the working directory there;
        None for a command without one.
    workspace_writable: False binds it read-only.
    binds: further binds (set-up outputs, `--agent-bind`).
    env: variables inside, beside a PATH of the toolchains, HOME, LANG and TMPDIR; nothing of the host's is there.
    toolchains: bind the folders of the interpreters on the person's PATH read-only and put them on PATH.
    proxy_hosts: names that the command may reach through the CONNECT proxy; empty means no network at all.
    on_output: called with each chunk of combined output as it comes (from another thread).
    """

    argv: tuple[str, ...]
    workspace: Path | None = None
    workspace_writable: bool = True
    binds: tuple[Bind, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    toolchains: bool = True
    proxy_hosts: tuple[str, ...] = ()
    on_output: Callable[[bytes], None] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an execution.

    exit_code: the command's own; 128 + n after signal n; None when the sandbox killed it (`killed` says why).
    output: standard output and error as they came, at most `limits.output_bytes`; `output_truncated` tells of a cut.
    duration: seconds of wall time.
    """

    exit_code: int | None
    killed: Killed | None
    output: bytes
    output_truncated: bool
    duration: float

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and self.killed is None


class Sandbox(Protocol):
    """Runs commands in isolation. After `run` returns no process of the command is left."""

    def run(self, execution: Execution, cancel: threading.Event | None = None) -> Outcome:
        """Run to the end, a limit, or `cancel`.

        Raises:
            SandboxUnavailable: the isolation asked for can't be had; nothing ran.
        """
        ...

    def own(self, folder: Path) -> None:
        """Give `folder` and all below it to the user that commands run as, without following links."""
        ...

    def disown(self, folder: Path) -> None:
        """Take `folder` and all below it back, so that the backend may read and remove it, without following links."""
        ...

    def remove(self, folder: Path) -> None:
        """Take `folder` back and remove it with all below it, without following links, however deep it is."""
        ...

    def toolchain_fingerprint(self) -> str:
        """A hash of the toolchains that commands see (their paths and versions); part of a set-up cache's key."""
        ...
