"""A GRU learns to add: each sequence has two marked numbers, and their sum is the answer.

The script is PyTorch's but for its first import; with `import torch` it trains to the same losses.
"""

import numpy as np

import gradwire as torch
from gradwire import nn, optim

LENGTH, BATCH, HIDDEN, STEPS = 12, 32, 16, 60
rng = np.random.default_rng(0)


def batch():
    """Numbers with a mark beside each, (batch, time, 2), and the sum of the two marked ones."""
    numbers = rng.random((BATCH, LENGTH))
    marks = np.zeros((BATCH, LENGTH))
    for row in marks:
        row[rng.choice(LENGTH, 2, replace=False)] = 1
    x = np.stack([numbers, marks], axis=-1)
    y = (numbers * marks).sum(1, keepdims=True)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class Adder(nn.Module):
    """The last state of a GRU, and a line through it."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        states, _ = self.gru(x)
        return self.head(states[:, -1])


def begin_alike(model):
    """The same weights whichever library draws them."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(rng.uniform(-0.25, 0.25, tuple(p.shape)), dtype=p.dtype))


def main():
    """Train, and give the losses."""
    model = Adder()
    begin_alike(model)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 40, gamma=0.5)
    losses = []
    for step in range(STEPS):
        x, y = batch()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 20 == 19:
            print(f"step {step + 1}: loss {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    main()
