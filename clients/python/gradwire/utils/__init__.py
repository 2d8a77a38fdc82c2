"""torch.utils, as far as it is about autograd and the data that it learns from."""

from gradwire.utils import checkpoint as checkpoint
from gradwire.utils import data as data
