"""torch.distributions: those that most programs ask for, made of ops."""

from gradwire.distributions.discrete import Bernoulli as Bernoulli
from gradwire.distributions.discrete import Categorical as Categorical
from gradwire.distributions.distribution import Distribution as Distribution
from gradwire.distributions.distribution import Independent as Independent
from gradwire.distributions.divergence import kl_divergence as kl_divergence
from gradwire.distributions.divergence import register_kl as register_kl
from gradwire.distributions.real import Exponential as Exponential
from gradwire.distributions.real import Normal as Normal
from gradwire.distributions.real import Uniform as Uniform
