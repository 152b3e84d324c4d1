"""From a call that eager PyTorch makes to the name that a program calls: out variants, recorded calls and cases of one call."""

import functools
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from case_files import Case, DTYPES, Unwritable, dense
from hand_programs import CallProgram, Layout, laid_out, random_order, seeded

# What a factory's out variant leaves to the out tensor.
FACTORY_ARGUMENTS = {"dtype", "layout", "device", "pin_memory", "memory_format"}
# Operators of which only the shape of the result is defined.
RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal", "uniform", "exponential", "geometric",
          "cauchy", "log_normal", "multinomial", "native_dropout", "poisson", "binomial", "random", "rrelu_with_noise", "_standard_gamma",
          "_sample_dirichlet", "empty", "empty_like", "empty_permuted", "new_empty", "new_empty_strided", "empty_strided", "_empty_dim_order",
          "rrelu_with_noise_functional", "dropout"}
# Their outputs have sizes that depend on the data.
DATA_DEPENDENT = {"nonzero", "masked_select", "repeat_interleave", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "_unique",
                  "bincount", "nonzero_static", "argwhere"}
# Calls whose result depends on how the input lies in memory, which a program does not show.
LAYOUT_SENSITIVE = {"as_strided_copy", "as_strided_scatter", "et_view"}
# Eager reads the elements of other layouts in a wrong order here.
LAYOUT_SENSITIVE |= {"resize", "resize_as", "_upsample_lanczos2d_aa", "_masked_softmax", "adaptive_max_pool3d_backward",
                     "fractional_max_pool2d_backward", "fractional_max_pool3d_backward"}
# Calls that factor a transposed matrix where that saves a copy: the layout stays as eager had it.
LAYOUT_KEPT = {"_linalg_det", "_linalg_slogdet", "_linalg_solve_ex"}
# Outputs that are right in more than one way: eigenvectors, singular vectors, the order of complex eigenvalues.
AMBIGUOUS = {"linalg_eig": {0, 1}, "_linalg_eig": {0, 1}, "linalg_eigvals": {0}, "linalg_eigh": {1}, "_linalg_eigh": {1}, "linalg_svd": {0, 2}, "_linalg_svd": {0, 2}, "svd": {0, 2}}
LOOSE = {"linalg": (1e-3, 1e-4), "_linalg": (1e-3, 1e-4), "cholesky": (1e-3, 1e-4), "lu": (1e-3, 1e-4), "triangular": (1e-3, 1e-4), "ormqr": (1e-3, 1e-4)}
# Eager's own values are that far from the functions they stand for, also in float64.
INEXACT = {"special_airy_ai", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1"}
# Eager rounds its intermediate sums to half precision here.
HALF_SUMS = {"addbmm", "baddbmm", "convolution", "_native_batch_norm_legit", "nansum", "_trilinear", "cumsum", "linalg_cross", "cross", "linalg.cross",
             "bilinear"}
HALF = {torch.bfloat16: 4e-2, torch.float16: 5e-3}


def full_name(overload):
    """ "aten::add.out" of an operator overload, as a program names it."""
    schema = overload._schema
    return schema.name + (f".{schema.overload_name}" if schema.overload_name else "")


def overloads(packet):
    return [getattr(packet, name) for name in packet.overloads()]


def without_outs(schema):
    return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]


def is_out_of(candidate, functional):
    """Whether the overload `candidate` writes what `functional` returns."""
    outs = [a for a in candidate.arguments if a.is_out]
    if not outs or len(outs) != len(functional.returns):
        return False
    wanted, given = without_outs(candidate), without_outs(functional)
    kept = [a for a in given if a in wanted]
    return kept == wanted and all(name in FACTORY_ARGUMENTS for name, _ in given if (name, dict(given)[name]) not in wanted)


@functools.cache
def out_variant(overload):
    """The out variant of a functional, in-place or view overload, or None."""
    namespace, _, base = overload._schema.name.partition("::")
    packets = getattr(torch.ops, namespace)
    names = [base, base + "_copy"] if not base.endswith("_") or base.endswith("__") else [base[:-1]]
    for name in names:
        if not hasattr(packets, name):
            continue
        found = [o for o in overloads(getattr(packets, name)) if is_out_of(o._schema, overload._schema)]
        if found:
            same = [o for o in found if o._schema.overload_name == f"{overload._schema.overload_name}_out"]
            return (same or found)[0]
    return None


class Recorder(TorchDispatchMode):
    """Notes every operator call with its arguments, before they can change, and its results."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        try:
            named = named_arguments(func._schema, *copied((args, kwargs)))
        except Exception:  # sparse or otherwise special tensors
            named = None
        result = func(*args, **kwargs)
        if named is not None:
            try:
                self.calls.append((func, named, copied(result)))
            except Exception:
                pass
        return result


def copied(tree):
    return torch.utils._pytree.tree_map(lambda v: dense(v) if isinstance(v, torch.Tensor) else v, tree)


def named_arguments(schema, args, kwargs):
    """Every argument of the schema by name, with defaults filled in."""
    out = {}
    for i, argument in enumerate(schema.arguments):
        if i < len(args):
            out[argument.name] = args[i]
        elif argument.name in kwargs:
            out[argument.name] = kwargs[argument.name]
        else:
            out[argument.name] = argument.default_value
    return out


def recorded_calls(function):
    """All operator calls that `function` makes, in order."""
    with Recorder() as recorder, torch.no_grad():
        function()
    return recorder.calls


def as_list(result):
    """The results as the out variant lists them."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tensors_of(named):
    found = []
    for value in named.values():
        found += [v for v in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(v, torch.Tensor)]
    return found


def loose_tolerance(base, tensors):
    """(rtol, atol) where the dtype's own would not do."""
    dtypes = {t.dtype for t in tensors}
    half = next((HALF[d] for d in HALF if d in dtypes), None)
    if half and (base in HALF_SUMS or base.startswith("nn.functional.")):
        largest = max((float(t.abs().max()) for t in tensors if t.dtype in HALF and t.numel()), default=1.0)
        return half, half * max(largest if math.isfinite(largest) else 1.0, 1.0)
    if base in INEXACT and not half:
        return (1e-4, 1e-4) if torch.float64 in dtypes else (1e-3, 1e-3)
    prefix = next((p for p in LOOSE if base.startswith(p)), None)
    return LOOSE[prefix] if prefix and not half and torch.float64 not in dtypes else None


def evaluated(overload, named):
    """What the overload gives for these arguments, which it may write."""
    named = {k: copied(v) for k, v in named.items()}
    plain = [named.pop(a.name) for a in overload._schema.arguments if not a.kwarg_only]
    with torch.no_grad():
        return as_list(copied(overload(*plain, **named)))


def call_case(name, group, out, named, results, seed=0, vary_layout=True, written=None, **more):
    """The case of one call of the out variant `out`. `results` are one an out argument (a list for a list of tensors), or the
    overload of eager that gives them.

    `written`: contents after the call of the arguments that it writes in place, by name. `more`: further fields of the case.
    """
    schema = out._schema
    base = schema.name.partition("::")[2]
    rng = seeded(seed, name)
    outs = [a for a in schema.arguments if a.is_out]
    if base not in LAYOUT_KEPT:
        vary = vary_layout and base not in LAYOUT_SENSITIVE
        named = {k: varied(v, rng) if vary else contiguous(v) for k, v in named.items()}
    if isinstance(results, torch._ops.OpOverload):
        results = evaluated(results, named)
    if len(outs) == 1 and "List" in str(outs[0].type):
        results = [results]
    if len(results) != len(outs):
        raise Unwritable(f"{len(results)} results for {len(outs)} outputs")
    flat = [t for r in results for t in (r if isinstance(r, (list, tuple)) else [r])]
    if any(not isinstance(t, torch.Tensor) for t in flat):
        raise Unwritable("a result that is no tensor")
    input_layouts, output_layouts = layouts(tensors_of(named), flat, base, rng, vary_layout)
    made = CallProgram(schema, named, results, input_layouts, output_layouts)
    shape_only = set(range(len(flat))) if base in RANDOM else set(AMBIGUOUS.get(base, ()))
    orders = {i: l.dim_order for i, l in output_layouts.items() if l.dim_order and l.dim_order != sorted(l.dim_order)}
    after = {made.input_of[k]: v for k, v in (written or {}).items()}
    more.setdefault("tolerance", loose_tolerance(base, made.inputs + made.outputs))
    return Case(name, group, made.bytes(), [full_name(out)], made.inputs, made.outputs, orders, shape_only, after, **more)


def contiguous(value):
    if isinstance(value, (list, tuple)):
        return [contiguous(v) for v in value]
    return value.contiguous() if isinstance(value, torch.Tensor) else value


def numpy_has(dtype):
    return dtype not in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def varied(value, rng):
    """The same value; a tensor sometimes in another layout."""
    if isinstance(value, (list, tuple)):
        return [varied(v, rng) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    value = value.contiguous()
    if value.dim() < 2 or value.numel() == 0 or not numpy_has(value.dtype) or rng.random() < 0.75:
        return value
    return laid_out(value, random_order(value.dim(), rng))


def layouts(inputs, outputs, base, rng, vary):
    """How the program declares its inputs and outputs: planned or not, fixed or bounded, in which order."""
    ins, outs = {}, {}
    dynamic = vary and rng.random() < 0.2
    planned = rng.random() < 0.7
    for i, tensor in enumerate(inputs):
        ins[i] = Layout(bounds=[s + rng.randrange(3) for s in tensor.shape] if dynamic else None, planned=planned)
    for i, tensor in enumerate(outputs):
        bounds = [s + rng.randrange(3) for s in tensor.shape] if dynamic or base in DATA_DEPENDENT else None
        order = random_order(tensor.dim(), rng) if vary and tensor.dim() > 1 and rng.random() < 0.15 else None
        outs[i] = Layout(bounds=bounds, dim_order=order)
    return ins, outs


def main_short_dtype(named, results):
    for tensor in tensors_of(named) + [t for t in as_list(results) if isinstance(t, torch.Tensor)]:
        return DTYPES.get(tensor.dtype, ("", "other"))[1]
    return "none"
