"""Trains the digit classifier of `gemmbench mlp`: writes configs/mlp/digits.npz.

    python -m venv /tmp/train && /tmp/train/bin/pip install scikit-learn .
    /tmp/train/bin/python benchmarks/train_digits.py

The data are the 1797 digits in scikit-learn (8 x 8 pixels of 0..16; E. Alpaydin and C. Kaynak, "Optical
Recognition of Handwritten Digits", UCI, 1998), scaled to 28 x 28 as in
gemmbench.bench.operands.network_parameters. They are shuffled with a fixed seed, and every fifth is for
testing only. The network is 784-100-100-10 with relu, relu and softmax. It is trained in NumPy by
gradient descent with momentum on the cross entropy. The weights are stored as float16, and the reported
accuracy is that of the stored weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from gemmbench.bench.operands.network_parameters import Parameters, make_random_parameters, upscale_images
from gemmbench.bench.verify.network_reference import propagate
from gemmbench.planning.networks import Network

OUT = Path(__file__).parent.parent / "configs" / "mlp" / "digits.npz"
NETWORK = Network((784, 100, 100, 10), ("relu", "relu", "softmax"), 1)
SEED, EPOCHS, BATCH, RATE, MOMENTUM, DECAY = 7, 150, 64, 0.05, 0.9, 1e-4


def train(inputs: np.ndarray, labels: np.ndarray) -> Parameters:
    """Return weights and biases after EPOCHS passes over `inputs` (count x 784)."""
    rng = np.random.default_rng(SEED)
    start = make_random_parameters(NETWORK, SEED)
    values = [*map(np.copy, start.weights), *map(np.zeros_like, start.biases)]
    speeds = [np.zeros_like(value) for value in values]
    wanted = np.eye(10, dtype=np.float32)[labels]
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(inputs))
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            slopes = compute_gradients(values[:3], values[3:], inputs[chosen], wanted[chosen])
            for value, speed, slope in zip(values, speeds, slopes, strict=True):
                speed *= MOMENTUM
                speed -= rate * (slope + DECAY * value)
                value += speed
    return Parameters(tuple(values[:3]), tuple(values[3:]))


def compute_gradients(
    weights: list[np.ndarray], biases: list[np.ndarray], inputs: np.ndarray, wanted: np.ndarray
) -> list[np.ndarray]:
    """Return the gradients of the mean cross entropy, by weights, then by biases."""
    hidden = [inputs]
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        hidden.append(np.maximum(hidden[-1] @ w + b, 0))
    z = hidden[-1] @ weights[-1] + biases[-1]
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    error = (powers / powers.sum(axis=1, keepdims=True) - wanted) / len(inputs)
    by_weights: list[np.ndarray] = []
    by_biases: list[np.ndarray] = []
    for layer in reversed(range(len(weights))):
        by_weights.insert(0, hidden[layer].T @ error)
        by_biases.insert(0, error.sum(axis=0))
        if layer:
            error = (error @ weights[layer].T) * (hidden[layer] > 0)
    return [*by_weights, *by_biases]


def accuracy(parameters: Parameters, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of correct answers, computed in float64."""
    outputs = propagate(NETWORK, parameters, inputs).outputs
    return float((outputs.argmax(axis=1) == labels).mean())


def main() -> None:
    """Split the data, train, store the weights, and print their accuracy."""
    digits = load_digits()
    images, labels = digits.images.astype(np.uint8), digits.target.astype(np.uint8)
    order = np.random.default_rng(SEED).permutation(len(images))
    images, labels, inputs = images[order], labels[order], upscale_images(images[order])
    test = np.arange(len(images)) % 5 == 0
    trained = train(inputs[~test], labels[~test])
    weights = [value.astype(np.float16) for value in trained.weights]
    biases = [value.astype(np.float16) for value in trained.biases]
    stored = Parameters(tuple(map(np.float32, weights)), tuple(map(np.float32, biases)))
    reached = {
        name: accuracy(stored, inputs[which], labels[which]) for name, which in (("train", ~test), ("test", test))
    }
    arrays: dict[str, Any] = {f"W{number}": value for number, value in enumerate(weights, 1)}
    arrays |= {f"b{number}": value for number, value in enumerate(biases, 1)}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        OUT, images=images[test], labels=labels[test], test_accuracy=np.float64(reached["test"]), seed=SEED, **arrays
    )
    print(f"{OUT}: {OUT.stat().st_size:,} bytes; accuracy: " + ", ".join(f"{k} {v:.4f}" for k, v in reached.items()))


if __name__ == "__main__":
    main()
