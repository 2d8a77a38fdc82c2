"""Optimisers: torch.optim's, on tensors of the engine."""

from gradwire_engine.optim import adagrad as adagrad
from gradwire_engine.optim import adam as adam
from gradwire_engine.optim import lbfgs as lbfgs
from gradwire_engine.optim import rmsprop as rmsprop
from gradwire_engine.optim import sgd as sgd
from gradwire_engine.optim.clip import clip_grad_norm as clip_grad_norm
from gradwire_engine.optim.optimizer import Optimizer as Optimizer
from gradwire_engine.optim.update import KINDS as KINDS
