"""torch.backends.cuda: whether the host has a GPU; its flags are kept, and nothing asks them."""

from types import SimpleNamespace

from gradwire.cuda import is_available as is_built

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)

__all__ = ["is_built", "matmul"]
