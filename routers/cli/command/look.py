"""Looking at Changes."""

from typing import Annotated

import typer

from routers.cli.options import AsJson, Change


def register(app: typer.Typer) -> None:
    app.command("list", short_help="The Changes, newest first.")(list_)
    app.command("show", short_help="All about one Change.")(show)
    app.command("diff", short_help="What a Change changes, as a patch.")(diff)
    app.command("logs", short_help="What an agent or a check printed.")(logs)
    app.command("why", short_help="Why something is where it is.")(why)


def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, metavar="N", help="How many at most.")] = 20,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only those with this status.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """The Changes, newest first."""
    from routers.cli.action import look
    from routers.cli.action.base import Cli

    return look.list_changes(Cli(context.obj), limit, status, as_json)


def show(context: typer.Context, change: Change, as_json: AsJson = False) -> int:
    """All about one Change: where it is and why, its diff stat, tasks, evidence, timeline, cost."""
    from routers.cli.action import look
    from routers.cli.action.base import Cli

    return look.show(Cli(context.obj), change, as_json)


def diff(
    context: typer.Context,
    change: Change,
    stat: Annotated[bool, typer.Option("--stat", help="Only the files and how many lines.")] = False,
) -> int:
    """What the Change's candidate differs in from its base, as a patch."""
    from routers.cli.action import look
    from routers.cli.action.base import Cli

    return look.diff(Cli(context.obj), change, stat)


def logs(
    context: typer.Context,
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run (run_…); or a candidate (cand_…) or Change for what its checks printed."
        ),
    ],
) -> int:
    """What an agent or a check printed."""
    from routers.cli.action import look
    from routers.cli.action.base import Cli

    return look.logs(Cli(context.obj), identifier)


def why(
    context: typer.Context,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Any ID: of a Change, task, run, candidate, event…")],
    as_json: AsJson = False,
) -> int:
    """Why something is where it is, what it waits for, and what led there."""
    from routers.cli.action import why as action
    from routers.cli.action.base import Cli

    return action.why(Cli(context.obj), identifier, as_json)
