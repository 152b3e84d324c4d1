"""Whole programs from the stock exporter: PyTorch's operator samples, decomposed as the exporter does it, and a few modules of our own."""

import collections

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from torch.utils import _pytree as pytree

from case_files import Case, DTYPES, dense
from hand_programs import seeded
from operators import loose_tolerance
from samples import LARGEST

RANDOM_NAMES = ("dropout", "rand", "normal", "bernoulli", "multinomial", "exponential", "geometric", "cauchy", "empty", "rrelu", "log_normal", "uniform")
# Right in more than one way, or with results that only eager's own algorithm gives.
AMBIGUOUS = ("svd", "eig", "qr", "lobpcg", "pca_lowrank", "lu_factor", "ldl", "geqrf", "argsort", "sort", "mode", "median", "pinv", "lstsq", "topk")


class Call(torch.nn.Module):
    """Calls a function on the tensors of a tree, whose other leaves are constants of the program."""

    def __init__(self, function, leaves, spec):
        super().__init__()
        self.function, self.leaves, self.spec = function, leaves, spec

    def forward(self, *tensors):
        remaining = list(tensors)
        leaves = [remaining.pop(0) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        result = self.function(*args, **kwargs)
        return [v for v in pytree.tree_leaves(result) if isinstance(v, torch.Tensor)]


def export(module, inputs, dynamic_shapes=None, **config):
    """The bytes of the program and the names of its operators."""
    exported = torch.export.export(module, tuple(inputs), dynamic_shapes=dynamic_shapes, strict=False)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    made = edge.to_executorch(ExecutorchBackendConfig(**config))
    names = []
    for plan in made.executorch_program.execution_plan:
        names += [o.name + (f".{o.overload}" if o.overload else "") for o in plan.operators]
    return bytes(made.buffer), names


def exported_case(name, module, inputs, group="exported", **config):
    inputs = [dense(t) for t in inputs]
    with torch.no_grad():
        outputs = [dense(t) for t in module(*[t.clone() for t in inputs])]
        program, names = export(module, inputs, **config)
    return Case(name, group, program, names, inputs, outputs)


def sample_cases(match, seed, dtypes_each, samples_each, refusals):
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if match and match not in info.name or any(n in info.name for n in RANDOM_NAMES):
            continue
        rng = seeded(seed, info.name)
        usual = [d for d in DTYPES if d in info.supported_dtypes("cpu") and d not in (torch.uint64, torch.uint32, torch.uint16)]
        chosen = [torch.float32] if torch.float32 in usual else []
        rest = [d for d in usual if d not in chosen]
        chosen += rng.sample(rest, min(len(rest), dtypes_each - len(chosen)))
        for dtype in chosen:
            yield from cases_of(info, dtype, seed, samples_each, refusals, rng)


def cases_of(info, dtype, seed, samples_each, refusals, rng):
    torch.manual_seed(rng.getrandbits(32))
    try:
        samples = list(info.sample_inputs_func(info, "cpu", dtype, False))
    except Exception as e:
        refusals[f"samples {type(e).__name__}"] += 1
        return
    made = 0
    for sample in rng.sample(samples, min(len(samples), 3 * samples_each)):
        if made == samples_each:
            return
        leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), dict(sample.kwargs)))
        tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
        if not tensors or sum(t.numel() for t in tensors) > LARGEST:
            continue
        module = Call(info.op, leaves, spec)
        plain = f"{info.name}_{info.variant_test_name}".rstrip("_").replace(".", "_")
        name = f"e{seed}_{plain}__{DTYPES[dtype][1]}__{made}"
        try:
            case = exported_case(name, module, tensors)
        except Exception as e:
            refusals[f"{info.name}: {type(e).__name__} {str(e).splitlines()[0][:120] if str(e) else ''}"] += 1
            return
        if not case.ops:  # nothing left to run
            continue
        if any(n in info.name for n in AMBIGUOUS):
            case.shape_only = set(range(len(case.outputs)))
        case.tolerance = loose_tolerance(info.name, case.inputs + case.outputs)
        made += 1
        yield case


def cases(wanted, match=None, seed=1, dtypes_each=2, samples_each=1):
    refusals = collections.Counter()
    try:
        yield from sample_cases(match, seed, dtypes_each, samples_each, refusals)
    finally:
        for why, count in refusals.most_common():
            print(f"not exported: {why} ({count})")
