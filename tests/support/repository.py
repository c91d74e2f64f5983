"""Repositories for tests, made with git itself."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}


def git(repository: Path, *arguments: str) -> str:
    """Run git in `repository`; its output without the last newline."""
    done = subprocess.run(
        ["git", *arguments], cwd=repository, env=ENVIRONMENT, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.rstrip("\n")


def make_repository(folder: Path, files: Mapping[str, str | bytes], branch: str = "main") -> Path:
    """A repository with one commit of `files`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", branch)
    for name, content in files.items():
        write(folder / name, content)
    commit_all(folder, "The beginning")
    return folder


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def commit_all(repository: Path, message: str) -> str:
    """Commit everything that lies there; the commit's hash."""
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", message)
    return git(repository, "rev-parse", "HEAD")
