"""Modules that differ from their kind by an op or by settings alone.

Made from the catalogue by `make docs`.
"""

from gradwire.nn.activation import AlongAxis
from gradwire.nn.applied import Applied, Dropping, Loss
from gradwire.nn.convolution import Convolution, Transposed
from gradwire.nn.normalization import BatchNorm, InstanceNorm
from gradwire.nn.pooling import MaxPool, Pool, Unpool
from gradwire.nn.rearrange import ConstantPad, Pad, UpsamplingTo

class AdaptiveAvgPool1d(Applied):
    """The means of so many windows, spread evenly over the last axis."""

class AdaptiveAvgPool2d(Applied):
    """The means of so many windows, spread evenly over the last 2 axes."""

class AdaptiveAvgPool3d(Applied):
    """The means of so many windows, spread evenly over the last 3 axes."""

class AdaptiveMaxPool1d(Applied):
    """The maxima of so many windows, spread evenly over the last axis."""

class AdaptiveMaxPool2d(Applied):
    """The maxima of so many windows, spread evenly over the last 2 axes."""

class AdaptiveMaxPool3d(Applied):
    """The maxima of so many windows, spread evenly over the last 3 axes."""

class AlphaDropout(Dropping):
    """Dropout for SELU networks: keeps mean and variance."""

class AvgPool1d(Pool):
    """The means of windows that slide over the last axis."""

class AvgPool2d(Pool):
    """The means of windows that slide over the last 2 axes."""

class AvgPool3d(Pool):
    """The means of windows that slide over the last 3 axes."""

class BCELoss(Loss):
    """Cross entropy of probabilities between 0 and 1; logarithms are cut off at -100."""

class BCEWithLogitsLoss(Loss):
    """Cross entropy of probabilities, given as logits: sigmoid is taken here, without overflow."""

class BatchNorm1d(BatchNorm):
    """Mean 0 and variance 1 over the batch by channel; in use, by the running statistics."""

class BatchNorm2d(BatchNorm):
    """Mean 0 and variance 1 over the batch by channel; in use, by the running statistics."""

class BatchNorm3d(BatchNorm):
    """Mean 0 and variance 1 over the batch by channel; in use, by the running statistics."""

class CELU(Applied):
    """x where positive, else alpha (exp(x / alpha) - 1)."""

class CTCLoss(Loss):
    """Minus the log probability that sequences of class probabilities spell unaligned targets."""

class ChannelShuffle(Applied):
    """Deal the channels out to groups, as cards are: (g n) channels become (n g)."""

class CircularPad1d(Pad):
    """The last axis begun anew at its ends."""

class CircularPad2d(Pad):
    """The last two axes begun anew at their ends."""

class CircularPad3d(Pad):
    """The last three axes begun anew at their ends."""

class ConstantPad1d(ConstantPad):
    """A number at both ends of the last axis."""

class ConstantPad2d(ConstantPad):
    """A number around the last two axes."""

class ConstantPad3d(ConstantPad):
    """A number around the last three axes."""

class Conv1d(Convolution):
    """Convolution of one axis. Shape: (N, channels, length), or without N."""

class Conv2d(Convolution):
    """Convolution of two axes. Shape: (N, channels, height, width), or without N."""

class Conv3d(Convolution):
    """Convolution of three axes. Shape: (N, channels, depth, height, width), or without N."""

class ConvTranspose1d(Transposed):
    """The transpose of Conv1d."""

class ConvTranspose2d(Transposed):
    """The transpose of Conv2d."""

class ConvTranspose3d(Transposed):
    """The transpose of Conv3d."""

class CosineEmbeddingLoss(Loss):
    """1 - cosine of the angle where target is 1, the cosine beyond the margin where it is -1."""

class CosineSimilarity(Applied):
    """The cosine of the angle between vectors along an axis."""

class CrossEntropyLoss(Loss):
    """The negated log-probability that softmax of the scores gives each sample's class."""

class Dropout(Dropping):
    """In training set each element to zero with probability p and scale the rest by 1 / (1 - p)."""

class Dropout1d(Dropping):
    """In training set whole channels of sequences to zero with probability p."""

class Dropout2d(Dropping):
    """In training set whole channels of images to zero with probability p."""

class Dropout3d(Dropping):
    """In training set whole channels of volumes to zero with probability p."""

class ELU(Applied):
    """x where positive, else alpha (exp(x) - 1)."""

class FeatureAlphaDropout(Dropping):
    """Alpha dropout of whole channels."""

class Fold(Applied):
    """Columns (N, C · window, windows) added back to images of a size: the transposed of unfold."""

class GELU(Applied):
    """x Φ(x), Φ the normal distribution; approximate="tanh" for the formula with tanh."""

class GLU(Applied):
    """The first half of an axis times the sigmoid of the second."""

class GaussianNLLLoss(Loss):
    """Negative log-likelihood of target under normal distributions with mean input."""

class Hardshrink(Applied):
    """Each element that is farther than lambd from 0, else 0."""

class Hardsigmoid(Applied):
    """A sigmoid of straight lines: 0 up to -3, 1 from 3 on."""

class Hardswish(Applied):
    """x times hardsigmoid of x."""

class Hardtanh(Applied):
    """Each element limited to between min_val and max_val."""

class HingeEmbeddingLoss(Loss):
    """The distance where target is 1, what it lacks to the margin where target is -1."""

class HuberLoss(Loss):
    """Squared distances up to delta, delta times the absolute ones beyond."""

class InstanceNorm1d(InstanceNorm):
    """Mean 0 and variance 1 for each example by channel."""

class InstanceNorm2d(InstanceNorm):
    """Mean 0 and variance 1 for each example by channel."""

class InstanceNorm3d(InstanceNorm):
    """Mean 0 and variance 1 for each example by channel."""

class KLDivLoss(Loss):
    """Kullback-Leibler divergence of target from the distribution whose logarithm is input."""

class L1Loss(Loss):
    """Absolute distances of input and target."""

class LPPool1d(Applied):
    """The p-norms of windows that slide over the last axis: (sum of x^p)^(1/p)."""

class LPPool2d(Applied):
    """The p-norms of windows that slide over the last 2 axes: (sum of x^p)^(1/p)."""

class LPPool3d(Applied):
    """The p-norms of windows that slide over the last 3 axes: (sum of x^p)^(1/p)."""

class LeakyReLU(Applied):
    """Each element where it is positive, else a small part of it."""

class LocalResponseNorm(Applied):
    """Divide by (k + alpha mean of squares over `size` neighbouring channels) to the power beta."""

class LogSigmoid(Applied):
    """The logarithm of sigmoid, without overflow."""

class LogSoftmax(AlongAxis):
    """The logarithm of softmax, exact where the probabilities are tiny."""

class MSELoss(Loss):
    """Squared distances of input and target."""

class MarginRankingLoss(Loss):
    """What input1 lacks to rank above input2 by a margin (target 1), or below it (target -1)."""

class MaxPool1d(MaxPool):
    """The maxima of windows that slide over the last axis; with their places if asked."""

class MaxPool2d(MaxPool):
    """The maxima of windows that slide over the last 2 axes; with their places if asked."""

class MaxPool3d(MaxPool):
    """The maxima of windows that slide over the last 3 axes; with their places if asked."""

class MaxUnpool1d(Unpool):
    """Put maxima back at their places over the last axis, with zeros around them."""

class MaxUnpool2d(Unpool):
    """Put maxima back at their places over the last 2 axes, with zeros around them."""

class MaxUnpool3d(Unpool):
    """Put maxima back at their places over the last 3 axes, with zeros around them."""

class Mish(Applied):
    """x times tanh of softplus of x."""

class MultiLabelMarginLoss(Loss):
    """What right classes' scores lack to lead all wrong ones by 1; targets end at the first -1."""

class MultiLabelSoftMarginLoss(Loss):
    """The mean over the classes of each one's binary cross entropy with logits."""

class MultiMarginLoss(Loss):
    """What the target's score lacks to lead every other class's by a margin, over the classes."""

class NLLLoss(Loss):
    """The negated log-probability of each sample's class."""

class PairwiseDistance(Applied):
    """The p-norms of the differences (plus eps) of vectors in the last axis."""

class PixelShuffle(Applied):
    """Move channels to places: (..., C r², H, W) becomes (..., C, H r, W r)."""

class PixelUnshuffle(Applied):
    """Move places to channels: (..., C, H r, W r) becomes (..., C r², H, W)."""

class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts under Poisson rates (their logarithms by default)."""

class RReLU(Applied):
    """ReLU whose slope below zero is random between two bounds; their middle when not training."""

class ReLU(Applied):
    """Each element where it is positive, else 0."""

class ReLU6(Applied):
    """Each element limited to between 0 and 6."""

class ReflectionPad1d(Pad):
    """The last axis mirrored at its ends."""

class ReflectionPad2d(Pad):
    """The last two axes mirrored at their ends."""

class ReflectionPad3d(Pad):
    """The last three axes mirrored at their ends."""

class ReplicationPad1d(Pad):
    """The ends of the last axis drawn out."""

class ReplicationPad2d(Pad):
    """The ends of the last two axes drawn out."""

class ReplicationPad3d(Pad):
    """The ends of the last three axes drawn out."""

class SELU(Applied):
    """The exponential-linear function, scaled to keep mean and variance."""

class SiLU(Applied):
    """x times sigmoid of x, also called swish."""

class Sigmoid(Applied):
    """1 / (1 + exp(-x)), which maps every number to between 0 and 1."""

class SmoothL1Loss(Loss):
    """Squared distances up to beta, over beta, and absolute ones beyond."""

class SoftMarginLoss(Loss):
    """log(1 + exp(-target input)): logistic loss of a score with target 1 or -1."""

class Softmax(AlongAxis):
    """Exponentials along an axis, divided by their sum."""

class Softmin(AlongAxis):
    """softmax of the negated tensor; along the first axis, of 2 and of 4 or more the second."""

class Softplus(Applied):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above a threshold."""

class Softshrink(Applied):
    """Each element moved by lambd towards 0, at most to 0."""

class Softsign(Applied):
    """x / (1 + |x|)."""

class Tanh(Applied):
    """The hyperbolic tangent of each element."""

class Tanhshrink(Applied):
    """x less tanh of x."""

class Threshold(Applied):
    """Each element where it is above a threshold, else a value."""

class TripletMarginLoss(Loss):
    """How much nearer the positive should be to the anchor than the negative, by a margin."""

class Unfold(Applied):
    """The windows of images as columns (N, C · window, windows): what a convolution multiplies."""

class UpsamplingBilinear2d(UpsamplingTo):
    """Resize the axes after batch and channels to a size, or by a factor, in one of seven modes."""

class UpsamplingNearest2d(UpsamplingTo):
    """Resize the axes after batch and channels to a size, or by a factor, in one of seven modes."""

class ZeroPad1d(Pad):
    """Zeros at both ends of the last axis."""

class ZeroPad2d(Pad):
    """Zeros around the last two axes."""

class ZeroPad3d(Pad):
    """Zeros around the last three axes."""
