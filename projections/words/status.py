"""One sentence for every status: what the object waits for, what goes on by itself, and what a person can do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from domain.change.event import BlockCause
from domain.change.status import LIVE_CANDIDATE, CandidateStatus, ChangeStatus, TaskStatus
from domain.kernel.money import show_usd
from domain.release.status import ReleaseStatus
from domain.run.status import RunStatus
from projections.core import Row
from projections.words import name


@dataclass(frozen=True, slots=True)
class Waiting:
    """sentence: without a full stop. command: what a person can type to bring it on; None where nobody has to."""

    sentence: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """The rows around a Change that its sentences need: its Tasks in plan order, its Candidates, oldest first."""

    tasks: tuple[Row, ...] = ()
    candidates: tuple[Row, ...] = ()

    def keys(self, *statuses: str) -> list[str]:
        return [task["key"] for task in self.tasks if task["status"] in statuses]


NOTHING: Final = "it waits for nothing"

OfChange = Callable[[Row, Around], Waiting]
OfRow = Callable[[Row], Waiting]


def _why(row: Row, column: str = "reason") -> str:
    return f": {name.code(row[column])}" if row[column] else ""


def _tasks(keys: list[str]) -> str:
    return f"Task {keys[0]}" if len(keys) == 1 else f"Tasks {name.listed(keys)}"


# -- Change ------------------------------------------------------------------------------------------------------


def _created(row: Row, around: Around) -> Waiting:
    return Waiting("it waits for its planning, which begins by itself")


def _compiling(row: Row, around: Around) -> Waiting:
    return Waiting("it waits for the checks on its base and for its plan; both go on by themselves")


def _running(row: Row, around: Around) -> Waiting:
    at_work = around.keys(TaskStatus.ASSIGNED, TaskStatus.RUNNING)
    if at_work:
        return Waiting(f"it waits for the {'agent' if len(at_work) == 1 else 'agents'} at work on {_tasks(at_work)}")
    if row["dead_letters"]:
        stuck = name.tasks(row["dead_letters"])
        return Waiting(f"it waits for a person: {stuck} could not be delivered", _resume(row))
    ready = around.keys(TaskStatus.READY)
    if ready:
        return Waiting(f"it waits for a free place for {_tasks(ready)}; that comes by itself")
    return Waiting("it waits for its next step, which comes by itself")


def _verifying(row: Row, around: Around) -> Waiting:
    live = [candidate for candidate in around.candidates if candidate["status"] in LIVE_CANDIDATE]
    if not live:
        return Waiting("it waits for the work of its Tasks to be composed; that comes by itself")
    waited, status = name.candidate(live[-1]["id"]), live[-1]["status"]
    what = {
        CandidateStatus.COMPOSING: f"for {waited} to be composed",
        CandidateStatus.VERIFYING: f"for the checks on {waited}",
        CandidateStatus.VERIFIED: f"for the promotion of {waited}",
    }[CandidateStatus(status)]
    return Waiting(f"it waits {what}; that goes on by itself")


def _blocked(row: Row, around: Around) -> Waiting:
    return Waiting(f"it waits for a person, its re-runs are used up{_why(row)}", _resume(row))


def _budget_blocked(row: Row, around: Around) -> Waiting:
    budget = show_usd(row["budget_micros"])
    return Waiting(f"it waits for a person to raise its budget of {budget}{_why(row)}", _resume(row))


def _awaiting_approval(row: Row, around: Around) -> Waiting:
    candidate = next((c for c in around.candidates if c["id"] == row["candidate"]), None)
    which = name.candidate(row["candidate"]) if row["candidate"] else "its Candidate"
    if candidate is not None and candidate["approval"] == "granted":
        return Waiting(f"{which} is approved and waits for a person to promote it", _approve(row))
    return Waiting(f"it waits for an owner or admin to approve {which}{_why(row, 'gate_reason')}", _approve(row))


def _promoting(row: Row, around: Around) -> Waiting:
    return Waiting("it waits for the compare-and-swap on canonical, which happens by itself")


def _releasing(row: Row, around: Around) -> Waiting:
    return Waiting(f"it waits for its release {row['release'] or ''}".rstrip() + ", which goes on by itself")


def _completed(row: Row, around: Around) -> Waiting:
    what = f"{name.commit(row['promoted_commit'])} is " if row["promoted_commit"] else "its work is "
    return Waiting(f"{NOTHING}: {what}in canonical")


def _failed(row: Row, around: Around) -> Waiting:
    return Waiting(f"{NOTHING}: it failed{_why(row)}; submit the request again")


def _cancelled(row: Row, around: Around) -> Waiting:
    return Waiting(f"{NOTHING}: it was cancelled")


def _resume(row: Row) -> str:
    budget = " --budget USD" if row["status"] == ChangeStatus.BUDGET_BLOCKED else ""
    return f"rhumb resume {row['id']}{budget}"


def _approve(row: Row) -> str:
    return f"rhumb approve {row['id']}"


CHANGE_WAITS: Final[Mapping[ChangeStatus, OfChange]] = {
    ChangeStatus.CREATED: _created,
    ChangeStatus.COMPILING: _compiling,
    ChangeStatus.RUNNING: _running,
    ChangeStatus.VERIFYING: _verifying,
    ChangeStatus.BLOCKED: _blocked,
    ChangeStatus.BUDGET_BLOCKED: _budget_blocked,
    ChangeStatus.AWAITING_APPROVAL: _awaiting_approval,
    ChangeStatus.PROMOTING: _promoting,
    ChangeStatus.RELEASING: _releasing,
    ChangeStatus.COMPLETED: _completed,
    ChangeStatus.FAILED: _failed,
    ChangeStatus.CANCELLED: _cancelled,
}

# -- Task --------------------------------------------------------------------------------------------------------


def _pending(row: Row) -> Waiting:
    if row["depends_on"]:
        return Waiting(f"it waits for {name.tasks(row['depends_on'])} to be completed")
    return Waiting("it waits to become ready, which happens by itself")


def _ready(row: Row) -> Waiting:
    if row["deferred"]:
        return Waiting("it waits for a free place among the agents; it is woken when there is one")
    return Waiting("it waits for its agent to be woken, which happens by itself")


def _task_blocked(row: Row) -> Waiting:
    change = f"chg_{row['id'].split('_', 2)[1]}"
    detail = f" ({row['detail']})" if row["detail"] else ""
    if row["block_cause"] == BlockCause.DEPENDENCY:
        return Waiting(f"it waits for a Task that it needs, which failed or stopped{detail}")
    if row["block_cause"] == BlockCause.BUDGET:
        return Waiting(f"it waits for a person to raise the budget{detail}", f"rhumb resume {change} --budget USD")
    if row["block_cause"] == BlockCause.LIMIT:
        return Waiting(f"it waits for a person, a limit stopped it{detail}", f"rhumb resume {change}")
    return Waiting(f"it waits for a person, its agent could not be woken{detail}", f"rhumb resume {change}")


TASK_WAITS: Final[Mapping[TaskStatus, OfRow]] = {
    TaskStatus.PENDING: _pending,
    TaskStatus.READY: _ready,
    TaskStatus.ASSIGNED: lambda row: Waiting(f"it waits for attempt {row['attempts']} to begin"),
    TaskStatus.RUNNING: lambda row: Waiting(f"it waits for the agent at work on attempt {row['attempts']}"),
    TaskStatus.COMPLETED: lambda row: Waiting(f"{NOTHING}: it is completed"),
    TaskStatus.FAILED: lambda row: Waiting(f"{NOTHING}: it failed{_why(row)}"),
    TaskStatus.BLOCKED: _task_blocked,
    TaskStatus.CANCELLED: lambda row: Waiting(f"{NOTHING}: its Change ended"),
}

# -- Candidate ---------------------------------------------------------------------------------------------------


def _verified(row: Row) -> Waiting:
    if row["approval"] == "requested":
        gate = _why(row, "gate_reason")
        return Waiting(f"it waits for an owner or admin to approve it{gate}", f"rhumb approve {row['change']}")
    if row["approval"] == "granted":
        return Waiting("it is approved and waits to be promoted", f"rhumb approve {row['change']}")
    if row["selected"]:
        return Waiting("it waits for its promotion, which happens by itself")
    return Waiting("it waits for its siblings to settle and for the selection of the winner")


def _stale(row: Row) -> Waiting:
    return Waiting("it waits to be composed anew on what canonical is now, which happens by itself")


def _rejected(row: Row) -> Waiting:
    detail = f" ({row['detail']})" if row["detail"] else ""
    return Waiting(f"{NOTHING}: it was rejected{_why(row)}{detail}")


CANDIDATE_WAITS: Final[Mapping[CandidateStatus, OfRow]] = {
    CandidateStatus.COMPOSING: lambda row: Waiting("it waits to be composed, which happens by itself"),
    CandidateStatus.VERIFYING: lambda row: Waiting("it waits for its checks, which run by themselves"),
    CandidateStatus.VERIFIED: _verified,
    CandidateStatus.REJECTED: _rejected,
    CandidateStatus.STALE: _stale,
    CandidateStatus.PROMOTED: lambda row: Waiting(
        f"{NOTHING}: it was promoted as generation {row['promoted_generation']}"
    ),
}

# -- Run, Release, Project ---------------------------------------------------------------------------------------

RUN_WAITS: Final[Mapping[RunStatus, OfRow]] = {
    RunStatus.RUNNING: lambda row: Waiting(f"it waits for its agent, {name.counted(row['turns'], 'turn')} so far"),
    RunStatus.COMPLETED: lambda row: Waiting(f"{NOTHING}: its agent ended well"),
    RunStatus.FAILED: lambda row: Waiting(f"{NOTHING}: it failed{_why(row)}", f"rhumb logs {row['id']}"),
    RunStatus.STOPPED: lambda row: Waiting(f"{NOTHING}: a budget or a limit stopped it{_why(row)}"),
    RunStatus.CANCELLED: lambda row: Waiting(f"{NOTHING}: it was stopped because its Change ended"),
    RunStatus.LOST: lambda row: Waiting(f"{NOTHING}: its worker was lost, another attempt goes on from what it left"),
}

RELEASE_WAITS: Final[Mapping[ReleaseStatus, OfRow]] = {
    ReleaseStatus.QUEUED: lambda row: Waiting("it waits for its build, which begins by itself"),
    ReleaseStatus.BUILDING: lambda row: Waiting("it waits for its build and the smoke check; both go on by themselves"),
    ReleaseStatus.SUPERSEDED: lambda row: Waiting(f"{NOTHING}: generation {row['superseded_by']} took its place"),
    ReleaseStatus.FAILED: lambda row: Waiting(
        f"{NOTHING}: it failed{_why(row)}; the next generation releases as usual"
    ),
    ReleaseStatus.DEPLOYED: lambda row: Waiting(f"{NOTHING}: it is deployed"),
    ReleaseStatus.SMOKE_FAILED: lambda row: Waiting(f"{NOTHING}: it was deployed and failed its smoke check"),
}


def change_waits(row: Row, around: Around) -> Waiting:
    return CHANGE_WAITS[ChangeStatus(row["status"])](row, around)


def task_waits(row: Row) -> Waiting:
    return TASK_WAITS[TaskStatus(row["status"])](row)


def candidate_waits(row: Row) -> Waiting:
    return CANDIDATE_WAITS[CandidateStatus(row["status"])](row)


def run_waits(row: Row) -> Waiting:
    return RUN_WAITS[RunStatus(row["status"])](row)


def release_waits(row: Row) -> Waiting:
    return RELEASE_WAITS[ReleaseStatus(row["status"])](row)


def project_waits(row: Row) -> Waiting:
    canonical = f"generation {row['generation']} ({name.commit(row['commit'])}) is canonical"
    behind = row["ref_generation"] is not None and row["ref_generation"] != row["generation"]
    if behind:
        return Waiting(f"{canonical}; it waits for its branch to be set there, which happens by itself")
    return Waiting(f"{NOTHING}: {canonical}")
