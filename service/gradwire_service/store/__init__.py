"""What outlives the process: sessions as snapshots and logs, programs, replies; in a database.

It knows rows and bytes, and nothing of what a session is.
"""

from gradwire_service.store.rows import (
    Damaged,
    Entry,
    Found,
    Record,
    Reply,
    SessionRow,
    Unavailable,
    Unknown,
)
from gradwire_service.store.store import Store

__all__ = [
    "Damaged", "Entry", "Found", "Record", "Reply", "SessionRow", "Store", "Unavailable", "Unknown",
]  # fmt: skip
