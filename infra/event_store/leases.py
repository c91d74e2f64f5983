"""`Leases` and `Slots` on PostgreSQL."""

from typing import Final

from commands.ports.store import Lease
from infra.event_store.datastore import Datastore
from infra.event_store.process import is_elsewhere, is_gone, is_stopped
from infra.event_store.watch import HeartbeatWatch

_CLAIM: Final = """
    INSERT INTO leases (name, holder, epoch, counter) VALUES (%s, %s, 1, 0) ON CONFLICT DO NOTHING RETURNING epoch"""
_TAKE_OVER: Final = """
    UPDATE leases SET holder = %s, epoch = epoch + 1, counter = 0
        WHERE name = %s AND epoch = %s AND holder IS NOT DISTINCT FROM %s AND counter = %s RETURNING epoch"""
_RENEW: Final = """
    UPDATE leases SET counter = counter + 1 WHERE name = %s AND holder = %s AND epoch = %s RETURNING counter"""
_RELEASE: Final = "UPDATE leases SET holder = NULL WHERE name = %s AND holder = %s AND epoch = %s RETURNING 1"
_SLOT_LOCK_KEY: Final = 7305808869229538403


class PostgresLeases:
    """Leases in the table `leases` (DESIGN, "Leases")."""

    def __init__(self, datastore: Datastore, holder: str, watch: HeartbeatWatch) -> None:
        self._datastore = datastore
        self._holder = holder
        self._watch = watch

    @property
    def holder(self) -> str:
        return self._holder

    def acquire(self, name: str) -> Lease | None:
        rows = self._datastore.fetch("SELECT holder, epoch, counter FROM leases WHERE name = %s", (name,))
        if not rows:
            claimed = self._datastore.fetch(_CLAIM, (name, self._holder))
            return Lease(name, self._holder, 1) if claimed else None
        holder, epoch, counter = rows[0]["holder"], rows[0]["epoch"], rows[0]["counter"]
        if holder == self._holder:
            return Lease(name, holder, epoch)
        stopped = self._watch.has_stopped(name, (holder, epoch, counter))
        if holder is not None and not stopped and not is_gone(holder):
            return None
        # The row must still be the one that was judged: of two watchers one wins, and a heartbeat in between saves it.
        taken = self._datastore.fetch(_TAKE_OVER, (self._holder, name, epoch, holder, counter))
        return Lease(name, self._holder, epoch + 1) if taken else None

    def renew(self, lease: Lease) -> bool:
        return bool(self._datastore.fetch(_RENEW, (lease.name, lease.holder, lease.epoch)))

    def release(self, lease: Lease) -> None:
        self._datastore.fetch(_RELEASE, (lease.name, lease.holder, lease.epoch))

    def release_gone(self) -> None:
        rows = self._datastore.fetch("SELECT name, holder, epoch FROM leases WHERE holder IS NOT NULL")
        for row in rows:
            if is_gone(row["holder"]):
                self.release(Lease(row["name"], row["holder"], row["epoch"]))

    def holder_of(self, name: str) -> str | None:
        rows = self._datastore.fetch("SELECT holder FROM leases WHERE name = %s", (name,))
        return rows[0]["holder"] if rows else None

    def is_silent(self, name: str) -> bool:
        holder = self.holder_of(name)
        return holder is not None and holder != self._holder and (is_elsewhere(holder) or is_stopped(holder))


class PostgresSlots:
    """The pool's slots in the table `slots`.

    A slot of a process that is stopped or on another machine is freed when it wasn't renewed for the leases' TTL.
    """

    def __init__(self, datastore: Datastore, holder: str, watch: HeartbeatWatch) -> None:
        self._datastore = datastore
        self._holder = holder
        self._watch = watch

    def take(self, owner: str, bound: int) -> bool:
        return self._datastore.persistently(lambda: self._take(owner, bound))

    def _take(self, owner: str, bound: int) -> bool:
        with self._datastore.transaction_cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_SLOT_LOCK_KEY,))
            taken = cursor.execute("SELECT owner, holder, counter FROM slots").fetchall()
            over = [s["owner"] for s in taken if s["owner"] != owner and self._is_over(**s)]
            if over:
                cursor.execute("DELETE FROM slots WHERE owner = ANY(%s)", (over,))
            has_one = any(s["owner"] == owner for s in taken)
            if not has_one and len(taken) - len(over) >= bound:
                return False
            cursor.execute(
                "INSERT INTO slots (owner, holder, counter) VALUES (%s, %s, 0) ON CONFLICT (owner)"
                " DO UPDATE SET holder = excluded.holder, counter = slots.counter + 1",
                (owner, self._holder),
            )
            return True

    def _is_over(self, owner: str, holder: str, counter: int) -> bool:
        if holder == self._holder:
            return False
        if is_gone(holder):
            return True
        return (is_elsewhere(holder) or is_stopped(holder)) and self._watch.has_stopped(
            f"slot {owner}", (holder, counter)
        )

    def renew(self, owner: str) -> None:
        self._datastore.fetch(
            "UPDATE slots SET counter = counter + 1 WHERE owner = %s AND holder = %s RETURNING 1",
            (owner, self._holder),
        )

    def free(self, owner: str) -> None:
        self._datastore.fetch("DELETE FROM slots WHERE owner = %s AND holder = %s RETURNING 1", (owner, self._holder))

    def free_gone(self) -> None:
        for row in self._datastore.fetch("SELECT owner, holder FROM slots"):
            if is_gone(row["holder"]):
                self._datastore.fetch(
                    "DELETE FROM slots WHERE owner = %s AND holder = %s RETURNING 1", (row["owner"], row["holder"])
                )
