"""One sentence for every type of event, and what the event is about."""

from typing import Final

from domain.budget import event as budget
from domain.kernel.event import Envelope, Event
from domain.kernel.money import show_usd
from domain.project import event as project
from domain.release import event as release
from domain.run import event as run
from projections.words import name
from projections.words.change import CHANGE_SENTENCES, Sentence


def _advanced(event: project.CanonicalAdvanced, envelope: Envelope) -> str:
    approver = f", approved by {name.person(event.approver)}" if event.approver else ""
    return (
        f"canonical advanced to generation {event.generation} ({name.commit(event.commit)}) with "
        f"{name.candidate(event.candidate)}{approver}"
    )


def _imported(event: project.CanonicalImported, envelope: Envelope) -> str:
    lacks = f"; it lacks {name.counted(len(event.lacks), 'promoted Change')}" if event.lacks else ""
    return (
        f"{name.person(envelope.actor)}'s commit {name.commit(event.commit)} ({event.relation.value}) was imported as "
        f"generation {event.generation}{lacks}"
    )


def _ref_moved(event: project.CanonicalRefMoved, envelope: Envelope) -> str:
    kept = f"; what was there is kept as {event.lost}" if event.lost else ""
    return f"the canonical branch was set to {name.commit(event.commit)} (generation {event.generation}){kept}"


def _limit(limit: int | None) -> str:
    return "no monthly limit" if limit is None else f"a limit of {show_usd(limit)}"


def _settled(event: budget.SliceSettled, envelope: Envelope) -> str:
    estimated = " (estimated)" if event.estimated else ""
    return f"{name.run(event.run)} settled at {show_usd(event.amount)}{estimated}"


def _run_started(event: run.RunStarted, envelope: Envelope) -> str:
    goes_on = f", going on from {name.run(event.continues.run)}" if event.continues else ""
    unsafe = "" if event.sandboxed else " without a sandbox"
    return f"{name.run(envelope.stream)} began with provider {event.provider}{unsafe}{goes_on}"


def _routed(event: run.RouteDecided, envelope: Envelope) -> str:
    model = f" ({event.model})" if event.model else ""
    return f"the {event.tier} models{model} were chosen: {name.code(event.reason)}"


def _run_finished(event: run.RunFinished, envelope: Envelope) -> str:
    exit_code = f", exit code {event.exit_code}" if event.exit_code is not None else ""
    return (
        f"{name.run(envelope.stream)} ended {event.outcome.value} ({name.code(event.reason)}{exit_code}), "
        f"cost {show_usd(event.cost)}"
    )


def _release_queued(event: release.ReleaseQueued, envelope: Envelope) -> str:
    return f"the release of generation {event.released.generation} was queued"


_OTHERS: Final[dict[type[Event], Sentence]] = {
    project.ProjectCreated: lambda event, envelope: (
        f"the Project for branch {event.branch} was created at {name.commit(event.commit)}"
    ),
    project.MemberAdded: lambda event, envelope: f"{name.person(event.user)} is {event.role.value} now",
    project.MemberRemoved: lambda event, envelope: f"{name.person(event.user)} is no member any more",
    project.PolicySet: lambda event, envelope: f"policy {event.policy.name} is in force",
    project.CanonicalImported: _imported,
    project.CanonicalAdvanced: _advanced,
    project.CanonicalRefMoved: _ref_moved,
    budget.BudgetOpened: lambda event, envelope: f"the budget for {event.month} was opened with {_limit(event.limit)}",
    budget.SliceReserved: lambda event, envelope: f"{show_usd(event.amount)} was reserved for {name.run(event.run)}",
    budget.SliceSettled: _settled,
    budget.BudgetLimitRaised: lambda event, envelope: f"the budget has {_limit(event.limit)} now",
    run.RunStarted: _run_started,
    run.RouteDecided: _routed,
    run.TurnRecorded: lambda event, envelope: f"turn {event.turn} of {name.run(envelope.stream)} was recorded",
    run.RunFinished: _run_finished,
    release.ReleaseQueued: _release_queued,
    release.ReleaseBuilding: lambda event, envelope: f"the release is being built for {event.target}",
    release.ReleaseSuperseded: lambda event, envelope: f"generation {event.generation} superseded the release",
    release.ReleaseFailed: lambda event, envelope: f"the release failed: {name.code(event.reason.value)}",
    release.ReleaseDeployed: lambda event, envelope: "the release was deployed and passed its smoke check",
    release.ReleaseSmokeFailed: lambda event, envelope: "the release failed its smoke check",
}

SENTENCES: Final[dict[str, Sentence]] = {
    kind.type: sentence for kind, sentence in {**CHANGE_SENTENCES, **_OTHERS}.items()
}
"""By the event's type name."""

_SUBJECT_FIELDS: Final = ("task", "candidate", "run", "release", "user")


def _subject_field(kind: type[Event]) -> str | None:
    return next((field for field in _SUBJECT_FIELDS if field in kind.model_fields), None)


_SUBJECTS: Final = {kind.type: _subject_field(kind) for kind in {**CHANGE_SENTENCES, **_OTHERS}}


def event_sentence(envelope: Envelope) -> str:
    """What happened, in plain words, without a full stop.

    Raises:
        KeyError: an event without a sentence.
    """
    return SENTENCES[envelope.type](envelope.event, envelope)


def event_subject(envelope: Envelope) -> str:
    """The ID of what the event is about: the Task, Candidate, Run… inside its stream, or the stream itself."""
    field = _SUBJECTS[envelope.type]
    return envelope.stream if field is None else getattr(envelope.event, field) or envelope.stream
