"""A training program that is interrupted and goes on, as a notebook's user would.

Run as `python -m tests.clients.notebook URL TRANSPORT STEPS`, without a server by the URL "here";
it prints a line for each step, for each interrupt, and at its end.
"""

from __future__ import annotations

import signal
import sys

import gradwire as torch
from gradwire.session import Session


def train(session: Session, steps: int) -> None:
    """Train so many steps, whatever Ctrl-C breaks off: the session counts them."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.tensor([[float(i * j % 5) for j in range(4)] for i in range(6)])
    done = torch.zeros((), dtype=torch.int64)
    say("ready", done)
    interrupts = told = 0
    while True:
        try:
            while told < interrupts:  # here, for the next one comes as soon as this is told
                told += 1
                say("interrupt", done)
            step = int(done)
            if step == steps:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                break
            with session.transaction():
                optimizer.zero_grad()
                loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
                loss.backward()
                optimizer.step()
                done += 1
            say(step, loss)
        except KeyboardInterrupt:
            interrupts += 1
    say("end", sum(p.sum() for p in model.parameters()))


def say(what: object, value: torch.Tensor) -> None:
    """Tell a value, exactly."""
    sys.stdout.write(f"{what} {float(value.item()).hex()}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs behind `&` ignores it
    url, transport, steps = sys.argv[1:]
    client = torch.connect(None if url == "here" else url, transport=transport)
    with client.session(seed=7) as session:
        train(session, int(steps))
