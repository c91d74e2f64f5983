"""Trees that an agent filled: given, taken back and removed without following a link."""

import os
from pathlib import Path

import pytest

from infra.sandbox.identity import Identity
from infra.sandbox.ownership import give, open_up, remove_tree, walk_tree
from infra.sandbox.settings import SandboxSettings

from .conftest import Run

DEEP = 1_100

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def make_deep(top: Path) -> None:
    """A tree deeper than a path may be long."""
    folder = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("deep", dir_fd=folder)
        below = os.open("deep", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """A tree with links to a file and a folder outside of it, and the outside."""
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    (outside / "folder").mkdir(parents=True)
    (outside / "file").write_text("precious")
    (outside / "folder" / "inner").write_text("precious")
    (tree / "sub").mkdir(parents=True)
    (tree / "link").symlink_to(outside / "file")
    (tree / "sub" / "link").symlink_to(outside / "folder")
    os.mkfifo(tree / "fifo")
    return tree, outside


@root_only
def test_giving_changes_links_and_not_what_they_lead_to(planted: tuple[Path, Path]) -> None:
    tree, outside = planted
    give(tree, 61001, 61002)
    everything = [tree, *tree.rglob("*")]
    assert {(p.lstat().st_uid, p.lstat().st_gid) for p in everything} == {(61001, 61002)}
    assert {p.lstat().st_uid for p in (outside, *outside.rglob("*"))} == {0}


@root_only
def test_a_link_is_not_given_away_as_a_folder(planted: tuple[Path, Path]) -> None:
    tree, outside = planted
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        give(tree / "sub" / "link", 61001, 61001)
    assert (outside / "folder").lstat().st_uid == 0


@root_only
def test_a_setuid_bit_does_not_become_roots(tmp_path: Path, working: SandboxSettings, sh: Run, workspace: Path) -> None:
    assert sh("cp /bin/sh shell && chmod 6755 shell").ok
    assert (workspace / "shell").stat().st_mode & 0o6000
    Identity(working).disown(workspace)
    status = (workspace / "shell").stat()
    assert (status.st_uid, status.st_mode & 0o6000) == (0, 0)


@root_only
def test_owning_twice_and_by_another_process_gives_the_same_user(tmp_path: Path, settings: SandboxSettings) -> None:
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    first, second = Identity(settings), Identity(settings)
    first.own(folder)
    user = folder.stat().st_uid
    assert settings.user_id <= user < settings.user_id + settings.user_slots
    second.own(folder)
    second.own(folder / "sub")
    assert {folder.stat().st_uid, (folder / "sub").stat().st_uid} == {user}
    first.disown(folder)
    assert {folder.stat().st_uid, (folder / "sub").stat().st_uid} == {0}


def test_disowning_opens_what_an_agent_closed_to_its_owner(tmp_path: Path, settings: SandboxSettings) -> None:
    folder = tmp_path / "tree"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").write_text("x")
    (folder / "closed" / "inner" / "file").chmod(0o001)
    for closed in (folder / "closed" / "inner", folder / "closed", folder):
        closed.chmod(0)
    open_up(folder)
    assert (folder / "closed" / "inner" / "file").read_text() == "x"
    assert (folder / "closed" / "inner" / "file").stat().st_mode & 0o777 == 0o401
    remove_tree(folder)
    assert not folder.exists()


def test_opening_up_does_not_follow_links(planted: tuple[Path, Path]) -> None:
    tree, outside = planted
    (outside / "folder" / "inner").chmod(0o200)
    open_up(tree)
    assert (outside / "folder" / "inner").stat().st_mode & 0o777 == 0o200


def test_removing_does_not_follow_links(planted: tuple[Path, Path]) -> None:
    tree, outside = planted
    remove_tree(tree)
    assert not tree.exists()
    assert (outside / "file").read_text() == "precious"
    assert (outside / "folder" / "inner").read_text() == "precious"


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nowhere")


def test_a_tree_deeper_than_a_path_can_be_is_opened_and_removed(tmp_path: Path) -> None:
    top = tmp_path / "deep"
    top.mkdir()
    make_deep(top)
    open_up(top)
    remove_tree(top)
    assert not top.exists()


def test_a_walk_sees_everything_once_and_folders_after_their_content(tmp_path: Path) -> None:
    for name in ("a/b", "a/c/d", "e"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "file").write_text("")
    seen: list[str] = []
    walk_tree(tmp_path, lambda _, name, __: seen.append(name))
    assert sorted(seen) == ["a", "b", "c", "d", "e", "file"]
    assert seen.index("a") > max(seen.index(name) for name in ("b", "c", "file"))
    assert seen.index("c") > seen.index("d")
