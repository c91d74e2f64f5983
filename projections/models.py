"""All read models, in one place: for the follower, a rebuild, a verification."""

from typing import Final

from projections import candidate, change, cost, project, release, run, task, timeline
from projections.core import ReadModel

ALL: Final[tuple[ReadModel, ...]] = (
    change.MODEL,
    task.MODEL,
    candidate.MODEL,
    run.MODEL,
    project.MODEL,
    release.MODEL,
    cost.MODEL,
    timeline.MODEL,
)
