"""Paths that a sandbox would make up (`/workspace`, bind targets), put in terms of the host for `--unsafe-local`."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import PurePath

from commands.ports.sandbox import WORKSPACE, Execution, SandboxUnavailable
from infra.sandbox.mount_point import make_link, remove_link


class HostPaths:
    """Translates words: one that is a path inside a sandbox becomes the host's path; all others stay."""

    def __init__(self, execution: Execution) -> None:
        pairs = [(PurePath(bind.target), bind.source) for bind in execution.binds]
        if execution.workspace is not None:
            pairs.append((PurePath(WORKSPACE), execution.workspace.resolve()))
        self._pairs = sorted(pairs, key=lambda pair: len(pair[0].parts), reverse=True)

    def word(self, word: str) -> str:
        """An argument."""
        for target, source in self._pairs:
            if word == str(target) or word.startswith(f"{target}/"):
                return f"{source}{word[len(str(target)) :]}"
        return word

    def value(self, value: str) -> str:
        """A variable's value, which may be a list of paths."""
        return os.pathsep.join(map(self.word, value.split(os.pathsep)))

    def argv(self, execution: Execution) -> list[str]:
        return [self.word(word) for word in execution.argv]

    def variables(self, execution: Execution) -> Mapping[str, str]:
        return {name: self.value(value) for name, value in execution.env.items()}


@contextmanager
def links(execution: Execution) -> Iterator[None]:
    """While this lasts, what would be bound below the workspace is a link there.

    Raises:
        SandboxUnavailable: the workspace or something to be bound isn't there, or the place for a link is taken.
    """
    workspace = execution.workspace
    if workspace is not None and (workspace.is_symlink() or not workspace.is_dir()):
        raise SandboxUnavailable(f"the workspace {str(workspace)!r} isn't a folder")
    with ExitStack() as made:
        for bind in execution.binds:
            if not bind.source.exists():
                raise SandboxUnavailable(f"{str(bind.source)!r} isn't there, so it can't be shown to the command")
            if workspace is not None and bind.target != WORKSPACE and bind.target.is_relative_to(WORKSPACE):
                place = PurePath(bind.target).relative_to(WORKSPACE)
                make_link(workspace, place, bind.source.resolve())
                made.callback(remove_link, workspace, place, bind.source.resolve())
        yield
