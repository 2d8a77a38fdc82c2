"""torch.nn.functional, from the catalogue."""

from gradwire.functions import serving

__getattr__, __dir__ = serving(__name__, "nn.functional.", "")
