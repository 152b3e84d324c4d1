"""Calls that PyTorch's own operator samples make, each a case of its own."""

import collections

import torch

from case_files import DTYPES, Unwritable
from hand_programs import seeded
from operators import as_list, call_case, full_name, main_short_dtype, out_variant, recorded_calls, tensors_of

LARGEST = 4096  # elements of all tensors of a case


def sample_functions(match, dtypes, limit, seed):
    """(operator info, dtype, function that calls it on one sample)."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if match and match not in info.name:
            continue
        for dtype in dtypes:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            torch.manual_seed(seeded(seed, info.name, dtype).getrandbits(32))
            try:
                for i, sample in enumerate(info.sample_inputs_func(info, "cpu", dtype, False)):
                    if i >= limit:
                        break
                    yield info, dtype, lambda s=sample: info(s.input, *s.args, **s.kwargs)
            except Exception as e:
                print(f"samples of {info.name} {dtype}: {type(e).__name__} {str(e)[:100]}")


def signature(out, named):
    """What makes two calls of one operator different enough to keep both."""
    def of(v):
        if isinstance(v, torch.Tensor):
            return (v.dtype, tuple(v.shape))
        return tuple(of(x) for x in v) if isinstance(v, (list, tuple)) else (type(v), v)

    return full_name(out), tuple((k, of(v)) for k, v in named.items())


class Kept:
    """Which calls were kept: a few for each operator and dtype, none twice."""

    def __init__(self, per_dtype):
        self.per_dtype = per_dtype
        self.seen = set()
        self.counts = collections.Counter()

    def take(self, out, named, results):
        """A name for the call, or None."""
        dtype = main_short_dtype(named, results)
        key = (full_name(out), dtype)
        if self.counts[key] >= self.per_dtype:
            return None
        try:
            mark = signature(out, named)
            if mark in self.seen:
                return None
            self.seen.add(mark)
        except TypeError:
            pass
        self.counts[key] += 1
        plain = full_name(out).partition("::")[2].replace(".", "_")
        return f"{plain}__{dtype}__{self.counts[key] - 1}"


# Eager's matrix_exp of half numbers is infinite or NaN, whatever the matrix.
WRONG_IN_EAGER = {("linalg_matrix_exp", torch.float16), ("linalg_matrix_exp", torch.bfloat16)}


def usable(func, named, results):
    base = func._schema.name.partition("::")[2]
    tensors = tensors_of(named) + [t for r in as_list(results) for t in as_list(r) if isinstance(t, torch.Tensor)]
    return all(t.dtype in DTYPES and (base, t.dtype) not in WRONG_IN_EAGER for t in tensors) and sum(t.numel() for t in tensors) <= LARGEST


def cases(wanted, match=None, seed=1, per_dtype=3, limit=12, dtypes=None):
    """Yields cases of the operators in `wanted` (a set of names, or None for all)."""
    kept = Kept(per_dtype)
    missing = collections.Counter()
    for info, dtype, function in sample_functions(match, dtypes or list(DTYPES), limit, seed):
        try:
            calls = recorded_calls(function)
        except Exception:
            continue
        for func, named, results in calls:
            out = out_variant(func)
            if out is None:
                missing[full_name(func)] += 1
                continue
            if wanted is not None and full_name(out) not in wanted:
                missing[full_name(out)] += 1
                continue
            if not usable(func, named, results):
                continue
            name = kept.take(out, named, results)
            if name is None:
                continue
            try:
                yield call_case(f"s{seed}_{name}", "samples", out, named, func, seed)
            except (Unwritable, RuntimeError):  # unusual dtypes; a view that the layout does not allow
                pass
    if wanted is not None:
        print("operators called that are not in the library:", *(f"{k} ({n})" for k, n in missing.most_common()))
