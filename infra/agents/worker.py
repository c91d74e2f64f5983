"""The process of a scripted agent: runs inside the sandbox, by its source text, with the standard library alone.

Standard input: `{"actions": […], "exitCode": n}`. It works in its working directory and follows no link out of it.
"""

import contextlib
import json
import os
import subprocess
import sys
from typing import Any


def _folder(parts: list[str], make: bool) -> int:
    """A descriptor of the folder below the working directory; no part of the way may be a link."""
    descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _read(path: str) -> str:
    *folders, name = path.split("/")
    folder = _folder(folders, make=False)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "r", encoding="utf-8", newline="") as file:
        return file.read()


def _write(path: str, text: str, executable: bool) -> None:
    *folders, name = path.split("/")
    folder = _folder(folders, make=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(name, flags, 0o777 if executable else 0o666, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        if executable:
            os.fchmod(file.fileno(), 0o755)


def _replace(path: str, find: str, text: str) -> None:
    old = _read(path)
    found = old.count(find)
    if found != 1:
        raise ValueError(f"the text to replace is there {found} times, not once")
    _write(path, old.replace(find, text), executable=False)


def _delete(path: str) -> None:
    *folders, name = path.split("/")
    folder = _folder(folders, make=False)
    try:
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _run(line: str) -> int:
    return subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, check=False).returncode


def _act(action: dict[str, Any]) -> int:
    """Do one action; returns an exit code that ends the run unless it is 0."""
    if action.get("run") is not None:
        print(f"$ {action['run']}", flush=True)
        return _run(action["run"])
    kind = next(name for name in ("write", "replace", "delete") if action.get(name) is not None)
    path = action[kind]
    print(f"{kind} {path}", flush=True)
    try:
        if kind == "write":
            _write(path, action["text"], bool(action.get("executable")))
        elif kind == "replace":
            _replace(path, action["find"], action["text"])
        else:
            _delete(path)
    except (OSError, ValueError) as error:
        print(f"{kind} {path}: {error}", flush=True)
        return 1
    return 0


def main() -> int:
    """Do all actions; the first that fails ends the run with its exit code."""
    work = json.load(sys.stdin)
    for action in work["actions"]:
        code = _act(action)
        if code != 0:
            return code if code > 0 else 128 - code
    return int(work["exitCode"])


if __name__ == "__main__":
    sys.exit(main())
