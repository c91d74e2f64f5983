"""Checkouts for checks and set-up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.git.canonical import GitCanonical
from infra.git.confined import ConfinedGitFailed
from tests.infra.git.test_compose import Propose

Files = dict[str, str]


@pytest.fixture
def written(canonical: GitCanonical, tmp_path: Path) -> Callable[..., Files]:
    def write(commit: str, *arguments: object) -> Files:
        folder = tmp_path / "checkout"
        folder.mkdir()
        canonical.checkout(commit, folder, *arguments)  # type: ignore[arg-type]
        assert [place.name for place in tmp_path.iterdir() if place.name.startswith(".")] == []
        return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}

    return write


def test_the_files_of_a_commit(base: str, written: Callable[..., Files]) -> None:
    assert written(base) == {"README.md": "hello\n", "src/app.py": "print('hello')\n"}


def test_an_overlay_replaces_and_removes(base: str, propose: Propose, written: Callable[..., Files]) -> None:
    changed = propose(base, {"README.md": "cheat\n", "src/app.py": "print(2)\n", "conftest.py": "exit\n", "new": "1\n"})
    paths = ("README.md", "conftest.py", "absent")
    assert written(changed, base, paths) == {"README.md": "hello\n", "src/app.py": "print(2)\n", "new": "1\n"}


def test_an_overlay_brings_back_what_was_deleted(base: str, propose: Propose, written: Callable[..., Files]) -> None:
    changed = propose(base, {"README.md": None})
    assert written(changed, base, ("README.md",))["README.md"] == "hello\n"


def test_an_overlay_replaces_a_folder_and_a_link_in_its_way(
    canonical: GitCanonical, base: str, propose: Propose, written: Callable[..., Files], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    opened = canonical.open_workspace("run_o", base)
    (opened.folder / "src" / "app.py").unlink()
    (opened.folder / "src").rmdir()
    (opened.folder / "real").mkdir()
    (opened.folder / "real" / "app.py").write_text("cheat\n")
    (opened.folder / "src").symlink_to("real")
    (opened.folder / "README.md").unlink()
    (opened.folder / "README.md").mkdir()
    (opened.folder / "README.md" / "x").write_text("in the way\n")
    changed = canonical.commit_tree(opened.snapshot(), [base], *(2 * [_signature()]), "links")
    found = written(changed, base, ("src/app.py", "README.md"))
    assert found == {"README.md": "hello\n", "real/app.py": "cheat\n", "src/app.py": "print('hello')\n"}


def _signature() -> object:
    from tests.infra.git.conftest import AGENT

    return AGENT


def test_an_unknown_commit(canonical: GitCanonical, written: Callable[..., Files]) -> None:
    with pytest.raises((ConfinedGitFailed, RuntimeError)):
        written("1" * 40)
