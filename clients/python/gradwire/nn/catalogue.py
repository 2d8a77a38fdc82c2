"""Modules that differ from their kind by an op or by settings alone, each declared by a line.

What type checkers and editors know of them stands in the stub, which `make docs` makes.
"""

from __future__ import annotations

from typing import Any

from gradwire.nn.activation import AlongAxis
from gradwire.nn.applied import Applied, Dropping, Loss
from gradwire.nn.convolution import Convolution, Transposed
from gradwire.nn.module import Module
from gradwire.nn.normalization import BatchNorm, InstanceNorm
from gradwire.nn.pooling import MaxPool, Pool, Unpool
from gradwire.nn.rearrange import ConstantPad, Pad, UpsamplingTo

__all__: list[str] = []
_F = "nn.functional."


def _declare(name: str, base: type[Module], doc: str | None = None, **said: Any) -> None:
    """A subclass of base. said: its attributes, and of which op it is, as the class is told."""
    of_op = {word: said.pop(word) for word in ("op", "inplace") if word in said}
    body = {"__module__": __name__, "__doc__": doc, **said}
    globals()[name] = type(base)(name, (base,), body, **of_op)
    __all__.append(name)


_declare("ReLU", Applied, op=f"{_F}relu", inplace=True)
_declare("ReLU6", Applied, op=f"{_F}relu6", inplace=True)
_declare("LeakyReLU", Applied, op=f"{_F}leaky_relu", inplace=True)
_declare("RReLU", Applied, op=f"{_F}rrelu", inplace=True)
_declare("ELU", Applied, op=f"{_F}elu", inplace=True)
_declare("CELU", Applied, op=f"{_F}celu", inplace=True)
_declare("SELU", Applied, op=f"{_F}selu", inplace=True)
_declare("GELU", Applied, op=f"{_F}gelu")
_declare("SiLU", Applied, op=f"{_F}silu", inplace=True)
_declare("Mish", Applied, op=f"{_F}mish", inplace=True)
_declare("Hardtanh", Applied, op=f"{_F}hardtanh", inplace=True)
_declare("Hardsigmoid", Applied, op=f"{_F}hardsigmoid", inplace=True)
_declare("Hardswish", Applied, op=f"{_F}hardswish", inplace=True)
_declare("Hardshrink", Applied, op=f"{_F}hardshrink", named=False)
_declare("Softshrink", Applied, op=f"{_F}softshrink", named=False)
_declare("Tanhshrink", Applied, op=f"{_F}tanhshrink")
_declare("Threshold", Applied, op=f"{_F}threshold", inplace=True)
_declare("Softplus", Applied, op=f"{_F}softplus")
_declare("Softsign", Applied, op=f"{_F}softsign")
_declare("LogSigmoid", Applied, op=f"{_F}logsigmoid")
_declare("Sigmoid", Applied, op="sigmoid")
_declare("Tanh", Applied, op="tanh")
_declare("GLU", Applied, op=f"{_F}glu")
_declare("Softmax", AlongAxis, op="softmax")
_declare("LogSoftmax", AlongAxis, op="log_softmax")
_declare("Softmin", AlongAxis, op=f"{_F}softmin")

_declare("L1Loss", Loss, op=f"{_F}l1_loss", without=("weight",))
_declare("MSELoss", Loss, op=f"{_F}mse_loss", without=("weight",))
_declare("SmoothL1Loss", Loss, op=f"{_F}smooth_l1_loss")
_declare("HuberLoss", Loss, op=f"{_F}huber_loss", without=("weight",))
_declare("CrossEntropyLoss", Loss, op=f"{_F}cross_entropy")
_declare("NLLLoss", Loss, op=f"{_F}nll_loss")
_declare("BCELoss", Loss, op=f"{_F}binary_cross_entropy")
_declare("BCEWithLogitsLoss", Loss, op=f"{_F}binary_cross_entropy_with_logits")
_declare("KLDivLoss", Loss, op=f"{_F}kl_div")
_declare("PoissonNLLLoss", Loss, op=f"{_F}poisson_nll_loss")
_declare("GaussianNLLLoss", Loss, op=f"{_F}gaussian_nll_loss", operands=3)
_declare("HingeEmbeddingLoss", Loss, op=f"{_F}hinge_embedding_loss")
_declare("CosineEmbeddingLoss", Loss, op=f"{_F}cosine_embedding_loss", operands=3)
_declare("MarginRankingLoss", Loss, op=f"{_F}margin_ranking_loss", operands=3)
_declare("TripletMarginLoss", Loss, op=f"{_F}triplet_margin_loss", operands=3)
_declare("CTCLoss", Loss, op=f"{_F}ctc_loss", operands=4)
_declare("SoftMarginLoss", Loss, op=f"{_F}soft_margin_loss")
_declare("MultiMarginLoss", Loss, op=f"{_F}multi_margin_loss")
_declare("MultiLabelMarginLoss", Loss, op=f"{_F}multilabel_margin_loss")
_declare("MultiLabelSoftMarginLoss", Loss, op=f"{_F}multilabel_soft_margin_loss")

_declare("CosineSimilarity", Applied, op=f"{_F}cosine_similarity", operands=2, shown=())
_declare("PairwiseDistance", Applied, op=f"{_F}pairwise_distance", operands=2, shown=())
_declare("LocalResponseNorm", Applied, op=f"{_F}local_response_norm")
_declare("PixelShuffle", Applied, op=f"{_F}pixel_shuffle")
_declare("PixelUnshuffle", Applied, op=f"{_F}pixel_unshuffle")
_declare("ChannelShuffle", Applied, op=f"{_F}channel_shuffle")
_declare("Fold", Applied, op=f"{_F}fold")
_declare("Unfold", Applied, op=f"{_F}unfold")

_declare("Dropout", Dropping, op=f"{_F}dropout", inplace=True)
_declare("AlphaDropout", Dropping, op=f"{_F}alpha_dropout", inplace=True)
_declare("FeatureAlphaDropout", Dropping, op=f"{_F}feature_alpha_dropout", inplace=True)

_declare("UpsamplingNearest2d", UpsamplingTo, kind={"mode": "nearest"})
_declare("UpsamplingBilinear2d", UpsamplingTo, kind={"mode": "bilinear", "align_corners": True})

for _n in (1, 2, 3):
    _declare(f"Dropout{_n}d", Dropping, op=f"{_F}dropout{_n}d", inplace=True)
    _declare(f"MaxPool{_n}d", MaxPool, op=f"{_F}max_pool{_n}d")
    _declare(f"MaxUnpool{_n}d", Unpool, op=f"{_F}max_unpool{_n}d")
    _declare(f"AvgPool{_n}d", Pool, op=f"{_F}avg_pool{_n}d")
    _declare(f"LPPool{_n}d", Applied, op=f"{_F}lp_pool{_n}d")
    _declare(f"AdaptiveAvgPool{_n}d", Applied, op=f"{_F}adaptive_avg_pool{_n}d")
    _op = f"{_F}adaptive_max_pool{_n}d"
    _declare(f"AdaptiveMaxPool{_n}d", Applied, op=_op, shown=("output_size",))
    _declare(f"BatchNorm{_n}d", BatchNorm, ndims=(2, 3) if _n == 1 else (_n + 2,))
    _declare(f"InstanceNorm{_n}d", InstanceNorm, ndims=(_n + 1, _n + 2))
    _declare(f"ConvTranspose{_n}d", Transposed, f"The transpose of Conv{_n}d.", axes=_n)

for _n, _axes, _sizes in (
    (1, "one axis", "length"),
    (2, "two axes", "height, width"),
    (3, "three axes", "depth, height, width"),
):
    _doc = f"Convolution of {_axes}. Shape: (N, channels, {_sizes}), or without N."
    _declare(f"Conv{_n}d", Convolution, _doc, axes=_n)

for _n, _axes, _their, _around in (
    (1, "last axis", "its", "at both ends of"),
    (2, "last two axes", "their", "around"),
    (3, "last three axes", "their", "around"),
):
    for _kind, _mode, _doc in (
        ("Reflection", "reflect", f"The {_axes} mirrored at {_their} ends."),
        ("Replication", "replicate", f"The ends of the {_axes} drawn out."),
        ("Circular", "circular", f"The {_axes} begun anew at {_their} ends."),
        ("Zero", "constant", f"Zeros {_around} the {_axes}."),
    ):
        _declare(f"{_kind}Pad{_n}d", Pad, _doc, axes=_n, mode=_mode)
    _declare(f"ConstantPad{_n}d", ConstantPad, f"A number {_around} the {_axes}.", axes=_n)
