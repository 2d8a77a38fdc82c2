"""torch.autograd.functional: derivatives of a function at its inputs, tuples in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire.asking import RESULT, Asked, ones_like
from gradwire.called import Wanted
from gradwire.dispatch import call
from gradwire.tensor import Tensor
from gradwire.within import within
from gradwire_engine import backward as engine
from gradwire_engine.catalogue import resolve

Inputs = Tensor | tuple[Tensor, ...]


class _Given(Asked):
    """A function written down at its inputs, checked as torch checks.

    create_graph: inputs that don't require grad are variables too, so that results have a history.
    """

    def __init__(
        self, asked: str, func: Callable[..., Any], inputs: Inputs, create_graph: bool
    ) -> None:
        self.asked, self.create_graph = asked, create_graph
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        _check_tensors(f"inputs given to {asked}", given)
        if create_graph:
            given = tuple([x if x.requires_grad else x.detach().requires_grad_() for x in given])
        numbers = tuple(range(len(given)))
        super().__init__(func, given, {}, numbers, False)
        self.tuple_in = isinstance(inputs, tuple)
        result = self.like_output(self.own)
        self.tuple_out = isinstance(result, tuple)
        flat = result if isinstance(result, tuple) else (result,)
        _check_tensors(f"outputs of the user-provided function given to {asked}", flat)

    def derive(
        self, transform: str, parts: list[Wanted], **fields: Any
    ) -> tuple[list[Any], list[Any]]:
        """As for any function; with create_graph both lead on, also where grad mode is off."""
        with within(grad=True) if self.create_graph else within():
            found, outputs = super().derive(transform, parts, **fields)
        return _ended(found, self.create_graph), _ended(outputs, self.create_graph)

    def inner(self, parts: Sequence[Any]) -> Any:
        """One part for each input, a tuple only where the inputs are."""
        return tuple(parts) if self.tuple_in else parts[0]

    def outer(self, parts: Sequence[Any]) -> Any:
        """One part for each output, a tuple only where the outputs are."""
        return tuple(parts) if self.tuple_out else parts[0]

    def wanted_like_inputs(self) -> list[Wanted]:
        return [Wanted(x.shape, x.dtype, RESULT) for x in self.wanted]

    def vector(self, v: Any, like: Sequence[Any], what: str) -> list[Tensor]:
        """The vector given, one for each of these, or 1 for a single scalar."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(
                    f"The vector v can only be None if {what} to the user-provided function is a "
                    "single Tensor with a single element."
                )
            with self.standing.here():  # where the step is recorded
                alike = call(resolve("zeros"), (tuple(like[0].shape),), {"dtype": like[0].dtype})
            return [call(resolve("ones_like"), (alike,), {})]
        given = list(v) if isinstance(v, tuple) else [v]
        if len(given) != len(like):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            )
        for place, (x, wanted) in enumerate(zip(given, like, strict=True)):
            if tuple(x.shape) != tuple(wanted.shape):
                raise RuntimeError(
                    f"Entry {place} in v has invalid size: should be {wanted.shape} but got "
                    f"{x.shape}."
                )
        return given

    def check_scalar(self) -> None:
        """What only functions to one number have."""
        if len(self.own) != 1 or self.tuple_out:
            raise RuntimeError(f"The function given to {self.asked} should return a single Tensor")
        if self.own[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.asked} should contain a "
                "single element"
            )

    def check_dependence(self, strict: bool, *, each: bool = False) -> None:
        """In strict mode outputs depend on every input, as the mirrors tell; each: every output.

        With create_graph the gradients have a history too.
        """
        if not strict:
            return
        for number, output in enumerate(self.own):
            if not output.requires_grad:
                raise RuntimeError(
                    f"Output {number} of the user-provided function does not require gradients. "
                    "The outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )
        outputs = [o._meta for o in self.own]
        for number, part in enumerate([[o] for o in outputs] if each else [outputs]):
            which = f"Output {number}" if each else "The output"
            self._check_gradients(part, f"{which} of the user-provided function", "jacobian")

    def check_second(self, strict: bool, *, each: bool = False) -> None:
        """In strict mode the gradient depends on every input; each: that by every input."""
        if not strict:
            return
        gradients = _mirrored_gradients([o._meta for o in self.own], self.inside)
        _refuse_absent(_with_history(gradients), "The jacobian of the user-provided function", "")
        for part in [[g] for g in gradients] if each else [gradients]:
            self._check_gradients(part, "The jacobian of the user-provided function", "hessian")

    def _check_gradients(self, outputs: Sequence[Any], what: str, derivative: str) -> None:
        """Refuse outputs that an input does not lead to; with create_graph constant ones too."""
        found = _mirrored_gradients(outputs, self.inside)
        _refuse_absent(found, what, "")
        if self.create_graph:
            which = f"The {derivative} of the function"
            _refuse_absent(_with_history(found), which, " with create_graph=True")

    def blocks(self, transform: str, of: Sequence[Tensor], strategy: str) -> list[Any]:
        """A derivative of each of these by all inputs: for each a part for each input."""
        parts = [Wanted((*y.shape, *x.shape), y.dtype, RESULT) for y in of for x in self.wanted]
        found, size = self.derive(transform, parts, strategy=strategy)[0], len(self.wanted)
        return [self.inner(found[i : i + size]) for i in range(0, len(found), size)]

    def named(self, names: Sequence[str], values: Sequence[Tensor]) -> dict[str, Tensor]:
        pairs = zip(names, values, strict=True)
        return {name: self.direction(value) for name, value in pairs}


def _mirrored_gradients(outputs: Sequence[Any], inputs: Sequence[Tensor]) -> list[Any]:
    """The mirrors of the gradients, which have histories; None where an input is not needed."""
    with within(device="meta", grad=True):
        ones = [ones_like(o.detach()) for o in outputs]
        metas = [x._meta for x in inputs]
        return engine.grad(outputs, metas, ones, create_graph=True, allow_unused=True)


def _with_history(gradients: Sequence[Any]) -> list[Any]:
    return [g if g is not None and g.requires_grad else None for g in gradients]


def _refuse_absent(gradients: Sequence[Any], what: str, where: str) -> None:
    for place, part in enumerate(gradients):
        if part is None:
            raise RuntimeError(
                f"{what} is independent of input {place}. This is not allowed in strict mode"
                f"{where}."
            )


def _check_tensors(which: str, values: tuple[Any, ...]) -> None:
    """A tensor or a tuple of some, no other nest."""
    for place, x in enumerate(values):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"The {which} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{place} has type {type(x)}."
            )


def _ended(parts: Sequence[Any], create_graph: bool) -> list[Any]:
    return [part if create_graph else part.detach() for part in parts]


def vjp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs, and the vector times the Jacobian: one part for each input."""
    given = _Given("vjp", func, inputs, create_graph)
    given.check_dependence(strict)
    vectors = given.vector(v, given.own, "the output")
    cotangents = given.named([o._name for o in given.own], vectors)
    found, outputs = given.derive("vjp", given.wanted_like_inputs(), cotangents=cotangents)
    return given.outer(outputs), given.inner(found)


def jvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs, and the Jacobian times the vector: one part for each output."""
    given = _Given("jvp", func, inputs, create_graph)
    given.check_dependence(strict)
    vectors = given.vector(v, given.wanted, "the input")
    tangents = given.named(given.names, vectors)
    parts = [Wanted(o.shape, o.dtype, RESULT) for o in given.own]
    found, outputs = given.derive("jvp", parts, tangents=tangents)
    return given.outer(outputs), given.outer(found)


def jacobian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor of the output's shape, then the input's.

    vectorize is accepted: all rows, or columns, are always one walk.
    """
    _check_strategy("jacobian", strategy, strict, vectorize, create_graph)
    given = _Given("jacobian", func, inputs, create_graph)
    given.check_dependence(strict, each=True)
    return given.outer(given.blocks("jacobian", given.own, strategy))


def _check_strategy(
    asked: str, strategy: str, strict: bool, vectorize: bool, create_graph: bool
) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant.'
        )
    if strategy == "reverse-mode":
        if strict and vectorize:
            raise RuntimeError(
                f"torch.autograd.functional.{asked}: `strict=True` and `vectorized=True` are not "
                "supported together."
            )
        return
    if create_graph:
        raise NotImplementedError(
            f"torch.autograd.functional.{asked}: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet).'
        )
    if strict:
        raise RuntimeError(
            f'torch.autograd.functional.{asked}: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet)."
        )
    if not vectorize:
        raise NotImplementedError(
            f"Computing {asked} using forward-AD or forward-over-reverse is only implemented for "
            "`vectorize=True`."
        )


def hessian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function to one number: for each pair of inputs a tensor."""
    _check_strategy("hessian", outer_jacobian_strategy, strict, vectorize, create_graph)
    given = _Given("hessian", func, inputs, create_graph)
    given.check_scalar()
    given.check_second(strict, each=True)
    return given.inner(given.blocks("hessian", given.wanted, outer_jacobian_strategy))


def vhp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output, and the vector times the Hessian: one part for each input."""
    return _second("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output, and the Hessian times the vector: one part for each input."""
    return _second("hvp", func, inputs, v, create_graph, strict)


def _second(
    asked: str,
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    given = _Given(asked, func, inputs, create_graph)
    given.check_scalar()
    given.check_second(strict)
    vectors = given.vector(v, given.wanted, "the input")
    named = given.named(given.names, vectors)
    found, outputs = given.derive(asked, given.wanted_like_inputs(), vector=named)
    return given.outer(outputs), given.inner(found)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
