"""What is shown of the machine and of the read models."""

from collections.abc import Iterable, Mapping

from routers.cli.session import Difference, Finding
from routers.cli.view.layout import BAD, DIM, GOOD, WAITING, Line, columns, join, plain, styled
from routers.cli.view.text import one_line


def doctor_lines(findings: Iterable[Finding]) -> list[Line]:
    """A line for each finding, what helps below one that is missing, and a verdict."""
    found = tuple(findings)
    rows = columns([(_mark(f), one_line(f.name), one_line(f.detail)) for f in found])
    lines: list[Line] = []
    for finding, row in zip(found, rows, strict=True):
        lines.append(row)
        if not finding.ok and finding.remedy:
            lines.append(join("         ", styled(one_line(finding.remedy), DIM)))
    missing = [f.name for f in found if not f.ok and f.required]
    if missing:
        return [*lines, styled(f"this machine lacks: {one_line(', '.join(missing))}", BAD)]
    return [*lines, styled("this machine has what Rhumbline needs", GOOD)]


def models_lines(counts: Mapping[str, int], done: str) -> list[Line]:
    """How many rows each read model has. done: what was done with them (`rebuilt`, `compared`)."""
    return columns(
        [(one_line(name), f"{count:,} row{'' if count == 1 else 's'} {done}") for name, count in counts.items()]
    )


def difference_lines(differences: Iterable[Difference]) -> list[Line]:
    return [join(styled(one_line(d.model), BAD), "  ", one_line(d.text)) for d in differences] or [plain("")]


def _mark(finding: Finding) -> Line:
    if finding.ok:
        return styled("ok", GOOD)
    return styled("missing", BAD) if finding.required else styled("absent", WAITING)
