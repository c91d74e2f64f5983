"""Composition: a chain of merge commits, one per ChangeSet, merged by git itself."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commands.ports.git import Merge, Signature
from domain.kernel.value import encode_path
from infra.git import transfer
from infra.git.commit import build_commit
from infra.git.process import git, line, require_object_name
from infra.git.quarantine import UNSYNCED, quarantine

if TYPE_CHECKING:
    from dulwich.objects import Commit

_CONFLICT: Final = 1

Describe = Callable[[int], tuple[Signature, str]]


def compose(canonical: Path, base: str, changesets: Sequence[str], describe: Describe) -> Merge:
    """Merge in order; see the protocol. Objects of a composition that conflicts never reach canonical.

    What merges only because an earlier ChangeSet was left out conflicts, too: left for the next round, every second one
    of a row of neighbours would take a round of its own, and there are few.
    """
    with quarantine(canonical) as (folder, env):
        head, tree = require_object_name(base), _tree_of(canonical, base)
        conflicts: list[tuple[int, tuple[str, ...]]] = []
        for index, changeset in enumerate(changesets):
            merged, paths = _merge(canonical, env, head, require_object_name(changeset))
            if not paths:
                left_out = (changesets[earlier] for earlier, _ in conflicts)
                paths = _sorted(path for each in left_out for path in _merge(canonical, env, each, changeset)[1])
            if paths:
                conflicts.append((index, paths))
            else:
                tree = merged
                signature, message = describe(index)
                commit = build_commit(tree, (head, changeset), signature, signature, message)
                head = _write_loose(folder, commit)
        if conflicts:
            return Merge(commit=None, tree=None, conflicts=tuple(conflicts))
        if head != base:
            transfer.copy(canonical, canonical, [head], (base, *changesets), env=env)
    return Merge(commit=head, tree=tree, conflicts=())


def _tree_of(canonical: Path, commit: str) -> str:
    return line("rev-parse", "--verify", f"{commit}^{{tree}}", git_dir=canonical)


def _merge(canonical: Path, env: Mapping[str, str], head: str, changeset: str) -> tuple[str, tuple[str, ...]]:
    """The merged tree, and the paths that conflict."""
    options = ("--write-tree", "-z", "--name-only", "--no-messages")
    done = git(
        "merge-tree", *options, head, changeset, git_dir=canonical, env=env, config=UNSYNCED, expect=(0, _CONFLICT)
    )
    tree, *paths = done.stdout.split(b"\0")[:-1]
    named = _sorted(map(encode_path, paths))
    if bool(named) != (done.exit_code == _CONFLICT):
        raise RuntimeError(f"git merge-tree ended with {done.exit_code} and named {len(named)} paths")
    return require_object_name(tree.decode()), named


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths)))


def _write_loose(objects: Path, commit: "Commit") -> str:
    """Write into the quarantine: a process of git for it would take longer than the merge."""
    name = commit.id.decode()
    folder = objects / name[:2]
    folder.mkdir(exist_ok=True)
    file = folder / name[2:]
    if not os.path.lexists(file):
        file.write_bytes(commit.as_legacy_object())
    return name
