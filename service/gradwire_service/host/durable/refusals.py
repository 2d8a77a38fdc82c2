"""Errors of durable sessions."""

from __future__ import annotations

from gradwire_engine.errors import GradwireError, error

_NO_ROOM = ("disk is full", "no space left", "file too large", "quota exceeded", "disk full")


def refused(problem: BaseException) -> GradwireError:
    """The error of a write that failed: there is no room, or who knows what."""
    text = str(getattr(problem, "orig", None) or problem).lower()
    if any(words in text for words in _NO_ROOM):
        return error(
            "storage_full",
            "there is no room left where sessions are kept; the session is as before",
            "delete sessions, or have the server's disk made larger",
        )
    return error(
        "storage_unavailable",
        "the change couldn't be written where sessions are kept; the session is as before",
        "send it again a little later, with the same Idempotency-Key if it has one",
    )


def damaged(session: str, why: str) -> GradwireError:
    """The error of a session that can't be read back."""
    return error(
        "session_damaged",
        f"session {session} can't be read back: {why}",
        "delete it, or have a backup of the server's data restored",
    )


def not_kept() -> GradwireError:
    """The error of a durable session that is asked of a server that keeps none."""
    return error(
        "invalid_argument",
        "durable: this server keeps nothing beyond its own end",
        "start it with gradwire serve --data DIR, or leave durable out",
    )
