#!/usr/bin/env python3
"""Makes conformance cases of the kind run.py runs, with PyTorch and the stock exporter; users of etrt never need it.

    make_cases.py --out DIR [--from SOURCE,…] [--match TEXT] [--seed N] [--limit N] [--library libetrt.so]
    make_cases.py --count [--handed DIR] [--made DIR] [--library libetrt.so] [--results FILE.json …]

Sources: samples (PyTorch's operator samples), drawn (random shapes, dtypes and layouts), special (operators that need a
hand-written call), exported (whole programs from the stock exporter).
"""

import argparse
import ctypes
import importlib
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
SOURCES = ["samples", "drawn", "special", "exported"]


def library_operators(path):
    """Names of the operators of a libetrt."""
    library = ctypes.CDLL(str(path))
    library.et_operator_count.restype = ctypes.c_size_t
    library.et_operator_name.restype = ctypes.c_char_p
    library.et_operator_name.argtypes = [ctypes.c_size_t]
    return [library.et_operator_name(i).decode() for i in range(library.et_operator_count())]


def make(a):
    warnings.filterwarnings("ignore")
    from case_files import Corpus

    wanted = set(library_operators(a.library)) if a.library else None
    corpus, made = Corpus(a.out), 0
    try:
        for source in a.sources.split(","):
            for case in importlib.import_module(source).cases(wanted, match=a.match, seed=a.seed):
                corpus.add(case)
                made += 1
                if made % 500 == 0:
                    print(f"{made} cases", flush=True)
                if a.limit and made >= a.limit:
                    break
    finally:
        corpus.save()
    print(f"{made} cases made, {len(corpus.index)} in {a.out}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--from", dest="sources", default=",".join(SOURCES))
    p.add_argument("--match", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--library", type=pathlib.Path)
    p.add_argument("--count", action="store_true")
    a = p.parse_args()
    make(a)


if __name__ == "__main__":
    main()
