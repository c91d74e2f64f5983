"""A server of a test's own, for tests that kill it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from infra.postgres import EmbeddedPostgres


def postmaster(home: Path) -> psutil.Process:
    """The server process of the cluster under `home`."""
    return psutil.Process(int((home / "postgres/data/postmaster.pid").read_text().splitlines()[0]))


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A short folder for a socket that doesn't exist yet."""
    parent = Path(tempfile.mkdtemp(prefix="rl-"))
    yield parent / "run"
    shutil.rmtree(parent)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a space, a quote and a dollar in its path."""
    return tmp_path / "a home's $HOME"


@pytest.fixture
def own_postgres(home: Path, runtime: Path) -> Iterator[EmbeddedPostgres]:
    """A running server under `home`."""
    with EmbeddedPostgres(home, runtime) as server:
        yield server


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted disk of 120 MiB: a cluster fits, not much more; skips where none can be mounted."""
    mount = tmp_path / "small"
    mount.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", mount], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk can't be mounted: {done.stderr.decode(errors='replace').strip()}")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)
