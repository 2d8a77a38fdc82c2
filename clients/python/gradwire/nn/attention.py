"""MultiheadAttention."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.linear import Linear
from gradwire.nn.module import Module
from gradwire.nn.parameter import declare
from gradwire.tensor import Tensor


class MultiheadAttention(Module):
    """Attention of several heads. Shapes: (time, batch, features), batch first if asked."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        same = self._same = self.kdim == self.vdim == embed_dim
        declare(
            self,
            device,
            dtype,
            in_proj_weight=(3 * embed_dim, embed_dim) if same else None,
            q_proj_weight=None if same else (embed_dim, embed_dim),
            k_proj_weight=None if same else (embed_dim, self.kdim),
            v_proj_weight=None if same else (embed_dim, self.vdim),
            in_proj_bias=(3 * embed_dim,) if bias else None,
            bias_k=(1, 1, embed_dim) if add_bias_kv else None,
            bias_v=(1, 1, embed_dim) if add_bias_kv else None,
        )
        self.out_proj = Linear(embed_dim, embed_dim, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begin as Glorot and Bengio 2010; biases 0."""
        for weight in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, weight) is not None:
                init.xavier_uniform_(getattr(self, weight))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swapped = self.batch_first and query.ndim == 3
        if swapped and query is key is value:  # so that one product is enough for them
            query = key = value = query.transpose(0, 1)
        elif swapped:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        output, weights = catalogued("nn.functional.multi_head_attention_forward")(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._same, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(0, 1) if swapped else output), weights


__all__ = ["MultiheadAttention"]
