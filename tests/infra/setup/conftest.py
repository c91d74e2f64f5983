"""A canonical repository, the real sandbox, and a cache."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.sandbox import Limits, Sandbox
from infra.git.canonical import GitCanonical
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings
from infra.setup.cache import SetupCache

LIMITS = Limits(seconds=60, memory_bytes=512 * 1024**2, processes=64, output_bytes=64 * 1024)
KEEP = 1024**3
WHO = ("-c", "user.name=T", "-c", "user.email=t@example.org")


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return BubblewrapSandbox(SandboxSettings.from_environment())


@pytest.fixture
def canonical(tmp_path: Path, sandbox: Sandbox) -> GitCanonical:
    return GitCanonical(tmp_path / "canonical.git", tmp_path / "workspaces", sandbox, "installation")


@pytest.fixture
def commit(tmp_path: Path, canonical: GitCanonical) -> Callable[..., str]:
    """Commit files (their names in keywords, `_` for a dot) and bring the commit to canonical."""
    person = tmp_path / "person"
    subprocess.run(["git", "init", "-q", "--initial-branch=main", person], check=True)

    def make(**files: str) -> str:
        for name, content in files.items():
            (person / name.replace("_", ".")).write_text(content)
        for arguments in (("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run(["git", *WHO, *arguments], cwd=person, check=True)
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=person, check=True, capture_output=True, text=True)
        canonical.fetch(person, head.stdout.strip(), f"refs/rhumb/base/{head.stdout.strip()}")
        return head.stdout.strip()

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home dir" / "setup"


@pytest.fixture
def cache(folder: Path) -> SetupCache:
    return SetupCache(folder, LIMITS, KEEP)
