#!/usr/bin/env python3
"""Makes the digit classifier that the examples and tests run.

    python tests/data/make_digits.py          needs: pip install torch executorch scikit-learn

Trains a small CNN on scikit-learn's packaged digits (1797 scans of 8x8 pixels, values 0 to 16), exports it with the
stock exporter to a plain program, and writes next to this script:

    digits.pte             pixels float32[n, 1, 8, 8], n from 1 to 64  ->  probabilities float32[n, 10]
    digits_images.npy      64 scans that training never saw, float32[64, 1, 8, 8]
    digits_labels.npy      what they show, int64[64]
    digits_expected.npy    eager PyTorch's probabilities for them, float32[64, 10]
    digit_0.pgm ...        one of those scans for each digit, as a picture
"""

import pathlib

import numpy as np
import torch
from executorch.exir import to_edge
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 64


class Digits(nn.Module):
    """Pixels in, the probability of each digit out: scaling and softmax are part of the program."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 2 * 2, 10))

    def logits(self, pixels):
        return self.layers(pixels / 16)

    def forward(self, pixels):
        return torch.softmax(self.logits(pixels), dim=1)


def train(model, images, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    epochs = 40
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(model.logits(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()


def write_pgm(path, image):
    """An 8x8 grey picture as text; ink is dark, as on paper."""
    rows = "\n".join(" ".join(f"{16 - int(v):2d}" for v in row) for row in image)
    path.write_text(f"P2\n8 8\n16\n{rows}\n")


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(data.target)
    order = torch.randperm(len(images))
    held_out, seen = order[:360], order[360:]

    model = Digits()
    train(model, images[seen], labels[seen])
    model.eval()
    with torch.no_grad():
        right = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean().item()
    print(f"accuracy on {len(held_out)} held-out scans: {right:.1%}")

    chosen = held_out[:BATCH]
    expected = model(images[chosen]).detach()
    np.save(HERE / "digits_images.npy", images[chosen].numpy())
    np.save(HERE / "digits_labels.npy", labels[chosen].numpy())
    np.save(HERE / "digits_expected.npy", expected.numpy())
    for digit in range(10):
        row = next(r for r in chosen if labels[r] == digit)
        write_pgm(HERE / f"digit_{digit}.pgm", images[row, 0])

    batch = torch.export.Dim("batch", min=1, max=BATCH)
    exported = torch.export.export(model, (images[chosen[:2]],), dynamic_shapes=({0: batch},))
    program = to_edge(exported).to_executorch()
    (HERE / "digits.pte").write_bytes(program.buffer)
    print(f"digits.pte: {len(program.buffer)} bytes; of its {BATCH} images here, "
          f"{int((expected.argmax(1) == labels[chosen]).sum())} are read right")


if __name__ == "__main__":
    main()
