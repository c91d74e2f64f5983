"""Commands without isolation, only for a person who says `--unsafe-local`; never by the API or a repository.

They run as the person, with the person's files and network. What remains of a sandbox: an environment of its own,
limits on time, memory, processes and output, and that nothing is left running afterwards.
"""

import hashlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Execution, Killed, Outcome
from infra.sandbox import keeper
from infra.sandbox.descriptors import Descriptors
from infra.sandbox.fingerprint import fingerprint
from infra.sandbox.interpreter import python_binary
from infra.sandbox.launch import threads_of
from infra.sandbox.output import Output
from infra.sandbox.ownership import open_up, remove_tree
from infra.sandbox.process_tree import descendants, use_more_than
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.supervision import Alarm, ProcessesRemain, watch
from infra.sandbox.toolchain import find_toolchains
from infra.sandbox.unsafe_paths import HostPaths, links

WORKSPACE_VARIABLE: Final = "RHUMB_WORKSPACE"
"""Names the workspace's real path: without a sandbox it can't appear at `/workspace`."""

_GONE_WITHIN: Final = 60.0
_BETWEEN_LOOKS: Final = 0.002
_KILLED: Final = 128 + signal.SIGKILL


class UnsafeLocal:
    """`Sandbox` without isolation.

    The working directory is the workspace's real path, which `RHUMB_WORKSPACE` holds too; arguments and variables that
    are a path inside a sandbox (`/workspace/…`, a bind's target) are put in terms of the host. A bind below the
    workspace is a link there while the command runs. Nothing is read-only, and `proxy_hosts` restricts nothing.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    def own(self, folder: Path) -> None:
        """See `Sandbox.own`: commands run as the person, who owns the files already."""

    def disown(self, folder: Path) -> None:
        """See `Sandbox.disown`. Files whose modes keep their owner out are opened up."""
        open_up(folder)

    def remove(self, folder: Path) -> None:
        """See `Sandbox.remove`."""
        self.disown(folder)
        remove_tree(folder)

    def toolchain_fingerprint(self) -> str:
        """Never equal to a sandbox's: what a set-up step made here holds other paths."""
        found = fingerprint(find_toolchains(self._settings))
        return hashlib.sha256(f"unsafe-local {found}".encode()).hexdigest()

    def run(self, execution: Execution, cancel: threading.Event | None = None) -> Outcome:
        """See `Sandbox.run`.

        Raises:
            SandboxUnavailable: nothing ran: a folder isn't there, or something is in the way of a bind.
            ProcessesRemain: the command was killed and the kernel can't end it.
        """
        with ExitStack() as stack:
            alarm = stack.enter_context(Alarm())
            output = Output(execution.limits.output_bytes, execution.on_output, lambda: alarm.ring(Killed.OUTPUT))
            stack.enter_context(links(execution))
            descriptors = stack.enter_context(Descriptors())
            temporary = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="rhumb-", dir=self._settings.runtime_folder)
            )
            stack.callback(open_up, Path(temporary))
            return self._run(execution, cancel, descriptors, alarm, output, temporary)

    def _run(
        self,
        execution: Execution,
        cancel: threading.Event | None,
        descriptors: Descriptors,
        alarm: Alarm,
        output: Output,
        temporary: str,
    ) -> Outcome:
        report, report_inside = descriptors.pipe()
        started = time.monotonic()
        process = self._start(execution, descriptors, output, report_inside, temporary)
        try:
            memory = partial(use_more_than, process.pid, execution.limits.memory_bytes)
            killed = watch(report, memory, execution.limits.seconds, alarm, cancel)
        finally:
            end_tree(process)
        duration = time.monotonic() - started
        output.finish()
        killed = killed or alarm.reason
        code = os.read(report, 16)
        exit_code = None if killed is not None else int(code) if code else _KILLED
        return Outcome(exit_code, killed, output.content, output.truncated, duration)

    def _start(
        self, execution: Execution, descriptors: Descriptors, output: Output, report: int, temporary: str
    ) -> "subprocess.Popen[bytes]":
        paths, limits = HostPaths(execution), execution.limits
        processes = limits.processes + threads_of(os.getuid())
        words = ["-I", "-S", keeper.__file__, str(descriptors.inherit(report)), str(processes), str(limits.file_bytes)]
        read, write = descriptors.pipe()
        process = subprocess.Popen(
            [python_binary(), *words, *paths.argv(execution)],
            stdin=descriptors.memory("stdin", execution.stdin) if execution.stdin else subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            env={**self._variables(execution, temporary), **paths.variables(execution)},
            cwd=execution.workspace or temporary,
            pass_fds=descriptors.inherited,
            start_new_session=True,
        )
        descriptors.close(write)
        descriptors.close(report)
        output.follow(read)
        return process

    def _variables(self, execution: Execution, temporary: str) -> dict[str, str]:
        variables = {
            "PATH": self._settings.path,
            "HOME": str(self._settings.home),
            "LANG": "C.UTF-8",
            "TMPDIR": temporary,
            **self._settings.locations,
        }
        if execution.workspace is not None:
            variables[WORKSPACE_VARIABLE] = str(execution.workspace.resolve())
        return variables


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def end_tree(process: "subprocess.Popen[bytes]") -> None:
    """End everything below the keeper, then the keeper. Stopped first, so that none forks while others are killed.

    Raises:
        ProcessesRemain: something hasn't ended within a minute.
    """
    deadline = time.monotonic() + _GONE_WITHIN
    while left := list(descendants(process.pid)):
        if time.monotonic() > deadline:
            raise ProcessesRemain("processes of a command can't be ended: they hang in the kernel")
        _signal(left, signal.SIGSTOP)
        _signal(left, signal.SIGKILL)
        time.sleep(_BETWEEN_LOOKS)
    process.kill()
    process.wait()
