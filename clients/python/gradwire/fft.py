"""torch.fft, from the catalogue."""

from gradwire.functions import serving

__getattr__, __dir__ = serving(__name__, "fft.")
