"""`rhumb` as a person runs it: a process of its own, on a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from infra.installation import LocalInstallation
from routers.cli.app import build

BIN = Path(sys.executable).parent
"""Where the interpreter that runs the tests lies: it has pytest, so that checks in the sandbox have it, too."""

TIMEOUT_SECONDS = 240


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed


@dataclass
class Started:
    """A command that runs; what it says on standard error is read as it comes."""

    process: "subprocess.Popen[bytes]"
    said: list[str] = field(default_factory=list)

    def read_until(self, *wanted: str) -> str:
        """The next line on standard error that holds one of these."""
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            self.said.append(raw.decode(errors="replace"))
            if any(words in self.said[-1] for words in wanted):
                return self.said[-1]
        raise AssertionError(f"it ended without saying {' or '.join(wanted)}:\n{''.join(self.said)}")

    def change(self) -> str:
        """The ID of the Change, once it is told."""
        return next(word for word in self.read_until("chg_").split() if word.startswith("chg_"))

    def end(self) -> Ended:
        out, err = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return Ended(self.process.returncode, out.decode(), "".join(self.said) + err.decode(errors="replace"))


@dataclass
class Rhumb:
    """Commands on one home."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(BIN), os.environ["PATH"]])
        return {**os.environ, "PATH": path, "RHUMBLINE_HOME": str(self.home), "NO_COLOR": "1", **self.env}

    def __call__(self, *arguments: str | bytes, stdin: str | bytes = "", code: int | None = None) -> Ended:
        """Run `rhumb` with these arguments; with `code`, insist on that exit code."""
        done = subprocess.run(
            [sys.executable, "-m", "infra.main", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.environment,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        if code is not None:
            assert ended.code == code, f"exit {ended.code}, not {code}\n--- out\n{ended.out}\n--- err\n{ended.err}"
        return ended

    @contextmanager
    def start(self, *arguments: str) -> Iterator[Started]:
        """Start `rhumb` and go on; whatever happens, it is gone at the end of the block."""
        with subprocess.Popen(
            [sys.executable, "-m", "infra.main", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
        ) as process:
            try:
                yield Started(process)
            finally:
                process.kill()

    def run(self, goal: str, repository: Path, *options: str, code: int | None = None) -> Ended:
        """`rhumb run --json`."""
        return self("run", goal, "--repo", str(repository), "--json", *options, code=code)


@dataclass
class RhumbHere(Rhumb):
    """The same commands on the same parts, in the tests' own process: without its start, which takes most of a test."""

    def __call__(self, *arguments: str | bytes, stdin: str | bytes = "", code: int | None = None) -> Ended:
        words = [word if isinstance(word, str) else os.fsdecode(word) for word in arguments]
        typed = stdin.encode() if isinstance(stdin, str) else stdin
        result = CliRunner().invoke(build(LocalInstallation()), words, input=typed, env=self.environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        ended = Ended(result.exit_code, result.stdout, result.stderr)
        if code is not None:
            assert ended.code == code, f"exit {ended.code}, not {code}\n--- out\n{ended.out}\n--- err\n{ended.err}"
        return ended
