"""Settings of the embedded server: small, durable, silent about data."""

from pathlib import Path
from typing import Final

DATABASE: Final = "rhumbline"
USER: Final = "rhumbline"
PORT: Final = 5432
"""Names the socket file only; nothing listens on the network."""

SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "64MB",
    # Durability: an acknowledged commit survives a power cut.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # One machine, no standby: the smallest log, and a bounded place for it.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "32MB",
    "max_wal_size": "512MB",
    # Short statements only; parallel workers would need a /dev/shm that containers don't give.
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "huge_pages": "off",
    # Statements carry what people wrote: the log never does.
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "restart_after_crash": "on",
}


def server_arguments(data: Path, socket_folder: Path) -> list[str]:
    """Arguments of `postgres`."""
    settings = {**SETTINGS, "port": str(PORT), "unix_socket_directories": _listed(socket_folder)}
    return ["-D", str(data), *(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))]


def _listed(folder: Path) -> str:
    """`unix_socket_directories` is a comma-separated list whose items may be quoted."""
    escaped = str(folder).replace('"', '""')
    return f'"{escaped}"'


def conninfo(socket_folder: Path, passfile: Path, database: str = DATABASE) -> str:
    """A libpq connection string without the secret: libpq reads it from the 0600 `passfile`."""
    parts = {
        "host": str(socket_folder),
        "port": str(PORT),
        "user": USER,
        "dbname": database,
        "passfile": str(passfile),
        "application_name": "rhumbline",
    }
    return " ".join(f"{name}={_quoted(value)}" for name, value in parts.items())


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
