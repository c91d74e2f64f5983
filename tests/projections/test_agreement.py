"""The read models say of a Change what the aggregate says, whatever was asked of it."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from domain.change.status import TaskStatus
from projections import candidate, change, task
from tests.domain.change.make import CHANGE_ID
from tests.domain.change.test_stateful import ChangeMachine
from tests.projections.logs import enveloped, folded


class Agreement(ChangeMachine):
    """Random commands as in the aggregate's own test; at the end the log is folded into the read models."""

    compared = 0

    def teardown(self) -> None:
        if self.state is None:
            return
        log = enveloped(CHANGE_ID, self.log)
        self._compare_change(folded(change.MODEL, log)[("changes", CHANGE_ID)])
        tasks = folded(task.MODEL, log)
        for identifier, state in self.state.tasks.items():
            row = tasks[("tasks", identifier)]
            assert (row["status"], row["run"], row["attempts"]) == (state.status, state.run, state.attempt)
            assert (tuple(row["depends_on"]), row["changeset"]) == (state.depends_on, state.changeset)
        rows = folded(candidate.MODEL, log)
        for identifier, composed in self.state.candidates.items():
            row = rows[("candidates", identifier)]
            assert (row["status"], row["selected"]) == (composed.status, composed.selected)
            assert (row["approval"] == "granted") == composed.approved
            assert row["commit"] == (composed.commit or None)
        type(self).compared += 1

    def _compare_change(self, row: dict) -> None:
        state = self.state
        assert row["status"] == state.status
        assert row["known_micros"] == state.spent
        assert row["budget_micros"] == state.budget
        assert row["risk_tier"] == state.tier
        assert row["promoted_candidate"] == (state.promoted.id if state.promoted else None)
        dead = [t.id for t in state.tasks.values() if t.is_dead_letter and t.status is TaskStatus.BLOCKED]
        assert sorted(row["dead_letters"]) == sorted(dead)


Agreement.TestCase.__test__ = False


def test_read_models_agree_with_the_aggregate() -> None:
    run_state_machine_as_test(
        Agreement,
        settings=settings(
            max_examples=60,
            stateful_step_count=50,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Agreement.compared >= 60
