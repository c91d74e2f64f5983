"""The seeds' table of IDs (seed 001, "The path uses these stable IDs"; DESIGN, "IDs").

An ID embedded in another drops its own prefix: the Run of Task `tsk_<uuid>_t1` is `run_<uuid>_t1_1`.
"""

import re
from typing import Final

from domain.kernel.value import canonical_json, sha256_hex

COMPOSITION_KEY_DIGITS: Final = 24


def _bare(identifier: str) -> str:
    return identifier.split("_", 1)[1]


def project_id(uuid: str) -> str:
    return f"prj_{uuid}"


def change_id(uuid: str) -> str:
    return f"chg_{uuid}"


def task_id(change: str, key: str) -> str:
    return f"tsk_{_bare(change)}_{key}"


def agent_id(task: str) -> str:
    """One logical Agent per Task."""
    return f"agt_{_bare(task)}"


def run_id(task: str, attempt: int) -> str:
    """The fencing token of an attempt; an attempt number is never used twice."""
    return f"run_{_bare(task)}_{attempt}"


def changeset_id(run: str) -> str:
    return f"cs_{_bare(run)}"


def candidate_id(change: str, base_generation: int, base_commit: str, changesets: tuple[str, ...]) -> str:
    """`cand_` and the first 24 hex digits of the SHA-256 composition key.

    The key hashes the canonical JSON of change, base generation, base commit and the ordered ChangeSet IDs, so
    composing the same inputs twice names the same Candidate.
    """
    key = canonical_json([change, base_generation, base_commit, list(changesets)])
    return f"cand_{sha256_hex(key)[:COMPOSITION_KEY_DIGITS]}"


def release_id(project: str, generation: int) -> str:
    return f"rel_{_bare(project)}_{generation}"


def budget_id(owner: str, month: str) -> str:
    """One per project or person and month (`YYYY-MM`), so that Project stays cold."""
    return f"bud_{owner}_{month}"


_TASK: Final = re.compile(r"tsk_(?P<change>[0-9a-f-]{36})_(?P<key>.+)")
_RUN: Final = re.compile(r"(?P<task>.+)_(?P<attempt>[0-9]+)")


def change_of_task(task: str) -> str:
    """The Change ID inside a Task ID.

    Raises:
        ValueError: `task` isn't a Task ID.
    """
    match = _TASK.fullmatch(task)
    if not match:
        raise ValueError(f"not a Task ID: {task!r}")
    return change_id(match["change"])


def task_of_run(run: str) -> str:
    """The Task ID inside a Run ID.

    Raises:
        ValueError: `run` isn't a Run ID.
    """
    match = _RUN.fullmatch(_bare(run)) if run.startswith("run_") else None
    if not match:
        raise ValueError(f"not a Run ID: {run!r}")
    return f"tsk_{match['task']}"
