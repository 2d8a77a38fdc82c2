"""A training program that is killed and started again: it goes on where its session is.

Run as `python -m tests.clients.training URL LABEL TRANSPORT STEPS [REPLIES]`; it prints a line for
each step. After so many replies of the server over HTTP it kills itself, as if from outside.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

import gradwire as torch


class Net(torch.nn.Module):
    """A network with random numbers in its forward and statistics that it keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5))
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.body(x)))


def die_after(client: torch.Client, replies: int) -> None:
    """Have the process killed as soon as the server has answered so often."""
    numbers = count(1)

    def note(reply: object) -> None:
        if next(numbers) == replies:
            os.kill(os.getpid(), signal.SIGKILL)

    client.transport._client.event_hooks["response"].append(note)


def train(url: str, label: str, transport: str, steps: int, replies: int = 0) -> None:
    """Train to so many steps, from where the session of this label is."""
    client = torch.connect(url, transport=transport)
    if replies:
        die_after(client, replies)
    with client.session(label=label, attach=True, seed=7, ttl_seconds=3600) as session:
        with session.transaction():  # all that is built is there, or nothing of it
            model = Net()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            if not session.resume(model, optimizer):
                session.tensors["done"] = torch.zeros((), dtype=torch.int64)
        done = session.tensors["done"]
        x = torch.tensor([[float(i * j % 5) for j in range(4)] for i in range(6)])
        for step in range(int(done), steps):
            with session.transaction():
                optimizer.zero_grad()
                loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
                loss.backward()
                optimizer.step()
                done += 1
            say(step, loss)
        say("end", model.head.weight.sum())


def say(what: object, value: torch.Tensor) -> None:
    """Tell a value, exactly, before anything else happens."""
    sys.stdout.write(f"{what} {value.item().hex()}\n")
    sys.stdout.flush()


def main() -> None:
    """Train as the arguments say."""
    train(*sys.argv[1:4], *map(int, sys.argv[4:]))


if __name__ == "__main__":
    main()
