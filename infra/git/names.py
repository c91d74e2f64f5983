"""File names that git itself won't have in a tree, and names of runs as folders and refs."""

import re
from typing import Final

_HFS_IGNORED: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""What a case-insensitive HFS+ leaves out when it compares names (git's `next_hfs_char`)."""

_GIT_ON_NTFS: Final = re.compile(rb"(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)

_GITMODULES: Final = re.compile(r"\.gitmodules[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)

_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")


def is_git_directory_name(name: bytes) -> bool:
    """Whether some file system would take `name` for `.git`: other case, `git~1`, trailing dots, ignored characters."""
    folded = _HFS_IGNORED.sub("", name.decode(errors="replace")).lower()
    return folded == ".git" or any(_GIT_ON_NTFS.fullmatch(part) for part in name.split(b"\\"))


def has_git_directory_name(path: bytes) -> bool:
    """Whether any part of `path` is such a name; quick for the many that can't be."""
    suspicious = b"git" in path.lower() or b"\xe2" in path or b"\xef" in path
    return suspicious and any(map(is_git_directory_name, path.split(b"/")))


def is_gitmodules_name(name: bytes) -> bool:
    """Whether some file system would take `name` for `.gitmodules`, which git refuses as a symlink."""
    return _GITMODULES.fullmatch(_HFS_IGNORED.sub("", name.decode(errors="replace"))) is not None


def require_run_name(run: str) -> str:
    """`run`, if it can be a folder's name and a part of a ref.

    Raises:
        ValueError: it can't.
    """
    if not _RUN.fullmatch(run):
        raise ValueError(f"not a run ID: {run!r}")
    return run
