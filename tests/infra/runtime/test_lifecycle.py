"""What becomes of a Change, with real agents, real git, the real sandbox and the real store."""

import json
from pathlib import Path

import pytest

from commands import people
from commands.ports.agent import AgentRequest, AgentUnavailable
from domain.change.error import BudgetOnlyRises, NothingToApprove
from domain.change.state import ChangeState, TaskState
from domain.change.status import CandidateStatus, ChangeStatus, TaskStatus
from domain.kernel.errors import InvalidInput
from tests.support.app import Home, Process
from tests.support.repository import commit_all, git, write


def only_task(state: ChangeState) -> TaskState:
    return next(iter(state.tasks.values()))


def test_a_change_is_promoted_and_arrives_as_a_branch(process: Process) -> None:
    state = process.run("echo two > value.txt")

    assert state.status is ChangeStatus.COMPLETED
    repository = process.repository()
    assert git(repository, "show", f"rhumbline/{state.id}:value.txt") == "two"
    assert git(repository, "show", "main:value.txt") == "one"
    promoted = state.promoted
    assert promoted is not None
    assert process.app.ctx.canonicals.open(state.project).head() == promoted.commit
    assert process.app.ctx.canonicals.open(state.project).workspaces() == ()


def test_no_changes_gets_one_more_try_with_a_hint_then_fails(process: Process) -> None:
    state = process.run("true")

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).reason == "no_changes"
    assert only_task(state).attempt == 2
    assert "no_changes" in str(process.app.store.events.read(state.id)[-4:])


def test_the_hint_reaches_the_second_try(process: Process) -> None:
    line = "grep -q 'without a change' /tmp/prompt && echo two > value.txt || true"

    state = process.run(f"cat > /tmp/prompt; {line}")

    assert state.status is ChangeStatus.COMPLETED
    assert only_task(state).attempt == 2


def test_an_agent_that_breaks_is_tried_again_then_fails_the_change(process: Process) -> None:
    state = process.run("exit 3")

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).attempt == 2
    assert "exit code 3" in state.reason


def test_a_failing_check_fails_the_change(process: Process) -> None:
    state = process.run(": > value.txt; echo 'all tests pass'")

    assert state.status is ChangeStatus.FAILED
    assert "check.sh" in state.reason or "sh" in state.reason
    assert [c.status for c in state.candidates.values()] == [CandidateStatus.REJECTED]


def test_a_spent_budget_blocks_and_a_raise_goes_on(process: Process, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    answer = {"costUsd": "0.02", "reserveUsd": "0.05", "actions": [{"write": "value.txt", "text": "two\n"}]}
    script.write_text(json.dumps({"answers": [answer]}))

    state = process.run(AgentRequest("scripted", script=script), budget=10_000)
    assert state.status is ChangeStatus.BUDGET_BLOCKED
    with pytest.raises(BudgetOnlyRises):
        people.raise_budget(process.app.ctx, state.id, process.session.actor, 5_000)

    people.raise_budget(process.app.ctx, state.id, process.session.actor, 60_000)
    state = process.finish(state.id)

    assert state.status is ChangeStatus.COMPLETED
    assert state.spent == 20_000


def test_what_bends_its_judge_waits_and_approving_promotes_it(process: Process) -> None:
    state = process.run(": > value.txt; echo true > check.sh")
    assert state.status is ChangeStatus.AWAITING_APPROVAL

    people.approve(process.app.ctx, state.id, process.session.actor)
    state = process.finish(state.id)

    assert state.status is ChangeStatus.COMPLETED


def test_rejecting_ends_it(process: Process) -> None:
    state = process.run(": > value.txt; echo true > check.sh")

    people.reject(process.app.ctx, state.id, process.session.actor)

    assert process.finish(state.id).status is ChangeStatus.FAILED
    with pytest.raises(NothingToApprove):
        people.approve(process.app.ctx, state.id, process.session.actor)


def test_an_approval_in_advance_is_carried_out(process: Process) -> None:
    state = process.run(": > value.txt; echo true > check.sh", approve=True)

    assert state.status is ChangeStatus.COMPLETED
    assert "approval.granted" in process.types(state.id)


def test_cancel_stops_the_agent_and_leaves_nothing(process: Process) -> None:
    change = process.submit("echo started; sleep 300")
    process.wait_for(change, lambda stored: stored.envelope.type == "run.started")

    people.cancel(process.app.ctx, change, process.session.actor)
    state = process.finish(change)

    assert state.status is ChangeStatus.CANCELLED
    assert only_task(state).status is TaskStatus.CANCELLED
    while process.app.engine.busy:
        process.app.runner.wait_step(1)
    assert process.app.ctx.canonicals.open(state.project).workspaces() == ()


def test_a_run_cut_off_is_continued_by_a_new_one(installation: Home) -> None:
    with installation.open() as first:
        # The first attempt hangs, the next one goes on.
        line = 'grep -q \'"attempt":1\' "$RHUMB_TASK_FILE" && sleep 300; echo two > value.txt'
        change = first.submit(line)
        first.wait_for(change, lambda stored: stored.envelope.type == "run.started")

    with installation.open() as second:
        second.session.adopt(change)
        state = second.finish(change)

        assert state.status is ChangeStatus.COMPLETED
        assert only_task(state).attempt == 2
        assert "task.requeued" in second.types(change)
        assert second.app.ctx.canonicals.open(state.project).workspaces() == ()


def test_two_changes_at_once_end_up_on_top_of_each_other(process: Process) -> None:
    first = process.submit("echo a > a.txt", goal="a")
    second = process.submit("echo b > b.txt", goal="b")

    states = process.finish(first), process.finish(second)

    assert [state.status for state in states] == [ChangeStatus.COMPLETED, ChangeStatus.COMPLETED]
    commits = sorted(process.app.ctx.writer.state(states[0].project).history, key=lambda step: step.generation)
    assert [step.generation for step in commits] == [0, 1, 2]
    assert set(process.app.ctx.canonicals.open(states[0].project).paths(commits[-1].commit)) >= {"a.txt", "b.txt"}


def test_a_main_moved_by_hand_is_put_back_and_kept(process: Process) -> None:
    first = process.run("echo two > value.txt")
    canonical = process.app.ctx.canonicals.open(first.project)
    base = first.base_commit
    foreign = git(canonical.path, "commit-tree", f"{base}^{{tree}}", "-p", base, "-m", "by hand")
    git(canonical.path, "update-ref", "refs/heads/main", foreign)

    second = process.run("echo three > value.txt")

    assert second.status is ChangeStatus.COMPLETED
    assert second.promoted is not None
    assert canonical.head() == second.promoted.commit
    assert git(canonical.path, "rev-parse", f"refs/lost/{foreign}") == foreign


def test_a_branch_in_the_way_is_left_alone_and_said(process: Process) -> None:
    change = process.submit("sleep 1; echo two > value.txt")
    git(process.repository(), "branch", f"rhumbline/{change}", "main")

    state = process.finish(change)

    assert state.status is ChangeStatus.COMPLETED
    assert git(process.repository(), "show", f"rhumbline/{change}:value.txt") == "one"
    exported = [s.envelope.event for s in process.app.store.events.read(change)][-1]
    assert exported.refused  # type: ignore[attr-defined]


def test_a_person_who_went_ahead_is_imported_as_a_generation(process: Process) -> None:
    process.run("echo two > value.txt")
    repository = process.repository()
    branch = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads/rhumbline")
    git(repository, "merge", "-q", "--ff-only", branch)
    write(repository / "own.txt", "mine\n")
    head = commit_all(repository, "Mine")

    state = process.run("echo three > value.txt")

    assert state.base_commit == head
    assert state.base_generation == 2
    assert state.status is ChangeStatus.COMPLETED


def test_the_same_request_twice_is_one_change(process: Process) -> None:
    first = process.submit("echo two > value.txt", client_request_id="req-1")
    again = process.session.submit(process.submission("echo two > value.txt", client_request_id="req-1")).change

    assert again == first
    assert process.finish(first).status is ChangeStatus.COMPLETED
    assert process.types(first).count("change.created") == 1


def test_a_person_who_went_another_way_is_imported_and_told_what_is_missing(process: Process) -> None:
    first = process.run("echo two > value.txt")
    repository = process.repository()
    write(repository / "own.txt", "mine\n")
    head = commit_all(repository, "Another way")

    submitted = process.session.submit(process.submission("echo three > value.txt"))
    state = process.finish(submitted.change)

    assert state.base_commit == head
    assert state.base_generation == 2
    assert state.status is ChangeStatus.COMPLETED
    assert first.id in " ".join(submitted.notes)
    imported = process.app.ctx.writer.state(state.project).history[2]
    assert imported.lacks == (first.id,)
    # What was promoted is still there.
    assert first.promoted is not None
    assert process.app.ctx.canonicals.open(state.project).tree_of(first.promoted.commit)


@pytest.mark.parametrize(
    ("agent", "options", "status"),
    [
        ("echo two > value.txt", {"start_planning": False}, "created"),
        ("sleep 300", {}, "running"),
        (": > value.txt; echo true > check.sh", {}, "awaiting_approval"),
    ],
)
def test_cancel_works_from_where_it_may(process: Process, agent: str, options: dict[str, bool], status: str) -> None:
    change = process.submit(agent, **options)
    if status == "running":
        process.wait_for(change, lambda stored: stored.envelope.type == "run.started")
    else:
        process.finish(change)
    assert process.state(change).status == status

    people.cancel(process.app.ctx, change, process.session.actor)
    state = process.finish(change)

    assert state.status is ChangeStatus.CANCELLED
    assert not any(task.run for task in state.tasks.values())
    assert process.app.ctx.canonicals.open(state.project).workspaces() == ()
    assert not process.app.store.effects.of_change(change)


def test_going_on_without_what_the_agent_needs_is_refused_and_changes_nothing(
    installation: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_A_TEST", "a-token-of-ours")
    agent = AgentRequest("command", command="sleep 300", env=("TOKEN_OF_A_TEST",))
    with installation.open() as first:
        change = first.submit(agent)
        first.wait_for(change, lambda stored: stored.envelope.type == "run.started")
    monkeypatch.delenv("TOKEN_OF_A_TEST")

    with installation.open() as second:
        before = second.types(change)
        with pytest.raises(AgentUnavailable, match="TOKEN_OF_A_TEST"):
            second.session.require_agents(change)
        second.session.catch_up()
        assert second.types(change) == before
        assert "no process works on it" in str(second.session.queries.standstill(change))
        why = second.session.queries.why(change)
        assert why.command == f"rhumb resume {change}"
        assert second.session.queries.cost(change).total is None


def test_a_secret_in_the_goal_is_refused(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_A_TEST", "a-token-of-ours")
    agent = AgentRequest("command", command="true", env=("TOKEN_OF_A_TEST",))

    with pytest.raises(InvalidInput, match="--agent-env"):
        process.submit(agent, goal="use a-token-of-ours here")
    assert process.app.store.events.last_position() == 0
