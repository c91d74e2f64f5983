"""A person's own Work Graph in a file: YAML, or JSON, which is YAML, too."""

from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from domain.kernel.errors import InvalidInput
from domain.plan import WorkGraphPlan, title_from_goal

PLAN_BYTES: Final = 1024**2

_WHATS: Final = {
    ValueError: "a date or a number in it isn't one; quote what is meant as text",
    UnicodeDecodeError: "it isn't UTF-8",
    RecursionError: "it is nested too deeply",
}
"""What YAML's reader raises beside its own errors, in words."""


def read_plan_file(file: Path, goal: str) -> WorkGraphPlan:
    """The plan in `file`. A missing title comes from the goal, a missing tier is low, as for a plan of one task.

    Raises:
        InvalidInput: not readable, too large, no YAML, or not a Work Graph; the text names the file and the place.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(PLAN_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"the plan {file} can't be read: {error.strerror}") from error
    if len(content) > PLAN_BYTES:
        raise InvalidInput(f"the plan {file} is larger than {PLAN_BYTES // 1024} KiB")
    document = _document(file, content)
    if not isinstance(document, dict):
        raise InvalidInput(f"the plan {file} isn't a mapping with title, complexity, tasks…")
    defaults = {"title": title_from_goal(goal), "riskTier": "low", "complexity": "medium"}
    try:
        return WorkGraphPlan.model_validate({**defaults, **document})
    except ValidationError as error:
        problems = "; ".join(_problem(item) for item in error.errors(include_input=False, include_url=False))
        raise InvalidInput(f"the plan {file}: {problems}") from None


def _document(file: Path, content: bytes) -> Any:
    import yaml

    try:
        # An alias lets a few lines stand for gigabytes, and no plan needs one.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, Loader=yaml.SafeLoader)):
            raise InvalidInput(f"the plan {file} uses YAML aliases, which a plan can't have")
        return yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        what = getattr(error, "problem", None) or _WHATS.get(type(error), type(error).__name__)
        raise InvalidInput(f"the plan {file} is no YAML{where}: {what}") from None


def _problem(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    text = str(item["msg"]).removeprefix("Value error, ")
    return f"{where}: {text}" if where else text
