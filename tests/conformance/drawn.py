"""Calls with random shapes, dtypes, values and layouts, family by family. The same seed draws the same cases."""

import math

import torch

from case_files import DTYPES, Unwritable
from hand_programs import seeded
from operators import as_list, call_case, full_name, main_short_dtype, named_arguments, out_variant

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
REAL = FLOATS + INTS + [torch.bool]
ANY = REAL + [torch.complex64, torch.uint16, torch.uint32]
NAN, INF = math.nan, math.inf


class Draw:
    """Random choices for one case."""

    def __init__(self, rng, dtype):
        self.rng, self.dtype = rng, dtype
        self.generator = torch.Generator().manual_seed(rng.getrandbits(40))

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *choices):
        return self.rng.choice(choices)

    def upto(self, n):
        """0 … n inclusive."""
        return self.rng.randint(0, n)

    def shape(self, low=0, high=4, largest=5, empty=0.05):
        rank = self.rng.randint(low, high)
        sizes = [self.rng.randint(1, largest) for _ in range(rank)]
        if rank and self.chance(0.15):
            sizes[self.upto(rank - 1)] = self.pick(17, 33, 40)
        if rank and self.chance(empty):
            sizes[self.upto(rank - 1)] = 0
        return sizes

    def narrowed(self, shape):
        """A shape that broadcasts to `shape`."""
        sizes = [1 if self.chance(0.3) else s for s in shape]
        return sizes[self.upto(len(sizes)):] if sizes and self.chance(0.3) else sizes

    def tensor(self, shape, dtype=None, special=0.0, scale=3.0):
        dtype = dtype or self.dtype
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) < 0.5
        if dtype.is_complex:
            return torch.complex(*(torch.randn(shape, generator=self.generator) * scale for _ in range(2)))
        if not dtype.is_floating_point:
            low = 0 if dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else -9
            out = torch.randint(low, 10, tuple(shape), generator=self.generator)
            if self.chance(special) and out.numel() and dtype not in (torch.uint16, torch.uint32, torch.uint64):
                info = torch.iinfo(dtype)
                out.view(-1)[self.upto(out.numel() - 1)] = self.pick(info.min, info.max, info.max - 1)
            return out.to(dtype)
        out = torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale
        if self.chance(special) and out.numel():
            for value in (NAN, INF, -INF, 0.0, -0.0, 0.5, -2.5, 1e-30, 6e4):
                out.view(-1)[self.upto(out.numel() - 1)] = value
        return out.to(dtype)

    def other_dtype(self, choices):
        return self.rng.choice(choices) if self.chance(0.3) else self.dtype

    def dim(self, shape):
        """A valid dimension, sometimes negative."""
        rank = max(len(shape), 1)
        return self.rng.randint(-rank, rank - 1)

    def dims(self, shape):
        rank = len(shape)
        chosen = self.rng.sample(range(rank), self.upto(rank)) if rank else []
        return [d - rank if self.chance(0.3) else d for d in chosen]

    def scalar(self):
        if self.dtype.is_floating_point or self.dtype.is_complex or self.chance(0.2):
            return self.pick(2.0, -1.5, 0.25, 3, 1)
        return self.pick(1, 2, 3, True) if self.dtype in (torch.bool, torch.uint8) else self.pick(1, 2, -3, 5, True)

    def indices(self, shape, bound, dtype=torch.int64, negative=True):
        low = -bound if negative else 0
        return torch.randint(low, max(bound, low + 1), tuple(shape), generator=self.generator).to(dtype)


# Each family: operators ("name.overload", default where no dot), dtypes, and a function of a Draw that gives arguments.
FAMILIES = []


def family(names, dtypes=REAL, count=1):
    def add(function):
        FAMILIES.append((names.split(), dtypes, function, count))
        return function

    return add


# --- elementwise -------------------------------------------------------------------------------------------------


@family("""abs acos acosh angle asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log
log10 log1p log2 logical_not neg rad2deg reciprocal relu round rsqrt sigmoid sgn sign signbit sin sinc sinh sqrt square tan tanh trunc isinf isnan
isposinf isneginf hardswish hardsigmoid silu mish nan_to_num log_sigmoid_forward gelu leaky_relu elu celu softplus hardtanh hardshrink softshrink
conj_physical fix special_entr special_erfcx special_i0 special_i0e special_i1 special_i1e special_ndtri special_log_ndtr i0 logit alias clone
detach lift_fresh_copy isfinite view_as_real real imag positive special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
special_modified_bessel_i0 special_modified_bessel_k0 special_spherical_bessel_j0 special_airy_ai""", REAL + [torch.complex64])
def unary(d):
    return [d.tensor(d.shape(), special=0.5)]


@family("round.decimals", FLOATS, 2)
def round_decimals(d):
    return [d.tensor(d.shape(), scale=200)], {"decimals": d.rng.randint(-2, 3)}


@family("gelu", FLOATS, 2)
def gelu(d):
    return [d.tensor(d.shape(), special=0.5)], {"approximate": d.pick("none", "tanh")}


@family("hardtanh clamp", FLOATS + INTS)
def bounded(d):
    return [d.tensor(d.shape(), special=0.5), d.pick(-2, -1, 0) if d.dtype != torch.uint8 else 1, d.pick(1, 3, 6)]


@family("clamp clamp_min clamp_max threshold elu celu leaky_relu softplus hardshrink softshrink logit nan_to_num pow.Tensor_Scalar mvlgamma polygamma_", FLOATS)
def with_numbers(d):
    return [d.tensor(d.shape(), special=0.5), *[d.pick(0.5, 1.0, 2.0, 0.1) for _ in range(d.upto(2))]]


@family("""add.Tensor sub.Tensor mul.Tensor div.Tensor atan2 fmod.Tensor remainder.Tensor floor_divide maximum minimum fmax fmin eq.Tensor ne.Tensor
lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or logical_xor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor copysign.Tensor hypot
nextafter heaviside logaddexp logaddexp2 xlogy.Tensor special_xlog1py special_zeta rsub.Tensor pow.Tensor_Tensor
special_chebyshev_polynomial_t special_hermite_polynomial_h""", REAL + [torch.complex64], 2)
def binary(d):
    shape = d.shape()
    a, b = (shape, d.narrowed(shape)) if d.chance(0.5) else (d.narrowed(shape), shape)
    dtype = d.other_dtype([torch.float32, torch.int64, torch.bool, torch.float16, torch.uint8])
    special = 0.0 if d.dtype.is_complex else 0.4  # infinite complex numbers have no agreed rules
    return [d.tensor(a, special=special), d.tensor(b, dtype, special=special)]


@family("gcd lcm", INTS, 2)
def divisors(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape), d.other_dtype([torch.int64, torch.uint8]))]


@family("add.Tensor sub.Tensor rsub.Tensor", FLOATS + INTS)
def with_alpha(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape))], {"alpha": d.pick(2, -1, 3) if not d.dtype.is_floating_point else d.pick(0.5, 2, -1.25)}


@family("bitwise_left_shift.Tensor bitwise_right_shift.Tensor __lshift__.Tensor __rshift__.Tensor", INTS)
def shift(d):
    shape = d.shape()
    return [d.tensor(shape), torch.randint(0, 7, tuple(d.narrowed(shape)), generator=d.generator).to(d.dtype)]


@family("bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar __lshift__.Scalar __rshift__.Scalar", INTS, 2)
def shift_by_number(d):
    return [d.tensor(d.shape()), d.rng.randint(0, 6)]


@family("div.Tensor_mode div.Scalar_mode", FLOATS + INTS, 3)
def div_mode(d):
    shape = d.shape()
    mode = d.pick(None, "floor", "trunc")
    return [d.tensor(shape, special=0.3), d.tensor(d.narrowed(shape))], {"rounding_mode": mode}


@family("div.Scalar_mode", FLOATS + INTS, 3)
def div_scalar_mode(d):
    return [d.tensor(d.shape(), special=0.3), d.pick(2, -3, 0.75, 5)], {"rounding_mode": d.pick(None, "floor", "trunc")}


@family("""add.Scalar sub.Scalar mul.Scalar div.Scalar fmod.Scalar remainder.Scalar pow.Tensor_Scalar floor_divide.Scalar rsub.Scalar eq.Scalar ne.Scalar
lt.Scalar le.Scalar gt.Scalar ge.Scalar bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar copysign.Scalar xlogy.Scalar_Other
special_xlog1py.other_scalar special_zeta.other_scalar fill.Scalar masked_fill_""", REAL + [torch.complex64], 2)
def tensor_and_number(d):
    return [d.tensor(d.shape(), special=0.4), d.scalar()]


@family("""pow.Scalar remainder.Scalar_Tensor bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor xlogy.Scalar_Self
special_xlog1py.self_scalar bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor""", REAL, 2)
def number_and_tensor(d):
    return [d.scalar(), d.tensor(d.shape()).abs() if d.dtype in INTS else d.tensor(d.shape())]


@family("where.self", ANY, 3)
def where(d):
    shape = d.shape()
    return [d.tensor(d.narrowed(shape), torch.bool), d.tensor(d.narrowed(shape)), d.tensor(shape, d.other_dtype([torch.float32, torch.int64]))]


@family("masked_fill.Scalar masked_fill.Tensor", ANY, 2)
def masked_fill_number(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape), torch.bool), d.scalar()]


@family("masked_fill.Tensor", ANY, 2)
def masked_fill(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape), torch.bool), d.tensor([])]


@family("addcmul addcdiv lerp.Tensor clamp.Tensor", FLOATS + INTS, 2)
def ternary(d):
    shape = d.shape()
    return [d.tensor(d.narrowed(shape)), d.tensor(shape), d.tensor(d.narrowed(shape))]


@family("lerp.Scalar", FLOATS, 2)
def lerp(d):
    shape = d.shape()
    return [d.tensor(d.narrowed(shape)), d.tensor(shape), d.pick(0.3, 0.75, 1)]


# --- reductions --------------------------------------------------------------------------------------------------


@family("sum.dim_IntList mean.dim amax amin any.dims all.dims nansum logsumexp count_nonzero.dim_IntList", REAL, 3)
def over_dims(d):
    shape = d.shape()
    args = [d.tensor(shape, special=0.3), d.dims(shape)]
    return args + [d.chance(0.5)] if d.chance(0.7) else args


@family("sum.dim_IntList mean.dim any.dims all.dims logsumexp", [torch.complex64], 3)
def complex_over_dims(d):
    shape = d.shape()
    return [d.tensor(shape), d.dims(shape)]


@family("sum.dim_IntList mean.dim nansum", FLOATS + INTS)
def with_dtype(d):
    shape = d.shape()
    return [d.tensor(shape), d.pick(None, d.dims(shape)), d.chance(0.5)], {"dtype": d.pick(torch.float32, torch.float64, torch.int64, torch.float16)}


@family("any.dim all.dim argmax argmin max.dim min.dim median.dim nanmedian.dim cummax cummin aminmax", REAL, 3)
def over_dim(d):
    shape = d.shape(empty=0)
    args = [d.tensor(shape, special=0.3), d.dim(shape)]
    return args + [d.chance(0.5)] if d.chance(0.5) else args


@family("prod.dim_int mode", REAL, 3)
def of_modest_numbers(d):
    """Without numbers whose product overflows on the way, and without NaN, of which eager finds the mode by chance."""
    shape = d.shape(empty=0)
    return [d.tensor(shape, scale=1), d.dim(shape), d.chance(0.5)]


@family("amax amin max min argmax argmin median nanmedian aminmax msort", REAL, 2)
def over_all(d):
    return [d.tensor(d.shape(), special=0.3)]


@family("sum mean any all std var trace count_nonzero nansum norm.Scalar", REAL + [torch.complex64], 2)
def sum_over_all(d):
    return [d.tensor(d.shape(), special=0.0 if d.dtype.is_complex else 0.3)]


@family("prod", REAL + [torch.complex64], 2)
def product(d):
    return [d.tensor(d.shape(), scale=1)]


@family("cumsum cumprod logcumsumexp", REAL, 2)
def scan(d):
    shape = d.shape()
    kwargs = {"dtype": d.pick(torch.float32, torch.int64, torch.float64)} if d.chance(0.3) else {}
    return [d.tensor(shape), d.dim(shape)], kwargs


@family("_softmax _log_softmax _safe_softmax", FLOATS, 3)
def softmax(d):
    shape = d.shape()
    return [d.tensor(shape, special=0.2, scale=d.pick(1.0, 10.0)), d.dim(shape), False]


@family("_softmax_backward_data _log_softmax_backward_data", FLOATS, 2)
def softmax_backward(d):
    shape = d.shape()
    dim = d.dim(shape)
    return [d.tensor(shape), torch.softmax(d.tensor(shape).float(), dim).to(d.dtype), dim, d.dtype]


@family("var.correction std.correction var_mean.correction std_mean.correction", FLOATS + [torch.complex64], 3)
def variance(d):
    shape = d.shape()
    return [d.tensor(shape), d.pick(None, d.dims(shape))], {"correction": d.pick(0, 1, 2, 0.5, None), "keepdim": d.chance(0.5)}


@family("var.dim std.dim", FLOATS, 2)
def variance_dim(d):
    shape = d.shape()
    return [d.tensor(shape), d.dims(shape), d.chance(0.5), d.chance(0.5)]


@family("linalg_vector_norm", FLOATS + [torch.complex64], 3)
def vector_norm(d):
    shape = d.shape(empty=0)
    return [d.tensor(shape), d.pick(2, 1, 0, 3.5, INF, -INF, -1), d.pick(None, d.dims(shape)), d.chance(0.5)]


@family("norm.ScalarOpt_dim", FLOATS, 2)
def norm(d):
    shape = d.shape(empty=0)
    return [d.tensor(shape), d.pick(2, 1, 0, 3.5, INF), d.dims(shape), d.chance(0.5)]


@family("topk", FLOATS + INTS, 3)
def topk(d):
    shape = d.shape(empty=0)
    dim = d.dim(shape)
    return [distinct(d, shape), d.upto(shape[dim] if shape else 1), dim, d.chance(0.5), d.chance(0.8)]


@family("kthvalue", FLOATS + INTS, 2)
def kthvalue(d):
    shape = d.shape(empty=0)
    dim = d.dim(shape)
    return [distinct(d, shape), d.rng.randint(1, shape[dim] if shape else 1), dim, d.chance(0.5)]


@family("sort", REAL, 2)
def sort(d):
    shape = d.shape()
    return [distinct(d, shape), d.dim(shape), d.chance(0.5)]


@family("sort.stable argsort.stable", REAL, 2)
def stable_sort(d):
    shape = d.shape()
    return [d.tensor(shape, special=0.3)], {"stable": True, "dim": d.dim(shape), "descending": d.chance(0.5)}


def distinct(d, shape):
    """Values of which no two are equal, where the dtype has enough of them: the order of equal ones is not defined."""
    count = math.prod(shape)
    order = torch.randperm(count, generator=d.generator)
    low = 0 if d.dtype in (torch.uint8, torch.bool) else -(count // 2)
    return (order + max(low, -100)).reshape(shape).to(d.dtype)


@family("searchsorted.Tensor", FLOATS + INTS, 2)
def searchsorted(d):
    rows, width = d.shape(0, 2, empty=0), d.rng.randint(1, 9)
    sorted_rows = d.tensor([*rows, width]).sort(-1)[0]
    return [sorted_rows, d.tensor([*rows, d.rng.randint(1, 5)])], {"right": d.chance(0.5), "out_int32": d.chance(0.5)}


@family("bucketize.Tensor", FLOATS + INTS, 2)
def bucketize(d):
    return [d.tensor(d.shape()), d.tensor([d.rng.randint(1, 9)]).sort()[0]], {"right": d.chance(0.5), "out_int32": d.chance(0.5)}


# --- views and joins ---------------------------------------------------------------------------------------------


@family("permute", ANY, 2)
def permute(d):
    shape = d.shape(0, 6)
    order = list(range(len(shape)))
    d.rng.shuffle(order)
    return [d.tensor(shape), [o - len(shape) if d.chance(0.3) else o for o in order]]


@family("view_copy reshape_", ANY, 2)
def view(d):
    shape = d.shape(0, 4, empty=0.1)
    new = list(shape)
    d.rng.shuffle(new)
    if len(new) > 1 and d.chance(0.5):
        new = [new[0] * new[1], *new[2:]]
    if d.chance(0.3) and 0 not in new and new:
        new[d.upto(len(new) - 1)] = -1
    return [d.tensor(shape), new]


@family("expand", ANY, 2)
def expand(d):
    shape = d.shape(0, 4)
    target = [d.pick(2, 3) if s == 1 else d.pick(s, -1) for s in shape]
    return [d.tensor(shape), [d.rng.randint(1, 3) for _ in range(d.upto(2))] + target]


@family("select.int", ANY, 2)
def select(d):
    shape = d.shape(1, 4, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, d.rng.randint(-shape[dim], shape[dim] - 1)]


@family("slice.Tensor", ANY, 3)
def slice_(d):
    shape = d.shape(1, 4)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, d.pick(None, d.rng.randint(-7, 7)), d.pick(None, d.rng.randint(-7, 9), 2**63 - 1), d.rng.randint(1, 3)]


@family("squeeze.dim unsqueeze squeeze", ANY)
def squeeze(d):
    shape = [1 if d.chance(0.4) else s for s in d.shape(1, 4)]
    return [d.tensor(shape), *([d.dim(shape)] if d.chance(0.8) else [])]


@family("squeeze.dims", ANY, 2)
def squeeze_dims(d):
    shape = [1 if d.chance(0.5) else s for s in d.shape(0, 4)]
    return [d.tensor(shape), d.dims(shape)]


@family("transpose.int", ANY)
def transpose(d):
    shape = d.shape(0, 4)
    return [d.tensor(shape), d.dim(shape), d.dim(shape)]


@family("t", ANY)
def t(d):
    return [d.tensor(d.shape(0, 2))]


@family("diagonal diagonal_scatter_", ANY)
def diagonal(d):
    shape = d.shape(2, 4)
    a, b = d.rng.sample(range(len(shape)), 2)
    return [d.tensor(shape), d.rng.randint(-3, 3), a, b - len(shape)]


@family("unfold", ANY)
def unfold(d):
    shape = d.shape(1, 3, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, d.rng.randint(1, shape[dim]), d.rng.randint(1, 3)]


@family("as_strided", ANY)
def as_strided(d):
    return [d.tensor([d.rng.randint(20, 40)]), [d.rng.randint(1, 3), d.rng.randint(1, 4)], [d.upto(4), d.upto(3)], d.pick(None, d.upto(2))]


@family("narrow_copy", ANY)
def narrow(d):
    shape = d.shape(1, 4, empty=0)
    dim = d.dim(shape)
    start = d.upto(shape[dim])
    return [d.tensor(shape), dim, start, d.upto(shape[dim] - start)]


@family("split.Tensor unsafe_split.Tensor", ANY)
def split(d):
    shape = d.shape(1, 3, empty=0)
    return [d.tensor(shape), d.rng.randint(1, 3), d.dim(shape)]


@family("split_with_sizes unsafe_split_with_sizes", ANY)
def split_with_sizes(d):
    shape = d.shape(1, 3)
    dim = d.dim(shape)
    first = d.upto(shape[dim])
    return [d.tensor(shape), [first, shape[dim] - first], dim]


@family("unbind.int", ANY)
def unbind(d):
    shape = d.shape(1, 3, empty=0)
    return [d.tensor(shape), d.dim(shape)]


@family("repeat", ANY)
def repeat(d):
    shape = d.shape(0, 3)
    return [d.tensor(shape), [d.upto(2) if d.chance(0.2) else d.rng.randint(1, 3) for _ in range(len(shape) + d.upto(1))]]


@family("flip", ANY)
def flip(d):
    shape = d.shape(0, 4)
    return [d.tensor(shape), d.dims(shape)]


@family("roll", ANY)
def roll(d):
    shape = d.shape(1, 3)
    dims = d.dims(shape)
    return [d.tensor(shape), [d.rng.randint(-7, 7) for _ in dims] or [2], dims]


@family("rot90", ANY)
def rot90(d):
    shape = d.shape(2, 4)
    return [d.tensor(shape), d.rng.randint(-3, 5), d.rng.sample(range(len(shape)), 2)]


@family("cat stack", ANY, 2)
def join(d):
    shape = d.shape(1, 4)
    return [[d.tensor(shape, d.other_dtype([torch.float32, torch.int64, torch.bool])) for _ in range(d.rng.randint(1, 4))], d.dim(shape)]


@family("cat", ANY, 2)
def cat(d):
    shape = d.shape(1, 4)
    dim = d.dim(shape)
    parts = []
    for _ in range(d.rng.randint(1, 4)):
        sizes = list(shape)
        sizes[dim] = d.upto(4)
        parts.append(d.tensor(sizes))
    return [parts + ([d.tensor([0])] if d.chance(0.2) else []), dim]


@family("constant_pad_nd", ANY, 3)
def constant_pad(d):
    shape = d.shape(1, 4)
    pads = [d.rng.randint(-1, 3) for _ in range(2 * d.rng.randint(1, len(shape)))]
    return [d.tensor(shape), pads, d.scalar()]


@family("reflection_pad1d replication_pad1d", FLOATS + INTS[:2] + [torch.complex64], 2)
def pad1d(d):
    return [d.tensor([d.rng.randint(1, 3) for _ in range(d.rng.randint(1, 2))] + [5]), [d.rng.randint(-1, 4), d.rng.randint(-1, 4)]]


@family("reflection_pad2d replication_pad2d", FLOATS + INTS[:2], 2)
def pad2d(d):
    return [d.tensor([2] * d.rng.randint(1, 2) + [5, 4]), [d.rng.randint(-1, 3) for _ in range(4)]]


@family("reflection_pad3d replication_pad3d", FLOATS + INTS[:2], 2)
def pad3d(d):
    return [d.tensor([2] * d.rng.randint(1, 2) + [3, 4, 5]), [d.rng.randint(-1, 2) for _ in range(6)]]


@family("tril triu", ANY, 2)
def triangle(d):
    return [d.tensor(d.shape(2, 4)), d.rng.randint(-4, 4)]


@family("pixel_shuffle channel_shuffle", ANY)
def pixel_shuffle(d):
    return [d.tensor([*d.shape(0, 2, empty=0), 12, d.rng.randint(1, 3), d.rng.randint(1, 4)]), 2]


@family("pixel_unshuffle", ANY)
def pixel_unshuffle(d):
    r = d.rng.randint(2, 3)
    return [d.tensor([*d.shape(1, 2, empty=0), r * d.rng.randint(1, 2), r * 2]), r]


@family("diag_embed", ANY)
def diag_embed(d):
    return [d.tensor(d.shape(1, 3)), d.rng.randint(-2, 2)]


@family("select_scatter", ANY)
def select_scatter(d):
    shape = d.shape(1, 4, empty=0)
    dim = d.dim(shape)
    part = list(shape)
    del part[dim]
    return [d.tensor(shape), d.tensor(part), dim, d.rng.randint(-shape[dim], shape[dim] - 1)]


@family("slice_scatter", ANY, 2)
def slice_scatter(d):
    shape = d.shape(1, 4, empty=0)
    dim, start, end, step = d.dim(shape), d.upto(2), d.pick(None, 4, -1), d.rng.randint(1, 2)
    whole = d.tensor(shape)
    part = torch.ops.aten.slice(whole, dim, start, end, step)
    return [whole, d.tensor(part.shape), dim, start, end, step]


@family("copy fill.Tensor", ANY)
def copy(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape), d.other_dtype([torch.float32, torch.int64]))]


@family("_to_copy", ANY, 4)
def to_copy(d):
    return [d.tensor(d.shape())], {"dtype": d.rng.choice(list(DTYPES))}


# --- indexing ----------------------------------------------------------------------------------------------------


@family("index_select", ANY, 2)
def index_select(d):
    shape = d.shape(0, 4, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, d.indices([d.upto(5)], shape[dim] if shape else 1, d.pick(torch.int64, torch.int32), negative=False)]


@family("gather", ANY, 2)
def gather(d):
    shape = d.shape(0, 4, empty=0)
    dim = d.dim(shape)
    where = [d.rng.randint(1, s) for s in shape]
    if where:
        where[dim] = d.upto(6)
    return [d.tensor(shape), dim, d.indices(where, shape[dim] if shape else 1, negative=False)]


def permuted_index(d, shape, dim):
    """Indices without repeats along `dim`, so that a scatter has one answer."""
    if not shape:
        return torch.zeros([], dtype=torch.int64)
    scores = torch.rand(shape, generator=d.generator)
    return scores.argsort(dim)


@family("scatter.src scatter_add", ANY, 2)
def scatter(d):
    shape = d.shape(0, 4, empty=0)
    dim = d.dim(shape)
    index = permuted_index(d, shape, dim)
    return [d.tensor(shape), dim, index, d.tensor(shape)]


@family("scatter.value", ANY, 2)
def scatter_value(d):
    shape = d.shape(0, 4, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, permuted_index(d, shape, dim), d.scalar()]


@family("scatter_add index_add", ANY, 2)
def scatter_add(d):
    shape = d.shape(1, 3, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape, scale=1), dim, d.indices([d.upto(6) if i == dim % len(shape) else s for i, s in enumerate(shape)], shape[dim], negative=False),
            d.tensor([7 if i == dim % len(shape) else s for i, s in enumerate(shape)], scale=1)]


@family("scatter_reduce.two", FLOATS + INTS, 3)
def scatter_reduce(d):
    args = scatter_add(d)
    return args + [d.pick("sum", "prod", "mean", "amax", "amin")], {"include_self": d.chance(0.5)}


@family("index_add index_copy", ANY, 2)
def index_add(d):
    shape = d.shape(1, 3, empty=0)
    dim = d.dim(shape)
    index = torch.randperm(shape[dim], generator=d.generator)[: d.rng.randint(1, shape[dim])]
    part = list(shape)
    part[dim] = len(index)
    return [d.tensor(shape), dim, index, d.tensor(part)]


@family("index_fill.int_Scalar", ANY)
def index_fill(d):
    shape = d.shape(1, 3, empty=0)
    dim = d.dim(shape)
    return [d.tensor(shape), dim, d.indices([3], shape[dim], negative=False), d.scalar()]


def index_tuple(d, shape):
    """One index tensor or None a dimension; they broadcast together."""
    common = d.shape(0, 2, largest=4, empty=0)
    out = []
    for size in shape[: d.rng.randint(1, len(shape))]:
        out.append(None if d.chance(0.35) else d.indices(d.narrowed(common), size, d.pick(torch.int64, torch.int64, torch.int32)))
    return out if any(i is not None for i in out) else [d.indices(common, shape[0])]


@family("index.Tensor", ANY, 4)
def index(d):
    shape = d.shape(1, 4, empty=0)
    return [d.tensor(shape), index_tuple(d, shape)]


@family("index.Tensor", ANY, 2)
def index_by_mask(d):
    shape = d.shape(1, 3, empty=0)
    lead = d.rng.randint(1, len(shape))
    return [d.tensor(shape), [None] * d.upto(len(shape) - lead) + [d.tensor(shape[:lead], torch.bool)]]


@family("index_put", ANY, 4)
def index_put(d):
    shape = d.shape(1, 4, empty=0)
    whole, tuple_ = d.tensor(shape), index_tuple(d, shape)
    target = torch.ops.aten.index.Tensor(whole, tuple_).shape
    accumulate = d.chance(0.6)
    # repeated indices without accumulation: the last one is not defined, so write one value
    return [whole, tuple_, d.tensor(d.narrowed(target) if accumulate else []), accumulate]


@family("masked_select", ANY, 2)
def masked_select(d):
    shape = d.shape(0, 3)
    return [d.tensor(shape), d.tensor(d.narrowed(shape), torch.bool)]


@family("masked_scatter", ANY, 2)
def masked_scatter(d):
    shape = d.shape(0, 3)
    return [d.tensor(shape), d.tensor(d.narrowed(shape), torch.bool), d.tensor([math.prod(shape) + 2])]


@family("nonzero argwhere", ANY, 2)
def nonzero(d):
    return [d.tensor(d.shape(0, 4))]


@family("take", ANY)
def take(d):
    shape = d.shape(0, 3, empty=0)
    return [d.tensor(shape), d.indices(d.shape(0, 2), math.prod(shape))]


@family("put", ANY)
def put(d):
    shape = d.shape(0, 3, empty=0)
    where = d.indices([4], math.prod(shape))
    return [d.tensor(shape), where, d.tensor([4]), True]


@family("embedding", FLOATS, 3)
def embedding(d):
    rows = d.rng.randint(1, 9)
    return [d.tensor([rows, d.rng.randint(1, 7)]), d.indices(d.shape(0, 3), rows, d.pick(torch.int64, torch.int32), negative=False)]


@family("repeat_interleave.Tensor", [torch.int64, torch.int32], 3)
def repeat_interleave(d):
    return [torch.randint(0, 4, (d.rng.randint(1, 6),), generator=d.generator).to(d.dtype)]


# --- networks ----------------------------------------------------------------------------------------------------


@family("convolution", FLOATS, 12)
def convolution(d):
    dims = d.rng.randint(1, 3)
    groups = d.pick(1, 1, 2, 4)
    cin, cout = groups * d.rng.randint(1, 3), groups * d.rng.randint(1, 3)
    kernel = [d.rng.randint(1, 3) for _ in range(dims)]
    transposed = d.chance(0.35)
    stride = [d.rng.randint(1, 2) for _ in range(dims)]
    dilation = [d.rng.randint(1, 2) for _ in range(dims)]
    padding = [d.upto(1) for _ in range(dims)]
    output_padding = [d.upto(max(s, g) - 1) for s, g in zip(stride, dilation)] if transposed else [0] * dims
    x = d.tensor([d.rng.randint(1, 2), cin] + [d.rng.randint(5, 7) for _ in range(dims)], scale=1)
    weight = d.tensor(([cin, cout // groups] if transposed else [cout, cin // groups]) + kernel, scale=1)
    bias = d.tensor([cout], scale=1) if d.chance(0.7) else None
    return [x, weight, bias, stride, padding, dilation, transposed, output_padding, groups]


@family("convolution_backward", FLOATS[:2], 6)
def convolution_backward(d):
    args = convolution(d)
    y = torch.convolution(*args)
    return [d.tensor(y.shape, scale=1), args[0], args[1], [y.shape[1]], *args[3:], [True, True, True]]


@family("avg_pool2d", FLOATS + [torch.int64], 5)
def avg_pool2d(d):
    kernel = [d.rng.randint(1, 3), d.rng.randint(1, 3)]
    return [d.tensor([2] * d.rng.randint(1, 2) + [6, 7]), kernel, d.pick([], [2, 1], [1, 2]), [d.upto(kernel[0] // 2), d.upto(kernel[1] // 2)], d.chance(0.5),
            d.chance(0.5), d.pick(None, None, 3)]


@family("avg_pool3d", FLOATS, 3)
def avg_pool3d(d):
    return [d.tensor([2] * d.rng.randint(1, 2) + [4, 5, 6]), [2, d.rng.randint(1, 3), 2], d.pick([], [2, 1, 2]), [d.upto(1), 0, d.upto(1)], d.chance(0.5), d.chance(0.5)]


@family("max_pool2d_with_indices", FLOATS + INTS, 4)
def max_pool2d(d):
    kernel = [d.rng.randint(1, 3), d.rng.randint(1, 3)]
    return [distinct(d, [2] * d.rng.randint(0, 1) + [1, 6, 7]), kernel, d.pick([], [2, 1], [1, 2]), [d.upto(kernel[0] // 2), d.upto(kernel[1] // 2)],
            [d.rng.randint(1, 2), d.rng.randint(1, 2)], d.chance(0.5)]


@family("max_pool3d_with_indices", FLOATS, 3)
def max_pool3d(d):
    return [distinct(d, [1] * d.rng.randint(1, 2) + [4, 5, 6]), [2, d.rng.randint(1, 3), 2], d.pick([], [2, 1, 2]), [d.upto(1), 0, d.upto(1)], [1, 1, 2], d.chance(0.5)]


@family("max_pool2d_with_indices_backward", FLOATS, 3)
def max_pool2d_backward(d):
    args = max_pool2d(d)
    y, where = torch.ops.aten.max_pool2d_with_indices(*args)
    return [d.tensor(y.shape), args[0], *args[1:], where]


@family("_adaptive_avg_pool2d adaptive_max_pool2d", FLOATS, 3)
def adaptive2d(d):
    return [distinct(d, [2] * d.rng.randint(0, 1) + [3, d.rng.randint(1, 7), 6]), [d.rng.randint(1, 4), d.rng.randint(1, 7)]]


@family("_adaptive_avg_pool3d adaptive_max_pool3d", FLOATS, 2)
def adaptive3d(d):
    return [distinct(d, [1] * d.rng.randint(0, 1) + [2, 3, 4, 5]), [d.rng.randint(1, 4) for _ in range(3)]]


@family("mm", REAL + [torch.complex64], 2)
def mm(d):
    n, k, m = (d.pick(0, 1, 2, 3, 5, 17) if d.chance(0.9) else 33 for _ in range(3))
    return [d.tensor([n, k], scale=1), d.tensor([k, m], scale=1)]


@family("bmm", REAL + [torch.complex64], 2)
def bmm(d):
    b, n, k, m = d.upto(3), d.upto(6), d.upto(6), d.upto(6)
    return [d.tensor([b, n, k], scale=1), d.tensor([b, k, m], scale=1)]


@family("addmm", FLOATS + INTS + [torch.complex64], 3)
def addmm(d):
    n, k, m = d.rng.randint(1, 6), d.upto(6), d.rng.randint(1, 6)
    numbers = d.pick({}, {"beta": 0, "alpha": 2}, {"beta": 2, "alpha": -1}, {"beta": 0.5, "alpha": 1.5} if d.dtype.is_floating_point else {})
    return [d.tensor(d.pick([n, m], [m], [1, m], [n, 1], []), scale=1), d.tensor([n, k], scale=1), d.tensor([k, m], scale=1)], numbers


@family("baddbmm", FLOATS + INTS, 2)
def baddbmm(d):
    b, n, k, m = d.rng.randint(1, 3), d.rng.randint(1, 4), d.upto(4), d.rng.randint(1, 5)
    return [d.tensor(d.pick([b, n, m], [1, n, m], [n, m], [m]), scale=1), d.tensor([b, n, k], scale=1), d.tensor([b, k, m], scale=1)], d.pick({}, {"beta": 0, "alpha": 2})


@family("linear", FLOATS, 3)
def linear(d):
    k, m = d.rng.randint(1, 9), d.rng.randint(1, 9)
    return [d.tensor([*d.shape(0, 3, empty=0), k], scale=1), d.tensor([m, k], scale=1), d.pick(None, d.tensor([m], scale=1))]


@family("native_layer_norm", FLOATS, 3)
def layer_norm(d):
    lead, tail = d.shape(0, 2, empty=0), d.shape(1, 2, empty=0)
    affine = d.chance(0.7)
    return [d.tensor(lead + tail), tail, d.tensor(tail) if affine else None, d.tensor(tail) if affine else None, d.pick(1e-5, 0.1)]


@family("native_group_norm", FLOATS, 3)
def group_norm(d):
    group = d.pick(1, 2, 3)
    n, c, spatial = d.rng.randint(1, 2), group * d.rng.randint(1, 3), d.shape(0, 2, empty=0)
    affine = d.chance(0.7)
    return [d.tensor([n, c, *spatial]), d.tensor([c]) if affine else None, d.tensor([c]) if affine else None, n, c, math.prod(spatial), group, 1e-5]


@family("_native_batch_norm_legit_no_training", FLOATS, 4)
def batch_norm(d):
    c = d.rng.randint(1, 5)
    affine = d.chance(0.7)
    return [d.tensor([d.rng.randint(1, 3), c, *d.shape(0, 3, empty=0)]), d.tensor([c]) if affine else None, d.tensor([c]) if affine else None, d.tensor([c]),
            d.tensor([c]).abs() + 0.5, 0.1, d.pick(1e-5, 1e-3)]


@family("_native_batch_norm_legit.no_stats", FLOATS, 3)
def batch_norm_no_stats(d):
    c = d.rng.randint(1, 5)
    affine = d.chance(0.7)
    return [d.tensor([2, c, *d.shape(1, 2, empty=0)]), d.tensor([c]) if affine else None, d.tensor([c]) if affine else None, True, 0.1, 1e-5]


@family("upsample_nearest2d.vec upsample_bilinear2d.vec_ upsample_nearest1d.vec_", FLOATS + [torch.uint8], 3)
def upsample_nearest(d):
    return [d.tensor([1, d.rng.randint(1, 3), d.rng.randint(1, 5), d.rng.randint(1, 5)]),
            *d.pick(([d.rng.randint(1, 9), d.rng.randint(1, 9)], None), (None, [d.pick(2.0, 1.5, 0.5), d.pick(2.0, 1.7)]))]


@family("upsample_bilinear2d.vec upsample_bicubic2d.vec _upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec", FLOATS + [torch.uint8], 3)
def upsample_bilinear(d):
    size, scales = d.pick(([d.rng.randint(1, 9), d.rng.randint(1, 9)], None), (None, [d.pick(2.0, 1.5, 0.75), d.pick(2.0, 1.7)]))
    return [d.tensor([1, d.rng.randint(1, 3), d.rng.randint(2, 5), d.rng.randint(2, 5)]), size, d.chance(0.5), scales]


@family("grid_sampler_2d", FLOATS[:2], 6)
def grid_sampler(d):
    grid = d.tensor([1, d.rng.randint(1, 4), 3, 2], scale=0.8)
    return [d.tensor([1, 2, d.rng.randint(2, 5), 4]), grid, d.upto(2), d.upto(2), d.chance(0.5)]


@family("grid_sampler_3d", FLOATS[:2], 4)
def grid_sampler3d(d):
    return [d.tensor([1, 2, 3, 4, 3]), d.tensor([1, 2, 2, 3, 3], scale=0.8), d.upto(1), d.upto(2), d.chance(0.5)]


@family("im2col", FLOATS, 2)
def im2col(d):
    return [d.tensor([2] * d.upto(1) + [3, 5, 6]), [2, d.rng.randint(1, 3)], [1, d.rng.randint(1, 2)], [d.upto(1), d.upto(1)], [d.rng.randint(1, 2), 1]]


@family("glu", FLOATS, 2)
def glu(d):
    shape = d.shape(1, 3)
    dim = d.dim(shape)
    shape[dim] *= 2
    return [d.tensor(shape), dim]


@family("_cdist_forward", FLOATS[:2], 4)
def cdist(d):
    batch, k = d.shape(0, 1, empty=0), d.rng.randint(1, 5)
    return [d.tensor([*batch, d.rng.randint(1, 5), k]), d.tensor([*batch, d.rng.randint(1, 5), k]), d.pick(0.0, 1.0, 2.0, 3.5, INF), d.pick(None, 1, 2)]


@family("_pdist_forward", FLOATS[:2], 4)
def pdist(d):
    return [d.tensor([d.upto(6), d.rng.randint(1, 5)]), d.pick(0.0, 1.0, 2.0, 3.5, INF)]


@family("_fft_r2c", FLOATS[:1], 4)
def fft_r2c(d):
    shape = d.shape(1, 3, empty=0)
    dims = sorted(set(x % len(shape) for x in d.dims(shape))) or [len(shape) - 1]
    return [d.tensor(shape), dims, d.upto(2), d.chance(0.5)]


@family("_fft_c2c", [torch.complex64], 4)
def fft_c2c(d):
    shape = d.shape(1, 3, empty=0)
    return [d.tensor(shape), [d.rng.randrange(len(shape))], d.upto(2), d.chance(0.5)]


@family("_fft_c2r", [torch.complex64], 4)
def fft_c2r(d):
    shape = d.shape(1, 3, empty=0)
    shape[-1] = d.rng.randint(2, 6)
    x = torch.fft.rfft(d.tensor(shape[:-1] + [2 * shape[-1] - 2], torch.float32))
    return [x, [len(shape) - 1], d.upto(2), 2 * shape[-1] - 2]


@family("dot vdot", REAL + [torch.complex64])
def dot(d):
    n = d.upto(20)
    return [d.tensor([n], scale=1), d.tensor([n], scale=1)]


@family("mv", REAL)
def mv(d):
    n, k = d.upto(6), d.upto(6)
    return [d.tensor([n, k], scale=1), d.tensor([k], scale=1)]


# --- creation ----------------------------------------------------------------------------------------------------


@family("full", [torch.float32], 4)
def full(d):
    return [d.shape(), d.pick(1, 2.5, True, INF, -3)]


@family("full_like zeros_like ones_like new_full_", ANY)
def full_like(d):
    return [d.tensor(d.shape()), d.scalar()]


@family("zeros_like ones_like empty_like", ANY)
def like(d):
    return [d.tensor(d.shape())]


@family("zeros ones", [torch.float32], 5)
def zeros(d):
    return [d.shape()], {"dtype": d.pick(torch.float32, torch.int64, torch.bool, torch.float16)}


@family("arange.start_step", [torch.float32], 6)
def arange(d):
    return [*d.pick((0, 7, 2), (5, -4, -3), (0.5, 4.0, 0.75), (2, 2, 1), (-3, 9, 1))], {"dtype": d.pick(None, torch.float32, torch.int32, torch.float64)}


@family("arange", [torch.float32], 5)
def arange_end(d):
    return [d.pick(0, 1, 7, 4.5)], {"dtype": d.pick(None, torch.float32, torch.int64, torch.float16)}


@family("linspace logspace", [torch.float32], 4)
def linspace(d):
    return [d.pick(-2, 0.5, 3), d.pick(1, 4.5, -1), d.pick(1, 2, 7, 10)], {"dtype": d.pick(None, torch.float64, torch.float16)}


@family("eye.m", [torch.float32], 3)
def eye(d):
    return [d.upto(5), d.upto(5)], {"dtype": d.pick(None, torch.int64, torch.bool)}


@family("scalar_tensor", [torch.float32], 6)
def scalar_tensor(d):
    return [d.pick(2, 0.5, True, -INF)], {"dtype": d.pick(None, torch.float32, torch.int64, torch.float16, torch.bool)}


@family("rand randn empty.memory_format", [torch.float32], 5)
def rand(d):
    return [d.shape()], {"dtype": d.pick(None, torch.float16, torch.float64, torch.bfloat16)}


@family("native_dropout", FLOATS, 2)
def dropout(d):
    return [d.tensor(d.shape()), 0.5, d.pick(True, False)]


# -----------------------------------------------------------------------------------------------------------------


def overload_of(name):
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload or "default", None) if packet is not None else None


def cases(wanted, match=None, seed=1, tries=3):
    """Yields cases of the operators in `wanted` (a set of names, or None for all)."""
    import drawn_rest  # noqa: F401 - more families

    seen = {}
    for names, dtypes, function, count in FAMILIES:
        for name in names:
            overload = overload_of(name)
            out = out_variant(overload) if overload is not None else None
            if out is None or (match and match not in full_name(out)) or (wanted is not None and full_name(out) not in wanted):
                continue
            for dtype in dtypes:
                for k in range(count):
                    for attempt in range(tries):
                        case = draw_case(function, overload, out, dtype, seeded(seed, name, dtype, function.__name__, k, attempt), seed, seen)
                        if case is not None:
                            yield case
                            break


def draw_case(function, overload, out, dtype, rng, seed, seen):
    """One case, or None where eager refuses the arguments."""
    try:
        drawn = function(Draw(rng, dtype))
        args, kwargs = drawn if isinstance(drawn, tuple) else (drawn, {})
        named = named_arguments(overload._schema, args, kwargs)
        with torch.no_grad():
            results = overload(*args, **kwargs)
    except Exception:
        return None
    results = as_list(results)
    key = full_name(out).partition("::")[2].replace(".", "_"), main_short_dtype(named, results)
    number = seen[key] = seen.get(key, -1) + 1
    try:
        return call_case(f"d{seed}_{key[0]}__{key[1]}__{number}", "drawn", out, named, overload, seed)
    except (Unwritable, RuntimeError):  # unusual dtypes; a view that the layout does not allow
        return None
