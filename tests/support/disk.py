"""A small disk of its own, to be filled up."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1024**2


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """An empty file system of `size` bytes at `folder`; skips the test where none can be mounted."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small disk needs root's right to mount")
    folder.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", str(folder))
    mounted = subprocess.run(words, capture_output=True, check=False, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a small disk needs the right to mount, which this container lacks: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


def fill(disk: Path, left: int = 0) -> Path:
    """A file that takes all the room but `left` bytes."""
    file = disk / "ballast"
    with file.open("ab", buffering=0) as opened:
        for size in (MIB, 4096):
            try:
                while True:
                    opened.write(bytes(size))
            except OSError:
                continue
    os.truncate(file, file.stat().st_size - left)
    return file
