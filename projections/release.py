"""Releases: a canonical generation on its way to the release target."""

from dataclasses import dataclass
from typing import Final

from domain.kernel.event import Envelope, Event
from domain.release import event as e
from domain.release.status import RELEASE_TABLE
from projections.core import Changed, ReadModel, Row, Rows, Table, existing, stream
from projections.query import Select, Views

RELEASES: Final = Table(
    "releases",
    {
        "id": "text",
        "project": "text",
        "generation": "bigint",
        "commit": "text",
        "change": "text null",
        "status": "text",
        "reason": "text null",
        "target": "text null",
        "bundle": "text null",
        "smoke_sha256": "text null",
        "smoke_size": "bigint null",
        "superseded_by": "bigint null",
        "promoted_at": "timestamptz",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(("project", "generation"), ("change",)),
)

MODEL: Final = ReadModel("releases", __name__, RELEASES)


def _begun(event: Event, released: e.Released, envelope: Envelope) -> Row:
    return {
        **dict.fromkeys(RELEASES.columns),
        "id": envelope.stream,
        "project": released.project,
        "generation": released.generation,
        "commit": released.commit,
        "change": released.change,
        "status": str(RELEASE_TABLE.after(envelope.stream, None, event.type)),
        "promoted_at": released.promoted_at,
        "created_at": envelope.at,
        "updated_at": envelope.at,
    }


def _moved(row: Row, event: Event) -> Row:
    return {"status": str(RELEASE_TABLE.after(row["id"], row["status"], event.type))}


@MODEL.creates(e.ReleaseQueued, RELEASES)
def _queued(event: e.ReleaseQueued, envelope: Envelope) -> Row:
    return _begun(event, event.released, envelope)


@MODEL.on(e.ReleaseFailed, keys=lambda event, envelope: ((RELEASES.name, envelope.stream),))
def _failed(event: e.ReleaseFailed, envelope: Envelope, position: int, rows: Rows) -> Changed:
    key = (RELEASES.name, envelope.stream)
    if event.released is not None and rows.get(key) is None:
        return {key: {**_begun(event, event.released, envelope), "reason": event.reason.value}}
    row = existing(rows, key, envelope)
    return {key: {**row, **_moved(row, event), "reason": event.reason.value, "updated_at": envelope.at}}


@MODEL.patches(e.ReleaseBuilding, table=RELEASES, key=stream)
def _building(row: Row, event: e.ReleaseBuilding, envelope: Envelope) -> Row:
    return {**_moved(row, event), "target": event.target}


@MODEL.patches(e.ReleaseSuperseded, table=RELEASES, key=stream)
def _superseded(row: Row, event: e.ReleaseSuperseded, envelope: Envelope) -> Row:
    return {**_moved(row, event), "superseded_by": event.generation}


@MODEL.patches(e.ReleaseDeployed, table=RELEASES, key=stream)
def _deployed(row: Row, event: e.ReleaseDeployed, envelope: Envelope) -> Row:
    return {**_moved(row, event), "bundle": event.bundle, **_smoke(event)}


@MODEL.patches(e.ReleaseSmokeFailed, table=RELEASES, key=stream)
def _smoke_failed(row: Row, event: e.ReleaseSmokeFailed, envelope: Envelope) -> Row:
    return {**_moved(row, event), **_smoke(event)}


def _smoke(event: e.ReleaseDeployed | e.ReleaseSmokeFailed) -> Row:
    smoke = event.smoke
    return {"smoke_sha256": smoke.sha256 if smoke else None, "smoke_size": smoke.size if smoke else None}


@dataclass(frozen=True, slots=True)
class ReleaseQueries:
    """The questions that are asked about Releases."""

    views: Views

    def get(self, release: str) -> Row | None:
        return self.views.get(RELEASES, release)

    def of_project(self, project: str) -> list[Row]:
        """Newest generation first."""
        return self.views.select(Select(RELEASES, {"project": project}, ("generation",), descending=True))

    def of_change(self, change: str) -> list[Row]:
        return self.views.select(Select(RELEASES, {"change": change}, ("generation",)))
