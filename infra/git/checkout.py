"""Writing the tree of a commit as files: by git, in the sandbox, as the user that commands run as.

The files belong to that user from the start, and what a hostile tree could do to a checkout it does in there.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Sandbox
from domain.kernel.value import decode_path
from infra.git import tree
from infra.git.confined import run_script
from infra.git.process import git, require_object_name
from infra.git.repository import write_fork
from infra.sandbox.ownership import remove_tree

INDEX: Final = "index"

_SCRIPT: Final = '"$0" checkout-index --all --force --quiet --index'


def write_checkout(
    canonical: Path, sandbox: Sandbox, commit: str, folder: Path, overlay: str | None, paths: Sequence[str]
) -> None:
    """Write `commit` to the empty `folder` with `paths` as `overlay` has them; the sandbox's user then owns it."""
    scratch = Path(tempfile.mkdtemp(prefix=".rhumb-checkout-", dir=folder.parent))
    try:
        fork = scratch / "git"
        write_fork(fork, canonical)
        index = scratch / "new"
        index.mkdir()
        write_index(canonical, index / INDEX, commit)
        if overlay is not None and paths:
            _lay_over(canonical, index / INDEX, overlay, paths)
        write_files(canonical, sandbox, fork, index, folder)
    finally:
        remove_tree(scratch)


def write_index(canonical: Path, index: Path, commit: str) -> None:
    """An index of the commit's tree, without any file's state."""
    git("read-tree", require_object_name(commit), git_dir=canonical, env={"GIT_INDEX_FILE": str(index)})


def write_files(canonical: Path, sandbox: Sandbox, fork: Path, index: Path, folder: Path) -> None:
    """Write the files of `index`/index to the empty `folder`; the index then knows each file's state."""
    sandbox.own(folder)
    sandbox.own(index)
    run_script(
        sandbox,
        _SCRIPT,
        folder=folder,
        writable=True,
        readable=(canonical / "objects", fork),
        scratch=index,
        env={"GIT_DIR": str(fork), "GIT_INDEX_FILE": str(index / INDEX)},
    )


def _lay_over(canonical: Path, index: Path, overlay: str, paths: Sequence[str]) -> None:
    wanted = dict.fromkeys(map(decode_path, paths))
    there = {entry.path: entry for entry in tree.entries(canonical, overlay) if entry.path in wanted}
    rows = [
        b"%s %s\t%s\0" % (there[path].mode.encode(), there[path].object.encode(), path)
        if path in there
        else b"0 %s\t%s\0" % (tree.NO_OBJECT.encode(), path)
        for path in wanted
    ]
    env = {"GIT_INDEX_FILE": str(index)}
    git("update-index", "--replace", "-z", "--index-info", git_dir=canonical, env=env, stdin=b"".join(rows))
