"""What runs first inside the sandbox: it drops the rights that are left, sets the limits, becomes the command."""

import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Limits, SandboxUnavailable
from infra.sandbox.binary import find_tool

_PER_NAMESPACE_SINCE: Final = (5, 14)
"""The Linux version from which processes are counted per user and user namespace."""


def _tool(name: str) -> str:
    found = find_tool(name)
    if found is None:
        raise SandboxUnavailable(f"`{name}` is missing on this machine: install util-linux and coreutils")
    return found


def counts_per_namespace(release: str) -> bool:
    """Whether the kernel of that release (`uname -r`) counts an ordinary user's sandbox apart from the desktop."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return match is not None and (int(match[1]), int(match[2])) >= _PER_NAMESPACE_SINCE


def threads_of(user: int) -> int:
    """How many threads the kernel counts for `user` now."""
    total = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            try:
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    total += len(os.listdir(f"/proc/{entry.name}/task"))  # noqa: PTH208 - thousands of them
            except FileNotFoundError:
                continue
    return total


def process_bound(limits: Limits, as_root: bool) -> int:
    """The value of RLIMIT_NPROC that lets the command have `limits.processes`."""
    if as_root or counts_per_namespace(platform.release()):
        return limits.processes
    return limits.processes + threads_of(os.getuid())


def launcher(as_root: bool, user: int, folder: Path, limits: Limits) -> list[str]:
    """The words before the command.

    Raises:
        SandboxUnavailable: a tool of the system is missing.
    """
    words: list[str] = []
    if as_root:
        words += [_tool("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        words += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    words += [_tool("env"), "-C", str(folder), f"PWD={folder}"]
    bound = process_bound(limits, as_root)
    return [*words, _tool("prlimit"), f"--nproc={bound}", f"--fsize={limits.file_bytes}", "--core=0", "--"]


def handover(python: Path, script: str, channel: int, port: int) -> Sequence[str]:
    """The words that open the way to the proxy; `-I -S`: nothing of the workspace is imported."""
    return [str(python), "-I", "-S", script, str(channel), str(port)]
