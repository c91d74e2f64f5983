"""The chain from an object back to the person's command."""

import pytest

from commands.ports.store import Commit, Handled, Handling, Sealed, StreamAppend
from domain.change.event import CompileStarted, TaskReady
from domain.kernel.errors import InvalidInput, NotFound
from domain.kernel.event import GENESIS_HASH, Command, Event, seal
from infra.bench.synthetic import History
from infra.event_store.memory import MemoryStore
from infra.projections.commands import commands_of
from infra.projections.memory import MemoryHome
from infra.projections.projector import Projector
from projections import MODELS
from projections.query import Select
from projections.why import MAX_LINKS, WhyQueries, as_document
from tests.projections.logs import AT, CHG, PRJ, T1
from tests.projections.test_models import compiled, created


class Log:
    """A store whose commits are written one command at a time."""

    def __init__(self) -> None:
        self.store = MemoryStore(lambda: 0.0)
        self._head = (0, GENESIS_HASH)

    def handle(self, command_id: str, name: str, actor: str, *events: Event, causation: str | None = None) -> None:
        command = Command(command_id=command_id, actor=actor, at=AT, causation=causation, correlation=CHG)
        version, hash_ = self._head
        sealed = []
        for number, event in enumerate(events, version + 1):
            envelope, stored, hash_ = seal(CHG, number, hash_, event, command)
            sealed.append(Sealed(envelope, stored, hash_))
        handled = Handled(command_id, name, actor, AT, Handling.DONE, causation=causation, correlation=CHG)
        appends = (StreamAppend(CHG, version, tuple(sealed)),) if sealed else ()
        self.store.events.commit(Commit(appends=appends, handled=(handled,)))
        self._head = (version + len(events), hash_)

    def queries(self) -> WhyQueries:
        home = MemoryHome(MODELS)
        projector = Projector(self.store.events, home, MODELS)
        projector.catch_up()
        assert projector.failures() == {}
        return WhyQueries(home, commands_of(self.store.events))


@pytest.fixture
def log() -> Log:
    log = Log()
    log.handle("cmd-person", "change.create", "usr_ada", created())
    start, *rest = compiled()
    assert isinstance(start, CompileStarted)
    message = f"{CHG}:1/change.plan"
    log.handle(message, "change.plan", "system:router", start, *rest, causation=f"{CHG}:1")
    # The outcome of an effect names the command before it, and no event.
    log.handle("cmd-dispatch", "change.dispatch", "system:router", TaskReady(task=T1), causation=message)
    return log


def test_the_chain_leads_from_a_task_to_the_person(log: Log) -> None:
    why = log.queries().why(T1)
    assert (why.kind, why.status) == ("task", "ready")
    assert why.waits_for == "it waits for its agent to be woken, which happens by itself"
    assert why.command is None
    assert [(link.kind, link.id) for link in why.chain] == [
        ("event", f"{CHG}:5"),
        ("command", "cmd-dispatch"),
        ("command", f"{CHG}:1/change.plan"),
        ("event", f"{CHG}:1"),
        ("command", "cmd-person"),
    ]
    assert [link.sentence for link in why.chain] == [
        "Task t1 became ready",
        "Rhumbline (router) looked for Tasks that can start",
        "Rhumbline (router) asked for the plan",
        "usr_ada asked for this Change on generation 3 (cccccccccc) with a budget of $5.00",
        "usr_ada asked for the Change",
    ]
    assert not why.cut


def test_an_event_has_a_chain_too(log: Log) -> None:
    why = log.queries().why(f"{CHG}:3")
    assert (why.kind, why.status) == ("event", None)
    assert [link.id for link in why.chain] == [f"{CHG}:3", f"{CHG}:1/change.plan", f"{CHG}:1", "cmd-person"]


def test_a_change_says_what_it_waits_for(log: Log) -> None:
    document = as_document(log.queries().why(CHG))
    assert document["status"] == "running"
    assert document["waitsFor"] == "it waits for a free place for Task t1; that comes by itself"
    assert document["chain"][0]["kind"] == "event"


@pytest.mark.parametrize("identifier", [PRJ, "tsk_nothing_t1", f"{CHG}:99", "chg_"])
def test_what_is_not_there_is_not_found(log: Log, identifier: str) -> None:
    with pytest.raises(NotFound):
        log.queries().why(identifier)


@pytest.mark.parametrize("identifier", ["nonsense", "", "xyz_1", "cmd_1", "usr_1"])
def test_what_has_no_reason_is_told_with_what_has_one(log: Log, identifier: str) -> None:
    with pytest.raises(InvalidInput, match="chg_"):
        log.queries().why(identifier)


def test_a_cause_in_a_circle_ends() -> None:
    log = Log()
    log.handle("cmd-1", "change.create", "usr_ada", created(), causation="cmd-2")
    log.handle("cmd-2", "change.settle", "usr_ada", causation="cmd-1")
    chain = log.queries().why(CHG).chain
    assert [link.id for link in chain] == [f"{CHG}:1", "cmd-1", "cmd-2"]


def test_every_object_of_a_history_has_an_answer() -> None:
    store = MemoryStore(lambda: 0.0)
    for commit in History(seed=9).commits(700):
        store.events.commit(commit)
    home = MemoryHome(MODELS)
    Projector(store.events, home, MODELS).catch_up()
    queries = WhyQueries(home, commands_of(store.events))
    tables = {table.name: table for model in MODELS for table in model.tables}
    asked = 0
    for name in ("changes", "tasks", "candidates", "runs", "releases", "projects"):
        for row in home.select(Select(tables[name], {}, ("id",), limit=7)):
            why = queries.why(row["id"])
            assert why.waits_for
            assert why.chain
            assert len(why.chain) <= MAX_LINKS
            asked += 1
    assert asked > 25
