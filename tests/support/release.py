"""Releases of public packages: the older one as a person's repository, the newer one as the tree it should become."""

import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.support.repository import commit_all, git

DOWNLOAD_SECONDS = 180


@dataclass(frozen=True)
class Upgrade:
    """Two releases of one package, both built by what the lock file has. check: a shell line that both of them pass."""

    package: str
    older: str
    newer: str
    check: str

    def __str__(self) -> str:
        return f"{self.package}-{self.older}-{self.newer}"


def download(upgrade: Upgrade, folder: Path) -> tuple[Path, Path]:
    """Both source distributions, unpacked: the older and the newer one."""
    with ThreadPoolExecutor() as pool:
        older, newer = pool.map(partial(_download, upgrade.package, folder), (upgrade.older, upgrade.newer))
    return older, newer


def _download(package: str, folder: Path, version: str) -> Path:
    target = folder / f"{package}-{version}"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"),
            *("--no-build-isolation", "--no-binary", ":all:", "-d", str(target), f"{package}=={version}"),
        ],
        check=True,
        timeout=DOWNLOAD_SECONDS,
    )
    with tarfile.open(next(target.glob("*.tar.gz"))) as tar:
        tar.extractall(target / "source", filter="data")
    return next((target / "source").iterdir())


def as_repository(release: Path) -> Path:
    """The release as a repository with one commit of what a person would add: all that isn't ignored."""
    git(release, "init", "-q", "-b", "main")
    commit_all(release, "Release")
    return release
