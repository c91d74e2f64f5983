"""Which folders of the host hold the interpreters on the person's PATH, so that commands can use them read-only.

A home is never visible as a whole: of a PATH folder either the tree of the one installation that it belongs to is
bound (a Python, a Node, a virtual environment), or only the folder itself with the files that its links lead to.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.sandbox.settings import SandboxSettings

ALWAYS_VISIBLE: Final = (Path("/usr"), Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64"))
SYSTEM_FOLDERS: Final = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_NIX_STORE: Final = Path("/nix/store")
_SHARED: Final = tuple(map(Path, ("/", "/opt", "/home", "/root", "/var", "/etc", "/tmp", "/mnt", "/srv", "/run")))
"""Folders that hold more than one installation."""

_PREFIX_MARKS: Final = ("lib", "lib64", "libexec")
_NOT_A_PREFIX: Final = (".git", ".hg", "credentials.toml", "credentials")
"""What marks a project or a store of credentials rather than an installation."""

_SHIM_VARIABLES: Final = {
    "pyenv": "PYENV_ROOT",
    "rbenv": "RBENV_ROOT",
    "nodenv": "NODENV_ROOT",
    "asdf": "ASDF_DATA_DIR",
    "mise": "MISE_DATA_DIR",
}
_LINKS_AT_MOST: Final = 2_000


@dataclass(frozen=True, slots=True)
class Toolchains:
    """What commands see of the host's toolchains.

    folders: real folder or file of the host to the path inside; without duplicates or folders within each other.
    path: the PATH inside.
    variables: where launchers find their toolchains (`RUSTUP_HOME`).
    """

    folders: tuple[tuple[Path, Path], ...]
    path: str
    variables: Mapping[str, str]


def _visible(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in ALWAYS_VISIBLE)


def _shim_manager(folder: Path) -> Path | None:
    """The root of the version manager whose launchers `folder` holds (`~/.pyenv` for `~/.pyenv/shims`)."""
    for root in folder.parents:
        holds_versions = (root / "versions").is_dir() or (root / "installs").is_dir()
        if holds_versions and (root / "shims").is_dir() and (folder.name == "shims" or folder.parent == root):
            return root
    return None


class _Discovery:
    """One look at the PATH; collects binds and variables."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._homes = {settings.home, settings.home.resolve(), Path.home()}
        self.binds: dict[Path, Path] = {}
        self.variables: dict[str, str] = {}
        self._looked_at: set[Path] = set()

    def bind(self, path: Path) -> None:
        """Show `path` at the path it was named by, and at its real one: scripts hold either."""
        real = path.resolve()
        for target in {path, real}:
            if not _visible(target):
                self.binds[target] = real

    def folder(self, folder: Path) -> None:
        """A folder of the PATH."""
        manager = _shim_manager(folder)
        if manager is not None and not self._too_wide(manager):
            self._manager(manager)
        elif self._rust(folder):
            self.bind(folder)
        else:
            self._installation(folder)
        self._links(folder)

    def _manager(self, root: Path) -> None:
        self.bind(root)
        variable = _SHIM_VARIABLES.get(root.name.lstrip("."))
        if variable is not None:
            self.variables[variable] = str(root)

    def _rust(self, folder: Path) -> bool:
        """The launchers in `~/.cargo/bin` need rustup's home; the credentials lie beside that folder and stay out."""
        if not (folder / "rustup").exists():
            return False
        root = Path(self._settings.locations.get("RUSTUP_HOME") or self._settings.home / ".rustup")
        if (root / "toolchains").is_dir():
            self.bind(root)
            self.variables["RUSTUP_HOME"] = str(root)
        return True

    def _installation(self, folder: Path) -> None:
        """Bind the installation that `folder` is the `bin` of, or `folder` alone if it isn't one."""
        prefix = folder.parent
        if (prefix / "pyvenv.cfg").is_file():
            self.bind(prefix)
            self._base_of_environment(prefix)
        elif self._is_prefix(prefix, folder.name):
            self.bind(prefix)
        elif not self._too_wide(folder):
            self.bind(folder)

    def _base_of_environment(self, environment: Path) -> None:
        for line in (environment / "pyvenv.cfg").read_text(errors="replace").splitlines():
            key, _, value = line.partition("=")
            home = Path(value.strip())
            if key.strip() == "home" and home.is_absolute() and home.is_dir() and home.parent != environment:
                self._installation(home)
                self._installation(home.resolve())

    def _is_prefix(self, prefix: Path, name: str) -> bool:
        if name not in ("bin", "sbin") or self._too_wide(prefix) or prefix.name == ".local":
            return False
        if any((prefix / mark).exists() for mark in _NOT_A_PREFIX):
            return False
        return any((prefix / mark).is_dir() for mark in _PREFIX_MARKS) or (prefix / "src" / "runtime").is_dir()

    def _too_wide(self, folder: Path) -> bool:
        """Whether `folder` holds more than an installation: a home, what contains it, a shared place."""
        real = folder.resolve()
        return real in _SHARED or any(home.is_relative_to(real) for home in self._homes)

    def _links(self, folder: Path) -> None:
        """Bind what links in `folder` lead to, where that isn't visible yet."""
        real = folder.resolve()
        if real in self._looked_at:
            return
        self._looked_at.add(real)
        for link in _foreign_links(real):
            self._target(link)

    def _target(self, real: Path) -> None:
        if self._covered(real):
            return
        if real.is_relative_to(_NIX_STORE):
            self.bind(_NIX_STORE)
            return
        modules = [p for p in real.parents if p.name == "node_modules"]
        if modules:
            self.bind(modules[-1])
        elif real.is_file() and (real.parent.parent / "pyvenv.cfg").is_file():
            self._installation(real.parent)
        elif real.is_file() and self._is_prefix(real.parent.parent, real.parent.name):
            self.bind(real.parent.parent)
        elif real.is_file():
            self.bind(real)

    def _covered(self, path: Path) -> bool:
        return _visible(path) or any(path.is_relative_to(target) for target in self.binds)


def _leads_out(link: str) -> bool:
    """Whether a link may lead out of what is visible, from two looks at most: a system has a thousand of them."""
    for _ in range(2):
        target = os.readlink(link)  # noqa: PTH115
        if "/" not in target:
            return False
        target = os.path.normpath(os.path.join(os.path.dirname(link), target))  # noqa: PTH118, PTH120
        if target.startswith("/usr/"):
            return False
        if not target.startswith("/etc/alternatives/") or not os.path.islink(target):  # noqa: PTH114
            return True
        link = target
    return True


def _foreign_links(folder: Path) -> Iterator[Path]:
    """Real targets of the links in `folder` that lead out of it."""
    links = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if links < _LINKS_AT_MOST and entry.is_symlink() and _leads_out(entry.path):
                links += 1
                real = Path(os.path.realpath(entry.path))
                if real.parent != folder and not _visible(real):
                    yield real


def _folders(path: str) -> list[Path]:
    """The folders of a PATH that are there, absolute, each once."""
    named = (Path(os.path.normpath(name)) for name in path.split(os.pathsep) if name.startswith("/"))
    return [folder for folder in dict.fromkeys(named) if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)]


def _outermost(binds: Mapping[Path, Path]) -> tuple[tuple[Path, Path], ...]:
    """(source, target) without what lies in another bind at the same place, shallow targets first."""
    kept: dict[Path, Path] = {}
    for target in sorted(binds, key=lambda path: (len(path.parts), path)):
        inside = (other for other in target.parents if other in kept)
        outer = next(inside, None)
        if outer is None or kept[outer] / target.relative_to(outer) != binds[target]:
            kept[target] = binds[target]
    return tuple((source, target) for target, source in kept.items())


def find_toolchains(settings: SandboxSettings) -> Toolchains:
    """The toolchains that lie on the person's PATH, and the folders of the setting."""
    discovery = _Discovery(settings)
    folders = _folders(settings.path)
    for folder in folders:
        discovery.folder(folder)
    for extra in settings.toolchains:
        discovery.bind(extra)
    binds = _outermost(discovery.binds)
    shown = [str(folder) for folder in folders if _visible(folder) or _shown(folder, binds)]
    fixed = {k: v for k, v in settings.locations.items() if _visible(Path(v)) or _shown(Path(v), binds)}
    return Toolchains(
        folders=binds,
        path=os.pathsep.join(dict.fromkeys([*shown, *SYSTEM_FOLDERS[:3]])),
        variables={**fixed, **discovery.variables},
    )


def _shown(folder: Path, binds: tuple[tuple[Path, Path], ...]) -> bool:
    return any(folder.is_relative_to(target) for _, target in binds)
