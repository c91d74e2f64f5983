"""An installation in memory: real store, deciders and read models; what agents and checks would do is played."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from commands.ports.git import ChangedFile
from commands.ports.store import ChangeBusy, Commit, Sealed, Stored, StreamAppend
from commands.submit import Submission, Submitted
from commands.unit import Writer
from domain.kernel.event import GENESIS_HASH, Command, Event, seal
from infra.event_store.memory import MemoryStore
from infra.objects.memory import MemoryObjects
from infra.projections.memory import MemoryHome
from infra.projections.projector import Projector
from infra.queries import ViewQueries
from projections import MODELS
from routers.cli.app import build
from routers.cli.exits import Saying
from routers.cli.session import Demo, Difference, Finding
from tests.routers.cli.history import ME, PROJECT, History

CHANGE = "chg_3f2a0000-0000-4000-8000-000000000001"
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FILES = (ChangedFile("src/new file.py", "A", 3, 0), ChangedFile("a%0Ab%FF.txt", "M", 1, 1))
PATCH = b"--- a/x\n+++ b/x\n-one\n+two \x1b[31m\xff\n"

Play = Callable[[], None]


@dataclass
class House:
    """`Installation` and `Session` in one. plays: what happens next each time a follower has seen everything."""

    folder: Path
    plays: deque[Play] = field(default_factory=deque)
    submissions: list[Submission] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    differences: list[Difference] = field(default_factory=list)
    refusal: Exception | None = None
    fault: Exception | None = None
    busy: bool = False
    opened: int = 0
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    goal: str = "Say hello"

    actor = ME

    def __post_init__(self) -> None:
        self.store = MemoryStore(clock=lambda: 0.0)
        self.objects = MemoryObjects()
        views = MemoryHome(MODELS)
        self.projector = Projector(self.store.events, views, MODELS)
        self.queries = ViewQueries(cast(Any, views), cast(Any, self.store))
        self.seconds = 0
        self.ids = 0
        self.ctx: Any = SimpleNamespace(
            writer=Writer(self.store.events), objects=self.objects, clock=self.clock, new_uuid=self.new_uuid
        )
        self.on_output: Callable[[str, str, bytes], None] | None = None

    # -- what happened -----------------------------------------------------------------------------------------

    def clock(self) -> datetime:
        self.seconds += 1
        return START + timedelta(seconds=self.seconds)

    def new_uuid(self) -> str:
        self.ids += 1
        return f"00000000-0000-4000-8000-{self.ids:012d}"

    def history(self, change: str = CHANGE) -> History:
        return History(change, self.objects.put, self.goal)

    def happen(self, stream: str, *events: Event, change: str | None = None) -> None:
        past = self.store.events.read(stream)
        version, digest = (past[-1].envelope.version, past[-1].hash) if past else (0, GENESIS_HASH)
        sealed = []
        for number, event in enumerate(events, version + 1):
            command = Command(
                command_id=self.new_uuid(), actor="system:test", at=self.clock(), correlation=change or stream
            )
            envelope, stored, digest = seal(stream, number, digest, event, command)
            sealed.append(Sealed(envelope, stored, digest))
        self.store.events.commit(Commit(appends=(StreamAppend(stream, version, tuple(sealed)),)))

    def given(self, *events: Event, change: str = CHANGE) -> None:
        """The Project, and these events of a Change, have happened."""
        if not self.store.events.read(PROJECT):
            self.happen(PROJECT, History.project())
        self.happen(change, *events)

    def then(self, *events: Event, change: str = CHANGE) -> None:
        """These events happen when a follower waits for more."""
        self.plays.append(lambda: self.happen(change, *events))

    def then_raises(self, error: BaseException) -> None:
        def play() -> None:
            raise error

        self.plays.append(play)

    # -- Session -----------------------------------------------------------------------------------------------

    def submit(self, submission: Submission) -> Submitted:
        self.submissions.append(submission)
        if self.refusal is not None:
            raise self.refusal
        self.goal = submission.goal
        self.given(*self.history().created())
        self.adopt(CHANGE)
        return Submitted(CHANGE, PROJECT, self.warnings, self.notes)

    def require_agents(self, change: str) -> None:
        """They can be started."""

    def adopt(self, change: str) -> None:
        if self.busy:
            raise ChangeBusy(f"{change} is being worked on by another process (7@host)")
        self.adopted.append(change)

    def follow(self, change: str, after: int = 0) -> Iterator[Stored]:
        while True:
            page = self.store.events.log(after, 100)
            for stored in page:
                after = stored.position
                if stored.envelope.correlation == change:
                    yield stored
            if not page:
                if not self.plays:
                    return
                self.plays.popleft()()

    def catch_up(self) -> None:
        while self.projector.step():
            pass

    def diff_stat(self, project: str, base: str, commit: str) -> tuple[ChangedFile, ...]:
        return FILES

    def diff(self, project: str, base: str, commit: str) -> bytes:
        return PATCH

    def replay(self, names: tuple[str, ...], progress: Callable[[str, int, int], None]) -> dict[str, int]:
        progress("rebuilding", 1, 2)
        progress("rebuilding", 2, 2)
        return dict.fromkeys(names or ("changes", "tasks"), 1)

    def verify(
        self, names: tuple[str, ...], progress: Callable[[str, int, int], None]
    ) -> tuple[dict[str, int], list[Difference]]:
        progress("comparing", 2, 2)
        return dict.fromkeys(names or ("changes", "tasks"), 2_000), self.differences

    # -- Installation ------------------------------------------------------------------------------------------

    @contextmanager
    def open(
        self, progress: Callable[[str], None], on_output: Callable[[str, str, bytes], None] | None = None
    ) -> Iterator["House"]:
        self.opened += 1
        if self.fault is not None:
            raise self.fault
        self.on_output = on_output
        yield self

    def doctor(self) -> tuple[Finding, ...]:
        return self.findings

    def default_budget(self) -> int:
        return 7_000_000

    def home(self) -> Path:
        return self.folder

    def demo(self) -> Demo:
        plan = self.folder / "plan.yaml"
        plan.write_text("tasks:\n  - {key: t1, title: Louder, kind: implement, instructions: shout}\n")
        return Demo(self.folder / "greet", "Greet louder", plan, self.folder / "script.toml")

    def known_errors(self) -> Mapping[type[Exception], Saying]:
        return {}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    raw: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass
class Rhumb:
    """`rhumb` in this process, on a house."""

    house: House

    def __call__(self, *arguments: str, stdin: bytes = b"", tty: bool = False) -> Ended:
        environment = {"FORCE_COLOR": "1", "TERM": "xterm"} if tty else {"FORCE_COLOR": None, "TERM": "dumb"}
        result = CliRunner().invoke(build(self.house), arguments, input=stdin, env={"COLUMNS": "80", **environment})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    def run(self, *options: str, goal: str = "Say hello", **more: Any) -> Ended:
        return self("run", goal, "--agent-command", "true", *options, **more)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def rhumb(house: House) -> Rhumb:
    return Rhumb(house)
