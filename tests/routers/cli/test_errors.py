"""Every failure is told in words, with its exit code, and never as a traceback."""

import inspect
import stat
from pathlib import Path

import pytest

from commands.checks.discovery import NoCheckFound
from commands.checks.project_file import ProjectFileError
from commands.ports.agent import AgentInputError, AgentUnavailable
from commands.ports.git import NoRoom, RepositoryError
from commands.ports.objects import ObjectMissing, ObjectsFull, ObjectsUnavailable
from commands.ports.sandbox import SandboxUnavailable
from commands.ports.store import FenceLost, StoreError, StoreFull, VersionConflict
from domain.change import error as change_errors
from domain.kernel.errors import DomainError, ImpossibleHistory, InvalidInput, NotFound
from domain.project import error as project_errors
from routers.cli.errors import SAYINGS, saying_of
from routers.cli.exits import Exit, Interrupted, Saying, UsageFault
from tests.routers.cli.house import CHANGE, House, Rhumb

EXITS = {
    UsageFault("no"): 2,
    InvalidInput("no"): 2,
    NotFound("Change", "chg_x"): 2,
    ProjectFileError("no"): 2,
    NoCheckFound(): 2,
    RepositoryError("no"): 2,
    AgentInputError("no"): 2,
    SandboxUnavailable("no"): 2,
    change_errors.BudgetOnlyRises(CHANGE, 2, 1): 2,
    change_errors.ChangeEnded(CHANGE, change_errors.ChangeStatus.FAILED): 1,
    AgentUnavailable("no"): 2,
    StoreError("no"): 1,
    VersionConflict("no"): 1,
    FenceLost("no"): 1,
    StoreFull("no"): 1,
    NoRoom(Path("there")): 1,
    ObjectsUnavailable("no"): 1,
    ObjectsFull("no"): 1,
    ObjectMissing("no"): 1,
    Interrupted(CHANGE): 130,
}


@pytest.mark.parametrize("error", EXITS, ids=lambda error: type(error).__name__)
def test_an_expected_failure_is_told(house: House, rhumb: Rhumb, error: Exception) -> None:
    house.fault = error
    ended = rhumb("list")
    assert ended.code == EXITS[error]
    assert ended.out == ""
    assert f"rhumb: {error}" in ended.err
    assert "Traceback" not in ended.err
    assert not (house.folder / "logs").exists()


def test_the_table_is_covered() -> None:
    covered = {kind for error in EXITS for kind in type(error).__mro__}
    assert set(SAYINGS) - {change_errors.RequestDiffers} <= covered


@pytest.mark.parametrize("module", [change_errors, project_errors])
def test_every_refusal_of_the_domain_is_expected(module: object) -> None:
    refusals = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, DomainError)]
    assert refusals
    for refusal in refusals:
        error = refusal.__new__(refusal)
        assert saying_of(error, {}) is not None, refusal


def test_the_nearest_class_counts_and_the_adapters_add_theirs() -> None:
    class Ours(RepositoryError):
        pass

    class Theirs(Exception):
        pass

    assert saying_of(Ours(), {}) == SAYINGS[RepositoryError]
    assert saying_of(Theirs(), {}) is None
    assert saying_of(Theirs(), {Theirs: Saying(Exit.USAGE)}) == Saying(Exit.USAGE)
    assert saying_of(Ours(), {Ours: Saying(Exit.WAITS)}) == Saying(Exit.WAITS)


def test_a_defect_is_told_and_its_traceback_kept_privately(house: House, rhumb: Rhumb) -> None:
    house.fault = ImpossibleHistory("\x1b[31mbroken [/b]")
    ended = rhumb("list")
    assert ended.code == 70
    assert "a defect of Rhumbline's own: ImpossibleHistory: \\x1b[31mbroken [/b]" in ended.err
    assert "Traceback" not in ended.err
    (file,) = (house.folder / "logs").glob("crash-*.log")
    assert str(file) in ended.err.replace("\n", "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Traceback" in file.read_text()


def test_a_defect_whose_traceback_cannot_be_kept_is_told_all_the_same(house: House, rhumb: Rhumb) -> None:
    (house.folder / "logs").write_text("a file")
    house.fault = ImpossibleHistory("broken")
    ended = rhumb("list")
    assert ended.code == 70
    assert "couldn't be kept" in ended.err
    assert "house.py:" in ended.err


def test_ctrl_c_before_there_is_a_change_ends_130(house: House, rhumb: Rhumb) -> None:
    house.plays.append(lambda: None)

    def interrupt() -> None:
        raise KeyboardInterrupt

    house.catch_up = interrupt  # type: ignore[method-assign]
    ended = rhumb("list")
    assert ended.code == 130
    assert "interrupted" in ended.err


def test_a_failure_in_several_lines_keeps_them(house: House, rhumb: Rhumb) -> None:
    house.fault = StoreError("it didn't start\nFATAL: no room\r\x1b[2J")
    ended = rhumb("list")
    assert "rhumb: it didn't start\n  FATAL: no room\\r\\x1b[2J\n" in ended.err


def test_nothing_can_be_read_and_the_document_says_so(house: House, rhumb: Rhumb) -> None:
    def lost() -> None:
        raise StoreError("the database is gone")

    house.then_raises(StoreError("the connection broke"))
    house.catch_up = lost  # type: ignore[method-assign]
    ended = rhumb.run("--json")
    assert ended.code == 1
    assert ended.document == {
        "change": CHANGE,
        **dict.fromkeys(("status", "reason", "commit", "branch", "generation", "costUsd")),
        "tasks": [],
        "candidates": [],
    }
    assert "the database is gone" in ended.err
    assert "rhumb: the connection broke" in ended.err
