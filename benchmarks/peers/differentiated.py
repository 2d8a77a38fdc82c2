"""One step of a workload by libraries that differentiate functions: JAX, compiled, and autograd.

These run in the rivals' environment; nothing of gradwire is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.functions import Function, names_of
from benchmarks.workloads import WORKLOADS


def by_jax(workload: str) -> Callable[[], Any]:
    """The loss and its gradients as one compiled function; called until they are there."""
    import jax
    from jax import lax
    from jax.scipy import special

    jax.config.update("jax_enable_x64", workload == "hess200")

    def conv2d(x: Any, weight: Any) -> Any:
        return lax.conv(x, weight, (1, 1), "VALID")

    function = Function(WORKLOADS[workload], names_of(jax.numpy, special, conv2d))
    arrays = [jax.device_put(a) for a in function.arrays]
    curved = function.curved
    if curved is None:
        found = jax.jit(jax.value_and_grad(function, tuple(function.moving)))
    else:
        found = jax.jit(lambda x: (curved(x), jax.hessian(curved)(x)))
    return lambda: jax.block_until_ready(found(*arrays))


def by_autograd(workload: str) -> Callable[[], Any]:
    """The loss and its gradients, recorded anew in each call."""
    import autograd
    import autograd.numpy as xp
    from autograd.scipy import signal, special

    def conv2d(x: Any, weight: Any) -> Any:
        # a convolution turns its weight around, torch's doesn't
        turned = weight[:, :, ::-1, ::-1]
        options = {"axes": ([2, 3], [2, 3]), "dot_axes": ([1], [1]), "mode": "valid"}
        return signal.convolve(x, turned, **options)

    function = Function(WORKLOADS[workload], names_of(xp, special, conv2d))
    arrays, curved = function.arrays, function.curved
    if curved is not None:
        hessian = autograd.hessian(curved)
        return lambda: (curved(*arrays), hessian(*arrays))
    found = autograd.value_and_grad(function, tuple(function.moving))
    return lambda: found(*arrays)


RIVALS = {"jax": by_jax, "autograd": by_autograd}


def prepare(workload: str, library: str) -> Callable[[], Any]:
    """One step of a workload by one of them."""
    return RIVALS[library](workload)


def answer(workload: str, library: str) -> Any:
    """A side whose measurement is what a step gives, to compare."""
    import numpy as np

    step = prepare(workload, library)

    class Answer:
        def measure(self, seconds: float) -> Any:  # noqa: ARG002 - once
            loss, parts = step()
            several = parts if isinstance(parts, tuple) else (parts,)
            return {"found": [np.asarray(part).tolist() for part in (loss, *several)]}

    return Answer()
