"""`Leases` and `Slots` in memory."""

from commands.ports.store import Lease
from infra.event_store.memory_tables import LeaseRow, SlotRow, Tables
from infra.event_store.process import is_elsewhere, is_gone, is_stopped
from infra.event_store.watch import HeartbeatWatch


class MemoryLeases:
    """See `infra.event_store.leases.PostgresLeases`."""

    def __init__(self, tables: Tables, holder: str, watch: HeartbeatWatch) -> None:
        self._tables = tables
        self._holder = holder
        self._watch = watch

    @property
    def holder(self) -> str:
        return self._holder

    def acquire(self, name: str) -> Lease | None:
        with self._tables.lock:
            row = self._tables.leases.get(name)
            if row is None:
                self._tables.leases[name] = LeaseRow(self._holder)
                return Lease(name, self._holder, 1)
            if row.holder == self._holder:
                return Lease(name, self._holder, row.epoch)
            stopped = self._watch.has_stopped(name, (row.holder, row.epoch, row.counter))
            if row.holder is not None and not stopped and not is_gone(row.holder):
                return None
            row.holder, row.epoch, row.counter = self._holder, row.epoch + 1, 0
            return Lease(name, self._holder, row.epoch)

    def renew(self, lease: Lease) -> bool:
        with self._tables.lock:
            held = self._tables.holds(lease)
            if held:
                self._tables.leases[lease.name].counter += 1
            return held

    def release(self, lease: Lease) -> None:
        with self._tables.lock:
            if self._tables.holds(lease):
                self._tables.leases[lease.name].holder = None

    def release_gone(self) -> None:
        with self._tables.lock:
            for row in self._tables.leases.values():
                if row.holder is not None and is_gone(row.holder):
                    row.holder = None

    def holder_of(self, name: str) -> str | None:
        with self._tables.lock:
            row = self._tables.leases.get(name)
            return row.holder if row else None

    def is_silent(self, name: str) -> bool:
        holder = self.holder_of(name)
        return holder is not None and holder != self._holder and (is_elsewhere(holder) or is_stopped(holder))


class MemorySlots:
    """See `infra.event_store.leases.PostgresSlots`."""

    def __init__(self, tables: Tables, holder: str, watch: HeartbeatWatch) -> None:
        self._tables = tables
        self._holder = holder
        self._watch = watch

    def take(self, owner: str, bound: int) -> bool:
        with self._tables.lock:
            slots = self._tables.slots
            for over in [o for o, row in slots.items() if o != owner and self._is_over(o, row)]:
                del slots[over]
            row = slots.get(owner)
            if row is not None:
                row.holder, row.counter = self._holder, row.counter + 1
                return True
            if len(slots) >= bound:
                return False
            slots[owner] = SlotRow(self._holder)
            return True

    def _is_over(self, owner: str, row: SlotRow) -> bool:
        if row.holder == self._holder:
            return False
        if is_gone(row.holder):
            return True
        silent = is_elsewhere(row.holder) or is_stopped(row.holder)
        return silent and self._watch.has_stopped(f"slot {owner}", (row.holder, row.counter))

    def renew(self, owner: str) -> None:
        with self._tables.lock:
            row = self._tables.slots.get(owner)
            if row is not None and row.holder == self._holder:
                row.counter += 1

    def free(self, owner: str) -> None:
        with self._tables.lock:
            row = self._tables.slots.get(owner)
            if row is not None and row.holder == self._holder:
                del self._tables.slots[owner]

    def free_gone(self) -> None:
        with self._tables.lock:
            for owner in [owner for owner, row in self._tables.slots.items() if is_gone(row.holder)]:
                del self._tables.slots[owner]
