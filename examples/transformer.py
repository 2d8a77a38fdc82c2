"""A small transformer learns to turn a sequence round, its layers checkpointed.

The script is PyTorch's but for its first imports; with `import torch` it trains to the same losses.
"""

import math

import numpy as np

import gradwire as torch
from gradwire import nn, optim
from gradwire.utils.checkpoint import checkpoint

SYMBOLS, LENGTH, WIDTH, BATCH, STEPS = 10, 8, 32, 32, 60
rng = np.random.default_rng(0)


def batch():
    """Sequences of symbols, and the same ones from behind."""
    x = rng.integers(SYMBOLS, size=(BATCH, LENGTH))
    return torch.tensor(x), torch.tensor(x[:, ::-1].copy())


def positions():
    """Sines and cosines of many wavelengths (Vaswani et al. 2017)."""
    place, wave = torch.arange(LENGTH).unsqueeze(1), torch.arange(0, WIDTH, 2)
    angle = place * torch.exp(wave * (-math.log(10000.0) / WIDTH))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class Reverser(nn.Module):
    """Symbols and places, two layers of attention, a guess for every place."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, WIDTH)
        self.register_buffer("places", positions())
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2).layers
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, x):
        h = self.embed(x) * math.sqrt(WIDTH) + self.places
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return self.head(h)


def begin_alike(model):
    """The same weights whichever library draws them."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim > 1:
                p.copy_(torch.tensor(rng.uniform(-0.2, 0.2, tuple(p.shape)), dtype=p.dtype))
            elif name.endswith("bias"):
                p.zero_()


def main():
    """Train, and give the losses."""
    model = Reverser()
    begin_alike(model)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(STEPS):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1}: loss {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    main()
