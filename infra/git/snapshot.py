"""What an agent left becomes a tree in canonical, or is refused by name.

Looked at in three steps, of which none trusts the one before: the names on disk, before git sees them; git itself, in
the sandbox, with an index of the base and no configuration; and the tree it made, which comes out as a pack and waits
in a quarantine until it has been checked.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from commands.ports.git import SnapshotRefused
from commands.ports.sandbox import Sandbox
from domain.kernel.value import decode_path, encode_path
from infra.git import transfer, tree
from infra.git.blob import read_blobs
from infra.git.checkout import INDEX
from infra.git.confined import ConfinedGitFailed, run_script
from infra.git.link import leaves
from infra.git.names import has_git_directory_name
from infra.git.process import require_object_name
from infra.git.quarantine import quarantine
from infra.git.scan import Scan, scan
from infra.git.secret import SecretSearch
from infra.sandbox.ownership import remove_tree

MAX_CHANGED: Final = 200_000
"""Files that a ChangeSet may change."""

MAX_BYTES: Final = 2 * 1024**3
"""Bytes of the files that a ChangeSet may change."""

_NAMED: Final = 10

_MODES: Final = tree.REGULAR | {tree.SYMLINK, "000000"}

_SNAPSHOT: Final = """
"$0" update-index -q --refresh || test $? -eq 1
touch -t 210001010000 "$GIT_INDEX_FILE"
"$0" add --all
"$0" write-tree > "$1/tree"
{ cat "$1/tree"; shift; for have in "$@"; do printf '^%s\\n' "$have"; done; } > "$SCRATCH/revisions"
"$0" pack-objects --revs --stdout -q --delta-base-offset < "$SCRATCH/revisions" > "$SCRATCH/pack"
"""
"""What was written in the same second as the index may have changed unseen, and `add` stores all of it again: 5,000
files in 0.5 s. So it's compared first, and the index is then newer than any of it.
"""

_IGNORED: Final = """
GIT_LITERAL_PATHSPECS=0 "$0" check-ignore --no-index -z --stdin < "$1/asked" > "$1/ignored" || test $? -eq 1
"""

_CHANGED: Final = """
"$0" ls-files -z --others --modified --exclude-standard > "$1/listed"
"""


@dataclass(frozen=True, slots=True)
class Source:
    """What a snapshot is taken of: the agent's `folder`, its fork, and the index as it was after the checkout.

    base: the tree that was checked out; known: trees that canonical holds anyway, the base's among them.
    """

    folder: Path
    fork: Path
    index: Path
    base: str
    known: tuple[str, ...]


def take_snapshot(canonical: Path, sandbox: Sandbox, source: Source, secrets: Sequence[str]) -> str:
    """The tree, its objects in canonical and synced, but pinned by nothing yet.

    Raises:
        SnapshotRefused: see the protocol.
        ConfinedGitFailed: git couldn't run.
    """
    search = SecretSearch(secrets)
    try:
        return _take(canonical, sandbox, source, search)
    except SnapshotRefused as refused:
        # A refusal is shown and stored, whatever it is for.
        paths = tuple(encode_path(search.mask(decode_path(path))) for path in refused.paths)
        raise SnapshotRefused(refused.reason, paths) from refused


def _take(canonical: Path, sandbox: Sandbox, source: Source, search: SecretSearch) -> str:
    found = scan(source.folder)
    scratch = Path(tempfile.mkdtemp(prefix="snapshot-", dir=source.fork.parent))
    try:
        confined = _Confined(canonical, sandbox, source, scratch)
        _require_no_special(confined, found)
        _require_size(confined, found)
        name = confined.snapshot()
        if name != source.base:
            with _opened(scratch / "pack") as pack:
                _accept(canonical, source, name, pack, search)
        return name
    finally:
        remove_tree(scratch)


class _Confined:
    """The three scripts, each over a fresh copy of the base's index."""

    def __init__(self, canonical: Path, sandbox: Sandbox, source: Source, scratch: Path) -> None:
        self._canonical, self._sandbox, self._source, self._scratch = canonical, sandbox, source, scratch

    def snapshot(self) -> str:
        try:
            self._run(_SNAPSHOT, *self._source.known)
        except ConfinedGitFailed as error:
            if error.too_much:
                raise SnapshotRefused("too_large", ()) from error
            if error.gave_up and not error.no_room:
                raise SnapshotRefused("unreadable", tuple(map(encode_path, error.named[:_NAMED]))) from error
            raise
        return require_object_name(self._read("tree").decode().strip())

    def ignored(self, paths: Iterable[bytes]) -> frozenset[bytes]:
        # This command knows no literal paths; one that starts with a dot has no magic either.
        (self._scratch / "asked").write_bytes(b"".join(b"./%s\0" % path for path in paths))
        self._run(_IGNORED)
        return frozenset(path.removeprefix(b"./") for path in self._read("ignored").split(b"\0")[:-1])

    def changed(self) -> frozenset[bytes]:
        self._run(_CHANGED)
        return frozenset(self._read("listed").split(b"\0")[:-1])

    def _run(self, script: str, *arguments: str) -> None:
        objects = self._scratch / "objects"
        objects.mkdir(exist_ok=True)
        # With its time of change: git tells by it which files may have changed after the index was written.
        shutil.copy2(self._source.index, self._scratch / INDEX)
        self._sandbox.own(self._scratch)
        run_script(
            self._sandbox,
            script,
            str(self._scratch),
            *arguments,
            folder=self._source.folder,
            writable=False,
            readable=(self._canonical / "objects", self._source.fork),
            scratch=self._scratch,
            env={
                "SCRATCH": str(self._scratch),
                "GIT_DIR": str(self._source.fork),
                "GIT_INDEX_FILE": str(self._scratch / INDEX),
                "GIT_OBJECT_DIRECTORY": str(objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._canonical / "objects"),
            },
        )

    def _read(self, name: str) -> bytes:
        with _opened(self._scratch / name) as file:
            return file.read()


def _opened(path: Path) -> IO[bytes]:
    """A file that the sandbox's user wrote; a link in its place is an error."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)


def _refuse(reason: str, paths: Iterable[bytes]) -> None:
    named = sorted(set(paths))
    if named:
        raise SnapshotRefused(reason, tuple(encode_path(path) for path in named[:_NAMED]))


def _require_no_special(confined: _Confined, found: Scan) -> None:
    if found.special:
        _refuse("special_file", set(found.special) - confined.ignored(found.special))


def _require_size(confined: _Confined, found: Scan) -> None:
    """Before git reads it all: only where there is so much that the changed part could be too much."""
    if len(found.sizes) <= MAX_CHANGED and sum(found.sizes.values()) <= MAX_BYTES:
        return
    sizes = {path: found.sizes[path] for path in confined.changed() if path in found.sizes}
    if len(sizes) > MAX_CHANGED or sum(sizes.values()) > MAX_BYTES:
        _refuse("too_large", sorted(sizes, key=lambda path: sizes[path])[-1:])


def _accept(canonical: Path, source: Source, name: str, pack: IO[bytes], secrets: SecretSearch) -> None:
    """Check the tree in a quarantine, then store it."""
    with ExitStack() as stack:
        _, env = stack.enter_context(quarantine(canonical))
        transfer.store(canonical, pack, env)
        transfer.require_tree(canonical, name, source.known, env)
        changes = tree.differences(canonical, source.base, name, env)
        judge(canonical, env, source, name, changes, secrets)
    pack.seek(0)
    transfer.store(canonical, pack)


def judge(
    canonical: Path,
    env: Mapping[str, str],
    source: Source,
    name: str,
    changes: Sequence[tree.Difference],
    secrets: SecretSearch,
) -> None:
    _refuse("gitlink", (c.path for c in changes if c.new_mode == tree.GITLINK))
    _refuse("special_file", (c.path for c in changes if c.new_mode not in _MODES))
    _refuse("nested_git", (c.path for c in changes if has_git_directory_name(c.path)))
    if len(changes) > MAX_CHANGED:
        _refuse("too_large", [changes[-1].path])
    _refuse("symlink_outside", _links_outside(canonical, env, name, changes))
    if not secrets.looks_for_nothing:
        kept = frozenset(entry.object for entry in tree.entries(canonical, source.base))
        _refuse("secret_in_changeset", secrets.paths(canonical, env, changes, kept))


def _links_outside(
    canonical: Path, env: Mapping[str, str], name: str, changes: Sequence[tree.Difference]
) -> Iterable[bytes]:
    fresh = [change for change in changes if change.new_mode == tree.SYMLINK]
    if not fresh:
        return ()
    links = {e.path: e.object for e in tree.entries(canonical, name, env) if e.mode == tree.SYMLINK}
    contents = {blob: b"".join(pieces) for blob, pieces in read_blobs(canonical, set(links.values()), env)}
    targets = {path: contents[blob] for path, blob in links.items()}
    return [change.path for change in fresh if leaves(change.path, targets[change.path], targets)]
