"""Who says what judges: the person, else the base's settings, else what is obvious."""

from pathlib import Path
from typing import cast

import pytest

from commands.checks.discovery import NoCheckFound
from commands.checks.project_file import ProjectFileError
from commands.checks.resolve import check_name, judges_of_base, person_checks
from commands.ports.git import Canonical
from domain.check import CheckSource
from domain.kernel.errors import InvalidInput

SETTINGS = b"[checks]\nlint = 'ruff check'\n[setup]\nrun = 'x'\noutputs = ['deps']\n[policy]\nprotected = ['deploy/*']"


class Tree:
    """The base's files."""

    path = Path("/nowhere")

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def paths(self, commit: str) -> tuple[str, ...]:
        assert commit == "c1"
        return tuple(sorted(self._files))

    def read_file(self, commit: str, path: str, limit: int) -> bytes | None:
        assert commit == "c1"
        return self._files.get(path)


def base(**files: bytes) -> Canonical:
    return cast(Canonical, Tree({name.replace("__", "."): content for name, content in files.items()}))


def test_the_person_wins_and_the_rest_of_the_settings_still_holds() -> None:
    judges = judges_of_base(base(__rhumbline__toml=SETTINGS), "c1", person_checks(["make it"]))
    assert [(check.name, check.source) for check in judges.checks] == [("make-it", CheckSource.PERSON)]
    assert judges.setup is not None
    assert judges.protected == ("deploy/*",)


def test_then_the_settings() -> None:
    judges = judges_of_base(base(__rhumbline__toml=SETTINGS, go__mod=b""), "c1", ())
    assert [(check.name, check.source) for check in judges.checks] == [("lint", CheckSource.SETTINGS)]


def test_then_what_is_obvious() -> None:
    judges = judges_of_base(base(go__mod=b""), "c1", ())
    assert [(check.command, check.source) for check in judges.checks] == [("go test ./...", CheckSource.DISCOVERED)]
    assert "go.mod" in judges.told


def test_settings_that_can_t_be_used_are_an_error_even_if_the_person_names_checks() -> None:
    with pytest.raises(ProjectFileError):
        judges_of_base(base(__rhumbline__toml=b"="), "c1", person_checks(["true"]))


def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(NoCheckFound):
        judges_of_base(base(README=b""), "c1", ())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest", "pytest"),
        ("python3 -m pytest -q", "pytest"),
        ("python3 -m unittest discover", "unittest"),
        ("npm test", "npm-test"),
        ("npm run lint:all -- --fix", "npm-run"),
        ("go test ./...", "go-test"),
        ("CI=1 A=b ./scripts/run.sh --all", "run.sh"),
        ("/usr/bin/env true", "env-true"),
        ("'a b/c d'", "c-d"),
        ("test -f x", "test"),
        ("é", ""),
        ("A=1", ""),
        ("'unclosed", "unclosed"),
        ("", ""),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_name_comes_from_the_command(command: str, name: str) -> None:
    assert check_name(command) == name


def test_names_are_unique() -> None:
    checks = person_checks(["npm test", "npm test", "é", "npm test -- x", "é"])
    assert [check.name for check in checks] == ["npm-test", "npm-test-2", "check-3", "npm-test-3", "check-5"]


@pytest.mark.parametrize("command", ["", " \n", "a\0b", "a\ud800b", "x" * 4_001])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(InvalidInput, match="--check"):
        person_checks([command])


def test_too_many_are_refused() -> None:
    with pytest.raises(InvalidInput, match="33 checks"):
        person_checks(["true"] * 33)
