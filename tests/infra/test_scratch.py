"""What processes leave behind is removed by the next one, and what belongs to a living one stays."""

import os
from pathlib import Path

from infra.scratch import open_scratch


def folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()]


def abandon(parent: Path) -> Path:
    """What a killed process leaves: a folder that nobody locks."""
    folder = parent / "process-killed"
    closed = folder / "check" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    return folder


def test_it_is_gone_with_the_process(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as scratch:
        (scratch / "file").touch()
        assert scratch.stat().st_mode & 0o777 == 0o700
    assert folders(tmp_path) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    abandon(tmp_path)
    with open_scratch(tmp_path) as scratch:
        assert folders(tmp_path) == [scratch]


def test_what_belongs_to_a_living_process_stays(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as first:
        (first / "file").touch()
        with open_scratch(tmp_path) as second:
            assert set(folders(tmp_path)) == {first, second}
        assert (first / "file").exists()


def test_what_cannot_be_removed_keeps_nobody_from_working(tmp_path: Path) -> None:
    left = abandon(tmp_path)
    real = tmp_path / "real"
    left.rename(real)
    left.symlink_to(real)
    with open_scratch(tmp_path) as scratch:
        assert scratch.is_dir()
    # A link isn't followed: nobody's files are removed through one.
    assert os.path.lexists(left)
    assert real.is_dir()
