"""torch.utils.checkpoint: less memory for more work, by a region that backward runs again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from gradwire import called, current
from gradwire.session import Session
from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import as_user, drawing_from, refuse_others, threads, with_callbacks
from gradwire.trace import innermost, name_of, restored, taken_apart, trace
from gradwire.wire import tensors_in
from gradwire_engine import checkpoint as engine
from gradwire_engine.mode import local


def _no_contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], Any] = _no_contexts,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """What the function gives, of which backward will have the inputs only and run it again.

    Where tensors are here the function is called again, in the second context of context_fn. On a
    host it is written down as a program, which runs again, and the second context is not entered;
    one that looks at values is refused there. The random state is the same when it runs again,
    unless preserve_rng_state is False. determinism_check, debug, early_stop: accepted.
    """
    if use_reentrant:
        raise NotImplementedError(
            "checkpoint: only use_reentrant=False is supported; it does all that the other does"
        )
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of 'default' or 'none', but got {determinism_check!r}"
        )
    session: Any = innermost() or _session(args, kwargs)
    if session.runs_here:
        return _done_here(session, function, args, kwargs, preserve_rng_state, context_fn)
    applied = partial(function, **kwargs)
    applied.__name__ = name_of(function)  # type: ignore[attr-defined]  # for what is said of it
    first, _ = context_fn()
    with first:
        found = trace(applied, args, session)
    if not found.outputs:
        return found.restored(())
    again = {} if preserve_rng_state else {"preserve_rng_state": False}
    return called.call(found, checkpoint=True, **again)


def _done_here(
    session: Session,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], Any],
) -> Any:
    """The same where tensors are here: the function is called as Python, both times."""
    first, again = context_fn()
    contexts = iter([first])
    tensors: list[Tensor] = []
    structure = taken_apart((args, kwargs), tensors.append)
    shape: list[Any] = []

    def called_in(context: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        with context:
            return function(*args, **named)

    def program(*values: Any) -> tuple[Any, ...]:
        given = [
            t if t._meta is v else held_tensor(session, v)
            for t, v in zip(tensors, values, strict=True)
        ]
        own, named = restored(structure, iter(given))
        outputs: list[Tensor] = []
        with drawing_from(local.state.generator):
            found = as_user(called_in, next(contexts, again), own, named)
        shape[:] = [taken_apart(found, outputs.append)]
        refuse_others(session, outputs)
        return tuple([o._meta for o in outputs])

    refuse_others(session, tensors)
    values = [t._meta for t in tensors]
    with drawing_from(threads.here.generator or session.generator):
        made = with_callbacks(engine.checkpoint, program, values, preserve_rng_state)
    known = {id(t._meta): t for t in tensors}
    parts = [known[id(v)] if id(v) in known else held_tensor(session, v) for v in made]
    if local.state.anomaly:
        session.note_line(parts)
    return restored(shape.pop(), iter(parts))


def _session(args: Any, kwargs: dict[str, Any]) -> Any:
    first = next(tensors_in((*args, *kwargs.values())), None)
    return current.session() if first is None else first.session


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
) -> Any:
    """Functions one behind the other in segments, each but the last checkpointed."""
    listed = list(functions)
    size = len(listed) // segments
    at = 0
    while at + size < len(listed) and at // size < segments - 1:
        segment = partial(_run, listed[at : at + size])
        input = checkpoint(
            segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
        at += size
    return _run(listed[at:], input)


def _run(functions: Sequence[Callable[..., Any]], input: Any) -> Any:
    for function in functions:
        input = function(input)
    return input


__all__ = ["checkpoint", "checkpoint_sequential"]
