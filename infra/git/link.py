"""Whether a symlink of a tree stays in the tree, found by resolving it over the tree's own entries."""

from collections.abc import Mapping
from typing import Final

MAX_HOPS: Final = 40
"""As many as Linux follows; a loop leads nowhere, so it doesn't lead outside."""


def leaves(path: bytes, target: bytes, links: Mapping[bytes, bytes]) -> bool:
    """Whether `target`, seen from the link at `path`, is absolute or leads above the root, also through `links`.

    links: every symlink of the tree by its path; folders above a path of a tree are real folders.
    """
    stack = path.split(b"/")[:-1]
    pending = target.split(b"/")[::-1]
    hops = 0
    if target.startswith(b"/"):
        return True
    while pending:
        part = pending.pop()
        if part == b"..":
            if not stack:
                return True
            stack.pop()
        elif part not in (b"", b"."):
            through = links.get(b"/".join((*stack, part)))
            if through is None:
                stack.append(part)
                continue
            hops += 1
            if through.startswith(b"/"):
                return True
            if hops > MAX_HOPS:
                return False
            pending += through.split(b"/")[::-1]
    return False
