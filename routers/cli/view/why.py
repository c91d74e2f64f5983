"""The answer of `rhumb why`, in plain words."""

from projections.why import Link, Why
from routers.cli.view import time
from routers.cli.view.layout import COMMAND, DIM, Line, columns, heading, indented, join, plain, status, styled
from routers.cli.view.text import one_line


def why_lines(why: Why) -> list[Line]:
    """What it is, what it waits for, how to bring it on, and the chain back to what began it."""
    lines = [join(heading(why.id), "  ", why.kind, "  ", status(why.status or ""))]
    lines.append(plain(f"  {one_line(why.waits_for)}"))
    if why.command is not None:
        lines.append(join("  ", styled(why.command, COMMAND)))
    if not why.chain:
        return lines
    lines += [plain(""), heading("What led there, the newest first"), *indented(columns([_link(k) for k in why.chain]))]
    return [*lines, *([styled("  … and what came before", DIM)] if why.cut else [])]


def _link(link: Link) -> tuple[Line, ...]:
    return (
        styled(time.moment(link.at), DIM),
        plain(link.kind),
        join(one_line(link.sentence), styled(one_line(f"  {link.id}"), DIM)),
    )
