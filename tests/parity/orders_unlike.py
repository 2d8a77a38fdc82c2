"""Ops whose results lie otherwise than torch's for some operands, and why; see test_orders.py."""

from __future__ import annotations

CHANNELS = "torch's kernels of images keep channels together where the operand has them so"
FOURIER = "torch's transforms put the axes that they work along innermost, in the order worked"
GAPS = "torch keeps the gaps of an operand that is a view, results here have none"
REPEATED = "torch works the repeated operand out first, into a tensor of its own"
CHOSEN = "its shape depends on elements, and the client learns no more than that: row-major here"
STEPS = "made of other ops here, the last of which lays its result as it does"

UNLIKE = {
    **dict.fromkeys(
        [
            "nn.functional.adaptive_avg_pool1d",
            "nn.functional.adaptive_avg_pool2d",
            "nn.functional.adaptive_max_pool1d",
            "nn.functional.adaptive_max_pool2d",
            "nn.functional.avg_pool1d",
            "nn.functional.avg_pool2d",
            "nn.functional.channel_shuffle",
            "nn.functional.conv1d",
            "nn.functional.conv2d",
            "nn.functional.conv_transpose1d",
            "nn.functional.conv_transpose2d",
            "nn.functional.interpolate",
            "nn.functional.lp_pool1d",
            "nn.functional.lp_pool2d",
            "nn.functional.max_pool1d",
            "nn.functional.max_pool1d_with_indices",
            "nn.functional.max_pool2d",
            "nn.functional.max_pool2d_with_indices",
            "nn.functional.max_unpool2d",
            "nn.functional.pad",
            "nn.functional.pixel_unshuffle",
            "nn.functional.upsample",
            "nn.functional.upsample_bilinear",
            "nn.functional.upsample_nearest",
        ],
        CHANNELS,
    ),
    **{
        f"fft.{inverse}{kind}fft{axes}": FOURIER
        for inverse in ("", "i")
        for kind in ("", "r", "h")
        for axes in ("", "2", "n")
    },
    **dict.fromkeys(["conj", "diagonal_scatter", "select_scatter", "slice_scatter"], GAPS),
    **dict.fromkeys(
        ["ldexp", "nn.functional.huber_loss", "nn.functional.soft_margin_loss"], REPEATED
    ),
    **dict.fromkeys(
        [
            "cholesky_inverse",
            "kron",
            "linalg.householder_product",
            "linalg.lstsq",
            "linalg.lu_solve",
            "linalg.matrix_power",
            "nn.functional.batch_norm",
            "nn.functional.rrelu",
            "ormqr",
            "renorm",
            "unique",
            "unique_consecutive",
        ],
        STEPS,
    ),
    **dict.fromkeys(["argwhere", "nonzero"], CHOSEN),
    "cholesky_solve": "torch lays it column by column",
    **dict.fromkeys(
        ["linalg.solve", "linalg.solve_ex"],
        "torch lays a batch of vectors as it does a matrix, column by column",
    ),
    "triangular_solve": "torch's second result is a copy that LAPACK has worked on",
}

MEMORY = "what it shows depends on the memory that the operand is a part of"
NUMBERS = "its results are numbers, or made from none"
NAMED_OTHERWISE = "torch has no function of this name that takes these arguments"

NOT_TRIED = {
    **dict.fromkeys(["as_strided", "as_strided_scatter"], MEMORY),
    **dict.fromkeys(["allclose", "equal", "numel"], NUMBERS),
    **dict.fromkeys(["to", "slice"], NAMED_OTHERWISE),
    "__setitem__": "it writes to its operand, which lies as it did",
    "linalg.ldl_solve": "torch crashes on pivots that are repeated",
}
