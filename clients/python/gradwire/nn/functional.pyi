"""torch.nn.functional, from the catalogue, and what takes a function of the user's.

Made from the catalogue by `make docs`.
"""

from collections.abc import Callable
from typing import Any, Literal, overload
from gradwire._typed.arguments import Ints
from gradwire.tensor import Tensor
from gradwire_engine.spec import DType

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows, spread evenly over the last axis."""

def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows, spread evenly over the last 2 axes."""

def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many windows, spread evenly over the last 3 axes."""

@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: Any,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of so many windows, spread evenly over the last axis."""
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: Any,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of so many windows, spread evenly over the last 2 axes."""
@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

@overload
def adaptive_max_pool3d(
    input: Tensor,
    output_size: Any,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of so many windows, spread evenly over the last 3 axes."""
@overload
def adaptive_max_pool3d(
    input: Tensor,
    output_size: Any,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

def affine_grid(theta: Tensor, size: Ints, align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample that affine maps (N, 2, 3) or (N, 3, 4) make, for a result size."""

def alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """Dropout for SELU networks: keeps mean and variance."""

def alpha_dropout_(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """Dropout for SELU networks: keeps mean and variance."""

def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The means of windows that slide over the last axis."""

def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The means of windows that slide over the last 2 axes."""

def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The means of windows that slide over the last 3 axes."""

def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel, by the batch in training (updating what runs), else by what ran."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1ᵀ weight[k] input2 for each output k, plus bias."""

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """Cross entropy of probabilities between 0 and 1; logarithms are cut off at -100."""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of probabilities, given as logits: sigmoid is taken here, without overflow."""

def celu(input: Tensor, alpha: float = 1.0, *, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1)."""

def celu_(input: Tensor, alpha: float = 1.0, *, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1)."""

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Deal the channels out to groups, as cards are: (g n) channels become (n g)."""

@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over signals (N, C, L) and sum the products."""
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over images (N, C, H, W) and sum the products."""
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor:
    """Slide a weight (O, C / groups, ...) over volumes (N, C, D, H, W) and sum the products."""
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: str = 'valid',
    dilation: Ints = (1,),
    groups: int = 1,
) -> Tensor: ...

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of signals (N, C, L) over the window of a convolution's weight."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of images (N, C, H, W) over the window of a convolution's weight."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = (1,),
    padding: Ints = (0,),
    output_padding: Ints = (0,),
    groups: int = 1,
    dilation: Ints = (1,),
) -> Tensor:
    """Spread each element of volumes (N, C, D, H, W) over the window of a convolution's weight."""

def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """1 - cosine of the angle where target is 1, the cosine beyond the margin where it is -1."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along an axis."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = 'mean',
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negated log-probability that softmax of the scores gives each sample's class."""

@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = 'mean',
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability that sequences of class probabilities spell unaligned targets."""
@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Ints,
    target_lengths: Ints,
    blank: int = 0,
    reduction: str = 'mean',
    zero_infinity: bool = False,
) -> Tensor: ...

def dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

def dropout1d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of sequences to zero with probability p."""

def dropout1d_(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of sequences to zero with probability p."""

def dropout2d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of images to zero with probability p."""

def dropout2d_(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of images to zero with probability p."""

def dropout3d(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of volumes to zero with probability p."""

def dropout3d_(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set whole channels of volumes to zero with probability p."""

def dropout_(
    input: Tensor,
    p: float = 0.5,
    training: bool = True,
    *,
    inplace: bool = False,
) -> Tensor:
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

def elu(input: Tensor, alpha: float = 1.0, *, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x) - 1)."""

def elu_(input: Tensor, alpha: float = 1.0, *, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x) - 1)."""

def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight that the indices in input name; the row padding_idx gets no gradient."""

def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = 'mean',
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of a table's rows; offsets say where each bag begins."""

def feature_alpha_dropout(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """Alpha dropout of whole channels."""

def feature_alpha_dropout_(
    input: Tensor,
    p: float = 0.5,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """Alpha dropout of whole channels."""

def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = (1,),
    padding: Ints = (0,),
    stride: Ints = (1,),
) -> Tensor:
    """Columns (N, C · window, windows) added back to images of a size: the transposed of unfold."""

def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = 'mean',
) -> Tensor:
    """Negative log-likelihood of target under normal distributions with mean input."""

def gelu(input: Tensor, *, approximate: str = 'none', inplace: bool = False) -> Tensor:
    """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""

def gelu_(input: Tensor, *, approximate: str = 'none', inplace: bool = False) -> Tensor:
    """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""

def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second."""

def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = 'bilinear',
    padding_mode: str = 'zeros',
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images where a grid says, in coordinates from -1 to 1, the last axis' first."""

def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each sample's channels in groups, then apply weight and bias per channel."""

def hardshrink(input: Tensor, lambd: float = 0.5, *, inplace: bool = False) -> Tensor:
    """Each element that is farther than lambd from 0, else 0."""

def hardshrink_(input: Tensor, lambd: float = 0.5, *, inplace: bool = False) -> Tensor:
    """Each element that is farther than lambd from 0, else 0."""

def hardsigmoid(input: Tensor, *, inplace: bool = False) -> Tensor:
    """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""

def hardsigmoid_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""

def hardswish(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times hardsigmoid of x."""

def hardswish_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times hardsigmoid of x."""

def hardtanh(
    input: Tensor,
    min_val: float = -1.0,
    max_val: float = 1.0,
    *,
    inplace: bool = False,
) -> Tensor:
    """Each element limited to between min_val and max_val."""

def hardtanh_(
    input: Tensor,
    min_val: float = -1.0,
    max_val: float = 1.0,
    *,
    inplace: bool = False,
) -> Tensor:
    """Each element limited to between min_val and max_val."""

def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """The distance where target is 1, what it lacks to the margin where target is -1."""

def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = 'mean',
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squared distances up to delta, delta times the absolute ones beyond."""

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of each sample over its places, as if it were a batch of its own."""

def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = 'nearest',
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the axes after batch and channels to a size, or by a factor, in one of seven modes."""

def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence of target from the distribution whose logarithm is input."""

def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute distances of input and target."""

def layer_norm(
    input: Tensor,
    normalized_shape: Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Bring the last axes to mean 0 and variance 1, then apply weight and bias."""

def leaky_relu(input: Tensor, negative_slope: float = 0.01, *, inplace: bool = False) -> Tensor:
    """Each element where it is positive, else a small part of it."""

def leaky_relu_(input: Tensor, negative_slope: float = 0.01, *, inplace: bool = False) -> Tensor:
    """Each element where it is positive, else a small part of it."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply an affine map to the last axis: input weightᵀ + bias."""

def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
) -> Tensor:
    """Divide by (k + alpha mean of squares over `size` neighbouring channels) to the power beta."""

def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """log_softmax along an axis; along the first without one, of 2 and of 4 or more the second."""

def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of sigmoid, without overflow."""

def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows that slide over the last axis: (sum of x^p)^(1/p)."""

def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows that slide over the last 2 axes: (sum of x^p)^(1/p)."""

def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms of windows that slide over the last 3 axes: (sum of x^p)^(1/p)."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """What input1 lacks to rank above input2 by a margin (target 1), or below it (target -1)."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last axis; with their places if asked."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows that slide over the last axis, and their places."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last 2 axes; with their places if asked."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows that slide over the last 2 axes, and their places."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The maxima of windows that slide over the last 3 axes; with their places if asked."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...

def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    dilation: Ints = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows that slide over the last 3 axes, and their places."""

def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    output_size: Ints | None = None,
) -> Tensor:
    """Put maxima back at their places over the last axis, with zeros around them."""

def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    output_size: Ints | None = None,
) -> Tensor:
    """Put maxima back at their places over the last 2 axes, with zeros around them."""

def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = (0,),
    output_size: Ints | None = None,
) -> Tensor:
    """Put maxima back at their places over the last 3 axes, with zeros around them."""

def mish(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times tanh of softplus of x."""

def mish_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times tanh of softplus of x."""

def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
    weight: Tensor | None = None,
) -> Tensor:
    """Squared distances of input and target."""

def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention of (length, batch, width) sequences; the output and its weights."""

def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """What the target's score lacks to lead every other class's by a margin, over the classes."""

def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """What right classes' scores lack to lead all wrong ones by 1; targets end at the first -1."""

def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """The mean over the classes of each one's binary cross entropy with logits."""

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """The negated log-probability of each sample's class."""

def normalize(input: Tensor, p: float = 2.0, dim: Ints | None = (1,), eps: float = 1e-12) -> Tensor:
    """Divide vectors along an axis, or several, by their p-norm, or by eps where it is smaller."""

def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a 1 at the place each index names; -1: as many as the indices need."""

def pad(input: Tensor, pad: Ints, mode: str = 'constant', value: float | None = None) -> Tensor:
    """Pad axes, from the last on: constant, reflect, replicate or circular."""

def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
) -> Tensor:
    """The p-norms of the differences (plus eps) of vectors in the last axis."""

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of each row to each later row, in one vector."""

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels to places: (..., C r², H, W) becomes (..., C, H r, W r)."""

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Move places to channels: (..., C, H r, W r) becomes (..., C r², H, W)."""

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """Negative log-likelihood of counts under Poisson rates (their logarithms by default)."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Each element where it is positive, else times a learned weight: one, or one per channel."""

def relu(input: Tensor, *, inplace: bool = False) -> Tensor:
    """Each element where it is positive, else 0."""

def relu6(input: Tensor, *, inplace: bool = False) -> Tensor:
    """Each element limited to between 0 and 6."""

def relu6_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """Each element limited to between 0 and 6."""

def relu_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """Each element where it is positive, else 0."""

def rms_norm(
    input: Tensor,
    normalized_shape: Ints,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide the last axes by their root mean square, then apply weight."""

def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """ReLU whose slope below zero is random between two bounds; their middle when not training."""

def rrelu_(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    *,
    inplace: bool = False,
) -> Tensor:
    """ReLU whose slope below zero is random between two bounds; their middle when not training."""

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Values averaged by softmax(query keyᵀ / sqrt(E)), with a mask, dropout, shared heads."""

def selu(input: Tensor, *, inplace: bool = False) -> Tensor:
    """The exponential-linear function, scaled to keep mean and variance."""

def selu_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """The exponential-linear function, scaled to keep mean and variance."""

def sigmoid(input: Tensor, *, inplace: bool = False) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def sigmoid_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

def silu(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times sigmoid of x, also called swish."""

def silu_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """x times sigmoid of x, also called swish."""

def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
    beta: float = 1.0,
) -> Tensor:
    """Squared distances up to beta, over beta, and absolute ones beyond."""

def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """log(1 + exp(-target input)): logistic loss of a score with target 1 or -1."""

def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """softmax along an axis; along the first without one, of 2 and of 4 or more the second."""

def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """softmax of the negated tensor; along the first axis, of 2 and of 4 or more the second."""

def softplus(
    input: Tensor,
    beta: float = 1,
    threshold: float = 20,
    *,
    inplace: bool = False,
) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""

def softplus_(
    input: Tensor,
    beta: float = 1,
    threshold: float = 20,
    *,
    inplace: bool = False,
) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""

def softshrink(input: Tensor, lambd: float = 0.5, *, inplace: bool = False) -> Tensor:
    """Each element moved by lambd towards 0, at most to 0."""

def softshrink_(input: Tensor, lambd: float = 0.5, *, inplace: bool = False) -> Tensor:
    """Each element moved by lambd towards 0, at most to 0."""

def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""

def tanh(input: Tensor, *, inplace: bool = False) -> Tensor:
    """The hyperbolic tangent of each element."""

def tanh_(input: Tensor, *, inplace: bool = False) -> Tensor:
    """The hyperbolic tangent of each element."""

def tanhshrink(input: Tensor) -> Tensor:
    """x less tanh of x."""

def threshold(input: Tensor, threshold: float, value: float, *, inplace: bool = False) -> Tensor:
    """Each element where it is above a threshold, else a value."""

def threshold_(input: Tensor, threshold: float, value: float, *, inplace: bool = False) -> Tensor:
    """Each element where it is above a threshold, else a value."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = 'mean',
) -> Tensor:
    """How much nearer the positive should be to the anchor than the negative, by a margin."""

def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[[Any, Any], Any] | None=None, margin: float=1.0, swap: bool=False, reduction: str='mean') -> Any:
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0), by a distance of one's own."""

def unfold(
    input: Tensor,
    kernel_size: Ints,
    dilation: Ints = (1,),
    padding: Ints = (0,),
    stride: Ints = (1,),
) -> Tensor:
    """The windows of images as columns (N, C · window, windows): what a convolution multiplies."""

def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = 'nearest',
    align_corners: bool | None = None,
) -> Tensor:
    """Resize the axes after batch and channels: the older name of interpolate."""

def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images linearly along both axes, their corners kept."""

def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by repeating the nearest element."""
