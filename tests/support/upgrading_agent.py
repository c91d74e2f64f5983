"""A coding agent that knows its part of an upgrade: `upgrading_agent.py FOLDER`, in the workspace.

It is run in the sandbox, so it has the standard library alone. It applies its part to whatever it finds: a file whose
hunks belong to several tasks may hold the work of any of them.
"""

import hashlib
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

LINK = "120000"


def main(folder: Path) -> None:
    key = json.loads(Path(os.environ["RHUMB_TASK_FILE"]).read_bytes())["key"]
    part = json.loads((folder / f"{key}.json").read_bytes())
    for path, digest in part["expected"].items():
        if digest_of(Path(path)) != digest:
            sys.exit(f"{path!r} isn't what the tasks before this one left")
    for path in part["removed"]:
        Path(path).unlink()
    for written in part["written"]:
        write(Path(written["path"]), written["mode"], (folder / "contents" / written["content"]).read_bytes())
    for edited in part["edited"]:
        file = Path(edited["path"])
        file.write_bytes(edit(file.read_bytes(), edited["hunks"], key, set(part["needs"])))


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file's content or a link's target; None where nothing is."""
    if not os.path.lexists(path):
        return None
    content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    return hashlib.sha256(content).hexdigest()


def write(path: Path, mode: str, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        path.symlink_to(os.fsdecode(content))
    else:
        path.write_bytes(content)
        path.chmod(int(mode[-3:], 8))


def edit(text: bytes, hunks: list[dict[str, Any]], key: str, needs: set[str]) -> bytes:
    """`text` with the hunks of `key` applied; those of `needs` must be there, any others may be."""
    found = read(text, [readings(hunk, key, needs) for hunk in hunks])
    if found is None:
        sys.exit("the file is neither the older release nor that with others' hunks")
    return b"".join(
        encode(hunk["new"]) if hunk["owner"] == key else piece for hunk, piece in zip(hunks, found, strict=True)
    )


def readings(hunk: dict[str, Any], key: str, needs: set[str]) -> list[bytes]:
    """What may stand in the hunk's place."""
    old, new = encode(hunk["old"]), encode(hunk["new"])
    if hunk["owner"] in (None, key):
        return [old]
    return [new] if hunk["owner"] in needs else [old, new]


def read(text: bytes, choices: list[list[bytes]]) -> list[bytes] | None:
    """One of each of `choices`, in order, that together are `text`."""
    ways: list[dict[int, int]] = [{0: 0}]
    for options in choices:
        ends = {at + len(option): at for at in ways[-1] for option in options if text.startswith(option, at)}
        ways.append(ends)
    if len(text) not in ways[-1]:
        return None
    places = [len(text)]
    for ends in reversed(ways[1:]):
        places.append(ends[places[-1]])
    return [text[start:end] for start, end in pairwise(reversed(places))]


def encode(text: str) -> bytes:
    return text.encode("latin-1")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
