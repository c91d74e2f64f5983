"""A Work Graph for a person: its tasks in Work Graph order, each with what it waits for."""

from rich.text import Text

from domain.plan import WorkGraphPlan, work_graph_order
from routers.cli.view.text import one_line


def plan_lines(plan: WorkGraphPlan) -> list[Text]:
    """One line a task; tasks of one wave can be at work at the same time."""
    tasks = {task.key: task for task in plan.tasks}
    waves: dict[str, int] = {}
    for key in work_graph_order({task.key: task.depends_on for task in plan.tasks}):
        waves[key] = 1 + max((waves[need] for need in tasks[key].depends_on), default=0)
    width = max(len(key) for key in tasks)
    lines = [
        one_line(plan.title),
        f"  risk tier {plan.risk_tier.value if plan.risk_tier else 'none'}, complexity {plan.complexity.value}, "
        f"{len(plan.tasks)} task{'' if len(plan.tasks) == 1 else 's'}",
    ]
    for key, wave in sorted(waves.items(), key=lambda item: item[1]):
        task = tasks[key]
        after = f"  after {', '.join(task.depends_on)}" if task.depends_on else ""
        lines.append(f"  {wave}  {key:<{width}}  {task.kind.value:<9}  {one_line(task.title)}{after}")
    lines += [f"  assumes: {one_line(text)}" for text in plan.assumptions]
    return [Text(line) for line in lines]
