"""Random state of the session in force."""

from __future__ import annotations

from gradwire import current


def manual_seed(seed: int) -> None:
    """Seed the session's random numbers; they are not torch's, but the same each time."""
    session = current.session()
    with session.recording() as recording:
        session.record({"seed": int(seed) % 2**64}, mark=recording.mark)


__all__ = ["manual_seed"]
