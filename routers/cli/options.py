"""Arguments and options that several commands share."""

from typing import Annotated

import typer

Change = Annotated[
    str, typer.Argument(metavar="CHANGE", help="The Change's ID, or the beginning of it: chg_3f2a… or 3f2a.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Standard output holds exactly one JSON document; progress goes to standard error."),
]
