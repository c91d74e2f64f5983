"""Counting what a person hasn't committed, without reading their configuration and without writing their index.

`git status` in a repository can run its filters, its file system monitor and its hooks. So it runs with a git
directory of ours that borrows the person's objects and index and has no configuration of theirs.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from infra.git.discovery import Location, ignore_list
from infra.git.process import GitFailed, git

SECONDS: Final = 30.0
"""Time given to looking for changes; on a very large work tree the warning is then less exact."""

_CONFIG: Final = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"


def describe_uncommitted(location: Location, commit: str) -> str | None:
    """One sentence that counts changed and new files against `commit`, None for a clean tree."""
    try:
        changed, new = _count(location, commit)
    except (GitFailed, subprocess.TimeoutExpired, OSError):
        return "it couldn't be found out whether there are uncommitted changes; if so, they aren't included"
    if not changed and not new:
        return None
    parts = [f"{changed} changed" if changed else "", f"{new} untracked" if new else ""]
    counted = " and ".join(part for part in parts if part)
    return f"uncommitted changes aren't included: {counted} file{'' if changed + new == 1 else 's'}"


def _count(location: Location, commit: str) -> tuple[int, int]:
    with tempfile.TemporaryDirectory(prefix="rhumb-status-") as scratch:
        git_dir = Path(scratch)
        _borrow(location, commit, git_dir)
        index = location.git_dir / "index"
        shown = git(
            f"--work-tree={location.top}",
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=all",
            "--no-renames",
            git_dir=git_dir,
            env={"GIT_OBJECT_DIRECTORY": str(location.common_dir / "objects"), "GIT_INDEX_FILE": str(index)},
            config=ignore_list(),
            seconds=SECONDS,
        ).stdout
    rows = shown.split(b"\0")[:-1]
    new = sum(row.startswith(b"??") for row in rows)
    return len(rows) - new, new


def _borrow(location: Location, commit: str, git_dir: Path) -> None:
    (git_dir / "refs").mkdir()
    (git_dir / "objects").mkdir()
    (git_dir / "info").mkdir()
    (git_dir / "HEAD").write_text(f"{commit}\n")
    (git_dir / "config").write_bytes(_CONFIG)
    exclude = location.common_dir / "info" / "exclude"
    if exclude.is_file():
        (git_dir / "info" / "exclude").write_bytes(exclude.read_bytes())
    for shared in location.git_dir.glob("sharedindex.*"):
        (git_dir / shared.name).symlink_to(shared)
