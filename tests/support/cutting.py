"""The difference between two releases, cut into the parts of a Work Graph's tasks."""

import difflib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import upgrading_agent
from tests.support.repository import ENVIRONMENT
from tests.support.upgrading_agent import LINK

Needs = Mapping[str, Sequence[str]]
"""A Work Graph: each task's key with the keys it depends on, which come before it."""

ABSENT = "000000"


@dataclass(frozen=True)
class Difference:
    """A path with its mode and content before and after; `ABSENT` and nothing where it isn't."""

    path: str
    old_mode: str
    new_mode: str
    old: bytes
    new: bytes

    @property
    def is_binary(self) -> bool:
        return b"\0" in self.old + self.new

    @property
    def is_text_edit(self) -> bool:
        return self.old_mode == self.new_mode != LINK and not self.is_binary


@dataclass
class Hunk:
    """Some lines of a file as they were and as they become; `owner` is the task that makes them so."""

    old: bytes
    new: bytes
    owner: str | None = None


@dataclass
class Part:
    """What one task does. edited: a file's hunks, all of them, with each one's owner."""

    removed: list[Difference] = field(default_factory=list)
    written: list[Difference] = field(default_factory=list)
    edited: dict[str, list[Hunk]] = field(default_factory=dict)


Split = Callable[[Difference], list[Hunk]]
"""How a file's text is cut."""


def kinds(changes: Sequence[Difference]) -> set[str]:
    """What kinds of difference there are."""
    gone = {change.old for change in changes if change.new_mode == ABSENT}
    found = {
        "addition": any(change.old_mode == ABSENT for change in changes),
        "deletion": bool(gone),
        "mode": any(len({change.old_mode, change.new_mode, ABSENT}) == 3 for change in changes),
        "binary": any(change.is_binary for change in changes),
        "rename": any(change.old_mode == ABSENT and change.new in gone for change in changes),
        "odd name": any(not change.path.isascii() or " " in change.path for change in changes),
    }
    return {kind for kind, there in found.items() if there}


def shared(parts: Mapping[str, Part]) -> set[str]:
    """The files that more than one task edits."""
    edited = [path for part in parts.values() for path in part.edited]
    return {path for path in edited if edited.count(path) > 1}


def differences(repository: Path, older: str, newer: str) -> list[Difference]:
    """What differs between two trees, by path."""
    raw = _git(repository, b"", "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", older, newer).split(b"\0")
    changes = [(head.decode().lstrip(":").split(), path) for head, path in zip(raw[::2], raw[1::2], strict=False)]
    contents = _contents(repository, {name for head, _ in changes for name in head[2:4]})
    return [
        Difference(os.fsdecode(path), head[0], head[1], contents[head[2]], contents[head[3]]) for head, path in changes
    ]


def _contents(repository: Path, names: set[str]) -> dict[str, bytes]:
    asked = sorted(name for name in names if name.strip("0"))
    out = _git(repository, "".join(f"{name}\n" for name in asked).encode(), "cat-file", "--batch")
    contents, at = {"0" * 40: b""}, 0
    for name in asked:
        start = out.index(b"\n", at) + 1
        size = int(out[at:start].split()[2])
        contents[name], at = out[start : start + size], start + size + 1
    return contents


def _git(repository: Path, stdin: bytes, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=repository, env=ENVIRONMENT, input=stdin, stdout=subprocess.PIPE, check=True
    ).stdout


def hunks(change: Difference) -> list[Hunk]:
    """The file as runs of lines, changed ones and (old = new) unchanged ones in turn."""
    old, new = change.old.splitlines(keepends=True), change.new.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [Hunk(b"".join(old[a:b]), b"".join(new[c:d])) for _, a, b, c, d in matcher.get_opcodes()]


def halves(change: Difference) -> list[Hunk]:
    """The same with every changed run cut in two that adjoin, so that no merge can tell them apart."""
    return [half for hunk in hunks(change) for half in _halve(hunk)]


def _halve(hunk: Hunk) -> Iterator[Hunk]:
    old, new = hunk.old.splitlines(keepends=True), hunk.new.splitlines(keepends=True)
    if hunk.old == hunk.new or min(len(old), len(new)) < 2:
        yield hunk
        return
    for lines in (slice(None, 1), slice(1, None)):
        yield Hunk(b"".join(old[lines]), b"".join(new[lines]))


def cut(changes: Sequence[Difference], needs: Needs, split: Split | None = None) -> dict[str, Part]:
    """Deal whole files out to the tasks in turn, so that each task works everywhere; with `split`, hunks of text."""
    keys = list(needs)
    parts = {key: Part() for key in keys}
    turn = 0
    for change in changes:
        pieces = split(change) if split and change.is_text_edit else []
        changed = [hunk for hunk in pieces if hunk.old != hunk.new]
        for hunk in changed:
            hunk.owner = keys[turn % len(keys)]
            parts[hunk.owner].edited[change.path] = pieces
            turn += 1
        if not changed:
            part = parts[keys[turn % len(keys)]]
            (part.removed if change.new_mode == ABSENT else part.written).append(change)
            turn += 1
    return parts


def hand_out(parts: Mapping[str, Part], needs: Needs, folder: Path) -> str:
    """Write the parts and the agent that applies them; the agent's shell line."""
    (folder / "contents").mkdir(parents=True)
    shutil.copy(upgrading_agent.__file__, folder / "agent.py")
    for key, part in parts.items():
        (folder / f"{key}.json").write_text(json.dumps(_document(key, parts, needs)))
        for change in part.written:
            (folder / "contents" / _digest(change.new)).write_bytes(change.new)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return f"python3 '{folder / 'agent.py'}' '{folder}'"


def _document(key: str, parts: Mapping[str, Part], needs: Needs) -> dict[str, Any]:
    part, below = parts[key], _below(key, needs)
    expected: dict[str, str | None] = {}
    for each in sorted(below):
        expected.update({change.path: _digest(change.new) for change in parts[each].written})
        expected.update({change.path: None for change in parts[each].removed})
    return {
        "needs": sorted(below),
        "expected": expected,
        "removed": [change.path for change in part.removed],
        "written": [{"path": c.path, "mode": c.new_mode, "content": _digest(c.new)} for c in part.written],
        "edited": [{"path": path, "hunks": [_hunk(hunk) for hunk in pieces]} for path, pieces in part.edited.items()],
    }


def _hunk(hunk: Hunk) -> dict[str, str | None]:
    return {"old": hunk.old.decode("latin-1"), "new": hunk.new.decode("latin-1"), "owner": hunk.owner}


def _below(key: str, needs: Needs) -> set[str]:
    """All that `key` is built on."""
    direct = needs[key]
    return set(direct).union(*(_below(each, needs) for each in direct))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
