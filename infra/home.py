"""The folders below RHUMBLINE_HOME. Everything that lies there is readable by its owner only."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.settings import Settings, SettingsError

PRIVATE: Final = 0o700


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of one installation; `root` is canonical. `workspaces` may be moved elsewhere by a setting."""

    root: Path
    workspaces: Path

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def objects(self) -> Path:
        return self.root / "objects"

    @property
    def setup(self) -> Path:
        return self.root / "setup"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """Files that live as long as a process, below a folder of its own each (see `infra.scratch`)."""
        return self.root / "run"

    @property
    def repositories(self) -> Path:
        return self.root / "canonical"

    def canonical(self, project: str) -> Path:
        """The bare repository of a project."""
        return self.repositories / f"{project}.git"


def open_home(settings: Settings) -> Home:
    """Make the folders that are missing, mode 0700; one that is there keeps its mode.

    Raises:
        SettingsError: the home can't be made or used, belongs to somebody else, or is a folder with another purpose.
    """
    root = _made(settings.home, "RHUMBLINE_HOME")
    if root in (Path(root.anchor), Path.home().resolve()):
        raise SettingsError(f"RHUMBLINE_HOME is {root}: give Rhumbline a folder of its own")
    workspaces = _made(settings.workspaces or root / "workspaces", "RHUMBLINE_WORKSPACES")
    home = Home(root=root, workspaces=workspaces)
    for folder in (home.postgres, home.objects, home.setup, home.logs, home.run, home.repositories):
        _made(folder, "RHUMBLINE_HOME")
    return home


def _made(folder: Path, variable: str) -> Path:
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        resolved = folder.resolve(strict=True)
        status = resolved.stat()
    except OSError as error:
        raise SettingsError(f"{variable}: the folder {folder} can't be made or used: {error.strerror}") from error
    if status.st_uid != os.geteuid():
        raise SettingsError(f"{variable}: the folder {folder} belongs to another user (uid {status.st_uid})")
    if not os.access(resolved, os.W_OK | os.X_OK):
        raise SettingsError(f"{variable}: the folder {folder} can't be written")
    return resolved
