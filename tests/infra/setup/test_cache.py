"""Set-up steps in the real sandbox: run once per key, whole or not at all, also with many that want one at once."""

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commands.ports.sandbox import Execution, Limits, Outcome, Sandbox
from commands.setup import SetupFailed
from domain.check import Setup
from infra.git.canonical import GitCanonical
from infra.setup.cache import SetupCache
from infra.setup.lock import BUILDING, EntryLock
from tests.infra.setup.conftest import KEEP, LIMITS

Commit = Callable[..., str]


class Counting:
    """The real sandbox, with a count of its runs and, if wished, other toolchains or something between."""

    def __init__(self, sandbox: Sandbox, toolchains: str | None = None) -> None:
        self._sandbox, self._toolchains = sandbox, toolchains
        self.executions: list[Execution] = []
        self.before: Callable[[], None] = lambda: None

    @property
    def runs(self) -> int:
        return len(self.executions)

    def run(self, execution: Execution, cancel: threading.Event | None = None) -> Outcome:
        self.executions.append(execution)
        self.before()
        return self._sandbox.run(execution, cancel)

    def own(self, folder: Path) -> None:
        self._sandbox.own(folder)

    def disown(self, folder: Path) -> None:
        self._sandbox.disown(folder)

    def toolchain_fingerprint(self) -> str:
        return self._toolchains or self._sandbox.toolchain_fingerprint()


@pytest.fixture
def counting(sandbox: Sandbox) -> Counting:
    return Counting(sandbox)


def step(command: str = "mkdir deps; cat lock > deps/made", outputs: tuple[str, ...] = ("deps",)) -> Setup:
    return Setup(command=command, outputs=outputs, lock_files=("lock",))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if not each.name.endswith(".lock"))


def test_a_step_runs_once_and_its_outputs_are_shown_read_only(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting, tmp_path: Path
) -> None:
    base = commit(lock="one")
    binds = cache.prepare(step(), canonical, base, counting)
    assert cache.prepare(step(), canonical, base, counting) == binds
    assert counting.runs == 1
    assert [(bind.target, bind.writable) for bind in binds] == [(Path("/workspace/deps"), False)]
    assert (binds[0].source / "made").read_text() == "one"
    (tmp_path / "ws").mkdir()
    counting.own(tmp_path / "ws")
    line = "cat deps/made && ! (echo x > deps/made) 2>/dev/null && ! rm -f deps/made 2>/dev/null"
    seen = counting.run(Execution(argv=("sh", "-c", line), workspace=tmp_path / "ws", binds=binds))
    assert (seen.exit_code, seen.output) == (0, b"one")


def test_it_outlives_the_process_that_made_it(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base = commit(lock="one")
    binds = cache.prepare(step(), canonical, base, counting)
    cache.close()
    assert SetupCache(folder, LIMITS, KEEP).prepare(step(), canonical, base, counting) == binds
    assert counting.runs == 1


def test_what_it_depends_on_makes_another_entry(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    first = commit(lock="one", other="1")
    cache.prepare(step(), canonical, first, counting)
    same = commit(other="2")
    cache.prepare(step(), canonical, same, counting)
    assert counting.runs == 1
    changed = commit(lock="two")
    assert (cache.prepare(step(), canonical, changed, counting)[0].source / "made").read_text() == "two"
    cache.prepare(step(step().command + "; true"), canonical, first, counting)
    cache.prepare(step("mkdir deps more", ("deps", "more")), canonical, first, counting)
    assert counting.runs == 4
    other = Counting(counting, toolchains="another Python")
    cache.prepare(step(), canonical, first, other)
    assert other.runs == 1
    assert len(names(folder)) == 5


def test_it_sees_canonical_s_files_only_and_no_repository(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base = commit(lock="one", b_txt="b")
    binds = cache.prepare(step("ls -A > /tmp/names; mkdir deps; mv /tmp/names deps"), canonical, base, counting)
    assert (binds[0].source / "names").read_text() == "b.txt\nlock\n"


def test_nested_outputs_with_odd_names(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    outputs = ("web/node modules", "web/caf%C3%A9", "%FF")
    line = "mkdir -p 'web/node modules' web/café \"$(printf '\\377')\"; touch web/café/x"
    binds = cache.prepare(step(line, outputs), canonical, commit(lock="one"), counting)
    assert [os.fsencode(bind.target) for bind in binds] == [
        b"/workspace/web/node modules",
        "/workspace/web/café".encode(),
        b"/workspace/\xff",
    ]
    assert all(bind.source.is_dir() for bind in binds)
    assert (binds[1].source / "x").exists()


def test_every_user_may_read_what_was_made_and_nothing_is_setuid(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    line = (
        "umask 077; mkdir -p deps/in; echo x > deps/in/plain; echo x > deps/in/tool; "
        "chmod 4700 deps/in/tool; chmod 0 deps/in/plain; ln -s /etc/shadow deps/in/link; chmod 0 deps/in"
    )
    (bind,) = cache.prepare(step(line), canonical, commit(lock="one"), counting)
    modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in bind.source.rglob("*") if not path.is_symlink()}
    assert modes == {"in": 0o755, "plain": 0o644, "tool": 0o755}
    assert (bind.source / "in" / "link").is_symlink()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo 'went wrong \033[31m'; exit 3", r"exit code 3; the last of its output:\nwent wrong \x1b[31m"),
        ("true", "made no folder deps"),
        ("touch deps", "made no folder deps"),
        ("ln -s /etc deps", "made no folder deps"),
        ("mkdir -p real/deps; ln -s real link", "made no folder link/deps"),
    ],
)
def test_a_step_that_fails_leaves_nothing_and_says_why(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting, line: str, said: str
) -> None:
    outputs = ("link/deps",) if "link/deps" in said else ("deps",)
    base = commit(lock="one")
    with pytest.raises(SetupFailed) as failed:
        cache.prepare(step(line, outputs), canonical, base, counting)
    assert said.replace("\\n", "\n") in str(failed.value)
    assert names(folder) == []


def test_a_step_that_failed_is_tried_again(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base = commit(lock="one")
    for _ in range(2):
        with pytest.raises(SetupFailed):
            cache.prepare(step("exit 1"), canonical, base, counting)
    assert counting.runs == 2


def test_a_step_that_hangs_is_ended(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    hangs = Setup(command="echo began; sleep 600", outputs=("deps",), seconds=1)
    with pytest.raises(SetupFailed, match=r"its limit is 1 s\): time[^$]*began"):
        cache.prepare(hangs, canonical, commit(lock="one"), counting)
    assert names(folder) == []


def test_a_step_that_is_cancelled_is_ended(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    cancel = threading.Event()
    with pytest.raises(SetupFailed, match="cancelled"):
        cache.prepare(
            step("echo began; sleep 600"), canonical, commit(lock="one"), counting, cancel, lambda chunk: cancel.set()
        )
    assert names(folder) == []


def test_a_step_without_hosts_has_no_network(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    line = "mkdir deps; cat /proc/net/route > deps/routes; env | grep -i _proxy > deps/proxy; true"
    (bind,) = cache.prepare(step(line), canonical, commit(lock="one"), counting)
    assert len((bind.source / "routes").read_text().splitlines()) <= 1
    assert (bind.source / "proxy").read_text() == ""


def test_a_lock_file_that_is_none_is_told(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    with pytest.raises(SetupFailed, match="lock file lock"):
        cache.prepare(step(), canonical, commit(other="x"), counting)
    assert counting.runs == 0


def test_many_threads_that_want_one_build_it_once(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base = commit(lock="one")
    all_want = threading.Barrier(6)

    def want(_: int) -> str:
        all_want.wait()
        return (cache.prepare(step(), canonical, base, counting)[0].source / "made").read_text()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(want, range(6))) == ["one"] * 6
    assert counting.runs == 1


def test_when_the_builder_fails_one_that_waited_builds(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base, waiting = commit(lock="one"), threading.Event()
    second = Counting(counting)
    results: list[str] = []

    def later() -> None:
        waiting.set()
        results.append((cache.prepare(step(), canonical, base, second)[0].source / "made").read_text())

    thread = threading.Thread(target=later)

    def fail() -> None:
        thread.start()
        waiting.wait()
        raise SetupFailed("on purpose")

    counting.before = fail
    with pytest.raises(SetupFailed, match="on purpose"):
        cache.prepare(step(), canonical, base, counting)
    counting.before = lambda: None
    thread.join()
    assert results == ["one"]
    assert len(names(folder)) == 1


def test_waiting_for_another_builder_can_be_cancelled(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base, cancel = commit(lock="one"), threading.Event()
    results: list[str] = []

    def wait_and_be_cancelled() -> None:
        try:
            SetupCache(folder, LIMITS, KEEP).prepare(step(), canonical, base, counting, cancel)
        except SetupFailed as error:
            results.append(str(error))

    def during() -> None:
        counting.before = lambda: None
        thread = threading.Thread(target=wait_and_be_cancelled)
        thread.start()
        cancel.set()
        thread.join()

    counting.before = during
    cache.prepare(step(), canonical, base, counting)
    assert results == ["the set-up step was cancelled while another process ran it"]
    assert counting.runs == 1


DYING = """
import os, sys
from pathlib import Path
from domain.check import Setup
from infra.git.canonical import GitCanonical
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.settings import SandboxSettings
from infra.setup.cache import SetupCache
from tests.infra.setup.conftest import KEEP, LIMITS

class Dying(BubblewrapSandbox):
    def run(self, execution, cancel=None):
        os._exit(9)

folder, repository, base, command = sys.argv[1:]
sandbox = Dying(SandboxSettings.from_environment())
canonical = GitCanonical(Path(repository), Path(repository).parent / "workspaces", sandbox, "installation")
step = Setup(command=command, outputs=("deps",), lock_files=("lock",))
SetupCache(Path(folder), LIMITS, KEEP).prepare(step, canonical, base, sandbox)
"""


def test_what_a_builder_left_that_died_is_cleared_and_built_anew(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base = commit(lock="one")
    words: list[str | Path] = [folder, canonical.path, base, step().command]
    died = subprocess.run([sys.executable, "-c", DYING, *words], cwd=Path(__file__).parents[3], check=False)
    assert died.returncode == 9
    assert [name.startswith(BUILDING) for name in names(folder)] == [True]
    (bind,) = cache.prepare(step(), canonical, base, counting)
    assert (bind.source / "made").read_text() == "one"
    assert [name.startswith(BUILDING) for name in names(folder)] == [False]


def test_two_that_found_no_entry_don_t_keep_each_other_from_building(tmp_path: Path) -> None:
    first, second = EntryLock(tmp_path / "lock"), EntryLock(tmp_path / "lock")
    assert not first.share(None, until=lambda: False)
    assert not second.share(None, until=lambda: False)
    assert first.try_alone()
    assert not second.try_alone()
    assert first.share(None, until=lambda: True)
    assert second.share(None, until=lambda: True)
    assert not first.try_alone()


def test_limits_are_the_installation_s_but_for_the_time(
    folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    small = SetupCache(folder, Limits(seconds=1, output_bytes=1_000), KEEP)
    with pytest.raises(SetupFailed, match="output"):
        small.prepare(step("yes"), canonical, commit(lock="one"), counting)


def test_a_step_gets_its_hosts_its_time_and_a_workspace_and_nothing_else(
    cache: SetupCache, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    setup = Setup(command="mkdir deps", outputs=("deps",), hosts=("packages.example.org",), seconds=77)
    (bind,) = cache.prepare(setup, canonical, commit(lock="one"), counting)
    execution = counting.executions[0]
    assert (execution.proxy_hosts, execution.limits.seconds) == (("packages.example.org",), 77)
    assert execution.limits.memory_bytes == LIMITS.memory_bytes
    assert (execution.binds, dict(execution.env), execution.stdin) == ((), {}, b"")
    assert execution.workspace is not None
    assert not execution.workspace.exists()
    assert list(bind.source.iterdir()) == []


def test_a_new_entry_makes_the_longest_unused_go(
    folder: Path, canonical: GitCanonical, commit: Commit, counting: Counting
) -> None:
    base, setups = commit(lock="one"), [step(f"mkdir deps; echo {n} > deps/n") for n in range(3)]
    for setup in setups:
        cache = SetupCache(folder, LIMITS, keep_bytes=0)
        (bind,) = cache.prepare(setup, canonical, base, counting)
        cache.close()
        assert names(folder) == [bind.source.parent.name]
