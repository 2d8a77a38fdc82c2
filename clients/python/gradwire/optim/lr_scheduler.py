"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch."""

from gradwire.optim import cycles, decays, series
from gradwire.optim.cycles import *  # noqa: F403
from gradwire.optim.decays import *  # noqa: F403
from gradwire.optim.plateau import ReduceLROnPlateau
from gradwire.optim.rates import LRScheduler
from gradwire.optim.series import *  # noqa: F403

__all__ = ["LRScheduler", "ReduceLROnPlateau"]
__all__ += cycles.__all__ + decays.__all__ + series.__all__
