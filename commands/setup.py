"""The set-up step: what its result depends on, and how it fails."""

from collections.abc import Mapping
from typing import Final

from commands.ports.sandbox import WORKSPACE
from domain.check import Setup
from domain.kernel.value import canonical_json, sha256_hex

FORM: Final = 1
"""Of the cache's layout; a new one makes every step run again."""

TAIL_CHARACTERS: Final = 2_000


class SetupFailed(Exception):
    """The set-up step didn't make what it should.

    summary: a sentence of Rhumbline's own; the text adds the end of the output. output: all that the step printed
    (bounded by the sandbox).
    """

    def __init__(self, summary: str, output: bytes = b"") -> None:
        tail = readable_tail(output)
        super().__init__(f"{summary}; the last of its output:\n{tail}" if tail else summary)
        self.summary, self.output = summary, output


def readable_tail(output: bytes) -> str:
    """The last of a command's output, with control characters escaped."""
    lines = output.decode(errors="replace")[-TAIL_CHARACTERS:].strip().splitlines()
    return "\n".join("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in lines)


def setup_key(setup: Setup, lock_files: Mapping[str, str], toolchains: str) -> str:
    """The name of the step's result: SHA-256 of command, outputs, lock files (path to hash) and toolchains.

    Neither the hosts nor the time limit decide what a step makes.
    """
    return sha256_hex(
        canonical_json(
            {
                "form": FORM,
                "workspace": str(WORKSPACE),
                "command": setup.command,
                "outputs": sorted(setup.outputs),
                "lockFiles": dict(lock_files),
                "toolchains": toolchains,
            }
        )
    )
