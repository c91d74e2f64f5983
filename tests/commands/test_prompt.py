"""What an agent is told, and that foreign text in it stays data."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.ports.agent import AgentTask, DependencyReport, PreviousAttempt
from commands.prompt import REPORT_LIMIT, build_prompt, fence, task_document
from domain.plan import PlannedTask, TaskKind


def task(kind: TaskKind = TaskKind.IMPLEMENT, goal: str = "The goal", **changes: object) -> AgentTask:
    planned = PlannedTask(
        key="t2",
        title="Add a\nflag",
        kind=kind,
        instructions="Add --shout",
        resources=("src/cli.py",),
        depends_on=("t1",),
        acceptance=("--shout prints capitals", "tests cover it"),
    )
    fields: dict[str, object] = {
        "run": "run_c_t2_3",
        "task": "tsk_c_t2",
        "attempt": 3,
        "goal": goal,
        "planned": planned,
    }
    return AgentTask(**{**fields, **changes})  # type: ignore[arg-type]


def test_says_what_to_do_and_when_it_is_done() -> None:
    prompt = build_prompt(task())
    for part in ("Add --shout", "The goal", "- --shout prints capitals", "- tests cover it", "RHUMB_TASK_FILE"):
        assert part in prompt
    assert "run afterwards by someone else" in prompt
    assert "Only files in the present folder count" in prompt


def test_says_the_same_for_the_same_task() -> None:
    assert build_prompt(task()) == build_prompt(task())


def test_a_goal_that_is_the_instructions_is_said_once() -> None:
    assert build_prompt(task(goal="Add --shout")).count("Add --shout") == 1


@pytest.mark.parametrize("kind", [TaskKind.RESEARCH, TaskKind.REVIEW])
def test_a_reading_task_is_told_that_what_it_prints_counts(kind: TaskKind) -> None:
    prompt = build_prompt(task(kind))
    assert "read-only" in prompt
    assert "what you print is your report" in prompt
    assert "commit" not in prompt


def test_says_why_the_last_attempt_did_not_do() -> None:
    assert "without a change to any file" in build_prompt(task(previous=PreviousAttempt("no_changes", "ignored")))
    told = build_prompt(task(previous=PreviousAttempt("agent_failed", "the agent ended with exit code 2")))
    assert "agent_failed: the agent ended with exit code 2" in told


def test_hands_on_hints_and_reports() -> None:
    reports = (DependencyReport("t1", "Look\n## around", "found it"),)
    prompt = build_prompt(task(hints=("mind the locale",), reports=reports))
    assert "mind the locale" in prompt
    assert "## Report of task t1: Look ## around\n\n```text\nfound it\n```" in prompt


def test_a_long_report_is_cut_in_the_prompt_and_whole_in_the_file() -> None:
    long = task(reports=(DependencyReport("t1", "T", "x" * (REPORT_LIMIT + 5)),))
    assert "x" * (REPORT_LIMIT + 1) not in build_prompt(long)
    assert json.loads(task_document(long))["reports"][0]["text"] == "x" * (REPORT_LIMIT + 5)


@given(st.text())
def test_no_text_gets_out_of_its_fence(text: str) -> None:
    lines = fence(text).split("\n")
    marks = re.fullmatch(r"(`+)text", lines[0])
    assert marks is not None
    assert lines[-1] == marks[1]
    assert not any(marks[1] in line for line in lines[1:-1])


@given(st.text(min_size=1))
def test_no_goal_adds_a_heading_outside_of_a_fence(goal: str) -> None:
    def headings(prompt: str) -> int:
        outside, fenced = 0, None
        for line in prompt.split("\n"):
            if fenced is None and (opening := re.fullmatch(r"(`{3,})text", line)):
                fenced = opening[1]
            elif fenced is not None and line == fenced:
                fenced = None
            elif fenced is None and line.startswith("#"):
                outside += 1
        return outside

    expected = 3 if goal == "Add --shout" or not goal.strip() else 4
    assert headings(build_prompt(task(goal=goal))) == expected


def test_the_document_holds_the_plan_s_fields_id_and_attempt() -> None:
    assert json.loads(task_document(task())) == {
        "id": "tsk_c_t2",
        "run": "run_c_t2_3",
        "attempt": 3,
        "key": "t2",
        "title": "Add a\nflag",
        "kind": "implement",
        "instructions": "Add --shout",
        "resources": ["src/cli.py"],
        "dependsOn": ["t1"],
        "acceptance": ["--shout prints capitals", "tests cover it"],
        "goal": "The goal",
        "previous": None,
        "hints": [],
        "reports": [],
    }
