"""An entry of the table run in one of the ways that count; what differs comes back as lines."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import chain, islice
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from tests.parity.opinfo.checks import Found, differs
from tests.parity.opinfo.edges import edged
from tests.parity.opinfo.layouts import EXPANDED, GAPS
from tests.parity.opinfo.left_out import reason
from tests.parity.opinfo.loose import calls, loosely
from tests.parity.opinfo.lying import lain
from tests.parity.opinfo.numbers import distinct
from tests.parity.opinfo.precision import imprecise
from tests.parity.opinfo.referenced import referenced
from tests.parity.opinfo.refusals import refused
from tests.parity.opinfo.stand import Unlike
from tests.parity.opinfo.variants import Variant, variants, varied

EXACT = {"float64": torch.float64, "complex128": torch.complex128}
WHOLE = {"int64": torch.int64, "bool": torch.bool}
LAYOUTS = {"gaps": GAPS, "expanded": EXPANDED}
OTHERWISE = 24
"""So many samples of a dtype lie in each of these ways."""
ROUNDED = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
WAYS = (*EXACT, *WHOLE, *ROUNDED, *LAYOUTS, "variants", "numbers", "extremes", "edges", "errors")
"""In which dtype; with operands that lie otherwise in memory; by other names, as a method and in
place; with a number for a tensor; torch's reference inputs; NaN, ±inf and ±0; error inputs."""

TIES_ARE_OPEN = ("sort", "msort", "argsort", "topk", "kthvalue", "mode")
"""Entries whose order of equal elements torch does not promise, nor keeps from size to size."""

UNLIKE = re.compile(
    r"memory_format=torch\.channels_last(_3d)?|out=, which there is not|(torch\.)?complex32"
    r"|an operator(, which Python asks of a tensor| of a number, which Python asks its tensor for)"
    r"|\w+, torch\.strided, (cpu, 65|meta, \d+) axes"
)
"""For what a sample may be left out, of which there is nothing like it here; else it is red."""

NOTES = (
    *(f"torch.{device}.manual_seed_all" for device in ("cuda", "xpu", "mtia")),
    "torch.testing._internal.common_utils.extract_test_fn",
    "torch.testing._internal.opinfo.core.extract_test_fn",
)
"""Where torch formats the stack: for devices that may come yet, and to say whose a sample is."""


@cache
def entries() -> dict[str, Any]:
    """What the catalogue has to have, by torch's full name; entries of one name are numbered."""
    from torch.testing._internal.common_methods_invocations import op_db

    found: dict[str, Any] = {}
    for op in op_db:
        if reason(op) is None:
            same = sum(other.full_name == op.full_name for other in found.values())
            found[f"{op.full_name} #{same + 1}" if same else op.full_name] = op
    return found


def main_way(name: str) -> str:
    """The dtype in which every entry has samples: complex for what takes nothing else."""
    dtypes = entries()[name].dtypes
    only = torch.complex128 in dtypes and torch.float64 not in dtypes
    return "complex128" if only else "float64"


def left_out() -> Counter[str]:
    """How many entries are left out, by the reason."""
    from torch.testing._internal.common_methods_invocations import op_db

    return Counter(why for op in op_db if (why := reason(op)) is not None)


def told(name: str, way: str, most: int | None = None) -> list[str]:
    """All that differs for an entry, at most so many samples of it."""
    op = entries()[name]
    lines: list[str] = []
    held = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"), _unwatched():
        warnings.simplefilter("ignore")
        for check in islice(_checks(op, way), most):
            found = _lines(check)
            held += found is not None
            lines += found or []
    if way == main_way(name) and not held:
        lines.append("no sample of it was held against torch")
    return lines


@contextmanager
def _unwatched() -> Iterator[None]:
    """Torch without its notes of the whole stack at each seed and each sample: half of the time."""
    with ExitStack() as stack:
        for note in NOTES:
            stack.enter_context(patch(note, new=_nothing))
        yield


def _nothing(*given: Any) -> None:
    return None


def _lines(check: Callable[[], Iterable[str]]) -> list[str] | None:
    """What differs; None for a sample that asks for what there is nothing like here."""
    try:
        return list(check())
    except Unlike as asked:
        return None if UNLIKE.fullmatch(str(asked)) else [f"left out: {asked}"]
    except Exception as problem:
        text = str(problem).replace("\n", " ")
        return [f"{type(problem).__name__}: {text[:300]}"]


def _checks(op: Any, way: str) -> Iterator[Callable[[], Found]]:
    torch.manual_seed(0)
    if way == "errors":
        cases = op.error_inputs("cpu") if op.error_inputs_func is not None else ()
        return (partial(refused, op, case) for case in cases)
    if way in ROUNDED:
        return (partial(imprecise, op, s, ROUNDED[way]) for s in _samples(op, ROUNDED[way]))
    if way == "extremes":
        return referenced(op, torch.float64)
    if way == "edges":
        return chain(*(edged(op, dtype) for dtype in EXACT.values()))
    if way == "numbers":
        drawn = islice(_samples(op, torch.float64), 2)
        return (partial(loosely, op, call) for sample in drawn for call in calls(sample))
    if way == "variants":
        return _in_other_ways(op)
    if way in LAYOUTS:
        kinds = (EXACT | WHOLE).values()
        drawn = chain.from_iterable(islice(_samples(op, dtype), OTHERWISE) for dtype in kinds)
        return (partial(lain, op, s, layout) for s in drawn for layout in LAYOUTS[way])
    return (partial(differs, op, s) for s in _samples(op, (EXACT | WHOLE)[way]))


def _in_other_ways(op: Any) -> Iterator[Callable[[], Found]]:
    for called, variant in variants(op):
        for sample in _samples(op, torch.float64):
            if not (called.startswith("in place") and sample.broadcasts_input):
                yield partial(_named, called, variant, sample)


def _named(called: str, variant: Variant, sample: Any) -> Found:
    return (f"{called}: {line}" for line in varied(variant, sample))


def _samples(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    """Samples, leaves where torch differentiates; whole numbers where the op takes only these."""
    if dtype is torch.float64 and not op.dtypes & set(EXACT.values()):
        dtype = torch.int64 if torch.int64 in op.dtypes else min(op.dtypes, key=str)
    if dtype not in op.dtypes:
        return iter(())
    numbers = dtype.is_floating_point or dtype.is_complex
    smooth = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    drawn = op.sample_inputs("cpu", dtype, requires_grad=bool(numbers and smooth))
    if op.name in TIES_ARE_OPEN:
        drawn = _without_ties(drawn, dtype)
    return iter(drawn)


def _without_ties(samples: Iterable[Any], dtype: torch.dtype) -> Iterator[Any]:
    """Which of equal elements comes first torch leaves open, so there are to be none.

    Of truth values many are equal: there only what says `stable` is left.
    """
    for sample in samples:
        if sample.kwargs.get("stable"):
            yield sample
        elif dtype is not torch.bool:
            yield sample.transform(distinct)
