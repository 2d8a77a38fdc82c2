"""Which dtypes ops take, alone and mixed, and what comes of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import gradwire

DTYPES = ("bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
DTYPES += ("complex64", "complex128")  # type: ignore[assignment]

ALONE = (
    "F.hardtanh(x, min_val=-0.5)",
    "F.hardtanh(x, min_val=-1)",
    "T.nansum(x, dtype=T.complex128)",
    "T.nansum(x, dim=5)",
    "T.nanmean(x, dtype=T.int64)",
    "T.nanmean(x, dtype=T.complex64)",
    "T.argmin(x, dim=5)",
    "T.mean(x, dim=5)",
    "x.max(5)",
    "T.median(x.detach()[:0])",
    "x.norm(dtype=T.float32)",
    "T.linalg.vector_norm(x, dtype=T.complex64)",
    "T.linalg.matrix_norm(x, ord=1, dtype=T.float64)",
    "T.linalg.matrix_norm(x, ord=2, dtype=T.float32)",
    "x.clamp(min=True)",
    "x.clamp_max(True)",
    "x.clamp_max(-1)",
    "T.einsum('ij->i', x[:, :1])",
    "T.remainder(True, x.detach())",
    "x.masked_fill(T.tensor([True, False]), 1 + 2j)",
    "x.index_fill(0, T.tensor([0]), 1 + 2j)",
    "T.ones(2, 2).gather(0, x.detach())",
    "T.ones(2, 2).take_along_dim(x.detach(), 0)",
    "T.ones(2, 2)[T.zeros(2, dtype=x.dtype)]",
    "T.ones(2, 2).index_fill(0, T.zeros(1, dtype=x.dtype), 1)",
    "T.ones(2, 2).index_copy(0, T.zeros(1, dtype=x.dtype), T.ones(1, 2))",
    "x.detach().scatter_reduce(0, T.tensor([[0, 1]]), x.detach(), 'mean')",
    "T.trapezoid(x[:, :0])",
    "x.lerp(x.detach(), T.tensor(True))",
    "T.addmm(x, x.detach(), x.detach(), alpha=-1, beta=0.5)",
    "T.special.i1(x)",
    "T.special.i1e(x)",
    "F.binary_cross_entropy_with_logits(T.ones(2, 2), x.detach())",
)
TOGETHER = (
    "T.einsum('ij,jk->ik', x, y)",
    "T.einsum('ij,jk->ik', x[:, :1], y[:1])",
    "T.einsum('ij,jk', x[:, :1], y)",
    "T.einsum('...i,i->...', x[:, :1], y[0, :1])",
    "T.einsum('ij,kl->ijkl', x, y)",
    "T.einsum('ij,kl->i', x, y)",
    "T.einsum('ij,kl->i', x, y[:1, :1])",
    "T.einsum('ij,jk->ik', x.detach()[:, :0], y.detach()[:0])",
    "T.tensordot(x, y[:1], dims=1)",
    "T.tensordot(x.detach()[:, :0], y.detach()[:0], dims=1)",
    "x.clamp(min=y)",
    "x.clamp(x, y)",
    "T.addcdiv(T.ones(2, 2), x, y.detach())",
)


def _values(dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool" or "int" in dtype:
        return rng.integers(0, 4, (2, 2)).astype("bool" if dtype == "bool" else "int64")
    found = rng.normal(size=(2, 2)).round(2)
    return found + 1j * rng.normal(size=(2, 2)).round(2) if "complex" in dtype else found


def _shown(m: Any, call: str, dtypes: tuple[str, ...]) -> tuple[Any, ...]:
    """What a call gives, the dtype and the values of it and of its gradients; or that it raises."""
    named: dict[str, Any] = {"T": m, "F": m.nn.functional}
    leaves = {
        name: m.tensor(_values(dtype, seed).tolist(), dtype=getattr(m, dtype)).requires_grad_(
            "float" in dtype or "complex" in dtype
        )
        for seed, (name, dtype) in enumerate(zip("xy", dtypes, strict=False))
    }
    try:
        out = eval(call, named | leaves)
    except IndexError:
        return ("IndexError",)
    except RuntimeError:
        return ("RuntimeError",)
    out = out[0] if isinstance(out, tuple) else out
    try:
        if out.requires_grad:
            out.backward(m.ones_like(out))
    except RuntimeError:
        return ("RuntimeError backwards",)
    grads = [x.grad for x in leaves.values()]
    results = [None if x is None else x.detach() for x in (out, *grads)]
    return tuple(None if x is None else (str(x.dtype), np.asarray(x.tolist())) for x in results)


@pytest.mark.filterwarnings("ignore::UserWarning")  # each library's own, of imaginary parts lost
@pytest.mark.parametrize("call", [*ALONE, *TOGETHER])
def test_dtypes_are_taken_and_refused_as_in_torch(call: str) -> None:
    for dtypes in itertools.product(DTYPES, repeat=1 + (call in TOGETHER)):
        wanted, found = (_shown(m, call, dtypes) for m in (torch, gradwire))
        assert len(wanted) == len(found), (call, dtypes, wanted, found)
        for w, f in zip(wanted, found, strict=True):
            if not isinstance(w, tuple) or not isinstance(f, tuple):
                assert w == f, (call, dtypes)
                continue
            assert w[0] == f[0], (call, dtypes)
            few = {"bfloat16": 2e-2, "float16": 2e-3}
            exact = max(few.get(d, 1e-5) for d in (*dtypes, w[0].rpartition(".")[2]))
            np.testing.assert_allclose(f[1], w[1], rtol=exact, atol=exact, err_msg=str(dtypes))
