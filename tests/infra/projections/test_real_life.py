"""The read models of what really happened: agents, checks, promotion in a real installation."""

from infra.projections.verify import verify
from projections import MODELS
from tests.support.app import Process


def test_a_promoted_change_is_told_from_the_person_to_canonical(process: Process) -> None:
    state = process.run("echo two > value.txt")
    app = process.app
    app.projector.catch_up()
    assert app.projector.failures() == {}
    report = verify(app.store.events, app.views, MODELS)
    assert report.ok, [str(d) for model in report.models for d in model.differences]
    row = process.session.queries.change(state.id)
    assert row is not None
    assert (row["status"], row["promoted_commit"]) == ("completed", state.promoted.commit if state.promoted else None)
    for identifier in (state.id, *state.tasks, *state.candidates, row["project"], row["promoted_candidate"]):
        why = process.session.queries.why(identifier)
        assert why.waits_for.startswith("it waits for nothing")
        assert (why.chain[-1].kind, why.chain[-1].actor) == ("command", process.session.actor), identifier
        assert not why.cut


def test_a_change_that_waits_for_a_person_says_so_with_the_command(process: Process) -> None:
    state = process.run("echo 'exit 0' > check.sh; : > value.txt")
    process.app.projector.catch_up()
    why = process.session.queries.why(state.id)
    assert why.status == state.status == "awaiting_approval"
    assert "to approve Candidate cand_" in why.waits_for
    assert why.command == f"rhumb approve {state.id}"
    row = process.session.queries.change(state.id)
    assert row is not None
    assert (row["needs_attention"], row["gate_files"]) == (True, ["check.sh"])
