"""Several tasks of one Change: in parallel, on top of each other, and in each other's way."""

from pathlib import Path
from typing import Any

from commands import people
from commands.ports.agent import AgentRequest
from domain.change.state import ChangeState
from domain.change.status import CandidateStatus, ChangeStatus, TaskStatus
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan
from tests.support.app import Home, Process
from tests.support.repository import git


def planned(key: str, *needs: str, kind: TaskKind = TaskKind.IMPLEMENT, **more: Any) -> PlannedTask:
    return PlannedTask(key=key, title=f"Task {key}", kind=kind, instructions=f"do {key}", depends_on=needs, **more)


def graph(*tasks: PlannedTask) -> WorkGraphPlan:
    return WorkGraphPlan(title="Several", risk_tier=RiskTier.LOW, complexity=Complexity.MEDIUM, tasks=tasks)


KEY = """KEY=$(python3 -c 'import json, os; print(json.load(open(os.environ["RHUMB_TASK_FILE"]))["key"])'); """
"""Every agent of a Change is the same command; its task file tells it which task it has."""


def run(process: Process, line: str, *tasks: PlannedTask, **options: Any) -> ChangeState:
    return process.run(AgentRequest("command", command=KEY + line), plan=graph(*tasks), **options)


def promoted_paths(process: Process, state: ChangeState) -> set[str]:
    assert state.promoted is not None, (state.status, state.reason)
    return set(process.app.ctx.canonicals.open(state.project).paths(state.promoted.commit))


def tasks(state: ChangeState) -> dict[str, Any]:
    return {task.key: task for task in state.tasks.values()}


def test_four_tasks_two_in_parallel_and_one_on_top_of_both(process: Process) -> None:
    needs = "case $KEY in d) test -f b.txt -a -f c.txt || exit 9;; a) ;; *) test -f a.txt || exit 8;; esac"
    line = f"{needs}; echo 1 > $KEY.txt"

    state = run(process, line, planned("a"), planned("b", "a"), planned("c", "a"), planned("d", "b", "c"))

    assert state.status is ChangeStatus.COMPLETED
    assert promoted_paths(process, state) >= {"a.txt", "b.txt", "c.txt", "d.txt"}
    assert [task.attempt for task in state.tasks.values()] == [1, 1, 1, 1]


def test_independent_tasks_are_at_work_at_the_same_time(process: Process) -> None:
    # Each waits for the other's mark in a folder that both see, so one after the other would never end.
    meeting = process.folder / "meeting"
    meeting.mkdir(mode=0o777)
    meeting.chmod(0o777)
    both = f"test -e {meeting}/a -a -e {meeting}/b"
    line = (
        f"touch {meeting}/$KEY; for i in $(seq 600); do {both} && break; sleep 0.1; done; {both} && echo 1 > $KEY.txt"
    )
    agent = AgentRequest("command", command=KEY + line, binds=(f"{meeting}:rw",))

    state = process.run(agent, plan=graph(planned("a"), planned("b")))

    assert state.status is ChangeStatus.COMPLETED


def test_two_tasks_on_one_file_run_again_on_top_of_each_other(process: Process) -> None:
    state = run(process, 'echo "$KEY" >> value.txt', planned("a"), planned("b"))

    assert state.status is ChangeStatus.COMPLETED
    assert tasks(state)["a"].attempt == 1
    assert tasks(state)["b"].attempt == 2
    assert state.reruns == 1
    rejected = [c for c in state.candidates.values() if c.status is CandidateStatus.REJECTED]
    assert "value.txt" in rejected[0].detail
    assert git(process.repository(), "show", f"rhumbline/{state.id}:value.txt").split() == ["one", "a", "b"]


def test_twelve_tasks_on_one_file_end_within_the_bounds(process: Process) -> None:
    keys = [f"k{number}" for number in range(12)]

    state = run(process, 'echo "$KEY" >> value.txt', *(planned(key) for key in keys))

    assert state.status in (ChangeStatus.COMPLETED, ChangeStatus.BLOCKED), state.reason
    assert state.reruns <= 4
    if state.status is ChangeStatus.COMPLETED:
        text = git(process.repository(), "show", f"rhumbline/{state.id}:value.txt")
        assert sorted(text.split()) == sorted(["one", *keys])


def test_more_than_eight_tasks_wait_for_a_place(process: Process) -> None:
    keys = [f"k{number}" for number in range(10)]

    state = run(process, "echo 1 > $KEY.txt", *(planned(key) for key in keys))

    assert state.status is ChangeStatus.COMPLETED
    assert promoted_paths(process, state) >= {f"{key}.txt" for key in keys}


def test_a_reading_task_hands_on_its_report(process: Process) -> None:
    line = (
        'case $KEY in look) touch never 2>/dev/null && exit 7; echo "the answer is 42";; '
        '*) grep -q "the answer is 42" "$RHUMB_TASK_FILE" && echo 42 > answer.txt;; esac'
    )

    state = run(process, line, planned("look", kind=TaskKind.RESEARCH), planned("write", "look"))

    assert state.status is ChangeStatus.COMPLETED
    assert promoted_paths(process, state) >= {"answer.txt"}
    assert tasks(state)["look"].changeset is None


def test_a_failed_task_stops_what_is_built_on_it_and_ends_the_change(process: Process) -> None:
    state = run(process, "test $KEY != a && echo 1 > $KEY.txt", planned("a"), planned("b", "a"), planned("c"))

    assert state.status is ChangeStatus.FAILED
    assert "failed" in state.reason
    assert tasks(state)["a"].status is TaskStatus.FAILED
    assert tasks(state)["c"].status is TaskStatus.COMPLETED


def test_dependencies_that_do_not_merge_run_on_top_of_each_other(process: Process) -> None:
    line = 'case $KEY in c) echo 1 > c.txt;; *) echo "$KEY" >> value.txt;; esac'

    state = run(process, line, planned("a"), planned("b"), planned("c", "a", "b"))

    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert git(process.repository(), "show", f"rhumbline/{state.id}:value.txt").split() == ["one", "a", "b"]
    assert state.restacks == 1


def test_an_interrupted_run_goes_on_from_what_it_left(installation: Home) -> None:
    line = "if test -f half.txt; then echo 2 > whole.txt; else echo 1 > half.txt; sync; sleep 300; fi"
    with installation.open() as first:
        change = first.submit(AgentRequest("command", command=KEY + line))
        first.wait_for(change, lambda stored: stored.envelope.type == "run.started")
        runs = first.app.ctx.canonicals.open(first.state(change).project)
        folder = first.app.home.workspaces
        while not any((folder / run / "tree" / "half.txt").exists() for run in runs.workspaces()):
            first.app.runner.wait_step(0.2)

    with installation.open() as second:
        second.session.adopt(change)
        state = second.finish(change)

        assert state.status is ChangeStatus.COMPLETED, state.reason
        assert promoted_paths(second, state) >= {"half.txt", "whole.txt"}


def test_a_run_that_took_too_long_goes_on_from_what_it_left(tmp_path: Path, database_url: str) -> None:
    line = "if test -f half.txt; then echo 2 > whole.txt; else echo 1 > half.txt; sleep 300; fi"
    with Home(tmp_path, database_url, {"agent_seconds": 3}).open() as process:
        stopped = process.run(line)
        assert stopped.status is ChangeStatus.BUDGET_BLOCKED, stopped.reason

        people.raise_budget(process.app.ctx, stopped.id, process.session.actor, 6_000_000)
        state = process.finish(stopped.id)

        assert state.status is ChangeStatus.COMPLETED, state.reason
        assert promoted_paths(process, state) >= {"half.txt", "whole.txt"}
