"""Bringing objects from one repository to another without opening either by discovery, and without its hooks.

Like a fetch, but of plumbing alone: `pack-objects` here, `index-pack` there. So nothing that a repository's
configuration names is run, and what comes in is parsed as untrusted bytes, never as a repository.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from infra.git.process import GitFailed, command, environment, git, require_object_name

LOOSE_LIMIT: Final = 10
"""A pack of fewer objects is unpacked, so that small packs don't pile up. Each loose object is synced by itself: 60 of
them take 50 ms and more, as a pack 15 ms.
"""

FETCH_LIMIT: Final = 100
"""The same for a person's repository: what git's own fetch does there."""

_HEADER_BYTES: Final = 12
_DRAIN_BYTES: Final = 64 * 1024


def copy(
    source: Path,
    target: Path,
    want: Sequence[str],
    have: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    loose_limit: int = LOOSE_LIMIT,
) -> None:
    """Copy what is reachable from `want` and not from `have` (which `target` must hold completely).

    Raises:
        GitFailed: an object is missing in `source`, or `target` can't be written.
    """
    wanted = "".join(f"{require_object_name(name)}\n" for name in want)
    request = wanted + "".join(f"^{require_object_name(name)}\n" for name in have)
    arguments = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
    with subprocess.Popen(
        command(arguments, source),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(request.encode())
        process.stdin.close()
        failed = receive(target, process.stdout, loose_limit=loose_limit)
        # Without a reader left, a writer that goes on ends at once instead of waiting.
        process.stdout.close()
        stderr = process.stderr.read()
    if failed is not None:
        raise failed
    if process.returncode != 0:
        raise GitFailed("pack-objects", process.returncode, stderr)


def store(target: Path, pack: IO[bytes], env: Mapping[str, str] | None = None) -> None:
    """Store the objects of the unbuffered stream `pack` in `target`, or in what `env` names as its object folder.

    Raises:
        GitFailed: it isn't a pack, or can't be written.
    """
    failed = receive(target, pack, env)
    if failed is not None:
        raise failed


def receive(
    target: Path, pack: IO[bytes], env: Mapping[str, str] | None = None, loose_limit: int = LOOSE_LIMIT
) -> GitFailed | None:
    """The same, with the failure returned: the writer of a broken stream may know better what was wrong."""
    header = _read_header(pack)
    count = int.from_bytes(header[8:], "big")
    if len(header) < _HEADER_BYTES or count == 0:
        # To the end: a writer that nobody listens to any more ends with a failure.
        while pack.read(_DRAIN_BYTES):
            continue
        return None
    words = ("unpack-objects", "-q") if count < loose_limit else ("index-pack", "--stdin")
    version = int.from_bytes(header[4:8], "big")
    done = subprocess.run(
        command((*words, f"--pack_header={version},{count}"), target),
        stdin=pack,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(env),
        check=False,
    )
    return GitFailed(words[0], done.returncode, done.stderr) if done.returncode else None


def _read_header(pack: IO[bytes]) -> bytes:
    header = b""
    while len(header) < _HEADER_BYTES:
        part = pack.read(_HEADER_BYTES - len(header))
        if not part:
            break
        header += part
    return header


def require_complete(git_dir: Path, name: str) -> None:
    """Check that everything reachable from `name` and from no ref is there.

    Raises:
        GitFailed: an object is missing.
    """
    git("rev-list", "--objects", "--quiet", require_object_name(name), "--not", "--all", git_dir=git_dir)


def require_tree(git_dir: Path, name: str, known: Sequence[str], env: Mapping[str, str]) -> None:
    """The same for a tree, of which everything below the `known` trees is there.

    Raises:
        GitFailed: an object is missing, or `name` is no tree.
    """
    git("cat-file", "-e", f"{require_object_name(name)}^{{tree}}", git_dir=git_dir, env=env)
    git("rev-list", "--objects", "--quiet", name, *(f"^{tree}" for tree in known), git_dir=git_dir, env=env)


def existing(git_dir: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that `git_dir` has as objects."""
    asked = tuple(names)
    request = "".join(f"{name}\n" for name in asked).encode()
    shown = git("cat-file", "--batch-check=%(objectname) %(objecttype)", git_dir=git_dir, stdin=request).stdout
    rows = (row.rpartition(" ") for row in shown.decode().splitlines())
    return tuple(name for name, _, kind in rows if kind != "missing")
