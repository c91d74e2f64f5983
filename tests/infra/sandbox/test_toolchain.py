"""Which folders of a home become visible, and which never do."""

import os
from pathlib import Path

import pytest

from infra.sandbox.settings import SandboxSettings
from infra.sandbox.toolchain import Toolchains, find_toolchains


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    return home


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def find(home: Path, *folders: Path, **locations: str) -> Toolchains:
    path = os.pathsep.join((*map(str, folders), "/usr/bin"))
    return find_toolchains(SandboxSettings(path=path, home=home, runtime_folder=home, locations=locations))


def targets(found: Toolchains) -> set[Path]:
    return {target for _, target in found.folders}


def test_a_path_of_system_folders_needs_nothing(home: Path) -> None:
    found = find(home)
    assert targets(found) == set()
    assert found.path == "/usr/bin:/usr/local/bin:/bin"


def test_an_installation_is_visible_as_a_whole(home: Path) -> None:
    node = home / ".nvm" / "versions" / "node" / "v22"
    program(node / "bin" / "node")
    (node / "lib").mkdir()
    found = find(home, node / "bin")
    assert targets(found) == {node}
    assert found.path.startswith(f"{node}/bin:")


def test_shims_bring_their_version_manager(home: Path) -> None:
    program(home / ".pyenv" / "shims" / "python3")
    (home / ".pyenv" / "versions" / "3.12").mkdir(parents=True)
    found = find(home, home / ".pyenv" / "shims")
    assert targets(found) == {home / ".pyenv"}
    assert found.variables == {"PYENV_ROOT": str(home / ".pyenv")}


def test_one_version_does_not_bring_the_whole_manager(home: Path) -> None:
    (home / ".pyenv" / "shims").mkdir(parents=True)
    version = home / ".pyenv" / "versions" / "3.12"
    program(version / "bin" / "python3")
    (version / "lib").mkdir()
    assert targets(find(home, version / "bin")) == {version}


def test_cargos_credentials_stay_out(home: Path) -> None:
    for name in ("rustup", "cargo"):
        program(home / ".cargo" / "bin" / name)
    (home / ".cargo" / "credentials.toml").write_text("token")
    (home / ".rustup" / "toolchains" / "stable").mkdir(parents=True)
    found = find(home, home / ".cargo" / "bin")
    assert targets(found) == {home / ".cargo" / "bin", home / ".rustup"}
    assert found.variables == {"RUSTUP_HOME": str(home / ".rustup")}


def test_a_virtual_environment_brings_its_base(home: Path) -> None:
    base, environment = home / "pythons" / "3.12", home / "project" / ".venv"
    program(base / "bin" / "python3")
    (base / "lib").mkdir()
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(base / "bin" / "python3")
    (environment / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.12\n")
    assert targets(find(home, environment / "bin")) == {environment, base}


@pytest.mark.parametrize("folder", ["bin", ".local/bin", "go/bin"])
def test_a_folder_of_programs_does_not_bring_what_lies_beside_it(home: Path, folder: str) -> None:
    program(home / folder / "tool")
    (home / folder).parent.joinpath("lib").mkdir(exist_ok=True)
    if folder == "go/bin":
        (home / "go" / "lib").rmdir()
    assert targets(find(home, home / folder)) == {home / folder}


def test_a_project_is_no_installation(home: Path) -> None:
    project = home / "project"
    program(project / "bin" / "rails")
    for name in ("lib", ".git"):
        (project / name).mkdir()
    assert targets(find(home, project / "bin")) == {project / "bin"}


def test_links_bring_the_file_or_installation_that_they_lead_to(home: Path) -> None:
    tool = home / ".local" / "share" / "pipx" / "venvs" / "tool"
    program(tool / "bin" / "tool")
    (tool / "pyvenv.cfg").write_text("home = /usr/bin\n")
    single = program(home / ".local" / "share" / "agent" / "1.0")
    package = program(home / ".local" / "lib" / "node_modules" / "pack" / "cli.js")
    folder = home / ".local" / "bin"
    folder.mkdir()
    for name, target in (("tool", tool / "bin" / "tool"), ("agent", single), ("pack", package)):
        (folder / name).symlink_to(target)
    (folder / "secret").symlink_to(home / ".ssh")
    (folder / "broken").symlink_to(home / "nowhere")
    assert targets(find(home, folder)) == {folder, tool, single, home / ".local" / "lib" / "node_modules"}


@pytest.mark.parametrize("place", [".", "..", "/", "/opt", "/tmp"])
def test_a_home_or_what_contains_it_is_never_visible(home: Path, place: str) -> None:
    found = find(home, home / place)
    assert not any(home.is_relative_to(target) for target in targets(found))


def test_a_folder_named_through_a_link_is_visible_at_both_paths(home: Path) -> None:
    real = home / "versions" / "22"
    program(real / "bin" / "node")
    (real / "lib").mkdir()
    (home / "current").symlink_to(real)
    assert targets(find(home, home / "current" / "bin")) == {home / "current", real}


def test_folders_that_are_missing_or_relative_are_left_out(home: Path) -> None:
    assert find(home, home / "nowhere", Path("relative"), Path()).path == "/usr/bin:/usr/local/bin:/bin"


def test_further_folders_are_visible(home: Path) -> None:
    (home / "sdk").mkdir()
    settings = SandboxSettings(path="/usr/bin", home=home, runtime_folder=home, toolchains=(home / "sdk",))
    assert targets(find_toolchains(settings)) == {home / "sdk"}


@pytest.mark.parametrize("place", [".", ".."])
def test_a_home_cannot_be_named_as_a_toolchain(home: Path, place: str) -> None:
    with pytest.raises(ValueError, match="contains the home"):
        SandboxSettings(path="", home=home, runtime_folder=home, toolchains=(home / place,))


def test_variables_that_lead_to_what_is_not_visible_are_left_out(home: Path) -> None:
    (home / "jdk").mkdir()
    assert find(home, JAVA_HOME=str(home / "jdk")).variables == {}
    assert find(home, JAVA_HOME="/usr/lib/jvm/x").variables == {"JAVA_HOME": "/usr/lib/jvm/x"}
