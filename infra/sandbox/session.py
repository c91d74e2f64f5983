"""One bubblewrap process: started, given the word to go, watched, and gone with everything in it."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Execution, Killed, Limits
from infra.sandbox.arguments import Arguments
from infra.sandbox.binary import SYSTEM_PATH
from infra.sandbox.descriptors import Descriptors
from infra.sandbox.filesystem import MEMORY_FOLDERS
from infra.sandbox.output import Output
from infra.sandbox.process_tree import use_more_than, used_in_memory_folders
from infra.sandbox.supervision import Alarm, kill_and_wait, watch

_FIRST_TO_BE_KILLED: Final = b"1000"


class Session:
    """bubblewrap, from its start to the end of the last process inside.

    bubblewrap reports the host's ID of the sandbox's first process, then waits for a byte: time to take a pidfd of it
    while it can't have ended.
    """

    def __init__(self, bwrap: Path, descriptors: Descriptors, output: Output) -> None:
        self._bwrap, self._descriptors, self._output = bwrap, descriptors, output
        self._status, self._status_inside = descriptors.pipe()
        self._go_inside, self._go = descriptors.pipe()
        self.exit_code: int | None = None

    def run(
        self,
        arguments: Arguments,
        command: Sequence[str],
        execution: Execution,
        alarm: Alarm,
        cancel: threading.Event | None,
        started: Callable[[], None] = lambda: None,
    ) -> Killed | None:
        """Run to the end, calling `started` when bubblewrap has its descriptors.

        Afterwards `exit_code` is the command's, None if it was killed or never started.
        """
        process = self._start(arguments, command, execution.stdin)
        first = None
        try:
            started()
            with os.fdopen(os.dup(self._status), "rb") as status:
                line = status.readline()
                if line:
                    number = int(json.loads(line)["child-pid"])
                    first = self._descriptors.own(os.pidfd_open(number))
                    self._release(number)
                    killed = self._watch(process, number, execution.limits, alarm, cancel)
                else:
                    killed = None
                self._end(process, first)
                self._output.finish()
                reports = [json.loads(line) for line in status if line.strip()]
        finally:
            self._end(process, first)
        killed = killed or alarm.reason
        codes = [report["exit-code"] for report in reports if "exit-code" in report]
        self.exit_code = codes[0] if codes and killed is None else None
        return killed

    def _start(self, arguments: Arguments, command: Sequence[str], stdin: bytes) -> "subprocess.Popen[bytes]":
        descriptors = self._descriptors
        arguments.add("--json-status-fd", descriptors.inherit(self._status_inside))
        arguments.add("--block-fd", descriptors.inherit(self._go_inside))
        read, write = descriptors.pipe()
        process = subprocess.Popen(
            ["bwrap", "--args", str(descriptors.memory("args", arguments.encoded())), "--", *command],
            executable=self._bwrap,
            stdin=descriptors.memory("stdin", stdin) if stdin else subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            env={"PATH": SYSTEM_PATH},
            cwd="/",
            pass_fds=descriptors.inherited,
            start_new_session=True,
        )
        for ours in (write, self._status_inside, self._go_inside):
            descriptors.close(ours)
        self._output.follow(read)
        return process

    def _release(self, first: int) -> None:
        """Make the kernel kill this before the database when memory runs out, then let the command start."""
        with suppress(ProcessLookupError, FileNotFoundError):
            Path("/proc", str(first), "oom_score_adj").write_bytes(_FIRST_TO_BE_KILLED)
        with suppress(BrokenPipeError):
            os.write(self._go, b".")

    def _watch(
        self,
        process: "subprocess.Popen[bytes]",
        first: int,
        limits: Limits,
        alarm: Alarm,
        cancel: threading.Event | None,
    ) -> Killed | None:
        def over_memory() -> bool:
            left = limits.memory_bytes - used_in_memory_folders(first, MEMORY_FOLDERS)
            return use_more_than(process.pid, left)

        outer = self._descriptors.own(os.pidfd_open(process.pid))
        return watch(outer, over_memory, limits.seconds, alarm, cancel)

    @staticmethod
    def _end(process: "subprocess.Popen[bytes]", first: int | None) -> None:
        """Idempotent; afterwards nothing of the sandbox is alive."""
        if first is not None:
            kill_and_wait(first)
        else:
            process.kill()
        process.wait()
