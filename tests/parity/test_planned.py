"""Parity programs by plans: the same that torch shows.

Once with every call of an op taken apart and run as a plan of its own, as it would be within a
larger one; and where a program has functions over functions, with these compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from gc import get_objects
from typing import Any

import numpy as np
import pytest
from tests.parity.compare import differences
from tests.parity.test_programs import PROGRAMS, _on_torch, _run

import gradwire
from gradwire_engine import binding
from gradwire_engine.op import Primitive
from gradwire_engine.plan import Graph, Plan
from gradwire_engine.plan.graph import Line
from gradwire_engine.spec import Spec

torch = pytest.importorskip("torch", reason="make parity installs torch")

OFTEN = 10
"""Calls after which a function has its plan."""
TRANSFORMS = ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "vmap")
WITH_TRANSFORMS = [
    *(f"functions.{n}" for n in ("functional_call", "gradients", "jacobians", "over_a_batch",
                                 "transforms_in_the_graph")),
    *(f"transformed_functions.{n}" for n in ("one_argument", "several_and_shared",
                                             "some_without_gradient", "what_is_missing")),
]  # fmt: skip


def check(name: str, module: Any) -> None:
    """What a program shows is what it shows on torch."""
    seen = _run(PROGRAMS[name], module)
    pairs = list(zip(_on_torch(name), seen, strict=True))
    found = [d for (n, e), (_, a) in pairs for d in differences(e, a, n)]
    assert not found, "\n".join(found)


class _Apart:
    """A kernel, in whose place a plan of the call runs. ran: how often one did."""

    ran = 0

    def __init__(self, call: Any, kernel: Callable[..., Any]) -> None:
        self._call, self._kernel = call, kernel
        self._plans: dict[Any, Plan] = {}

    def __call__(self, *operands: Any) -> Any:
        try:
            plan = self._plan(operands)
        except Exception:  # an operand of no kind that plans have: the kernel says what is wrong
            return self._kernel(*operands)
        given = [np.asarray(x) for x in operands if _is_array(x)]
        try:
            found = plan.run(given)
        except Exception:
            return self._kernel(*operands)
        type(self).ran += 1
        return found[0] if self._call.single else tuple(found)

    def _plan(self, operands: Any) -> Plan:
        key = tuple([None if _is_array(x) else (type(x), repr(x)) for x in operands])
        if key not in self._plans:
            self._plans[key] = Plan(self._graph(operands))
        return self._plans[key]

    def _graph(self, operands: Any) -> Graph:
        call = self._call
        places = range(len(operands))
        inputs = tuple(i for i in places if _is_array(operands[i]))
        results = tuple(range(len(operands), len(operands) + len(call.outputs)))
        constants = {i: operands[i] for i in places if i not in inputs}
        given = tuple(call.inputs[i] for i in inputs)
        assert all(type(spec) is Spec for spec in given)
        line = Line(call.op, call.arguments, tuple(places), results, call.outputs)
        return Graph(inputs, constants, (line,), results, given)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _forget_calls() -> None:
    """What was bound to a kernel is bound anew."""
    for found in get_objects():
        if issubclass(type(found), Primitive):  # not isinstance, which asks proxies
            found.calls.clear()


@pytest.fixture(scope="module")
def taken_apart() -> Iterator[None]:
    """Every kernel that may be taken apart is."""
    bind = binding.bind_kernel

    def bound(call: Any, inferred: Any) -> Any:
        kernel, op = bind(call, inferred), call.op
        half = any(s.dtype.half for s in (*call.inputs, *call.outputs) if type(s) is Spec)
        if call.device != "cpu" or op.view or op.random or op.data_dependent or half:
            return kernel
        return _Apart(call, kernel)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(binding, "bind_kernel", bound)
        _forget_calls()
        yield
    _forget_calls()


class Repeated:
    """A module whose functions of functions are compiled, and called until they have a plan."""

    def __init__(self, module: Any, compiled: list[Any]) -> None:
        self._module, self.compiled = module, compiled

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return Func(found, self.compiled) if name == "func" else found


class Func(Repeated):
    """gradwire.func, so."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._often(found) if name in TRANSFORMS else found

    def _often(self, transform: Callable[..., Any]) -> Callable[..., Any]:
        def transformed(*args: Any, **kwargs: Any) -> Any:
            made = gradwire.compile(transform(*args, **kwargs))
            self.compiled.append(made)

            def often(*given: Any, **named: Any) -> Any:
                for _ in range(OFTEN):
                    found = made(*given, **named)
                return found

            return often

        return transformed


@pytest.mark.parametrize("name", WITH_TRANSFORMS)
def test_functions_over_functions_compiled(name: str) -> None:
    module = Repeated(gradwire, [])
    check(name, module)
    assert module.compiled


@pytest.mark.usefixtures("taken_apart")
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_by_a_plan(name: str) -> None:
    before = _Apart.ran
    check(name, gradwire)
    if name == "basics.square_and_sum":  # some others run no kernel at all
        assert _Apart.ran > before
