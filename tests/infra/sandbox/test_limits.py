"""A command that doesn't end by itself is ended, and nothing of it is left."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.ports.sandbox import Execution, Killed, Limits
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.process_tree import used_in_memory_folders

from .conftest import PATIENCE, Run

Alive = Callable[[str], list[int]]

DAEMON = """
import os, sys, time
print("started", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3):
            os.close(descriptor)
        os.execvp("sleep", ["sleep", "{mark}"])
    os._exit(0)
os.wait()
{then}
"""

FORKS = """
import os, time
children = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
        children += 1
except BlockingIOError:
    print(children)
"""


def test_the_time_limit(sh: Run, alive: Alive) -> None:
    outcome = sh("sleep 9871", limits=Limits(seconds=0.3))
    assert (outcome.exit_code, outcome.killed) == (None, Killed.TIME)
    assert alive("sleep 9871") == []


def test_a_command_that_ignores_signals_ends_too(sh: Run) -> None:
    outcome = sh("trap '' TERM INT HUP; while :; do :; done", limits=Limits(seconds=0.3))
    assert outcome.killed is Killed.TIME


@pytest.mark.parametrize(("then", "killed"), [("sys.exit(3)", None), ("time.sleep(1000)", Killed.TIME)])
def test_a_daemon_that_detached_itself_ends_with_the_command(
    python: Run, alive: Alive, then: str, killed: Killed | None
) -> None:
    mark = "98721" if killed else "98722"
    limits = Limits(seconds=1.0) if killed else PATIENCE
    outcome = python(DAEMON.format(mark=mark, then=then), limits=limits)
    assert outcome.output == b"started\n"
    assert outcome.killed == killed
    assert outcome.exit_code == (None if killed else 3)
    assert alive(f"sleep {mark}") == []


def test_a_gigabyte_of_output_is_ended_at_the_limit(sh: Run) -> None:
    outcome = sh("head -c 1073741824 /dev/zero", limits=Limits(seconds=60, output_bytes=100_000))
    assert (outcome.exit_code, outcome.killed, outcome.output_truncated) == (None, Killed.OUTPUT, True)
    assert len(outcome.output) == 100_000


def test_the_memory_limit(python: Run) -> None:
    source = "import time; keep = bytearray(b'x') * (200 * 1024**2); time.sleep(1000)"
    outcome = python(source, limits=Limits(seconds=60, memory_bytes=100 * 1024**2))
    assert (outcome.exit_code, outcome.killed) == (None, Killed.MEMORY)


def test_the_memory_limit_holds_for_all_processes_together(python: Run) -> None:
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        keep = bytearray(b"x") * (50 * 1024**2)
        time.sleep(1000)
time.sleep(1000)
"""
    outcome = python(source, limits=Limits(seconds=60, memory_bytes=150 * 1024**2))
    assert outcome.killed is Killed.MEMORY


def test_pages_that_processes_share_count_once(python: Run) -> None:
    source = """
import os, time
keep = bytearray(b"x") * (60 * 1024**2)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
for _ in range(4):
    os.wait()
"""
    outcome = python(source, limits=Limits(seconds=60, memory_bytes=200 * 1024**2))
    assert outcome.ok, outcome


def test_files_in_memory_count(python: Run) -> None:
    source = """
import os, time
for place in (os.environ["HOME"], os.environ["TMPDIR"], "/dev/shm"):
    with open(f"{place}/x", "wb") as file:
        file.write(bytes(30 * 1024**2))
keep = bytearray(b"x") * (50 * 1024**2)
time.sleep(1000)
"""
    outcome = python(source, limits=Limits(seconds=60, memory_bytes=128 * 1024**2))
    assert (outcome.killed, outcome.output) == (Killed.MEMORY, b"")


def test_the_hosts_files_are_no_memory_of_a_command_that_is_still_being_isolated() -> None:
    # This process has the host's root, as one in a sandbox has for its first moments.
    assert used_in_memory_folders(os.getpid(), [Path("/tmp"), Path("/nowhere"), Path("/proc/self/status")]) == 0


def test_the_kernel_kills_a_command_first_when_memory_runs_out(sh: Run) -> None:
    assert sh("cat /proc/self/oom_score_adj").output == b"1000\n"


def test_the_number_of_processes(python: Run) -> None:
    outcome = python(FORKS, limits=Limits(seconds=60, processes=40))
    assert outcome.exit_code == 0
    assert 0 < int(outcome.output) < 40


def test_a_fork_bomb_stops(sh: Run, alive: Alive) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; echo 6ae1f; sleep 1000"
    outcome = sh(bomb, limits=Limits(seconds=1.5, processes=60, output_bytes=1024**2))
    assert outcome.exit_code != 0
    assert alive("6ae1f") == []


def test_a_command_at_its_limit_of_processes_leaves_others_alone(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """The kernel counts per user: each workspace has a user (root), or a user namespace (others) of its own."""
    greedy, modest = tmp_path / "greedy", tmp_path / "modest"
    for folder in (greedy, modest):
        folder.mkdir()
        sandbox.own(folder)
    full, over = threading.Event(), threading.Event()
    limits = Limits(seconds=60, processes=40)
    argv = ("python3", "-I", "-S", "-u", "-c", FORKS + "\ntime.sleep(1000)")

    def fill() -> None:
        sandbox.run(Execution(argv, greedy, limits=limits, on_output=lambda _: full.set()), over)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        assert full.wait(60)
        script = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; wait; echo fine"
        outcome = sandbox.run(Execution(("sh", "-c", script), modest, limits=limits))
    finally:
        over.set()
        thread.join()
    assert outcome.output == b"fine\n"


def test_cancelling_ends_a_command(sh: Run, sandbox: BubblewrapSandbox, workspace: Path, alive: Alive) -> None:
    cancel = threading.Event()
    execution = Execution(
        ("sh", "-c", "echo up; sleep 9873"), workspace, limits=PATIENCE, on_output=lambda _: cancel.set()
    )
    outcome = sandbox.run(execution, cancel)
    assert (outcome.exit_code, outcome.killed, outcome.output) == (None, Killed.CANCELLED, b"up\n")
    assert alive("sleep 9873") == []


def test_what_is_cancelled_before_it_starts_does_not_run_long(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    outcome = sandbox.run(Execution(("sleep", "1000"), workspace, limits=PATIENCE), cancel)
    assert outcome.killed is Killed.CANCELLED


def test_many_at_once(sandbox: BubblewrapSandbox, workspace: Path) -> None:
    codes: list[int | None] = []

    def one(number: int) -> None:
        codes.append(sandbox.run(Execution(("sh", "-c", f"exit {number}"), workspace, limits=PATIENCE)).exit_code)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(code for code in codes if code is not None) == list(range(16))


def test_no_descriptor_or_thread_is_left_behind(sh: Run) -> None:
    def here() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    sh("true")
    before = here()
    for _ in range(5):
        sh("echo x", stdin=b"y")
        sh("sleep 1000", limits=Limits(seconds=0.05))
    assert here() == before
