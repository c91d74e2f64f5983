"""A Work Graph in a file: what is taken, and how what isn't is told."""

import json
from pathlib import Path

import pytest

from commands.plan_file import PLAN_BYTES, read_plan_file
from domain.kernel.errors import InvalidInput
from domain.plan import RiskTier

TASK = "{key: a, title: First, kind: implement, instructions: do a}"


def written(tmp_path: Path, content: str | bytes) -> Path:
    file = tmp_path / "plan.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_yaml_with_the_least(tmp_path: Path) -> None:
    plan = read_plan_file(written(tmp_path, f"tasks: [{TASK}]"), "Make it so\nand more")

    assert plan.title == "Make it so"
    assert plan.risk_tier is RiskTier.LOW
    assert [task.key for task in plan.tasks] == ["a"]


def test_json_with_everything(tmp_path: Path) -> None:
    task = {"key": "a", "title": "A", "kind": "test", "instructions": "x", "resources": ["r"], "acceptance": ["y"]}
    document = {"title": "T", "riskTier": "high", "complexity": "large", "assumptions": ["z"], "tasks": [task]}

    plan = read_plan_file(written(tmp_path, json.dumps(document)), "goal")

    assert plan.risk_tier is RiskTier.HIGH
    assert plan.tasks[0].resources == ("r",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("tasks: [", "is no YAML"),
        ("- a\n- b", "isn't a mapping"),
        ("", "isn't a mapping"),
        ("tasks: []", "tasks"),
        (f"tasks: [{TASK}, {TASK}]", "two tasks have the key a"),
        ("tasks: [{key: a, title: A, kind: implement, instructions: x, dependsOn: [b]}]", "depends on b"),
        ("tasks: [{key: a, title: A, kind: implement, instructions: x, dependsOn: [a]}]", "in a circle"),
        ("tasks: [{key: a, title: A, kind: research, instructions: x}]", "at least one task of kind"),
        (f"tasks: [{', '.join(TASK.replace('key: a', f'key: a{n}') for n in range(13))}]", "tasks"),
        (f"tasks: [{TASK}]\nsurprise: 1", "surprise"),
        ("a: &x [1]\nb: *x", "aliases"),
        (b"tasks: [\xff\xfe]", "is no YAML"),
        ("!!python/object/apply:os.system ['true']", "is no YAML"),
        ("x" * (PLAN_BYTES + 1), "larger than"),
    ],
)
def test_what_is_no_plan_is_told(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as caught:
        read_plan_file(written(tmp_path, content), "goal")
    assert "plan.yaml" in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be read"):
        read_plan_file(tmp_path / "nothing", "goal")
