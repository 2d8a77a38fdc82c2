"""A convolutional network tells stripes by their direction.

The script is PyTorch's but for its first import; with `import torch` it trains to the same losses.
"""

import numpy as np

import gradwire as torch
from gradwire import nn, optim

SIZE, BATCH, STEPS = 16, 32, 40
rng = np.random.default_rng(0)


def batch():
    """Noisy images of stripes in one of four directions, and which it is."""
    which = rng.integers(4, size=BATCH)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    waves = np.stack([rows, columns, rows + columns, rows - columns])
    phase = rng.random((BATCH, 1, 1)) * 6
    x = np.sin(waves[which] * 0.9 + phase) + 0.3 * rng.standard_normal((BATCH, SIZE, SIZE))
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(which)


def network():
    """Two convolutions with pooling, two dense layers."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding="same", bias=False),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(16 * 4 * 4, 32),
        nn.Tanh(),
        nn.Linear(32, 4),
    )


def begin_alike(model):
    """The same weights whichever library draws them."""
    with torch.no_grad():
        for p in model.parameters():
            if p.ndim > 1:
                p.copy_(torch.tensor(rng.uniform(-0.2, 0.2, tuple(p.shape)), dtype=p.dtype))
            else:
                p.fill_(0.1)


def main():
    """Train, and give the losses."""
    model = network()
    begin_alike(model)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    for step in range(STEPS):
        x, y = batch()
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 9:
            right = (scores.argmax(1) == y).float().mean().item()
            print(f"step {step + 1}: loss {losses[-1]:.4f}, right {right:.2f}")
    return losses


if __name__ == "__main__":
    main()
