"""torch.optim: optimisers that live on the host, where their moments stay."""

from __future__ import annotations

from gradwire.optim import lr_scheduler as lr_scheduler
from gradwire.optim.groups import Optimizer as Optimizer
from gradwire.optim.kinds import SGD as SGD
from gradwire.optim.kinds import Adagrad as Adagrad
from gradwire.optim.kinds import Adam as Adam
from gradwire.optim.kinds import AdamW as AdamW
from gradwire.optim.kinds import RMSprop as RMSprop
from gradwire.optim.lbfgs import LBFGS as LBFGS

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
