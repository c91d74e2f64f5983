"""Logs: JSON lines in a file below the home, never on the terminal."""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

import structlog
from structlog.typing import Processor

LOG_BYTES: Final = 8 * 1024**2


def configure_logging(file: Path) -> None:
    """Send structlog's and the standard library's records to `file`, rotated at 8 MiB, three kept."""
    handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=3, encoding="utf-8", delay=True)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    # A log that can't be written (a full disk) must not flood the terminal: what matters is told there anyway.
    logging.raiseExceptions = False
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
