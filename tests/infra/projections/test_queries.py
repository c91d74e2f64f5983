"""Queries answer alike in PostgreSQL and in memory."""

from collections.abc import Iterator

import pytest

from infra.bench.synthetic import History
from infra.event_store.memory import MemoryStore
from infra.event_store.postgres import PostgresStore
from infra.projections.memory import MemoryHome
from infra.projections.postgres import PostgresHome
from infra.projections.projector import Projector
from infra.projections.rebuild import prepare
from projections import MODELS
from projections.candidate import CandidateQueries
from projections.change import ChangeQueries
from projections.cost import Cost, CostQueries
from projections.project import ProjectQueries
from projections.query import MAX_PAGE, Views
from projections.release import ReleaseQueries
from projections.run import RunQueries
from projections.task import TaskQueries
from projections.timeline import TimelineQueries

SEED, EVENTS = 61, 900


@pytest.fixture(params=["memory", "postgres"])
def views(request: pytest.FixtureRequest) -> Iterator[Views]:
    if request.param == "memory":
        memory = MemoryStore(lambda: 0.0)
        for commit in History(SEED, projects=2, in_flight=3).commits(EVENTS):
            memory.events.commit(commit)
        home = MemoryHome(MODELS)
        Projector(memory.events, home, MODELS).catch_up()
        yield home
        return
    store: PostgresStore = request.getfixturevalue("store")
    for commit in History(SEED, projects=2, in_flight=3).commits(EVENTS):
        store.events.commit(commit)
    postgres = PostgresHome(store.datastore)
    prepare(store.events, postgres, MODELS)
    yield postgres


def test_changes_are_listed_newest_first_page_by_page(views: Views) -> None:
    queries = ChangeQueries(views)
    whole = queries.list(limit=MAX_PAGE)
    assert whole.cursor is None
    assert len(whole.rows) > 6
    pages, cursor = [], None
    while True:
        page = queries.list(limit=2, after=cursor)
        pages.extend(page.rows)
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == list(whole.rows)
    times = [row["created_at"] for row in pages]
    assert times == sorted(times, reverse=True)


def test_changes_are_found_by_project_status_and_request(views: Views) -> None:
    queries = ChangeQueries(views)
    every = queries.list(limit=MAX_PAGE).rows
    project = every[0]["project"]
    assert queries.list(project=project, limit=MAX_PAGE).rows == [r for r in every if r["project"] == project]
    done = queries.list(project=project, status="completed", limit=MAX_PAGE).rows
    assert done == [r for r in every if r["project"] == project and r["status"] == "completed"]
    first = every[-1]
    assert queries.by_client_request(first["requester"], first["client_request_id"]) == first
    assert queries.by_client_request("usr_other", first["client_request_id"]) is None
    assert queries.get(first["id"]) == first
    assert queries.get("chg_none") is None
    assert queries.with_prefix(first["id"][:12], 5) == [first["id"]]
    assert len(queries.with_prefix("chg_", 3)) == 3


def test_tasks_candidates_and_runs_come_in_order(views: Views) -> None:
    change = next(r for r in ChangeQueries(views).list(limit=MAX_PAGE).rows if r["status"] == "completed")
    tasks = TaskQueries(views).of_change(change["id"])
    assert [task["key"] for task in tasks] == [f"t{n}" for n in range(1, len(tasks) + 1)]
    assert TaskQueries(views).get(tasks[0]["id"]) == tasks[0]
    candidates = CandidateQueries(views)
    (*_, promoted) = candidates.of_change(change["id"])
    assert promoted["id"] == change["promoted_candidate"]
    assert candidates.get(promoted["id"]) == promoted
    assert [run["check_name"] for run in candidates.evidence(promoted["id"])] == ["tests", "lint", "types"]
    assert len(candidates.base_evidence(change["id"])) == 3
    runs = RunQueries(views)
    of_task = runs.of_task(tasks[0]["id"])
    assert [run["attempt"] for run in of_task] == list(range(1, len(of_task) + 1))
    assert of_task[-1]["id"] == tasks[0]["last_run"]
    assert {run["change"] for run in runs.of_change(change["id"])} == {change["id"]}
    assert runs.get(of_task[0]["id"]) == of_task[0]


def test_projects_members_generations_and_releases(views: Views) -> None:
    queries = ProjectQueries(views)
    project = queries.all()[0]
    assert queries.by_repository(project["repository"], "main") == queries.get(project["id"]) == project
    assert [member["user_id"] for member in queries.members(project["id"])] == ["usr_ada", "usr_bob"]
    assert queries.role(project["id"], "usr_ada") == "owner"
    assert queries.role(project["id"], "usr_eve") is None
    steps = queries.generations(project["id"])
    assert [step["generation"] for step in steps] == list(range(project["generation"] + 1))
    releases = [r for p in queries.all() for r in ReleaseQueries(views).of_project(p["id"])]
    assert releases
    first = releases[0]
    assert ReleaseQueries(views).get(first["id"]) == first
    assert ReleaseQueries(views).of_change(first["change"]) == [first]


def test_costs_add_up(views: Views) -> None:
    queries = CostQueries(views)
    for project in ProjectQueries(views).all():
        months, changes = queries.by_month(project["id"]), queries.by_change(project["id"])
        assert sum(cost.known for cost in months.values()) == sum(cost.known for cost in changes.values()) > 0
        assert sum(cost.unknown for cost in months.values()) == sum(cost.unknown for cost in changes.values())
        for change, cost in changes.items():
            assert queries.of_change(change) == cost
        month = next(iter(months))
        assert queries.by_project(month)[project["id"]] == months[month]
    assert queries.of_change("chg_none") == Cost(0, 0)


def test_the_timeline_of_a_change_leaves_routine_out_unless_asked(views: Views) -> None:
    change = next(r for r in ChangeQueries(views).list(limit=MAX_PAGE).rows if r["status"] == "completed")
    queries = TimelineQueries(views)
    whole = queries.of_change(change["id"], routine=True)
    short = queries.of_change(change["id"])
    assert [row for row in whole.rows if not row["routine"]] == list(short.rows)
    assert len(short.rows) < len(whole.rows)
    first = short.rows[0]
    assert (first["type"], first["event"]) == ("change.created", f"{change['id']}:1")
    assert queries.event(first["event"]) == first
    for nothing in ("chg_none:1", f"{change['id']}:{10**30}", f"{change['id']}:x", change["id"]):
        assert queries.event(nothing) is None
    assert queries.last_about("nothing") is None
