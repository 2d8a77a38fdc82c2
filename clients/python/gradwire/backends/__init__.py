"""torch.backends: what scripts ask and set there. Nothing of it changes how a host computes."""

from gradwire.backends import cuda as cuda
from gradwire.backends import cudnn as cudnn
from gradwire.backends import mps as mps

__all__ = ["cuda", "cudnn", "mps"]
