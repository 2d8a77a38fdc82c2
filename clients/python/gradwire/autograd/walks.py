"""torch.autograd.grad and backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gradwire import current
from gradwire.autograd.graph import GradientEdge
from gradwire.autograd.hook_run import Inside
from gradwire.autograd.hooked import Walk
from gradwire.dispatch import session_of
from gradwire.known_walks import Kind, KnownWalks
from gradwire.session import Session
from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import timed, with_callbacks
from gradwire.trace import Trace, innermost
from gradwire.transport import Step
from gradwire.wire import mirrored, tensors_in
from gradwire_engine import backward as engine
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.hooks import get_gradient_edge
from gradwire_engine.mode import local
from gradwire_engine.tensor import Tensor as Meta

Place = Tensor | GradientEdge
Tensors = Place | Sequence[Place]
Inputs = Tensors | dict[str, Tensor]
Cotangents = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Cotangents = None,
    inputs: Inputs | None = None,
) -> None:
    """Add the gradients of tensors · grad_tensors into `.grad` of the leaves, or of inputs only.

    Where there is a server, the first walk of a kind is sent at once; those after it go with the
    optimizer's step, or as soon as a value is looked at. The value of a single element that is
    walked from comes back with the reply.
    grad_variables: what grad_tensors was called once; it is warned about.
    """
    grad_tensors = _renamed(grad_tensors, grad_variables)
    inside = innermost()
    plain = inside is None and grad_tensors is None and inputs is None
    if plain and isinstance(tensors, Tensor) and tensors.session.runs_here:  # the commonest
        args = ([tensors._meta], None, retain_graph, create_graph)
        _walked_here(tensors.session, "backward", engine.backward, *args)
        return None
    if isinstance(inside, Inside):
        _refuse_own(inside, (tensors, grad_tensors, inputs))
        with inside.after():
            return backward(tensors, grad_tensors, retain_graph, create_graph, inputs=inputs)
    roots = _listed(tensors)
    given = _cotangents(grad_tensors, roots)
    wanted = None if inputs is None else _listed(_values(inputs))
    session = _session((roots, given or (), wanted or ()))

    def walk() -> None:
        engine.backward(
            mirrored(roots), mirrored(given), retain_graph, create_graph, mirrored(wanted)
        )

    if session.runs_here:
        _walked_here(session, "backward", walk)
        return None
    fields = _fields(
        tensors=_names(roots),
        grad_tensors=None if given is None else _names(given),
        retain_graph=retain_graph,
        create_graph=create_graph,
        inputs=None if wanted is None else _names(wanted),
    )
    asked = (roots, given, wanted, (retain_graph, create_graph))
    _walked_there(session, asked, create_graph, {"backward": fields}, walk)
    return None


def grad(
    outputs: Tensors,
    inputs: Inputs,
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of outputs · grad_outputs by each input; touches no `.grad`. Sent at once.

    They come as a tuple; if inputs is a dict, as a dict with its keys.
    is_grads_batched: the first axis of each of grad_outputs is a batch, for which one walk is done.
    only_inputs: ignored, as in torch; False is warned about.
    """
    if not only_inputs:
        said = "only_inputs is deprecated and ignored; backward adds into the leaves of a graph"
        warnings.warn(said, FutureWarning, stacklevel=2)
    engine.refuse_needless(allow_unused, materialize_grads)
    here = _all_here(outputs, inputs, grad_outputs)
    if here is not None:  # the commonest
        session, *of = here
        metas = _walked_here(
            session, "grad", engine.grad, *of, retain_graph, create_graph, allow_unused,
            materialize_grads, is_grads_batched=is_grads_batched,
        )  # fmt: skip
        direction: Any = grad_outputs
        return tuple([_held(session, meta, (direction,)) for meta in metas])
    asked = _values(inputs)
    roots, wanted = _listed(outputs), _listed(asked)
    given = _cotangents(grad_outputs, roots)
    session = _session((roots, given or (), wanted))

    def walk() -> list[Any]:
        return engine.grad(
            mirrored(roots), _places(asked, mirrored(wanted)), mirrored(given), retain_graph,
            create_graph, allow_unused, materialize_grads, is_grads_batched=is_grads_batched,
        )  # fmt: skip

    if session.runs_here:
        metas = _walked_here(session, "grad", walk)
        found = tuple([_held(session, meta, given or ()) for meta in metas])
    else:
        fields = _fields(
            outputs=_names(roots),
            inputs=_names(wanted),
            grad_outputs=None if given is None else _names(given),
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
            is_grads_batched=is_grads_batched or None,
        )
        options = (retain_graph, create_graph, allow_unused, materialize_grads, is_grads_batched)
        all_of_it = (roots, given, wanted, options)
        found = _walked_there(session, all_of_it, create_graph, {"grad": fields}, walk)
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def _all_here(
    output: Any, inputs: Any, direction: Any
) -> tuple[Session, list[Meta], list[Meta], list[Meta] | None] | None:
    """The session and tensors of one output, its inputs and its cotangent, if all are here."""
    if type(output) is not Tensor or innermost() is not None:
        return None
    session = output.session
    if not session.runs_here or (type(inputs) is not list and type(inputs) is not tuple):
        return None
    if direction is not None and not (type(direction) is Tensor and direction.session is session):
        return None
    wanted = []
    for x in inputs:
        if not isinstance(x, Tensor) or x.session is not session:
            return None
        wanted.append(x._meta)
    given = None if direction is None else [direction._meta]
    return session, [output._meta], wanted, given


Asked = tuple[list[Tensor], list[Tensor | None] | None, list[Tensor] | None, tuple[Any, ...]]
"""The arguments of a walk: roots, cotangents, inputs, options."""


def _walked_there(
    session: Session,
    asked: Asked,
    create_graph: bool,
    step: Step,
    walk: Callable[[], list[Any] | None],
) -> tuple[Tensor | None, ...]:
    """Walk over mirrors, record the walk for the host, and give the gradients."""
    walks: KnownWalks | None = None if innermost() is not None else session.known_walks
    kind = None if walks is None else _kind(walks, *asked)
    known = walks is not None and walks.has(kind)
    simple = kind is not None and not session.hooked
    found = _without_hooks(session, step, walk) if simple else None
    plain = found is not None
    if found is not None:
        _send(session, asked[0], at_once=not known)
    else:
        with _walking(session, create_graph, step) as hooked, session.recording() as mark:
            with hooked.here():
                with hooked.in_order():
                    metas = walk()
                hooked.register(mark)
                found = _record(session, step, metas, mark)
                hooked.unregister(mark)
            plain = hooked.is_plain
            _send(session, asked[0], at_once=not (known and plain))
    if plain and walks is not None and session.is_up_to_date:
        walks.add(kind)
    return found


def _kind(
    walks: KnownWalks,
    roots: list[Tensor],
    given: list[Tensor | None] | None,
    wanted: list[Tensor] | None,
    options: tuple[Any, ...],
) -> Kind | None:
    """The kind of a walk, as KnownWalks compares them; None where a tensor was lost."""
    try:
        directions = [None if g is None else (g._meta.spec, g.requires_grad) for g in given or ()]
        about = (options, wanted is None, *directions)
        places = [w._meta for w in wanted or ()]
        return walks.kind_of([r._meta for r in roots], places, about)
    except GradwireError:  # the walk says what is wrong
        return None


def _without_hooks(
    session: Session, step: Step, walk: Callable[[], list[Any] | None]
) -> tuple[Tensor | None, ...] | None:
    """Record a walk that meets no hook; None where it fails: the long way says why."""
    walked = False
    try:
        with session.recording() as mark:
            metas = walk()
            walked = True
            return _record(session, step, metas, mark)
    except GradwireError:
        if walked:
            raise
    return None


def _record(
    session: Session, step: Step, metas: list[Any] | None, mark: int
) -> tuple[Tensor | None, ...]:
    """Record a walk; gradients that it gives get names."""
    if metas is None:
        session.record(step, mark=mark)
        return ()
    found = tuple([None if meta is None else Tensor(session, meta) for meta in metas])
    session.record({**step, "out": _names(found)}, found, mark=mark)
    return found


def _walked_here(
    session: Any, name: str, walk: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """What a walk over tensors that are here gives; hooks and functions are called in it."""
    with session.recording():
        state = local.state
        before = state.origin
        if state.anomaly:
            state.origin = session.origin
        try:
            found = timed("step", name, with_callbacks, walk, *args, **kwargs)
        except GradwireError as problem:
            session.tell_of_nan(problem)
            raise
        finally:
            state.origin = before
        session._check_usable()  # a hook may have closed it
        session.through()
    return found


def _held(session: Session, meta: Any, given: Sequence[Tensor | None]) -> Tensor | None:
    """A gradient as a tensor; a cotangent that is one itself."""
    if meta is None:
        return None
    same = next((g for g in given if g is not None and g._meta is meta), None)
    return held_tensor(session, meta) if same is None else same


def _refuse_own(inside: Inside, given: tuple[Any, ...]) -> None:
    """Refuse to walk from, with or into what a hook under way made: that isn't there yet."""
    own: Any = inside
    if isinstance(own.outer, Trace) or any(t.session is own for t in tensors_in(given)):
        raise error(
            "untraceable",
            f"{inside.called} calls backward on what it was given or made; it is only written "
            "down here",
            "use torch.autograd.grad, or call backward after the walk",
        )


def _values(inputs: Inputs) -> Tensors:
    """The tensors of a dict of them, which is what named parameters come as; a generator, read."""
    if type(inputs) is dict:
        return list(inputs.values())
    if isinstance(inputs, Mapping):
        raise TypeError(f"inputs must be a dict, or a sequence; got {type(inputs).__name__}")
    return list(inputs) if isinstance(inputs, Iterator) else inputs


def _places(asked: Any, mirrors: Any) -> list[Any]:
    """The mirrors of what was asked, of which those stay gradient edges that were given as such."""
    given = [asked] if isinstance(asked, Tensor | GradientEdge) else list(asked)
    return [
        get_gradient_edge(mirror) if type(x) is GradientEdge and type(mirror) is Meta else mirror
        for x, mirror in zip(given, mirrors, strict=True)
    ]


def _renamed(grad_tensors: Cotangents, grad_variables: Cotangents) -> Cotangents:
    """What was given by either name."""
    if grad_variables is None:
        return grad_tensors
    said = "grad_variables is deprecated; it is called grad_tensors now"
    warnings.warn(said, FutureWarning, stacklevel=3)
    if grad_tensors is not None:
        raise error(
            "invalid_argument",
            "backward: grad_tensors and grad_variables were both given",
            "give grad_tensors alone",
            raised=RuntimeError,
        )
    return grad_variables


@contextmanager
def _walking(session: Session, create_graph: bool, step: Step) -> Iterator[Walk]:
    """A walk with its hooks; those that wait for its end are called then."""
    walk = Walk(session, create_graph, step)
    try:
        yield walk
    except BaseException as problem:
        walk.failed(problem)
        raise
    walk.finish()


def _send(session: Session, roots: list[Tensor], *, at_once: bool) -> None:
    """Have the value of a loss, which is mostly looked at next, come with what is sent next.

    at_once: whether it may fail at the host, or a function of the user waits for it. So does a walk
    that looks for NaN.
    """
    if innermost() is None and not session.puts_off:
        session.read_soon([t for t in roots if t.numel() == 1])
        if not (at_once or local.state.anomaly):
            return
    session.flush()


def _listed(value: Any, *, optional: bool = False) -> list[Any]:
    """As a list. optional: whether None may be among the tensors."""
    items = [value] if isinstance(value, Tensor | GradientEdge) else value
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError(_NO_TENSORS + type(value).__name__)
    found = [item.place if isinstance(item, GradientEdge) else item for item in items]
    wrong = next((x for x in found if not (isinstance(x, Tensor) or (optional and x is None))), _OK)
    if wrong is not _OK:
        raise TypeError(_NO_TENSORS + f"{type(wrong).__name__} in their place")
    inside = innermost()
    return found if inside is None else [inside.lifted(item) for item in found]


_NO_TENSORS = "expected a tensor, a gradient edge, or a sequence of them; got "
_OK = object()


def _cotangents(given: Any, roots: list[Tensor]) -> list[Tensor | None] | None:
    if given is None:
        return None
    listed = _listed(given, optional=True)[: len(roots)]  # torch looks at no more of them either
    return None if all(g is None for g in listed) and len(listed) == len(roots) else listed


def _names(tensors: Sequence[Tensor | None]) -> list[str | None]:
    return [None if t is None else t._name for t in tensors]


def _fields(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _session(groups: tuple[Any, ...]) -> Session:
    return session_of(groups, {}) or current.session()


__all__ = ["backward", "grad"]
