"""A hash of the toolchains that commands see, from what the file system says: nothing is started for it."""

import hashlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from infra.sandbox.toolchain import Toolchains

_INTERPRETERS: Final = (
    "bun",
    "cargo",
    "cmake",
    "deno",
    "gcc",
    "go",
    "java",
    "make",
    "mvn",
    "node",
    "npm",
    "php",
    "pip",
    "pnpm",
    "python",
    "python3",
    "ruby",
    "rustc",
    "uv",
    "yarn",
)
_SELECTIONS: Final = ("version", "settings.toml")
"""Files with which a version manager says which of its versions is the default."""

_OS_RELEASE: Final = Path("/etc/os-release")


def _identity(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return f"{path}:missing"
    return f"{path}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"


def _facts(toolchains: Toolchains) -> Iterator[str]:
    yield f"{platform.machine()} {platform.libc_ver()}"
    yield _OS_RELEASE.read_text(errors="replace") if _OS_RELEASE.is_file() else ""
    yield toolchains.path
    for source, target in toolchains.folders:
        yield f"{target}={_identity(source)}"
        for name in _SELECTIONS:
            if (source / name).is_file():
                yield (source / name).read_text(errors="replace")
    for folder in toolchains.path.split(os.pathsep):
        for name in _INTERPRETERS:
            interpreter = Path(folder, name)
            if interpreter.exists():
                yield f"{interpreter}={_identity(Path(os.path.realpath(interpreter)))}"


def fingerprint(toolchains: Toolchains) -> str:
    """Hex SHA-256 over the paths, and over inode, size and modification time of folders and interpreters."""
    text = "\0".join(_facts(toolchains))
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
