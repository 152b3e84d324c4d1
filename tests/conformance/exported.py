"""Whole programs from the stock exporter: PyTorch's operator samples, decomposed as the exporter does it, and a few modules of our own."""

import collections

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from torch.utils import _pytree as pytree

from case_files import Case, DTYPES, dense
from drawn import Draw
from hand_programs import seeded
from operators import loose_tolerance
from samples import LARGEST

RANDOM_NAMES = ("dropout", "rand", "normal", "bernoulli", "multinomial", "exponential", "geometric", "cauchy", "empty", "rrelu", "log_normal", "uniform",
                "fractional", "multi_head_attention")
# Its logsumexp is none of what the exporter's decomposition gives; float8 matrices lie by columns, which cases cannot say.
UNWRITABLE = ("flash_attention_for_cpu", "_scaled_mm")
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
    inputs = [dense(t).contiguous() for t in inputs]  # the exporter lets a view of other layouts reread their memory
    given = [t.clone() for t in inputs]
    with torch.no_grad():
        outputs = [dense(t) for t in module(*given)]
        program, names = export(module, inputs, **config)
    # The program returns what it writes to its inputs first.
    written = {i: dense(t) for i, t in enumerate(given) if not torch.allclose(t, inputs[i], 0, 0, equal_nan=True)}
    return Case(name, group, program, names, inputs, [*written.values(), *outputs], after=written)


def sample_cases(match, seed, dtypes_each, samples_each, refusals):
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if match and match not in info.name or any(n in info.name for n in RANDOM_NAMES + UNWRITABLE):
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
        if not tensors or sum(t.numel() for t in tensors) > LARGEST or sample.kwargs.get("dropout_p"):
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


# ---- modules of our own ----


def module(function):
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            result = function(*inputs)
            return list(result) if isinstance(result, (tuple, list)) else [result]

    return Module()


def symmetric(x):
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def svd_product(x):
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    return u * s.unsqueeze(-2) @ vh, s


def eigh_product(x):
    values, vectors = torch.linalg.eigh(symmetric(x))
    return vectors * values.unsqueeze(-2) @ vectors.mT, values


def eig_product(x):
    values, vectors = torch.linalg.eig(x)
    return torch.view_as_real(x.to(vectors.dtype) @ vectors - vectors * values.unsqueeze(-2)), values.real.sum(-1)


def qr_product(x):
    q, r = torch.linalg.qr(x)
    return q @ r, q.mT @ q


def lu_product(x):
    p, lower, upper = torch.linalg.lu(x)
    return p @ lower @ upper


def lstsq_residual(x, y):
    solution = torch.linalg.pinv(x) @ y
    return solution, x @ solution


def spectrum(x):
    return torch.view_as_real(torch.fft.fftn(x)), torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape[-2:])


def spectrogram(x):
    return torch.view_as_real(torch.stft(x, 16, hop_length=5, window=torch.hann_window(16, dtype=x.dtype), return_complex=True))


def norm_written_in_place(x, y):
    a = x * 2
    a.add_(y).mul_(y).clamp_(-3, 3)
    b = x.clone()
    b[1:, 0] = y[1:, 0]
    b.masked_fill_(b > 1, 0.5).sigmoid_()
    return a, b.index_add_(0, torch.tensor([0, 0]), y[:2])


def rows_put(x, rows, y):
    a = x + 1
    a.index_put_((rows,), y)
    a.relu_().sub_(0.5)
    return a


RECONSTRUCTED = {"svd": svd_product, "eigh": eigh_product, "eig": eig_product, "qr": qr_product, "lu": lu_product, "spectrum": spectrum}
REINPLACED = {"add_": lambda x, y: (x * 2).add_(y), "sub_": lambda x, y: (x * 2).sub_(y, alpha=2), "mul_": lambda x, y: (x + 1).mul_(y),
              "div_": lambda x, y: (x + 1).div_(y), "relu_": lambda x, y: (x + y).relu_(), "sigmoid_": lambda x, y: (x + y).sigmoid_(),
              "tanh_": lambda x, y: (x - y).tanh_(), "clamp_": lambda x, y: (x - y).clamp_(-1, 1), "where_": lambda x, y: torch.where(x > 0, x + 1, y * 2),
              "mixed": norm_written_in_place}


def module_cases(match, seed, refusals):
    made = []
    for name, function in RECONSTRUCTED.items():
        for dtype in (torch.float32, torch.float64):
            for k, shape in enumerate(([4, 4], [2, 3, 3])):
                made.append((f"product_{name}__{DTYPES[dtype][1]}__{k}", function, [Draw(seeded(seed, name, k, dtype), dtype).tensor(shape, scale=1)], {}))
    for k in range(3):
        d = Draw(seeded(seed, "matrices", k), torch.float32)
        made.append((f"product_lstsq__f32__{k}", lstsq_residual, [d.tensor([5, 3], scale=1), d.tensor([5, 2], scale=1)], {}))
        made.append((f"stft__f32__{k}", spectrogram, [d.tensor([2, 40], scale=1)], {}))
        made.append((f"reinplaced_put__f32__{k}", rows_put, [d.tensor([5, 3]), torch.tensor([4, 0]), d.tensor([2, 3])], {"run_reinplace_pass": True}))
    for name, function in REINPLACED.items():
        for dtype in (torch.float32, torch.float16, torch.int64):
            d = Draw(seeded(seed, name, dtype), dtype)
            made.append((f"reinplaced_{name}__{DTYPES[dtype][1]}__0", function, [d.tensor([4, 3]), d.tensor([4, 3])], {"run_reinplace_pass": True}))
    for name, function, inputs, config in [m for m in made if not match or match in m[0]]:
        try:
            case = exported_case(f"e{seed}_{name}", module(function), inputs, **config)
        except Exception as e:
            refusals[f"{name}: {type(e).__name__} {str(e).splitlines()[0][:120] if str(e) else ''}"] += 1
            continue
        if name.startswith("product_"):
            case.tolerance = (1e-3, 1e-4) if inputs[0].dtype == torch.float32 else (1e-7, 1e-7)
        yield case


def cases(wanted, match=None, seed=1, dtypes_each=2, samples_each=1):
    refusals = collections.Counter()
    try:
        yield from module_cases(match, seed, refusals)
        yield from sample_cases(match, seed, dtypes_each, samples_each, refusals)
    finally:
        for why, count in refusals.most_common():
            print(f"not exported: {why} ({count})")
