#!/usr/bin/env python3
"""Makes conformance cases with PyTorch and the stock exporter, and says what there is; users of etrt need none of it.

    make_cases.py --out DIR [--from SOURCE,…] [--match TEXT] [--seed N] [--limit N] [--library libetrt.so]
    make_cases.py --compact DIR… [--keep NAMES]   chooses the smallest set of those folders' cases for tests/data/cases
    make_cases.py --count [--handed DIR] [--made DIR]
    make_cases.py --page                          writes docs/operators.md

Sources: samples (PyTorch's operator samples), drawn (random shapes, dtypes and layouts), special (operators that need a
hand-written call), exported (whole programs from the stock exporter). --out needs PyTorch and ExecuTorch, the others etrt and
NumPy. --count runs all cases; it fails where an operator has fewer that pass than 5 (`aten` ones) or 1.
"""

import argparse
import ctypes
import importlib
import pathlib
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import corpora  # noqa: E402

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


def names_in(path):
    """The first word of each line but comments."""
    return [line.split()[0] for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"] if path else []


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--from", dest="sources", default=",".join(SOURCES))
    p.add_argument("--match", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--limit", type=int, default=0)
    p.add_argument("--library", type=pathlib.Path)
    p.add_argument("--compact", type=pathlib.Path, nargs="+")
    p.add_argument("--keep", type=pathlib.Path)
    p.add_argument("--count", action="store_true")
    p.add_argument("--page", action="store_true")
    p.add_argument("--handed", type=pathlib.Path, default=corpora.HANDED)
    p.add_argument("--made", type=pathlib.Path, default=corpora.MADE)
    a = p.parse_args()
    if a.compact:
        corpora.write_compact(a.compact, a.made, a.handed, names_in(a.keep))
    elif a.page:
        (corpora.ROOT / "docs" / "operators.md").write_text(corpora.page(a.handed, a.made), encoding="utf-8")
    elif a.count:
        sys.exit(not corpora.print_counts(a.handed, a.made))
    elif a.out:
        make(a)
    else:
        p.error("one of --out, --compact, --count and --page is needed")


if __name__ == "__main__":
    main()
