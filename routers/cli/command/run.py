"""`rhumb run`: from a goal to a promoted commit."""

from pathlib import Path
from typing import Annotated

import typer

from routers.cli.options import AsJson

Goal = Annotated[
    str, typer.Argument(metavar="GOAL", help="What should change, in a sentence; - reads it from standard input.")
]
Repository = Annotated[Path, typer.Option("--repo", metavar="PATH", help="The git repository to work on.")]
Provider = Annotated[
    str | None,
    typer.Option(
        "--provider", metavar="NAME", help="command (a command-line agent) or scripted (answers from a file)."
    ),
]
AgentCommand = Annotated[
    str | None,
    typer.Option(
        "--agent-command",
        metavar="CMD",
        help="The agent: a shell line, run in the workspace in the sandbox, the prompt on its standard input.",
    ),
]
AgentBind = Annotated[
    list[str] | None,
    typer.Option(
        "--agent-bind",
        metavar="PATH[:rw]",
        help="A file or folder that the agent sees, at the same path; read-only without :rw. Repeatable.",
    ),
]
AgentEnv = Annotated[
    list[str] | None,
    typer.Option(
        "--agent-env", metavar="NAME", help="A variable that the agent gets; its value is never stored. Repeatable."
    ),
]
Script = Annotated[
    Path | None, typer.Option("--script", metavar="FILE", help="The answers of a scripted agent, TOML or JSON.")
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="A Work Graph of your own, YAML or JSON; without it: one task."),
]
PlanOnly = Annotated[bool, typer.Option("--plan-only", help="Show the plan and stop; nothing is stored.")]
Check = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="CMD",
        help="A shell line that must exit 0 on the result. Repeatable. "
        "Without it: [checks] in .rhumbline.toml, or else the obvious one.",
    ),
]
Budget = Annotated[str | None, typer.Option("--budget", metavar="USD", help="What this may cost at most, in dollars.")]
Approve = Annotated[bool, typer.Option("--approve", help="Approve in advance whatever waits for a person.")]
Base = Annotated[
    str | None,
    typer.Option("--base", metavar="REF", help="Start from this commit instead of the checked-out branch's."),
]
UnsafeLocal = Annotated[
    bool, typer.Option("--unsafe-local", help="Run agents and checks without any sandbox, with all your rights.")
]
AllowRedBase = Annotated[bool, typer.Option("--allow-red-base", help="Go on although a check fails on the base.")]
RequestId = Annotated[
    str | None,
    typer.Option("--request-id", metavar="ID", help="The same ID again is the same Change, not another one."),
]


def register(app: typer.Typer) -> None:
    app.command("run", short_help="From a goal to a promoted commit.")(run)


def run(
    context: typer.Context,
    goal: Goal,
    repo: Repository = Path(),
    provider: Provider = None,
    agent_command: AgentCommand = None,
    agent_bind: AgentBind = None,
    agent_env: AgentEnv = None,
    script: Script = None,
    plan: PlanFile = None,
    plan_only: PlanOnly = False,
    check: Check = None,
    budget: Budget = None,
    approve: Approve = False,
    base: Base = None,
    as_json: AsJson = False,
    unsafe_local: UnsafeLocal = False,
    allow_red_base: AllowRedBase = False,
    request_id: RequestId = None,
) -> int:
    """Take GOAL to a promoted commit, which arrives as the branch rhumbline/CHANGE."""
    from routers.cli.action import change
    from routers.cli.action.base import Cli

    request = change.RunRequest(
        goal=goal,
        repository=repo,
        provider=provider,
        command=agent_command,
        script=script,
        plan=plan,
        binds=tuple(agent_bind or ()),
        env=tuple(agent_env or ()),
        checks=tuple(check or ()),
        budget=budget,
        base=base,
        approve=approve,
        unsafe_local=unsafe_local,
        allow_red_base=allow_red_base,
        request_id=request_id,
    )
    if plan_only:
        return change.show_plan(Cli(context.obj), request, as_json)
    return change.run(Cli(context.obj), request, as_json)
