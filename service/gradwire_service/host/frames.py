"""Frames that an error holds: they lead back to it, and one of them to the body of its request."""

from __future__ import annotations


def let_go(raised: BaseException | None) -> None:
    """Drop the frames of an error and of those it came of: a cycle would stay until the collector.

    Whoever would print where it was raised has done so before. An error may come of itself, by way
    of another: where the frames are gone already the way ends.
    """
    while raised is not None and raised.__traceback__ is not None:
        raised.__traceback__ = None
        raised = raised.__cause__ or raised.__context__
