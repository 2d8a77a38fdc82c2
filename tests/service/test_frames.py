"""What an error holds once it is answered."""

from __future__ import annotations

import threading

from gradwire_service.host.frames import let_go


def raised(of: BaseException | None = None) -> ValueError:
    """An error that was raised, because of another one if there is such."""
    try:
        raise ValueError from of
    except ValueError as problem:
        return problem


def test_an_error_and_what_it_came_of_lose_their_frames() -> None:
    first = raised()
    last = raised(raised(first))
    let_go(last)
    assert last.__traceback__ is None
    assert last.__cause__.__traceback__ is None
    assert first.__traceback__ is None


def test_an_error_that_comes_of_itself_has_an_end() -> None:
    """As one that is raised again while an error that came of it is handled."""
    first = raised()
    second = raised(first)
    first.__cause__ = second
    work = threading.Thread(target=let_go, args=(first,), daemon=True)
    work.start()
    work.join(10)
    assert not work.is_alive()
    assert first.__traceback__ is second.__traceback__ is None
