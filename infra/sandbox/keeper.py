"""Runs around a command without a sandbox: `keeper.py FD PROCESSES FILE_BYTES COMMAND...`. Standard library only.

As a "child subreaper" it becomes the parent of whatever the command leaves behind, so that a daemon that detached
itself is still found below it and ended. It writes the command's exit code to FD, 128 + n after signal n. If whoever
started it dies, it ends all of that itself.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run the command, report its exit code, and stay until nothing is left below."""
    report, processes, file_bytes = map(int, sys.argv[1:4])
    parent = os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: _end_all())
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    os.set_inheritable(report, False)
    command = _start(sys.argv[4:], processes, file_bytes)
    os.close(0)
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            os.write(report, b"%d" % (code if code >= 0 else 128 - code))


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise SystemExit(f"prctl: {os.strerror(ctypes.get_errno())}")


def _end_all() -> None:
    """Kill children until there are none: what a killed one leaves behind becomes a child too."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 - starts fast
            children = [int(pid) for pid in file.read().split()]
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            os._exit(1)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def _start(words: list[str], processes: int, file_bytes: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with contextlib.suppress(PermissionError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
            file.write("1000")
        _limit(resource.RLIMIT_NPROC, processes)
        _limit(resource.RLIMIT_FSIZE, file_bytes)
        _limit(resource.RLIMIT_CORE, 0)
        os.execvp(words[0], words)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
