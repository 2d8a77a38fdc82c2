"""Which ops keep other tensors for backward than torch does, so that other writes are refused.

What is kept follows from how a derivative is written. Where torch keeps more, it is mostly for a
shape, or for a kernel that works both ways; here such a tensor may be written, and the gradient is
right. Where more is kept here, a write is refused that torch lets pass.
"""

from __future__ import annotations

TORCH_KEEPS_MORE = [
    "cholesky_solve",
    "combinations",
    "complex",
    "fft.fft",
    "fft.ifft",
    "fft.ihfft",
    "fft.ihfft2",
    "fft.ihfftn",
    "fft.rfft",
    "fft.rfft2",
    "fft.rfftn",
    "ldexp",
    "linalg.householder_product",
    "linalg.lstsq",
    "linalg.lstsq.grad_oriented",
    "linalg.lu",
    "linalg.lu_solve",
    "lu_solve",
    "nn.functional.adaptive_avg_pool1d",
    "nn.functional.adaptive_avg_pool2d",
    "nn.functional.adaptive_avg_pool3d",
    "nn.functional.bilinear",
    "nn.functional.binary_cross_entropy",
    "nn.functional.embedding_bag",
    "nn.functional.group_norm",
    "nn.functional.interpolate.area",
    "nn.functional.multilabel_margin_loss",
    "nn.functional.pad.reflect",
    "nn.functional.pad.replicate",
    "nn.functional.pad.replicate_negative",
    "nn.functional.pdist",
    "nn.functional.rrelu",
    "nn.functional.batch_norm",
    "nn.functional.soft_margin_loss",
    "ormqr",
    "stft",
]
"""Writes that torch refuses, and that are no matter here."""

MORE_KEPT_HERE = [
    "linalg.vander",
    "nn.functional.ctc_loss",
    "nn.functional.instance_norm",
    "nn.functional.scaled_dot_product_attention",
    "polar",
    "triangular_solve",
]
"""Writes that are refused here; why, for each: docs/adr/kept-for-backward.md."""

FREED_UNLIKE = [
    "gradient",
    "lu_unpack",
    "nn.functional.pad.circular",
]
"""Second walks that one side refuses, of ops whose writes are refused alike: torch frees nothing of
masks and numbers that belong to an op, and asks copies into parts of a new tensor whether they
were walked.
"""
