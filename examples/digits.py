"""Train a two-layer network on handwritten digits, over HTTP, with nothing but REST.

A server is started on a free loopback port. The parameters live in its session; a batch goes up as
binary; a training step (forward, loss, backward, update, zeroing) is one request. At the end:
accuracy on a held-out fifth, demo/loss.png, and demo/graph.svg, the graph of one step.

The data are the UCI handwritten digits that scikit-learn ships: 1,797 images of 8x8 pixels.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from safetensors.numpy import load, save
from sklearn.datasets import load_digits

mpl.use("Agg")
from matplotlib import pyplot as plt

EPOCHS, BATCH, RATE, HIDDEN = 40, 64, 0.1, 64
PARAMETERS = ["w1", "b1", "w2", "b2"]
BINARY = "application/x-safetensors"

FORWARD = [
    {"op": "linear", "args": ["x", "w1", "b1"], "out": "hidden"},
    {"op": "relu", "args": ["hidden"], "out": "active"},
    {"op": "linear", "args": ["active", "w2", "b2"], "out": "logits"},
]
LOSS = {"op": "cross_entropy", "args": ["logits", "y"], "out": "loss"}
BACKWARD = {"backward": {"tensors": ["loss"]}}
UPDATE = [
    {"op": "sub_", "args": [p, f"{p}.grad"], "kwargs": {"alpha": RATE}, "grad_mode": "no_grad"}
    for p in PARAMETERS
]


@contextmanager
def server() -> Iterator[str]:
    """A gradwire server on a free loopback port, stopped at the end; its URL."""
    command = [sys.executable, "-m", "gradwire_service", "serve", "--port", "0", "--log", "none"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


class Session:
    """A session on a server: `run` posts steps, with arrays as binary, and reads tensors back."""

    def __init__(self, client: httpx.Client, **settings: Any) -> None:
        self.client = client
        self.url = "/v1/sessions/" + client.post("/v1/sessions", json=settings).json()["id"]

    def run(
        self, steps: list[dict[str, Any]], read: list[str], **arrays: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Send steps and arrays in one request; the elements of the tensors named in `read`."""
        leaves = [{"tensor": name, "value": {"binary": name}} for name in arrays]
        request = json.dumps({"steps": leaves + steps, "return": read})
        reply = self.client.post(
            f"{self.url}/steps",
            content=save(arrays, {"request": request}),
            headers={"Content-Type": BINARY, "Accept": BINARY},
        )
        if reply.is_error:
            sys.exit(f"the server refused the request: {reply.text}")
        return load(reply.content)

    def graph(self, tensor: str) -> str:
        """The graph that led to a tensor, as SVG."""
        query = {"format": "svg", "tensor": tensor}
        return self.client.get(f"{self.url}/graph", params=query).raise_for_status().text


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images (n, 64) in 0..1 and labels (n,), shuffled: four fifths to train on, one to test."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype("float32")
    labels = digits.target[order].astype("int64")
    cut = len(labels) * 4 // 5
    return images[:cut], labels[:cut], images[cut:], labels[cut:]


def start(session: Session) -> None:
    """Put the parameters into the session, where they stay."""
    rng = np.random.default_rng(1)
    first = rng.normal(0, np.sqrt(2 / 64), (HIDDEN, 64)).astype("float32")
    second = rng.normal(0, np.sqrt(2 / HIDDEN), (10, HIDDEN)).astype("float32")
    biases = {"b1": np.zeros(HIDDEN, "float32"), "b2": np.zeros(10, "float32")}
    grads = [{"requires_grad": name, "value": True} for name in PARAMETERS]
    session.run(grads, [], w1=first, w2=second, **biases)


def train(session: Session, images: np.ndarray, labels: np.ndarray) -> list[float]:
    """Stochastic gradient descent, a request per step; the loss of each step."""
    rng, losses = np.random.default_rng(2), []
    step = [*FORWARD, LOSS, BACKWARD, *UPDATE, {"zero_grad": PARAMETERS}]
    columns = ["training", BarColumn(), "loss", TextColumn("{task.fields[loss]:.4f}")]
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        bar = progress.add_task("", total=EPOCHS * (len(labels) // BATCH), loss=float("nan"))
        for _ in range(EPOCHS):
            order = rng.permutation(len(labels))
            for batch in np.split(order[: len(labels) // BATCH * BATCH], len(labels) // BATCH):
                found = session.run(step, ["loss"], x=images[batch], y=labels[batch])
                losses.append(float(found["loss"]))
                progress.update(bar, advance=1, loss=losses[-1])
    return losses


def draw(losses: list[float], path: Path) -> None:
    """The loss of each step, and its mean over an epoch's worth of them."""
    window = max(len(losses) // EPOCHS, 1)
    smooth = np.convolve(losses, np.ones(window) / window, "valid")
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(losses, color="#b9c7dd", linewidth=0.6, label="each step")
    axes.semilogy(
        np.arange(len(smooth)) + window, smooth, color="#1f4e9c", label="mean of an epoch"
    )
    axes.set(xlabel="step", ylabel="cross entropy", title="Digits, trained over HTTP")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    images, labels, test_images, test_labels = data()
    folder = Path("demo")
    folder.mkdir(exist_ok=True)
    with server() as url, httpx.Client(base_url=url, timeout=60) as client:
        print(f"server: {url}")
        session = Session(client, label="digits")
        start(session)
        draw(train(session, images, labels), folder / "loss.png")
        best = [{"op": "argmax", "args": ["logits", 1], "out": "digit"}]
        found = session.run([*FORWARD, *best], ["digit"], x=test_images)["digit"]
        accuracy = float((found == test_labels).mean())
        keep = {"backward": {"tensors": ["loss"], "retain_graph": True}}  # to see the constants
        step = [*FORWARD, LOSS, keep]
        session.run(step, ["loss"], x=images[:BATCH], y=labels[:BATCH])
        (folder / "graph.svg").write_text(session.graph("loss"))
    print(f"test accuracy: {accuracy:.3f} on {len(test_labels)} images that it never saw")
    print("pictures: demo/loss.png, demo/graph.svg")
    if accuracy < 0.95:
        sys.exit("the accuracy should be at least 0.95")


if __name__ == "__main__":
    main()
