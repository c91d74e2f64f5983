"""A home for all end-to-end tests of a worker, and a real public package as a repository."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.repository import commit_all, git
from tests.support.rhumb import Rhumb

PACKAGE = "colorama==0.4.6"
"""A package whose source distribution ships its tests, and that builds with what the lock file has."""


@pytest.fixture(scope="session")
def rhumb(tmp_path_factory: pytest.TempPathFactory) -> Rhumb:
    """One installation for many tests, as a person has one for many repositories."""
    return Rhumb(tmp_path_factory.mktemp("home of rhumb"))


@pytest.fixture
def own_rhumb(tmp_path: Path) -> Rhumb:
    """An installation for one test alone."""
    return Rhumb(tmp_path / "home")


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("package")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"),
            *("--no-build-isolation", "--no-binary", ":all:", "-d", str(folder), PACKAGE),
        ],
        check=True,
        timeout=120,
    )
    archive = next(folder.glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "source", filter="data")
    return next((folder / "source").iterdir())


@pytest.fixture
def repository(package: Path, tmp_path: Path) -> Path:
    """The package as a repository of a person's own, with one commit on main."""
    folder = tmp_path / "the repository"
    subprocess.run(["cp", "-r", str(package), str(folder)], check=True)
    git(folder, "init", "-q", "-b", "main")
    commit_all(folder, "colorama 0.4.6")
    return folder
