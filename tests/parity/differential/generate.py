"""Random programs from a seed: steps proposed by kind, tried on torch, and kept or not."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from tests.parity.differential.kinds import KINDS
from tests.parity.differential.run import TORCH, execute
from tests.parity.differential.step import WALKS, Program, Step
from tests.parity.differential.undefined import breaking, undefined
from tests.parity.differential.world import World
from tests.parity.workers import Saying, nowhere

LENGTH = 40
_KEPT_ERRORS = 0.8
"""The share of failing steps that are kept; of failing walks, which end a program, fewer are."""
_KEPT_FAILED_WALKS = 0.03
_MOST_TENSORS = 24
_NAMES = list(KINDS)
_WEIGHTS = np.array([KINDS[name].weight for name in _NAMES])
_MODES = ("no_grad", "no_grad", "no_grad", "enable_grad", "set_grad_enabled", "inference_mode")


def program(seed: int, length: int = LENGTH, at: Saying = nowhere) -> Program:
    """The program of a seed."""
    world = World(np.random.default_rng(seed))
    found: list[Step] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(found) < length:
            step = _proposed(world, "leaf" if len(found) < 3 else None)
            if step is None:
                continue
            at(TORCH, f"making step {len(found)}, {step.name}")
            if breaking(world.variables, step):
                continue
            void = undefined(world.variables, step)
            retained = _retained(world, step)
            outcome = execute(torch, world.variables, step, lambda: None)
            failed = outcome.raised is not None
            if (
                (void and not failed)
                or "ComplexHalf" in outcome.text  # see _foreign
                or _foreign(world, retained)
                or not world.chance(_share(step, failed, length - len(found)))
            ):
                continue
            found.append(step)
            if failed and step.kind in WALKS:
                break
    return tuple(found)


def _share(step: Step, failed: bool, left: int) -> float:
    """How often a step is kept that is proposed now."""
    if not failed:
        return 1
    return _KEPT_FAILED_WALKS if step.kind in WALKS and left > 4 else _KEPT_ERRORS


def _proposed(world: World, kind: str | None) -> Step | None:
    name = kind or str(world.rng.choice(_NAMES, p=_WEIGHTS / _WEIGHTS.sum()))
    if len(world.tensors()) > _MOST_TENSORS:
        name = "name dropped"
    try:
        step = KINDS[name].propose(world)
    except RuntimeError:  # it looked at a view that may not be used any more
        return None
    if step is None:
        return None
    modes = _modes(world, name)
    if "inference_mode" in modes:  # a leaf of it that requires grad is of no use to anyone
        step = replace(step, kwargs=tuple(kv for kv in step.kwargs if kv[0] != "requires_grad"))
    return replace(step, modes=modes)


def _retained(world: World, step: Step) -> dict[str, torch.Tensor | None]:
    """Before a batched walk: what tensors that retain their gradient have of it."""
    if step.kind != "grad of a batch":
        return {}
    tensors = {name: world.variables[name] for name in world.tensors()}
    return {name: x.grad for name, x in tensors.items() if x.retains_grad}


def _foreign(world: World, retained: dict[str, torch.Tensor | None]) -> bool:
    """Forget what no program contains: complex numbers of two halves, ints that require grad,
    gradients that are views which may not be used any more, and those that a batched walk left at
    a tensor that retains them: torch leaves its wrapper there, of which nothing can be asked, or
    one example, where all are the same.
    """
    named = world.variables
    made = [
        n
        for n in world.tensors()
        if _left_out(named[n]) or (n in retained and named[n].grad is not retained[n])
    ]
    for name in made:
        del world.variables[name]
    return bool(made)


def _left_out(x: torch.Tensor) -> bool:
    if _wrapped(x):
        return True
    if x.grad is not None:
        try:
            x.grad.is_leaf  # noqa: B018 (torch says so when it is asked)
        except RuntimeError:
            return True
    whole = not x.is_floating_point() and not x.is_complex()
    return x.dtype == torch.complex32 or (whole and x.requires_grad)


def _wrapped(x: torch.Tensor) -> bool:
    keep = [x] if x.grad is None else [x, x.grad]
    return any("Batched" in str(torch._C._dispatch_keys(y)) for y in keep)


def _modes(world: World, kind: str) -> tuple[str, ...]:
    """Grad modes around a step: none for most; some are nested."""
    if world.chance(0.86):
        return ()
    mode = world.one(_MODES)
    if mode == "inference_mode" and not world.inference:
        mode = "no_grad"
    return (mode, "enable_grad") if world.chance(0.15) else (mode,)
