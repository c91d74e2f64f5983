"""Short names of objects for sentences; their full IDs stand beside the sentence."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

SHORT_COMMIT: Final = 10
SHORT_CANDIDATE: Final = len("cand_") + 8
MAX_NAMED: Final = 3


def task(identifier: str) -> str:
    """`tsk_<change>_<key>` → `Task <key>`."""
    return f"Task {identifier.split('_', 2)[-1]}"


def tasks(identifiers: Sequence[str]) -> str:
    keys = [identifier.split("_", 2)[-1] for identifier in identifiers]
    return f"Task {keys[0]}" if len(keys) == 1 else f"Tasks {listed(keys)}"


def run(identifier: str) -> str:
    """`run_<change>_<key>_<attempt>` → `attempt <attempt> of Task <key>`."""
    task_part, _, attempt = identifier.rpartition("_")
    return f"attempt {attempt} of {task(task_part)}" if task_part.count("_") >= 2 else identifier


def candidate(identifier: str) -> str:
    return f"Candidate {identifier[:SHORT_CANDIDATE]}"


def commit(identifier: str) -> str:
    return identifier[:SHORT_COMMIT]


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def files(paths: Sequence[str]) -> str:
    """The first few by name, the others counted."""
    named = list(paths[:MAX_NAMED])
    rest = len(paths) - len(named)
    return listed([*named, counted(rest, "more file")] if rest else named)


def counted(number: int, noun: str) -> str:
    """`1 check`, `2 checks`, `no check`."""
    return f"no {noun}" if number == 0 else f"1 {noun}" if number == 1 else f"{number} {noun}s"


@lru_cache(maxsize=512)
def code(reason: str) -> str:
    """A code of ours as words: `work_graph_completed` → `work graph completed`; a sentence stays as it is."""
    return reason.replace("_", " ") if re.fullmatch(r"[a-z0-9_]+", reason) else reason


def person(actor: str) -> str:
    """Who did something, as it stands in the sentence's middle."""
    return f"Rhumbline ({actor.removeprefix('system:')})" if actor.startswith("system:") else actor
