"""What is shown of a Change, as golden text."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from textwrap import dedent

import pytest

from commands.ports.git import ChangedFile
from domain.kernel.event import BlobRef
from routers.cli.exits import Exit
from routers.cli.report import CandidateReport, ChangeReport, CheckRun, TaskReport
from routers.cli.view.change import (
    change_lines,
    diff_stat_lines,
    failed_lines,
    list_lines,
    promoted_lines,
    waits_lines,
)
from routers.cli.view.layout import Line

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BLOB = BlobRef(sha256="0" * 64, size=1)
PASSED = CheckRun("tests", "as_is", True, 0, None, 1_300, BLOB, True)
FAILED = replace(PASSED, passed=False, exit_code=1, duration_ms=61_000)
TASK = TaskReport("tsk_1_t1", "implement", "completed", 1, None, None, "run_1_t1_1")
CANDIDATE = CandidateReport("cand_1", "promoted", "c" * 40, "a" * 40, None, None, (PASSED,))
REPORT = ChangeReport(
    id="chg_1",
    project="prj_1",
    goal="Say [b]hello[/b]\n",
    status="completed",
    reason=None,
    risk_tier="low",
    cost=12_500,
    known_cost=12_500,
    budget=5_000_000,
    base_commit="a" * 40,
    commit="c" * 40,
    branch="rhumbline/chg_1",
    export_refused=None,
    generation=3,
    gate_files=(),
    dead_letters=(),
    sandboxed=True,
    created_at=START,
    updated_at=START,
    tasks=(TASK,),
    candidates=(CANDIDATE,),
    base_checks=(),
    timeline=({"at": START + timedelta(seconds=2), "sentence": "it was \x1b[31mdone"},),
)
FILES = (
    ChangedFile("a.py", "M", 10, 5),
    ChangedFile("new %0A%FF.py", "A", 1, 0),
    ChangedFile("gone.bin", "D", None, None),
)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routers.cli.view.time.clock", lambda at: f"{at:%H:%M:%S}")
    monkeypatch.setattr("routers.cli.view.time.moment", lambda at: f"{at:%Y-%m-%d %H:%M}")


def text(lines: list[Line]) -> str:
    return "\n".join(line.plain for line in lines) + "\n"


def golden(expected: str) -> str:
    return dedent(expected).lstrip("\n")


def test_promoted() -> None:
    assert text(promoted_lines(REPORT, FILES, None)) == golden(
        f"""
        promoted  {"c" * 40}
          goal        Say [b]hello[/b]\\n
          risk tier   low
          branch      rhumbline/chg_1
          generation  3
          cost        $0.0125 of $5.00

        Changed
          a.py                    +10 -5  ++++++++++-----
          new \\n\\xff.py  new      +1 -0   +
          gone.bin       deleted  binary
          3 files changed, 11 lines added, 5 removed

        Evidence
          passed  tests  exit code 0  1.3 s

        Timeline
          12:00:02  +2.0 s  it was \\x1b[31mdone

        Next
          git merge rhumbline/chg_1
          rhumb diff chg_1
        """
    )


def test_failed() -> None:
    report = replace(
        REPORT,
        status="failed",
        reason="no_candidate_can_ship",
        commit=None,
        branch=None,
        tasks=(replace(TASK, status="failed", reason="no_changes"),),
        candidates=(replace(CANDIDATE, status="rejected", detail="tests failed", checks=(FAILED,)),),
    )
    assert report.exit is Exit.NOT_PROMOTED
    assert text(failed_lines(report, [(FAILED, b"E  assert [1]\n\x1b[31m1 failed\n")])) == golden(
        """
        chg_1 wasn't promoted: no candidate can ship
          task t1 failed: no changes
          cand_1 was rejected: tests failed
          tests: exit code 1
            E  assert [1]
            \\x1b[31m1 failed
          rhumb why chg_1  says what led here
          rhumb logs cand_1  shows all that its checks printed
          rhumb logs run_1_t1_1  shows what the agent printed
        """
    )


def test_a_release_that_failed_says_that_the_promotion_holds() -> None:
    report = replace(REPORT, status="failed", reason="release_stuck")
    assert report.exit is Exit.NOT_PROMOTED
    assert text(failed_lines(report, [])).startswith(f"chg_1 was promoted as {'c' * 40}, but its release failed: ")


@pytest.mark.parametrize(
    ("status", "way"),
    [
        ("awaiting_approval", "rhumb approve chg_1  promotes it"),
        ("budget_blocked", "rhumb resume chg_1 --budget USD  raises its budget (now $5.00) and goes on"),
        ("blocked", "rhumb resume chg_1 --budget USD  raises its budget, which composes it again"),
        ("verifying", "rhumb resume chg_1  goes on with it"),
    ],
)
def test_waiting(status: str, way: str) -> None:
    report = replace(REPORT, status=status, commit=None, reason="somebody_must_look")
    assert report.exit is Exit.WAITS
    shown = text(waits_lines(report))
    assert shown.startswith("chg_1 waits for a person: somebody must look\n")
    assert f"  {way}\n" in shown
    assert "  rhumb why chg_1  says what led here\n" in shown


def test_a_reason_that_names_a_file_keeps_its_name() -> None:
    report = replace(REPORT, status="awaiting_approval", commit=None, reason="it alters what judges it: test_a_b.py")
    assert "it alters what judges it: test_a_b.py\n" in text(waits_lines(report))


def test_releasing_is_promoted() -> None:
    assert replace(REPORT, status="releasing").exit is Exit.DONE


def test_without_a_sandbox_it_says_so() -> None:
    report = replace(
        REPORT, sandboxed=False, candidates=(replace(CANDIDATE, checks=(replace(PASSED, sandboxed=False),)),)
    )
    shown = text(change_lines(report, None))
    assert "sandbox     none (--unsafe-local)" in shown
    assert "passed  tests  exit code 0  1.3 s  without a sandbox" in shown


def test_a_known_part_of_an_unknown_cost_is_told() -> None:
    shown = text(change_lines(replace(REPORT, cost=None), None))
    assert "unknown of $5.00 (the agent doesn't say what it costs; $0.0125 of it known)" in shown


def test_both_runs_of_a_check_are_evidence() -> None:
    judged = replace(FAILED, variant="base_judges")
    shown = text(change_lines(replace(REPORT, candidates=(replace(CANDIDATE, checks=(judged, PASSED)),)), None))
    assert (
        golden(
            """
          passed  tests  exit code 0  1.3 s
          failed  tests  exit code 1  1 min 01 s  judged by the base's files
        """
        )
        .replace("\n", "\n  ")
        .strip()
        in shown
    )


def test_a_long_diff_stat_is_cut() -> None:
    shown = text(diff_stat_lines([ChangedFile(f"f{n}", "M", n * 100, 1) for n in range(50)]))
    assert "… and 20 more\n50 files changed, 122500 lines added, 50 removed\n" in shown
    assert max(map(len, shown.splitlines())) < 80


def test_an_empty_diff_stat() -> None:
    assert text(diff_stat_lines([])) == "no file differs\n"


def test_list() -> None:
    row = {"id": "chg_1", "status": "failed", "created_at": START}
    assert text(list_lines([(row, "g" * 100, None)])) == golden(
        f"""
        CHANGE  STATUS  COST     SINCE             GOAL
        chg_1   failed  unknown  2026-03-01 12:00  {"g" * 59}…
        """
    )
