"""A person at their repository, with git as they would use it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PATH": os.environ["PATH"],
}


@dataclass(frozen=True)
class PersonGit:
    path: Path

    @classmethod
    def create(cls, path: Path, *options: str) -> "PersonGit":
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "-q", "-b", "main", *options)
        return made

    def git(self, *arguments: str | bytes | Path, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=_ENVIRONMENT, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return os.fsdecode(done.stdout).strip()

    def write(self, name: str | bytes, content: str) -> None:
        place = self.path / os.fsdecode(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def plant_hooks(self, canary: Path) -> None:
        """Hooks, a file system monitor and filters that all leave a trace when run."""
        script = self.path / ".git" / "canary.sh"
        script.write_text(f"#!/bin/sh\necho \"$0\" >> '{canary}'\ncat\n")
        script.chmod(0o755)
        hooks = self.path / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-index-change", "post-checkout", "pre-commit", "update"):
            (hooks / name).symlink_to(script)
        settings = {
            "core.fsmonitor": str(script),
            "core.hooksPath": str(hooks),
            "filter.trap.clean": str(script),
            "filter.trap.smudge": str(script),
            "filter.trap.process": str(script),
            "core.sshCommand": str(script),
            "core.alternateRefsCommand": str(script),
            "uploadpack.packObjectsHook": str(script),
            "diff.external": str(script),
        }
        for key, value in settings.items():
            self.git("config", key, value)

    def state(self) -> tuple[str, bytes, dict[str, bytes]]:
        """HEAD, index and work tree, to show that none of them was touched."""
        files = {
            str(place.relative_to(self.path)): place.read_bytes()
            for place in sorted(self.path.rglob("*"))
            if place.is_file() and ".git" not in place.relative_to(self.path).parts
        }
        return self.head(), (self.path / ".git" / "index").read_bytes(), files
