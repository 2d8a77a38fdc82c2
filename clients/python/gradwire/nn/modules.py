"""All modules: what torch.nn has."""

from gradwire.nn.activation import *  # noqa: F403
from gradwire.nn.attention import *  # noqa: F403
from gradwire.nn.catalogue import *  # noqa: F403
from gradwire.nn.containers import *  # noqa: F403
from gradwire.nn.embedding import *  # noqa: F403
from gradwire.nn.linear import *  # noqa: F403
from gradwire.nn.loss import *  # noqa: F403
from gradwire.nn.module import Module as Module
from gradwire.nn.normalization import *  # noqa: F403
from gradwire.nn.parameter import Buffer as Buffer
from gradwire.nn.parameter import Parameter as Parameter
from gradwire.nn.rearrange import *  # noqa: F403
from gradwire.nn.recurrent import *  # noqa: F403
from gradwire.nn.transformer import *  # noqa: F403
