"""What single events do to single rows, where the tables of statuses don't say it already."""

from domain.change import event as e
from domain.change.status import ChangeStatus, TaskStatus
from domain.check import Evidence, Variant
from domain.kernel.event import BlobRef, Event, Head
from domain.plan import Complexity, RiskTier, TaskKind
from domain.policy import DEFAULT_POLICY
from domain.project import event as p
from domain.project.role import Role
from domain.run import event as r
from domain.run.status import RunOutcome
from projections import candidate, change, cost, project, run, task
from tests.projections.logs import AT, CHG, PRJ, T1, enveloped, folded

BLOB = BlobRef(sha256="b" * 64, size=7)
HEAD = Head(version=1, hash="a" * 64)
RUN = "run_00000000-0000-4000-8000-000000000001_t1_1"
CAND = "cand_0123456789abcdef01234567"


def created(**more: object) -> Event:
    values: dict = {
        "change": CHG,
        "project": PRJ,
        "requester": "usr_ada",
        "client_request_id": "req-1",
        "goal": BLOB,
        "settings": BLOB,
        "base_generation": 3,
        "base_commit": "c" * 40,
        "budget": 5_000_000,
        "policy": "policy-1",
    }
    return e.ChangeCreated(**{**values, **more})


def compiled(cost: int | None = 10) -> list[Event]:
    return [
        e.CompileStarted(compile=1),
        e.ChangeCompiled(
            plan=BLOB,
            risk_tier=RiskTier.LOW,
            human_approval_required=False,
            destructive_migration=False,
            complexity=Complexity.SMALL,
            acceptance_criteria=0,
            checks=(),
            setup=None,
            cost=cost,
        ),
        e.TaskCreated(task=T1, key="t1", kind=TaskKind.IMPLEMENT, depends_on=(), resources=()),
    ]


def started() -> list[Event]:
    return [
        e.TaskReady(task=T1),
        e.TaskAssigned(task=T1, agent="agt_1", run=RUN, attempt=1),
        e.TaskStarted(
            task=T1, run=RUN, base_generation=3, base_commit="c" * 40, reservation=None, started_at=1_800_000_000
        ),
    ]


def the_change(*events: Event) -> dict:
    return folded(change.MODEL, enveloped(CHG, events))[("changes", CHG)]


def test_an_unknown_cost_makes_the_sum_unknown_and_keeps_what_is_known() -> None:
    failed = e.TaskFailed(task=T1, run=RUN, run_head=HEAD, reason="broke", detail="", cost=None)
    row = the_change(created(), *compiled(cost=10), *started(), failed)
    assert (row["known_micros"], row["unknown_costs"]) == (10, 1)
    assert change.spent_of(row) is None
    assert change.spent_of(the_change(created(), *compiled(cost=10))) == 10


def test_a_dead_letter_needs_attention_until_it_goes_on() -> None:
    blocked = e.TaskBlocked(task=T1, cause=e.BlockCause.DEAD_LETTER, detail="")
    row = the_change(created(), *compiled(), e.TaskReady(task=T1), blocked)
    assert (row["dead_letters"], row["needs_attention"], row["status"]) == ([T1], True, "running")
    unblocked = e.TaskUnblocked(task=T1, status=TaskStatus.READY)
    row = the_change(created(), *compiled(), e.TaskReady(task=T1), blocked, unblocked)
    assert (row["dead_letters"], row["needs_attention"]) == ([], False)


def test_a_budget_stop_needs_attention_and_a_raise_ends_it() -> None:
    stopped = [created(), *compiled(), e.ChangeBudgetBlocked(reason="budget_spent")]
    row = the_change(*stopped)
    assert (row["status"], row["needs_attention"], row["reason"]) == ("budget_blocked", True, "budget_spent")
    row = the_change(*stopped, e.BudgetRaised(budget=9_000_000, target=ChangeStatus.RUNNING))
    assert (row["status"], row["needs_attention"], row["reason"]) == ("running", False, None)
    assert row["budget_micros"] == 9_000_000


def test_a_raise_that_moves_nothing_only_raises() -> None:
    row = the_change(created(), *compiled(), e.BudgetRaised(budget=9_000_000, target=ChangeStatus.RUNNING))
    assert (row["status"], row["budget_micros"]) == ("running", 9_000_000)


def test_a_change_knows_its_goal_plan_and_times() -> None:
    row = the_change(created(), *compiled())
    assert change.goal_of(row) == change.plan_of(row) == BLOB
    assert change.plan_of(the_change(created())) is None
    assert row["created_at"] < row["updated_at"]


def test_a_task_keeps_its_attempts_and_its_last_run() -> None:
    done = e.TaskCompleted(task=T1, run=RUN, run_head=HEAD, changeset="cs_1", report=BLOB, cost=4)
    proposed = e.ChangeSetProposed(
        changeset="cs_1", task=T1, run=RUN, base_commit="c" * 40, commit="d" * 40, tree="e" * 40, empty=False
    )
    rows = folded(task.MODEL, enveloped(CHG, [created(), *compiled(), *started(), proposed, done]))
    row = rows[("tasks", T1)]
    assert (row["status"], row["attempts"], row["run"], row["last_run"]) == ("completed", 1, None, RUN)
    assert (row["changeset"], row["commit"], row["report_sha256"]) == ("cs_1", "d" * 40, BLOB.sha256)
    assert row["known_micros"] == 4


def test_each_run_of_a_check_is_a_row_also_those_on_the_base() -> None:
    def ran(exit_code: int | None, killed: str | None = None) -> Evidence:
        return Evidence(
            check="tests", variant=Variant.AS_IS, exit_code=exit_code, killed=killed, duration_ms=5, output=BLOB
        )

    recorded = [e.EvidenceRecorded(candidate=CAND, evidence=run) for run in (ran(1), ran(0), ran(None, "time"))]
    base = e.BaseVerified(base_commit="c" * 40, evidence=(ran(0), ran(1)))
    rows = folded(candidate.MODEL, enveloped(CHG, [base, *recorded]))
    passed = {key: row["passed"] for key, row in rows.items()}
    assert passed == {
        ("evidence", 1, 0): True,
        ("evidence", 1, 1): False,
        ("evidence", 2, 0): False,
        ("evidence", 3, 0): True,
        ("evidence", 4, 0): False,
    }
    assert {row["candidate"] for key, row in rows.items() if key[1] == 1} == {None}


def test_an_approval_names_the_approver() -> None:
    made = e.CandidateCreated(candidate=CAND, base_generation=3, base_commit="c" * 40, changesets=("cs_1",))
    asked = e.ApprovalRequested(candidate=CAND, trigger="judges", reason="judges_changed", files=("conftest.py",))
    rows = folded(candidate.MODEL, enveloped(CHG, [made, asked, e.ApprovalGranted(candidate=CAND)], actor="usr_bob"))
    row = rows[("candidates", CAND)]
    assert (row["approval"], row["approved_by"], row["gate_files"]) == ("granted", "usr_bob", ["conftest.py"])


def run_events(cost: int | None) -> list[Event]:
    begun = r.RunStarted(
        task=T1,
        change=CHG,
        project=PRJ,
        attempt=1,
        provider="command",
        base_commit="c" * 40,
        reservation=None,
        budget=None,
        sandboxed=True,
        continues=None,
    )
    ended = r.RunFinished(
        outcome=RunOutcome.COMPLETED,
        reason="done",
        exit_code=0,
        cost=cost,
        log=BLOB,
        commit=None,
        tree=None,
        report=None,
        duration_ms=12,
    )
    return [begun, r.TurnRecorded(turn=2, tree="f" * 40, cost=None), ended]


def test_a_run_keeps_the_tree_of_its_last_turn_and_where_its_log_lies() -> None:
    row = folded(run.MODEL, enveloped(RUN, run_events(7)))[("runs", RUN)]
    assert (row["status"], row["turns"], row["tree"], row["cost_micros"]) == ("completed", 2, "f" * 40, 7)
    assert run.log_of(row) == BLOB
    assert row["started_at"] < row["finished_at"]


def test_costs_are_summed_by_source_and_unknown_ones_counted() -> None:
    rows = folded(cost.MODEL, enveloped(RUN, run_events(None)))
    assert rows[("costs", RUN)]["unknown"] == 1
    assert rows[("costs", RUN)]["month"] == f"{AT:%Y-%m}"
    rows = folded(cost.MODEL, enveloped(CHG, [created(), *compiled(cost=10)]))
    assert rows[("costs", CHG)] == {
        "source": CHG,
        "kind": "planning",
        "project": PRJ,
        "change": CHG,
        "month": "2026-03",
        "known_micros": 10,
        "unknown": 0,
    }
    assert cost.Cost(10, 1).total is None
    assert cost.Cost(10, 0).total == 10


def test_a_project_keeps_members_and_every_generation() -> None:
    events: list[Event] = [
        p.ProjectCreated(
            project=PRJ, repository="/srv/a", branch="main", commit="a" * 40, owner="usr_ada", policy=DEFAULT_POLICY
        ),
        p.MemberAdded(user="usr_bob", role=Role.MEMBER),
        p.MemberAdded(user="usr_bob", role=Role.ADMIN),
        p.MemberAdded(user="usr_eve", role=Role.MEMBER),
        p.MemberRemoved(user="usr_eve"),
        p.CanonicalImported(generation=1, commit="b" * 40, relation=p.ImportRelation.DIVERGED, lacks=(CHG,)),
        p.CanonicalAdvanced(
            generation=2, commit="c" * 40, candidate=CAND, change=CHG, change_head=HEAD, approver="usr_bob"
        ),
        p.CanonicalRefMoved(generation=2, commit="c" * 40, was=None, lost=None),
    ]
    rows = folded(project.MODEL, enveloped(PRJ, events))
    row = rows[("projects", PRJ)]
    assert (row["generation"], row["commit"], row["ref_generation"]) == (2, "c" * 40, 2)
    assert {key[2]: row["role"] for key, row in rows.items() if key[0] == "members"} == {
        "usr_ada": "owner",
        "usr_bob": "admin",
    }
    how = [(key[2], row["how"], row["lacks"]) for key, row in sorted(rows.items()) if key[0] == "generations"]
    assert how == [(0, "created", []), (1, "imported", [CHG]), (2, "promoted", [])]
