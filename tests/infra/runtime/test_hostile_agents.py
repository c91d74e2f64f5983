"""Agents that do what they mustn't: each ends with its reason by name, and nothing of it is left behind."""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from commands.checks.resolve import person_checks
from commands.ports.agent import AgentRequest
from domain.change.state import ChangeState, TaskState
from domain.change.status import CandidateStatus, ChangeStatus, TaskStatus
from domain.check import Evidence, Variant
from domain.run.event import RunFinished
from tests.support.app import FILES, Home, Process
from tests.support.postgres import TEMPLATE, SharedPostgres, database
from tests.support.repository import git, make_repository

MIB = 1024**2
SETTINGS = {
    "memory": 192 * MIB,
    "processes": 48,
    "output": MIB,
    "file_size": 160 * MIB,
    "agent_seconds": 60,
    "max_agents": 8,
}

Repository = Callable[..., Path]


@pytest.fixture(scope="module")
def shared(shared_postgres: SharedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One process for many tests, as a person has one home for many agents."""
    with (
        database(shared_postgres, TEMPLATE) as url,
        Home(tmp_path_factory.mktemp("hostile"), url, SETTINGS).open() as process,
    ):
        yield process


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


def only_task(state: ChangeState) -> TaskState:
    return next(iter(state.tasks.values()))


def nothing_left(process: Process, state: ChangeState) -> None:
    while process.app.engine.busy:
        process.app.runner.wait_step(1)
    canonical = process.app.ctx.canonicals.open(state.project)
    assert canonical.workspaces() == ()
    assert list(process.app.ctx.scratch.iterdir()) == []


def not_promoted(process: Process, repository: Path, state: ChangeState) -> None:
    assert state.promoted is None
    assert git(repository, "for-each-ref", "refs/heads/rhumbline") == ""
    assert git(repository, "status", "--porcelain") == ""
    nothing_left(process, state)


def promoted(process: Process, repository: Path, state: ChangeState) -> str:
    """The promoted branch's name."""
    assert state.status is ChangeStatus.COMPLETED, state.reason
    assert git(repository, "status", "--porcelain") == ""
    nothing_left(process, state)
    return f"rhumbline/{state.id}"


def log_of(process: Process, state: ChangeState) -> bytes:
    """What the first attempt printed, as it is kept."""
    run = f"run_{only_task(state).id.removeprefix('tsk_')}_1"
    ended = [s.envelope.event for s in process.app.store.events.read(run) if isinstance(s.envelope.event, RunFinished)]
    assert ended[0].log is not None
    log: bytes = process.app.ctx.objects.get(ended[0].log)
    return log


def processes_of(mark: str) -> list[int]:
    """Processes on this machine that have `mark` on their command line."""
    return [p.pid for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or ())]


# -- what can't become a ChangeSet -------------------------------------------------------------------------------

SOCKET = "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s.sock')\""

GITLINK = "git init -q sub; git -C sub -c user.name=x -c user.email=x commit -q --allow-empty -m x"

REFUSED = {
    "git": ("mkdir .git; echo x > .git/config", "nested_git", ".git"),
    "deep git": ("mkdir -p a/b/c/d/.git", "nested_git", "a/b/c/d/.git"),
    "GIT": ("mkdir -p deep/.GIT", "nested_git", "deep/.GIT"),
    "git file": ("mkdir sub; echo 'gitdir: /elsewhere' > sub/.git", "nested_git", "sub/.git"),
    "git link": ("mkdir sub; ln -s / sub/.git", "nested_git", "sub/.git"),
    "gitlink": (GITLINK, "nested_git", "sub/.git"),
    "absolute link": ("ln -s /etc/passwd link", "symlink_outside", "link"),
    "link upwards": ("mkdir a; ln -s ../../x a/link", "symlink_outside", "a/link"),
    "link through a link": ("mkdir a; ln -s .. a/up; ln -s a/up/../x link", "symlink_outside", "link"),
    "fifo": ("mkfifo pipe", "special_file", "pipe"),
    "socket": (SOCKET, "special_file", "s.sock"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_part_of_a_changeset_is_refused_by_name(shared: Process, repository: Path, name: str) -> None:
    line, reason, path = REFUSED[name]

    state = shared.run(f"echo two > value.txt; {line}", repository=repository)

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).status is TaskStatus.FAILED
    assert only_task(state).reason == reason
    assert path in state.reason
    assert state.candidates == {}
    not_promoted(shared, repository, state)


# -- what is out of reach or too much ----------------------------------------------------------------------------


def test_nothing_outside_of_the_workspace_can_be_written(shared: Process, repository: Path, tmp_path: Path) -> None:
    mark = f"rhumb-{secrets.token_hex(8)}"
    places: list[str | Path] = [
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/workspace/..",
        shared.app.home.root,
        shared.app.home.workspaces,
    ]
    places += [Path.home(), repository, repository / ".git", tmp_path]
    quoted = " ".join(f"'{place}'" for place in places)
    line = f'for place in {quoted} "$HOME"; do echo x > "$place/{mark}"; done 2>/dev/null; echo two > value.txt'

    state = shared.run(line, repository=repository)

    branch = promoted(shared, repository, state)
    assert git(repository, "diff", "--name-only", "main", branch) == "value.txt"
    assert [place for place in places if (Path(place) / mark).exists()] == []


def test_one_that_eats_memory_is_ended(shared: Process, repository: Path) -> None:
    state = shared.run('python3 -c "x = bytearray(1 << 30)"; echo two > value.txt', repository=repository)

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).reason == "agent_memory"
    assert "more memory than it may" in state.reason
    not_promoted(shared, repository, state)


def test_one_that_forks_without_end_stays_within_its_bound(shared: Process, repository: Path) -> None:
    mark = f"7{secrets.randbelow(10**9):09d}"
    line = f"for i in $(seq 400); do sleep {mark} & done; echo two > value.txt"

    state = shared.run(line, repository=repository)

    # dash can't fork any more and ends with 2; a shell that goes on ends with what it has made.
    assert state.status in (ChangeStatus.FAILED, ChangeStatus.COMPLETED)
    assert processes_of(mark) == []
    nothing_left(shared, state)


def test_one_that_prints_a_gigabyte_is_ended_and_its_log_is_bounded(shared: Process, repository: Path) -> None:
    state = shared.run("echo two > value.txt; yes | head -c 1G", repository=repository)

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).reason == "agent_output"
    assert "printed more than it may" in state.reason
    assert len(log_of(shared, state)) <= SETTINGS["output"]
    not_promoted(shared, repository, state)


def test_what_it_leaves_running_ends_with_it(shared: Process, repository: Path) -> None:
    mark = f"8{secrets.randbelow(10**9):09d}"
    daemon = f"setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' > /dev/null 2>&1 < /dev/null &"

    state = shared.run(f"{daemon}\necho two > value.txt", repository=repository)

    promoted(shared, repository, state)
    assert processes_of(mark) == []


def test_one_that_ignores_every_signal_is_cancelled_all_the_same(shared: Process, repository: Path) -> None:
    from commands import people

    mark = f"9{secrets.randbelow(10**9):09d}"
    change = shared.submit(f"trap '' TERM HUP INT QUIT; while :; do sleep {mark}; done", repository=repository)
    shared.wait_for(change, lambda stored: stored.envelope.type == "run.started")

    people.cancel(shared.app.ctx, change, shared.session.actor)
    state = shared.finish(change)

    assert state.status is ChangeStatus.CANCELLED
    not_promoted(shared, repository, state)
    assert processes_of(mark) == []


def test_one_that_hangs_is_ended_at_its_limit_and_waits_for_a_person(installation: Home) -> None:
    installation.settings = {"agent_seconds": 1}
    with installation.open() as process:
        state = process.run("trap '' TERM; echo two > value.txt; while :; do sleep 100; done")

        assert state.status is ChangeStatus.BUDGET_BLOCKED or only_task(state).status is TaskStatus.BLOCKED
        assert "longer than it may" in str(state.reason) + str(only_task(state))
        nothing_left(process, state)


# -- what a tree can hold ----------------------------------------------------------------------------------------


def test_one_that_deletes_everything_is_not_promoted(shared: Process, repository: Path) -> None:
    state = shared.run("find . -mindepth 1 -delete", repository=repository)

    assert state.status is ChangeStatus.FAILED
    assert [c.status for c in state.candidates.values()] == [CandidateStatus.REJECTED]
    not_promoted(shared, repository, state)


@pytest.mark.parametrize("mode", ["000", "111", "444"])
def test_what_it_closed_to_itself_is_part_of_what_it_made(shared: Process, repository: Path, mode: str) -> None:
    line = f"mkdir -p d/e; echo deep > d/e/f; chmod {mode} d/e/f d/e d; echo two > value.txt; chmod {mode} ."

    state = shared.run(line, repository=repository)

    branch = promoted(shared, repository, state)
    assert git(repository, "show", f"{branch}:d/e/f") == "deep"


NAMES = [
    b"with space",
    b"quo'te\"s",
    b"new\nline",
    b"-rf",
    b"tab\t",
    b"\xff\xfe",
    b"back\\slash",
    b"*",
    b":(top)x",
    b"%41",
]
NAMES += ["ünï/cøde".encode(), b" ", b"~", b"$(id)", b"\x1b[31mred", b"[bold]", b"C:\\x", b"\xc3(", b"e\xcc\x81"]


def test_odd_names_are_promoted_and_shown(shared: Process, repository: Path) -> None:
    code = "; ".join(
        f"os.makedirs(os.path.dirname({name!r}) or b'.', exist_ok=True); open({name!r}, 'wb').write({name!r})"
        for name in NAMES
    )
    agent = repository.parent / "agent.py"
    agent.write_text(f"import os; {code}\n")

    request = AgentRequest("command", command=f"python3 {agent}", binds=(str(agent),))
    state = shared.run(request, repository=repository)

    branch = promoted(shared, repository, state)
    shown = subprocess.run(
        ("git", "-C", repository, "ls-tree", "-rz", "--name-only", branch), stdout=subprocess.PIPE, check=True
    )
    listed = shown.stdout.split(b"\0")[:-1]
    assert set(NAMES) < set(listed)
    assert state.promoted is not None
    changed = shared.session.diff_stat(state.project, state.base_commit, state.promoted.commit)
    assert len(changed) == len(NAMES)
    assert all(file.path.isascii() and file.path.isprintable() for file in changed)
    assert b"new file mode" in shared.session.diff(state.project, state.base_commit, state.promoted.commit)


def test_5000_files_and_100_megabytes(shared: Process, repository: Path) -> None:
    line = (
        "mkdir n; for i in $(seq 5000); do echo $i > n/$i; done; head -c 100M /dev/zero > large; echo two > value.txt"
    )

    state = shared.run(line, repository=repository)

    branch = promoted(shared, repository, state)
    assert git(repository, "cat-file", "-s", f"{branch}:large") == str(100 * MIB)
    assert len(git(repository, "ls-tree", "--name-only", f"{branch}:n").split()) == 5000


def test_a_file_over_the_limit_cannot_be_made(shared: Process, repository: Path) -> None:
    state = shared.run("head -c 200M /dev/zero > large && echo two > value.txt", repository=repository)

    assert state.status is ChangeStatus.FAILED
    not_promoted(shared, repository, state)


def test_attributes_and_filters_run_nothing_and_executable_bits_stay(shared: Process, repository: Path) -> None:
    mark = repository.parent / "filter ran"
    attributes = "*.bin filter=evil\\n*.txt text eol=crlf\\n* ident\\n"
    line = f"""printf '{attributes}' > .gitattributes
        printf 'a\\r\\nb\\r\\n' > crlf.txt; printf 'a\\r\\nb\\r\\n' > crlf.dat; printf 'x' > x.bin
        printf '[filter "evil"]\\n clean = touch "{mark}"; cat\\n' > .gitconfig
        printf '#!/bin/sh\\n' > run.sh; chmod 755 run.sh; chmod 777 value.txt; echo two > value.txt"""

    # Attributes change what a check sees, so a change to them waits for a person.
    state = shared.run(line, repository=repository, approve=True)

    branch = promoted(shared, repository, state)
    assert not mark.exists()
    modes = dict(row.split("\t")[::-1] for row in git(repository, "ls-tree", branch).splitlines())
    assert modes["run.sh"].startswith("100755")
    assert modes["value.txt"].startswith("100755")
    assert git(repository, "cat-file", "-s", f"{branch}:crlf.dat") == "6"
    assert git(repository, "cat-file", "-s", f"{branch}:crlf.txt") == "4"


# -- secrets -----------------------------------------------------------------------------------------------------


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    value = f"sk-{secrets.token_hex(16)}"
    monkeypatch.setenv("AGENT_KEY", value)
    return value


def kept_anywhere(process: Process, value: str) -> list[str]:
    """Files below the home, and events, that hold `value`."""
    raw = value.encode()
    files = (p for p in process.app.home.root.rglob("*") if p.is_file() and not p.is_symlink())
    found = [str(path) for path in files if raw in path.read_bytes()]
    return found + [s.envelope.id for s in process.app.store.events.log(0, 100_000) if value in str(s.envelope)]


def test_a_secret_that_it_prints_is_redacted(shared: Process, repository: Path, secret: str) -> None:
    request = AgentRequest("command", command='echo "key: $AGENT_KEY."; echo two > value.txt', env=("AGENT_KEY",))

    state = shared.run(request, repository=repository)

    promoted(shared, repository, state)
    assert log_of(shared, state) == b"key: [redacted].\n"
    assert kept_anywhere(shared, secret) == []


@pytest.mark.parametrize("line", ['echo "$AGENT_KEY" > leak.txt', 'touch "leak-$AGENT_KEY"', 'ln -s "$AGENT_KEY" leak'])
def test_a_secret_that_it_hands_in_is_refused(shared: Process, repository: Path, secret: str, line: str) -> None:
    request = AgentRequest("command", command=f"echo two > value.txt; {line}", env=("AGENT_KEY",))

    state = shared.run(request, repository=repository)

    assert state.status is ChangeStatus.FAILED
    assert only_task(state).reason == "secret_in_changeset"
    assert "leak" in state.reason
    assert kept_anywhere(shared, secret) == []
    not_promoted(shared, repository, state)


# -- checks ------------------------------------------------------------------------------------------------------


def as_it_is(state: ChangeState) -> Evidence:
    """The only check's Evidence on the candidate as it is."""
    candidate = next(iter(state.candidates.values()))
    return next(each for each in candidate.evidence.values() if each.variant is Variant.AS_IS)


def test_a_check_that_hangs_is_ended_at_its_limit(shared: Process, tmp_path: Path) -> None:
    mark = f"6{secrets.randbelow(10**9):09d}"
    settings = f'[checks]\nslow = {{ run = "test ! -e slow || sleep {mark}", timeout = 1 }}\n'
    repository = make_repository(tmp_path / "hangs", {**FILES, ".rhumbline.toml": settings})

    state = shared.run("touch slow", repository=repository, checks=())

    assert state.status is ChangeStatus.FAILED
    evidence = as_it_is(state)
    assert (evidence.exit_code, evidence.killed) == (None, "time")
    assert processes_of(mark) == []
    not_promoted(shared, repository, state)


def test_a_check_that_prints_a_gigabyte_is_ended_and_its_evidence_is_bounded(shared: Process, repository: Path) -> None:
    checks = person_checks(("test ! -e loud || yes | head -c 1G",))

    state = shared.run("touch loud", repository=repository, checks=checks)

    assert state.status is ChangeStatus.FAILED
    evidence = as_it_is(state)
    assert (evidence.exit_code, evidence.killed) == (None, "output")
    assert len(shared.app.ctx.objects.get(evidence.output)) <= SETTINGS["output"]
    not_promoted(shared, repository, state)


def test_a_check_that_leaves_a_tree_too_deep_for_a_path(shared: Process, repository: Path) -> None:
    deep = "import os; [(os.mkdir('d'), os.chdir('d')) for _ in range(1500)]"

    state = shared.run("echo two > value.txt", repository=repository, checks=person_checks((f'python3 -c "{deep}"',)))

    promoted(shared, repository, state)


def test_a_check_that_hangs_on_the_base_fails_the_change_before_any_agent(shared: Process, tmp_path: Path) -> None:
    settings = '[checks]\nslow = { run = "sleep 1000", timeout = 1 }\n'
    repository = make_repository(tmp_path / "hangs", {**FILES, ".rhumbline.toml": settings})

    state = shared.run("touch never", repository=repository, checks=())

    assert state.status is ChangeStatus.FAILED
    assert state.tasks == {}
    assert "slow" in state.reason
    not_promoted(shared, repository, state)
