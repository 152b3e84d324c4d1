"""Reads a handwritten digit with a small trained network, through the Python package.

    python digits.py tests/data/digits.pte tests/data/digit_7.pgm

Needs etrt alone; with NumPy the last lines would be np.asarray(scores).argmax().
"""

import array
import sys
import time

import etrt

WHITE = 16


def read_picture(path):
    """A grey picture as text ("P2"), 8 by 8: white is 16, ink is dark. The network wants ink as large numbers."""
    with open(path) as file:
        kind, width, height, white, *greys = file.read().split()
    if (kind, width, height, white, len(greys)) != ("P2", "8", "8", str(WHITE), 64):
        sys.exit(f"{path} is no picture of 8x8 pixels with white {WHITE}")
    return array.array("f", (WHITE - int(grey) for grey in greys))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: digits.py MODEL.pte PICTURE.pgm")
    pixels = memoryview(read_picture(sys.argv[2])).cast("B").cast("f", (1, 1, 8, 8))

    forward = etrt.load(sys.argv[1]).load_method("forward")
    began = time.perf_counter()
    (scores,) = forward.execute([pixels])
    took = time.perf_counter() - began

    probability = array.array("f", scores.tobytes())
    best = max(range(10), key=probability.__getitem__)
    print(f"This is a {best} ({probability[best]:.1%} sure), read in {took * 1e3:.3f} ms.")


if __name__ == "__main__":
    main()
