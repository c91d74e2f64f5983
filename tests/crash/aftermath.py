"""What has to hold once a lifecycle came to its end, whatever happened to its processes on the way."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from psycopg import sql

from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.kernel.value import decode_path
from domain.project.state import ProjectState
from domain.registry import decider_of
from domain.run.status import RunStatus
from infra.event_store.postgres import PostgresStore
from infra.git.locks import LockWatch
from infra.git.ref import PATIENCE
from infra.projections.postgres import PostgresHome
from infra.projections.projector import Projector
from infra.projections.verify import verify
from projections import MODELS
from tests.crash.lifecycle import Place
from tests.support.repository import git

ONCE = {
    "base.verified": lambda event: (),
    "change.compiled": lambda event: (),
    "run.finished": lambda event: (),
    "candidate.composed": lambda event: (event.candidate,),
    "evidence.recorded": lambda event: (event.candidate, event.evidence.key),
    "candidate.promoted": lambda event: (),
    "branch.exported": lambda event: (),
    "canonical.ref_moved": lambda event: (event.generation,),
}
"""Outcomes of effects, and what of a stream each may be told of once."""

_LEFT = re.compile(r".*\.lock|quarantine-.*|stale-lock-.*|tmp_.*|incoming-.*|\.prj_.*")
"""Names of files that live as long as one step of one process."""


def faults(place: Place, content: bool = True) -> list[str]:
    """Everything that isn't as it has to be; the processes are over. content: also what the four tasks make."""
    assert place.database_url is not None
    with PostgresStore(place.database_url) as store:
        states = fold(store)
        return [
            *_of_changes(place, states, content),
            *_of_outcomes(store),
            *_of_tables(store),
            *_of_read_models(store),
            *_of_files(place),
            *_of_processes(place),
        ]


def fold(store: PostgresStore) -> dict[str, Any]:
    """Every stream's state, from the log alone."""
    states: dict[str, Any] = {}
    for stored in store.events.log(0, 100_000):
        stream = stored.envelope.stream
        states[stream] = decider_of(stream).evolve(states.get(stream), stored.envelope.event)
    return states


def _of_changes(place: Place, states: dict[str, Any], content: bool) -> Iterator[str]:
    changes = [state for state in states.values() if isinstance(state, ChangeState)]
    if not changes:
        yield "there is no Change"
    for change in changes:
        if change.status is not ChangeStatus.COMPLETED or change.promoted is None:
            yield f"{change.id} is {change.status}: {change.reason}"
            continue
        repository = repository_of(states[change.project])
        branch = git(repository, "for-each-ref", "--format=%(objectname)", f"refs/heads/rhumbline/{change.id}")
        if branch != change.promoted.commit:
            yield f"the branch is at {branch or 'no commit'}, not at {change.promoted.commit}"
        if content:
            yield from _of_content(repository, change.promoted.commit)
    for project in (state for state in states.values() if isinstance(state, ProjectState)):
        yield from _of_canonical(place, project)
    for stream, state in states.items():
        if stream.startswith("run_") and state.status is RunStatus.RUNNING:
            yield f"{stream} never ended"
        if stream.startswith("bud_") and state.slices:
            yield f"{stream} still holds {state.slices}"


def repository_of(project: ProjectState) -> Path:
    """The person's repository."""
    return Path(os.fsdecode(decode_path(project.repository)))


def _of_content(repository: Path, commit: str) -> Iterator[str]:
    text = git(repository, "show", f"{commit}:value.txt").split()
    if sorted(text) != ["a", "b", "one"]:
        yield f"value.txt holds {text}"
    paths = git(repository, "ls-tree", "--name-only", commit).split()
    if paths != ["c.txt", "check.sh", "d.txt", "value.txt"]:
        yield f"the promoted tree holds {paths}"


def _of_canonical(place: Place, project: ProjectState) -> Iterator[str]:
    canonical = place.home / "canonical" / f"{project.id}.git"
    main = git(canonical, "rev-parse", "refs/heads/main")
    if main != project.commit:
        yield f"canonical's main is at {main}, not at {project.commit}"
    git(canonical, "fsck", "--full", "--strict", "--no-dangling")
    left = git(canonical, "for-each-ref", "--format=%(refname)", "refs/ws/", "refs/lost/")
    if left:
        yield f"refs are left: {left}"


def _of_outcomes(store: PostgresStore) -> Iterator[str]:
    told: Counter[tuple[Any, ...]] = Counter()
    for stored in store.events.log(0, 100_000):
        envelope = stored.envelope
        if envelope.type in ONCE:
            told[(envelope.stream, envelope.type, *ONCE[envelope.type](envelope.event))] += 1
    yield from (f"told {count} times: {what}" for what, count in told.items() if count > 1)


OPEN_ROWS = {
    "leases": "SELECT name FROM leases WHERE holder IS NOT NULL",
    "slots": "SELECT owner FROM slots",
    "effects": "SELECT effect_id FROM effects WHERE closed_by IS NULL",
    "messages": "SELECT message_id || ' ' || last_error FROM outbox WHERE handled_at IS NULL",
}


def _of_tables(store: PostgresStore) -> Iterator[str]:
    for what, query in OPEN_ROWS.items():
        with store.transaction() as cursor:
            rows = [next(iter(row.values())) for row in cursor.execute(sql.SQL(query)).fetchall()]
        if rows:
            yield f"{what} are left: {rows}"


def _of_read_models(store: PostgresStore) -> Iterator[str]:
    views = PostgresHome(store.datastore)
    Projector(store.events, views, MODELS).catch_up()
    for model in verify(store.events, views, MODELS).models:
        if not model.ok:
            yield f"{model.name} differs: {model.note or model.failure or list(map(str, model.differences))}"


def _of_files(place: Place) -> Iterator[str]:
    home = place.home
    left = list((home / "workspaces").iterdir())
    left += [path for path in (home / "run").iterdir() if path.name != ".lock"]
    canonicals = list((home / "canonical").iterdir())
    for canonical in canonicals:
        _break_locks(canonical)
    for repository in (*canonicals, place.repository / ".git"):
        left += [path for path in (repository, *repository.rglob("*")) if _LEFT.fullmatch(path.name)]
    left += list((home / "objects").rglob("*#*"))
    yield from (f"a file is left: {path.relative_to(home.parent)}" for path in left)


def _break_locks(canonical: Path) -> None:
    """What a process that lives for a while does about the lock of a ref that nobody writes again."""
    now = [0.0]
    watch = LockWatch(lambda: now[0])
    if watch.look(canonical):
        now[0] = PATIENCE
        watch.look(canonical)


def _of_processes(place: Place) -> Iterator[str]:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        if any(str(place.home) in word for word in words) and str(place.home / "postgres" / "data") not in words:
            yield f"a process is left: {words[:4]}"
