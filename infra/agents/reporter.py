"""The parent of a reading task's command: runs inside the sandbox, by its source text, standard library alone.

Arguments: a file, and a shell line. What the line prints on standard output goes to this one's and to the file; what it
prints on standard error goes to this one's alone.
"""

import os
import select
import subprocess
import sys
from typing import BinaryIO

CHUNK = 65_536


def _forward(source: int, kept: BinaryIO) -> bool:
    """Pass on what is there now; False at the end."""
    while True:
        try:
            chunk = os.read(source, CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        kept.write(chunk)
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def _follow(process: "subprocess.Popen[bytes]", source: int, kept: BinaryIO) -> None:
    """Pass on what the process prints until it ends; what it leaves behind isn't waited for."""
    ended = os.pidfd_open(process.pid)
    os.set_blocking(source, False)
    ready = select.poll()
    ready.register(source, select.POLLIN)
    ready.register(ended, select.POLLIN)
    over, more = False, True
    while more and not over:
        over = ended in {descriptor for descriptor, _ in ready.poll()}
        more = _forward(source, kept)


def main() -> int:
    """Run the line; its exit code."""
    report, line = sys.argv[-2:]
    with open(report, "wb") as kept:  # noqa: PTH123 - alone in the sandbox, and starts faster
        process = subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE)
        assert process.stdout is not None
        _follow(process, process.stdout.fileno(), kept)
    code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
