"""What a person does to a Change."""

from typing import Annotated

import typer

from routers.cli.options import AsJson, Change


def register(app: typer.Typer) -> None:
    app.command("approve", short_help="Approve what waits for a person, and promote it.")(approve)
    app.command("reject", short_help="Reject what waits for a person.")(reject)
    app.command("cancel", short_help="End a Change; its agents stop at once.")(cancel)
    app.command("resume", short_help="Go on with a Change that stopped.")(resume)


def approve(context: typer.Context, change: Change, as_json: AsJson = False) -> int:
    """Approve the waiting candidate where that is required, then promote it."""
    from routers.cli.action import change as action
    from routers.cli.action.base import Cli

    return action.approve(Cli(context.obj), change, as_json)


def reject(context: typer.Context, change: Change, as_json: AsJson = False) -> int:
    """Reject the waiting candidate; without another one the Change ends."""
    from routers.cli.action import change as action
    from routers.cli.action.base import Cli

    return action.reject(Cli(context.obj), change, as_json)


def cancel(context: typer.Context, change: Change, as_json: AsJson = False) -> int:
    """End a Change; its agents stop at once."""
    from routers.cli.action import change as action
    from routers.cli.action.base import Cli

    return action.cancel(Cli(context.obj), change, as_json)


def resume(
    context: typer.Context,
    change: Change,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="USD", help="The new budget, higher than the present one.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Go on with a Change that was interrupted, ran out of budget, or has dead-lettered tasks."""
    from routers.cli.action import change as action
    from routers.cli.action.base import Cli

    return action.resume(Cli(context.obj), change, budget, as_json)
