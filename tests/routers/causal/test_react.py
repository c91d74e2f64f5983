"""The rules of the causal router: which commands an event leads to (seed 002)."""

from datetime import UTC, datetime

import pytest

from commands.message import INTEGRATION, WAKEUPS, Name
from commands.ports.store import Message
from domain.change import event as e
from domain.change.status import MAX_ACTIVE_AGENTS, CandidateStatus, ChangeStatus, TaskStatus
from domain.kernel.event import GENESIS_HASH, BlobRef, Envelope, Event, Head, seal
from domain.kernel.event import Command as KernelCommand
from domain.plan import Complexity, RiskTier, TaskKind
from domain.project import event as p
from routers.causal.react import react
from routers.causal.view import CandidateView, ChangeView, TaskView, fold

CHANGE = "chg_00000000-0000-0000-0000-000000000001"
PROJECT = "prj_00000000-0000-0000-0000-000000000002"
AT = datetime(2026, 1, 2, tzinfo=UTC)
BLOB = BlobRef(sha256="a" * 64, size=1)
HEAD = Head(version=1, hash="b" * 64)


def enveloped(event: Event, stream: str = CHANGE, actor: str = "usr_1", version: int = 7) -> Envelope:
    command = KernelCommand(command_id="cmd_1", actor=actor, at=AT, correlation=CHANGE)
    return seal(stream, version, GENESIS_HASH, event, command)[0]


def created(**more: object) -> e.ChangeCreated:
    fields = {
        "change": CHANGE,
        "project": PROJECT,
        "requester": "usr_1",
        "client_request_id": "r",
        "goal": BLOB,
        "settings": BLOB,
        "base_generation": 0,
        "base_commit": "c",
        "budget": 1,
        "policy": "policy-1",
    }
    return e.ChangeCreated.model_validate({**fields, **more})


def view(status: ChangeStatus = ChangeStatus.RUNNING, **more: object) -> ChangeView:
    fields = {"change": CHANGE, "project": PROJECT, "status": status, "approver_in_advance": None}
    return ChangeView.model_validate({**fields, **more})


def task(status: TaskStatus, *needs: str, deferred: bool = False) -> TaskView:
    return TaskView(status=status, depends_on=needs, deferred=deferred)


def names(messages: tuple[Message, ...]) -> list[str]:
    return [message.name for message in messages]


def test_a_request_is_planned_unless_it_says_not_yet() -> None:
    envelope = enveloped(created())
    (message,) = react(envelope, fold(None, envelope))
    assert (message.name, message.topic, message.change, message.project) == (Name.PLAN, INTEGRATION, CHANGE, PROJECT)

    later = enveloped(created(start_planning=False))
    assert react(later, fold(None, later)) == ()


def test_the_same_event_leads_to_the_same_ids() -> None:
    envelope = enveloped(e.TaskReady(task="t"))
    assert react(envelope, view()) == react(envelope, view())
    (message,) = react(envelope, view())
    assert message.message_id == f"{envelope.id}/agent.wake/t"
    assert (message.topic, message.causation, message.payload) == (WAKEUPS, envelope.id, {"task": "t"})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (e.TaskWakeRequested(task="t"), [Name.WAKE]),
        (e.TaskUnblocked(task="t", status=TaskStatus.READY), [Name.WAKE]),
        (e.TaskUnblocked(task="t", status=TaskStatus.PENDING), [Name.DISPATCH]),
        (e.TaskReopened(task="t", status=TaskStatus.READY, depends_on=()), [Name.WAKE]),
        (e.TaskReopened(task="t", status=TaskStatus.PENDING, depends_on=()), []),
        (e.TaskWakeDropped(task="t", reason="x"), [Name.DISPATCH]),
        (e.TasksRerun(trigger="file_conflict", tasks=("t",), candidate=None), [Name.DISPATCH]),
        (e.BudgetRaised(budget=2, target=ChangeStatus.RUNNING), [Name.DISPATCH]),
        (e.BudgetRaised(budget=2, target=ChangeStatus.COMPILING), [Name.PLAN]),
        (e.BudgetRaised(budget=2, target=ChangeStatus.VERIFYING), [Name.RECOMPOSE]),
        (e.VerificationStarted(reason="work_graph_completed"), [Name.CREATE_CANDIDATE]),
        (e.CandidateSelected(candidate="c", gated=False), [Name.PROMOTE]),
        (e.CandidateSelected(candidate="c", gated=True), []),
        (e.PromotionRequested(candidate="c", trigger="auto", before=ChangeStatus.VERIFYING), [Name.ADVANCE]),
        (
            e.PromotionRefused(candidate="c", reason="stale", target=ChangeStatus.VERIFYING),
            [Name.RECOMPOSE, Name.SETTLE],
        ),
        (e.CandidateRejected(candidate="c", reason=e.RejectReason.CHECK_FAILED, detail="x"), [Name.SETTLE]),
        (e.ApprovalLapsed(reason="x"), [Name.SETTLE]),
        (e.ApprovalGranted(candidate="c"), []),
        (e.ApprovalGranted(candidate="c", in_advance=True), [Name.PROMOTE]),
        (e.TierRaised(tier=RiskTier.HIGH, reason="x"), []),
        (e.ChangeCompleted(outcome="promoted"), []),
    ],
)
def test_what_an_event_leads_to(event: Event, expected: list[str]) -> None:
    assert names(react(enveloped(event), view(tasks={"t": task(TaskStatus.READY)}))) == expected


def test_a_completed_task_dispatches_only_what_it_sets_free() -> None:
    event = enveloped(e.TaskCompleted(task="a", run="r", run_head=HEAD, changeset=None, report=None, cost=None))
    free = {"a": task(TaskStatus.COMPLETED), "b": task(TaskStatus.PENDING, "a")}
    waits = {**free, "b": task(TaskStatus.PENDING, "a", "c"), "c": task(TaskStatus.RUNNING)}

    assert names(react(event, view(tasks=free))) == [Name.DISPATCH]
    assert names(react(event, view(tasks=waits))) == []


def test_a_freed_place_wakes_who_waits_for_one() -> None:
    event = enveloped(e.TaskCompleted(task="a", run="r", run_head=HEAD, changeset=None, report=None, cost=None))
    tasks = {"a": task(TaskStatus.COMPLETED)}
    tasks |= {f"busy{n}": task(TaskStatus.RUNNING) for n in range(MAX_ACTIVE_AGENTS - 1)}
    tasks |= {name: task(TaskStatus.READY, deferred=True) for name in ("x", "y")}

    assert [message.payload for message in react(event, view(tasks=tasks))] == [{"task": "x"}]


def test_a_failed_task_is_settled() -> None:
    failed = e.TaskFailed(task="a", run="r", run_head=HEAD, reason="x", detail="", cost=None)
    assert Name.SETTLE in names(react(enveloped(failed), view(tasks={"a": task(TaskStatus.FAILED)})))


def test_an_approval_in_advance_is_carried_out_as_its_giver() -> None:
    asked = enveloped(e.ApprovalRequested(candidate="c", trigger="policy", reason="x"))
    (message,) = react(asked, view(ChangeStatus.AWAITING_APPROVAL, approver_in_advance="usr_9"))
    assert (message.name, message.actor) == (Name.APPROVE_IN_ADVANCE, "usr_9")
    assert react(asked, view(ChangeStatus.AWAITING_APPROVAL)) == ()


def test_whoever_asks_for_a_promotion_stands_for_it() -> None:
    asked = e.PromotionRequested(candidate="c", trigger="person", before=ChangeStatus.VERIFYING)
    (message,) = react(enveloped(asked, actor="usr_5"), view(ChangeStatus.PROMOTING))
    assert (message.actor, message.payload) == ("usr_5", {"candidate": "c", "trigger": "person"})


def test_an_advance_recomposes_what_stands_on_an_earlier_base() -> None:
    def other(number: int, base: int, status: CandidateStatus = CandidateStatus.VERIFIED) -> ChangeView:
        candidates = {"c": CandidateView(status=status, base_generation=base)}
        return view(ChangeStatus.VERIFYING, candidates=candidates).model_copy(update={"change": f"chg_{number}"})

    advanced = p.CanonicalAdvanced(
        generation=4, commit="x", candidate="w", change=CHANGE, change_head=HEAD, approver=None
    )
    siblings = [other(1, 3), other(2, 4), other(3, 2, CandidateStatus.STALE), other(4, 1, CandidateStatus.REJECTED)]

    messages = react(enveloped(advanced, PROJECT), None, siblings)

    assert [(m.name, m.change) for m in messages] == [(Name.RECOMPOSE, "chg_1"), (Name.RECOMPOSE, "chg_3")]


def test_nothing_is_settled_after_the_end() -> None:
    rejected = e.CandidateRejected(candidate="c", reason=e.RejectReason.CHANGE_ENDED, detail="x")
    assert react(enveloped(rejected), view(ChangeStatus.CANCELLED)) == ()


def test_the_view_follows_tasks_candidates_and_status() -> None:
    compiled = e.ChangeCompiled(
        plan=BLOB,
        risk_tier=RiskTier.LOW,
        human_approval_required=False,
        destructive_migration=False,
        complexity=Complexity.SMALL,
        acceptance_criteria=0,
        checks=(),
        setup=None,
        cost=0,
    )
    log: list[Event] = [
        created(),
        e.CompileStarted(compile=1),
        compiled,
        e.TaskCreated(task="t", key="t", kind=TaskKind.IMPLEMENT, depends_on=(), resources=()),
        e.TaskReady(task="t"),
        e.TaskDeferred(task="t"),
    ]
    folded: ChangeView | None = None
    for number, event in enumerate(log):
        folded = fold(folded, enveloped(event, version=number + 1))

    assert folded is not None
    assert (folded.status, folded.deferred, folded.active) == ("running", ("t",), 0)
    assert (
        fold(folded, enveloped(p.CanonicalRefMoved(generation=0, commit="c", was=None, lost=None), PROJECT)) is folded
    )
