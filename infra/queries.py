"""The read models' questions, as the command line asks them."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from domain.kernel.ids import change_of_task
from infra.event_store.postgres import PostgresStore
from infra.event_store.process import ProcessIdentity
from infra.projections.commands import commands_of
from infra.projections.postgres import PostgresHome
from infra.runtime.engine import change_lease
from projections.candidate import CandidateQueries
from projections.change import ChangeQueries
from projections.cost import Cost, CostQueries
from projections.run import RunQueries
from projections.task import TaskQueries
from projections.timeline import TimelineQueries
from projections.why import Why, WhyQueries
from projections.words.status import NOTHING

END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)

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

    def standstill(self, change: str) -> str | None:
        effects = self.store.effects.of_change(change)
        messages = self.store.outbox.due(END_OF_TIME, 1, (change,))
        if not effects and not messages:
            return None
        told = [effect.last_error for effect in effects] + [message.last_error for message in messages]
        errors = [error for error in told if error]
        holder = self.store.leases.holder_of(change_lease(change))
        if holder is None or ProcessIdentity.parse(holder).is_gone():
            return "; ".join(["no process works on it now", *errors[:1]])
        return errors[0] if errors else None

    def why(self, identifier: str) -> Why:
        why = WhyQueries(self.views, commands_of(self.store.events)).why(identifier)
        change = self._change_of(why)
        standstill = None if change is None or why.waits_for.startswith(NOTHING) else self.standstill(change)
        if standstill is None:
            return why
        return replace(why, waits_for=f"{why.waits_for}, but {standstill}", command=f"rhumb resume {change}")

    def _change_of(self, why: Why) -> str | None:
        match why.kind:
            case "change":
                return why.id
            case "task":
                return change_of_task(why.id)
            case "candidate" | "run":
                row = self.candidate(why.id) if why.kind == "candidate" else self.run(why.id)
                return None if row is None else str(row["change"])
        return None
