"""The read models' questions, as the command line asks them."""

from dataclasses import dataclass
from typing import Any

from infra.event_store.postgres import PostgresStore
from infra.projections.commands import commands_of
from infra.projections.postgres import PostgresHome
from projections.candidate import CandidateQueries
from projections.change import ChangeQueries
from projections.cost import Cost, CostQueries
from projections.run import RunQueries
from projections.task import TaskQueries
from projections.timeline import TimelineQueries
from projections.why import WhyQueries

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ViewQueries:
    """`Queries` on the live read models of a store."""

    views: PostgresHome
    store: PostgresStore

    def changes(self, limit: int, status: str | None = None) -> Rows:
        return list(ChangeQueries(self.views).list(status=status, limit=limit).rows)

    def change(self, change: str) -> dict[str, Any] | None:
        return ChangeQueries(self.views).get(change)

    def changes_with_prefix(self, prefix: str, limit: int) -> list[str]:
        return ChangeQueries(self.views).with_prefix(prefix, limit)

    def tasks(self, change: str) -> Rows:
        return TaskQueries(self.views).of_change(change)

    def candidates(self, change: str) -> Rows:
        return CandidateQueries(self.views).of_change(change)

    def candidate(self, candidate: str) -> dict[str, Any] | None:
        return CandidateQueries(self.views).get(candidate)

    def evidence(self, candidate: str) -> Rows:
        return CandidateQueries(self.views).evidence(candidate)

    def base_evidence(self, change: str) -> Rows:
        return CandidateQueries(self.views).base_evidence(change)

    def runs(self, change: str) -> Rows:
        return RunQueries(self.views).of_change(change)

    def run(self, run: str) -> dict[str, Any] | None:
        return RunQueries(self.views).get(run)

    def cost(self, change: str) -> Cost:
        return CostQueries(self.views).of_change(change)

    def timeline(self, change: str) -> Rows:
        queries = TimelineQueries(self.views)
        page = queries.of_change(change)
        rows = list(page.rows)
        while page.cursor is not None:
            page = queries.of_change(change, after=page.cursor)
            rows += page.rows
        return rows

    def why(self, identifier: str) -> Any:
        return WhyQueries(self.views, commands_of(self.store.events)).why(identifier)
