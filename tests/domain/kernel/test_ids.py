"""The seeds' table of IDs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kernel import ids

UUID = "00000000-0000-4000-8000-000000000001"
CHANGE = f"chg_{UUID}"


def test_an_embedded_id_drops_its_own_prefix() -> None:
    task = ids.task_id(ids.change_id(UUID), "t1")
    run = ids.run_id(task, 1)
    assert ids.project_id(UUID) == f"prj_{UUID}"
    assert task == f"tsk_{UUID}_t1"
    assert ids.agent_id(task) == f"agt_{UUID}_t1"
    assert run == f"run_{UUID}_t1_1"
    assert ids.changeset_id(run) == f"cs_{UUID}_t1_1"
    assert ids.release_id(ids.project_id(UUID), 3) == f"rel_{UUID}_3"
    assert ids.budget_id(ids.project_id(UUID), "2026-03") == f"bud_prj_{UUID}_2026-03"


@given(st.uuids(version=4), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,31}", fullmatch=True), st.integers(1, 10**6))
def test_a_run_names_its_task_and_a_task_its_change(uuid: object, key: str, attempt: int) -> None:
    change = ids.change_id(str(uuid))
    task = ids.task_id(change, key)
    assert ids.task_of_run(ids.run_id(task, attempt)) == task
    assert ids.change_of_task(task) == change


@pytest.mark.parametrize("wrong", ["", "tsk_", f"run_{UUID}_t1_1", f"tsk_{UUID}", "tsk_x_t1"])
def test_what_is_no_task_id(wrong: str) -> None:
    with pytest.raises(ValueError, match="not a Task ID"):
        ids.change_of_task(wrong)


@pytest.mark.parametrize("wrong", ["", "run_", f"tsk_{UUID}_t1", f"run_{UUID}_t1_x"])
def test_what_is_no_run_id(wrong: str) -> None:
    with pytest.raises(ValueError, match="not a Run ID"):
        ids.task_of_run(wrong)


def test_the_composition_key_names_what_is_composed() -> None:
    """Written out, because a changed key would compose every open candidate a second time."""
    assert ids.candidate_id(CHANGE, 0, "a" * 40, ("cs_1", "cs_2")) == "cand_d7f1fc5a6990cc4dde9dee61"


def test_every_part_of_the_composition_counts() -> None:
    several = {
        ids.candidate_id(CHANGE, 0, "a", ("cs_1", "cs_2")),
        ids.candidate_id(CHANGE + "x", 0, "a", ("cs_1", "cs_2")),
        ids.candidate_id(CHANGE, 1, "a", ("cs_1", "cs_2")),
        ids.candidate_id(CHANGE, 0, "b", ("cs_1", "cs_2")),
        ids.candidate_id(CHANGE, 0, "a", ("cs_2", "cs_1")),
        ids.candidate_id(CHANGE, 0, "a", ("cs_1",)),
        ids.candidate_id(CHANGE, 0, "a", ("cs_1,cs_2",)),
    }
    assert len(several) == 7
