"""Started as root, this runs the whole suite once more as an ordinary user; an ordinary user's own run needs none."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.sandbox.binary import find_bwrap, find_tool
from infra.sandbox.interpreter import interpreter_folders

USER = 61_000
SUITE = Path(__file__).parent
CHECKOUT = SUITE.parents[2]
SAME_FOR_ALL = ("test_destination.py", "test_toolchain.py")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the suite runs as an ordinary user already")


def _closed(folder: Path) -> Path | None:
    """The topmost folder on the way to `folder` that an ordinary user can't pass."""
    return next((each for each in reversed((folder, *folder.parents)) if each.stat().st_mode & 0o005 != 0o005), None)


def _opened(*needed: Path) -> Iterator[str]:
    """bubblewrap's arguments for the machine as it is, with the way to the interpreter and the checkout open."""
    yield from ("--dev-bind", "/", "/")
    closed = {folder: _closed(folder) for folder in needed}
    for wall in sorted({wall for wall in closed.values() if wall is not None}):
        yield from ("--perms", "0755", "--tmpfs", str(wall))
    for folder, wall in closed.items():
        if wall is not None:
            for parent in reversed(folder.parents):
                if parent.is_relative_to(wall):
                    yield from ("--perms", "0755", "--dir", str(parent))
            yield from ("--ro-bind", str(folder), str(folder))


def _as_ordinary_user(home: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    needed = (*interpreter_folders(), Path(sys.prefix), CHECKOUT)
    caps = [word for name in ("CAP_SETUID", "CAP_SETGID") for word in ("--cap-add", name)]
    drop = [str(find_tool("setpriv")), f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis"),
    }
    return subprocess.run(
        [str(find_bwrap(None)), *_opened(*needed), *caps, "--die-with-parent", "--", *drop, *command],
        env=environment,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture
def home() -> Iterator[Path]:
    """Not below pytest's own folders, which are root's alone."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="rhumbline-ordinary-", dir="/tmp") as folder:
        os.chown(folder, USER, USER)
        yield Path(folder)


def test_the_suite_holds_as_an_ordinary_user(home: Path) -> None:
    namespaces = _as_ordinary_user(home, str(find_tool("unshare")), "--user", "true")
    if namespaces.returncode != 0:
        pytest.skip(f"ordinary users get no user namespaces on this machine: {namespaces.stderr.strip()}")
    plain = (
        "--confcutdir",
        str(SUITE),
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--basetemp",
        str(home / "pytest"),
        "-q",
        "-rs",
    )
    ignored = [f"--ignore={SUITE / name}" for name in (Path(__file__).name, *SAME_FOR_ALL)]
    done = _as_ordinary_user(home, sys.executable, "-m", "pytest", *plain, *ignored, str(SUITE))
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    assert "no sandbox on this machine" not in done.stdout
