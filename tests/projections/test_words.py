"""There is a sentence for every event and for every status."""

import re

import pytest

from domain.change.event import BlockCause
from domain.change.status import CANDIDATE_TABLE, CHANGE_TABLE, TASK_TABLE
from domain.kernel.event import Event
from domain.release.status import RELEASE_TABLE
from domain.run.status import RUN_TABLE
from projections import candidate, change, release, run, task
from projections.words import event_sentence, event_subject, name, status
from projections.words.command import COMMANDS, command_sentence
from tests.domain.golden import classes
from tests.domain.golden.example import example_envelope
from tests.projections.logs import CHG, T1, made_up
from tests.projections.test_tables import any_row

TABLES = {
    "change": (CHANGE_TABLE, status.CHANGE_WAITS),
    "task": (TASK_TABLE, status.TASK_WAITS),
    "candidate": (CANDIDATE_TABLE, status.CANDIDATE_WAITS),
    "run": (RUN_TABLE, status.RUN_WAITS),
    "release": (RELEASE_TABLE, status.RELEASE_WAITS),
}
ROWS = {
    "change": change.CHANGES,
    "task": task.TASKS,
    "candidate": candidate.CANDIDATES,
    "run": run.RUNS,
    "release": release.RELEASES,
}


def is_sentence(text: str) -> bool:
    return bool(text) and not text.endswith(".") and "None" not in text and "  " not in text and "_" not in text


@pytest.mark.parametrize("cls", [pytest.param(cls, id=kind) for kind, cls in sorted(classes().items())])
def test_every_event_has_a_sentence_and_a_subject(cls: type[Event]) -> None:
    envelope = example_envelope(cls)
    assert event_sentence(envelope)
    assert event_subject(envelope)


def test_sentences_of_a_whole_history_read_like_sentences() -> None:
    for _, envelope in made_up(seed=5, events=2_000):
        text = re.sub(r"(usr|rel|chg|cand)_[\w-]+", "someone", event_sentence(envelope))
        assert is_sentence(text), text


@pytest.mark.parametrize("kind", TABLES)
def test_every_status_says_what_it_waits_for(kind: str) -> None:
    transitions, sentences = TABLES[kind]
    assert set(transitions.statuses) == set(sentences)
    for value in transitions.statuses:
        row = {**any_row(ROWS[kind]), "id": T1 if kind == "task" else CHG, "status": value}
        waits = getattr(status, f"{kind}_waits")
        waiting = waits(row, status.Around()) if kind == "change" else waits(row)
        text = re.sub(r"generation None", "generation 1", waiting.sentence)
        assert is_sentence(text), text
        assert waiting.command is None or waiting.command.startswith("rhumb ")
        ended = value in transitions.terminal or value in ("completed", "failed", "deployed")
        assert waiting.sentence.startswith(status.NOTHING) == ended


@pytest.mark.parametrize("cause", BlockCause)
def test_a_blocked_task_says_what_blocked_it(cause: BlockCause) -> None:
    row = {**any_row(task.TASKS), "id": T1, "status": "blocked", "block_cause": cause.value, "detail": None}
    waiting = status.task_waits(row)
    assert is_sentence(waiting.sentence)
    assert (waiting.command is None) == (cause is BlockCause.DEPENDENCY)
    if waiting.command:
        assert CHG in waiting.command


@pytest.mark.parametrize(
    ("tasks", "dead", "expected"),
    [
        ([("t1", "running"), ("t2", "assigned")], [], "the agents at work on Tasks t1 and t2"),
        ([("t1", "running")], [], "the agent at work on Task t1"),
        ([("t1", "ready")], [], "a free place for Task t1"),
        ([("t1", "blocked")], [T1], "a person: Task t1 could not be delivered"),
        ([("t1", "completed")], [], "its next step"),
    ],
)
def test_a_running_change_says_which_tasks_it_waits_for(tasks: list, dead: list, expected: str) -> None:
    row = {**any_row(change.CHANGES), "id": CHG, "status": "running", "dead_letters": dead}
    around = status.Around(tuple({"key": key, "status": value} for key, value in tasks))
    assert expected in status.change_waits(row, around).sentence


@pytest.mark.parametrize(
    ("approval", "selected", "command"), [("none", True, False), ("requested", True, True), ("granted", True, True)]
)
def test_a_verified_candidate_says_who_has_to_act(approval: str, selected: bool, command: bool) -> None:
    row = {**any_row(candidate.CANDIDATES), "status": "verified", "approval": approval, "selected": selected}
    assert (status.candidate_waits({**row, "change": CHG}).command == f"rhumb approve {CHG}") == command


def test_short_names() -> None:
    assert name.task(T1) == "Task t1"
    assert name.run("run_00000000-0000-4000-8000-000000000001_t1_2") == "attempt 2 of Task t1"
    assert name.candidate("cand_0123456789abcdef01234567") == "Candidate cand_01234567"
    assert name.listed([]) == ""
    assert name.listed(["a", "b", "c"]) == "a, b and c"
    assert name.files(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more files"
    assert [name.counted(n, "check") for n in range(3)] == ["no check", "1 check", "2 checks"]
    assert name.person("system:router") == "Rhumbline (router)"


@pytest.mark.parametrize("command", [*COMMANDS, "effect.run", "unheard.of"])
def test_every_command_has_words(command: str) -> None:
    assert command_sentence(command, "usr_ada").startswith("usr_ada ")
