"""`rhumb why`: where something is, what it waits for, and what led there."""

import re
from typing import Final

from projections.why import as_document
from routers.cli.action.base import Cli, find_change
from routers.cli.exits import Exit
from routers.cli.view.why import why_lines

_OTHER: Final = re.compile(r"(tsk|cand|run|rel|prj|agt|cs|bud)_.+|.+:[0-9]+", re.DOTALL)
"""IDs that are given in full; everything else is meant to be (the beginning of) a Change's."""


def why(cli: Cli, identifier: str, as_json: bool) -> Exit:
    """Any ID; of a Change its beginning is enough.

    Raises:
        NotFound: nothing has this ID.
        InvalidInput: it can't be one.
    """
    with cli.reading() as session:
        known = identifier if _OTHER.fullmatch(identifier) else find_change(session.queries, identifier)["id"]
        answer = session.queries.why(known)
    if as_json:
        cli.terminal.document(as_document(answer))
    else:
        cli.terminal.result(why_lines(answer))
    return Exit.DONE
