"""Runs around a command without a sandbox: `keeper.py FD PROCESSES FILE_BYTES COMMAND...`. Standard library only.

As a "child subreaper" it becomes the parent of whatever the command leaves behind, so that a daemon that detached
itself is still found below it and ended. It writes the command's exit code to FD, 128 + n after signal n.
"""

import contextlib
import ctypes
import os
import resource
import sys

_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run the command, report its exit code, and stay until nothing is left below."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise SystemExit(f"prctl: {os.strerror(ctypes.get_errno())}")
    report, processes, file_bytes = map(int, sys.argv[1:4])
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


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def _start(words: list[str], processes: int, file_bytes: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        with contextlib.suppress(PermissionError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - starts fast
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
