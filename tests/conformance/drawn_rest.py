"""Drawn calls of operators that programs seldom hold: gradients, windows, factorisations, other names of common operators."""

import torch

from drawn import ANY, FLOATS, INTS, NAN, REAL, avg_pool2d, avg_pool3d, cdist, distinct, family, grid_sampler, grid_sampler3d, index_put, max_pool3d, pdist

EXACT = FLOATS[:2]  # in which gradients are compared
MATRICES = [torch.float32, torch.float64, torch.complex64]
aten = torch.ops.aten


# --- gradients ---------------------------------------------------------------------------------------------------


@family("_adaptive_avg_pool2d_backward", FLOATS, 2)
def adaptive_avg_pool2d_backward(d):
    return [d.tensor([2, 3, d.rng.randint(1, 4), 3]), d.tensor([2, 3, 5, 6])]


@family("_adaptive_avg_pool3d_backward", FLOATS, 2)
def adaptive_avg_pool3d_backward(d):
    return [d.tensor([1, 2, d.rng.randint(1, 3), 3, 2]), d.tensor([1, 2, 3, 5, 4])]


@family("adaptive_max_pool2d_backward", EXACT, 3)
def adaptive_max_pool2d_backward(d):
    x = distinct(d, [2, 3, 5, 6])
    y, where = aten.adaptive_max_pool2d(x, [d.rng.randint(1, 4), 3])
    return [d.tensor(y.shape), x, where]


@family("adaptive_max_pool3d_backward", EXACT, 3)
def adaptive_max_pool3d_backward(d):
    x = distinct(d, [1, 2, 3, 5, 4])
    y, where = aten.adaptive_max_pool3d(x, [d.rng.randint(1, 3), 3, 2])
    return [d.tensor(y.shape), x, where]


@family("avg_pool2d_backward", EXACT, 3)
def avg_pool2d_backward(d):
    x, kernel, stride, padding, ceil, count_pad, divisor = avg_pool2d(d)
    stride = stride or kernel
    y = aten.avg_pool2d(x, kernel, stride, padding, ceil, count_pad, divisor)
    return [d.tensor(y.shape), x, kernel, stride, padding, ceil, count_pad, divisor]


@family("avg_pool3d_backward", EXACT, 3)
def avg_pool3d_backward(d):
    x, kernel, stride, padding, ceil, count_pad = avg_pool3d(d)
    stride = stride or kernel
    y = aten.avg_pool3d(x, kernel, stride, padding, ceil, count_pad)
    return [d.tensor(y.shape), x, kernel, stride, padding, ceil, count_pad, None]


@family("max_pool3d_with_indices_backward", EXACT, 3)
def max_pool3d_backward(d):
    x, kernel, stride, *rest = max_pool3d(d)
    y, where = aten.max_pool3d_with_indices(x, kernel, stride or kernel, *rest)
    return [d.tensor(y.shape), x, kernel, stride or kernel, *rest, where]


@family("fractional_max_pool2d_backward", EXACT, 3)
def fractional_max_pool2d_backward(d):
    x = distinct(d, [1, 2, 7, 6])
    y, where = aten.fractional_max_pool2d(x, [2, 2], [3, 4], torch.rand([1, 2, 2], generator=d.generator).to(d.dtype))
    return [d.tensor(y.shape), x, [2, 2], [3, 4], where]


@family("fractional_max_pool3d_backward", EXACT, 3)
def fractional_max_pool3d_backward(d):
    x = distinct(d, [1, 2, 5, 5, 4])
    y, where = aten.fractional_max_pool3d(x, [2, 2, 2], [2, 3, 2], torch.rand([1, 2, 3], generator=d.generator).to(d.dtype))
    return [d.tensor(y.shape), x, [2, 2, 2], [2, 3, 2], where]


@family("grid_sampler_2d_backward", EXACT, 3)
def grid_sampler_2d_backward(d):
    x, grid, mode, padding, align = grid_sampler(d)
    y = aten.grid_sampler_2d(x, grid, mode, padding, align)
    return [d.tensor(y.shape), x, grid, mode, padding, align, [True, True]]


@family("grid_sampler_3d_backward", EXACT, 3)
def grid_sampler_3d_backward(d):
    x, grid, mode, padding, align = grid_sampler3d(d)
    y = aten.grid_sampler_3d(x, grid, mode, padding, align)
    return [d.tensor(y.shape), x, grid, mode, padding, align, [True, True]]


def pad_backward(d, sizes):
    x = d.tensor([1, 2, *sizes])
    pads = [d.rng.randint(0, 2) for _ in range(2 * len(sizes))]
    grown = [s + pads[2 * i] + pads[2 * i + 1] for i, s in enumerate(reversed(sizes))]
    return [d.tensor([1, 2, *reversed(grown)]), x, pads]


@family("reflection_pad1d_backward replication_pad1d_backward", EXACT, 3)
def pad1d_backward(d):
    return pad_backward(d, [5])


@family("reflection_pad2d_backward replication_pad2d_backward", EXACT, 3)
def pad2d_backward(d):
    return pad_backward(d, [5, 4])


@family("reflection_pad3d_backward replication_pad3d_backward", EXACT, 3)
def pad3d_backward(d):
    return pad_backward(d, [3, 4, 5])


def resize_backward(d, rank, low=1):
    sizes = [d.rng.randint(low, 5) for _ in range(rank)]
    target = [d.rng.randint(low, 7) for _ in range(rank)]
    return [d.tensor([1, 2, *target]), target, [1, 2, *sizes]]


@family("upsample_nearest1d_backward _upsample_nearest_exact1d_backward", EXACT, 3)
def nearest1d_backward(d):
    return resize_backward(d, 1)


@family("upsample_nearest2d_backward _upsample_nearest_exact2d_backward", EXACT, 3)
def nearest2d_backward(d):
    return resize_backward(d, 2)


@family("upsample_nearest3d_backward _upsample_nearest_exact3d_backward", EXACT, 3)
def nearest3d_backward(d):
    return resize_backward(d, 3)


@family("upsample_linear1d_backward", EXACT, 3)
def linear1d_backward(d):
    return resize_backward(d, 1) + [d.chance(0.5)]


@family("""upsample_bilinear2d_backward upsample_bicubic2d_backward _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward
_upsample_lanczos2d_aa_backward""", EXACT, 3)
def bilinear2d_backward(d):
    return resize_backward(d, 2, 2) + [d.chance(0.5)]


@family("upsample_trilinear3d_backward", EXACT, 3)
def trilinear3d_backward(d):
    return resize_backward(d, 3) + [d.chance(0.5)]


@family("embedding_dense_backward", FLOATS, 2)
def embedding_backward(d):
    shape = d.shape(1, 2, empty=0)
    return [d.tensor([*shape, 3]), d.indices(shape, 6, negative=False), 6, d.pick(-1, 2), d.chance(0.5)]


@family("diagonal_backward", FLOATS, 2)
def diagonal_backward(d):
    offset = d.rng.randint(-1, 1)
    return [d.tensor(torch.zeros(2, 4, 3).diagonal(offset, 1, 2).shape), [2, 4, 3], offset, 1, 2]


@family("select_backward", FLOATS, 2)
def select_backward(d):
    return [d.tensor([2, 4]), [2, 3, 4], 1, d.rng.randint(-3, 2)]


@family("slice_backward", FLOATS, 2)
def slice_backward(d):
    start, step = d.upto(2), d.rng.randint(1, 2)
    return [d.tensor([2, len(range(start, 6, step)), 3]), [2, 6, 3], 1, start, 6, step]


@family("_cdist_backward", EXACT, 4)
def cdist_backward(d):
    x1, x2, p, _ = cdist(d)
    y = aten._cdist_forward(x1, x2, p, 2)
    return [d.tensor(y.shape), x1, x2, p, y]


@family("_pdist_backward", EXACT, 4)
def pdist_backward(d):
    x, p = d.tensor([d.rng.randint(2, 6), 3]), pdist(d)[1]  # eager crashes on fewer rows
    y = aten._pdist_forward(x, p)
    return [d.tensor(y.shape), x, p, y]


# --- layers ------------------------------------------------------------------------------------------------------


@family("adaptive_avg_pool1d", FLOATS, 2)
def adaptive_avg_pool1d(d):
    return [d.tensor([2, 3, d.rng.randint(1, 7)]), [d.rng.randint(1, 5)]]


@family("adaptive_avg_pool2d", FLOATS, 2)
def adaptive_avg_pool2d(d):
    return [d.tensor([2, 3, d.rng.randint(1, 7), 5]), [d.rng.randint(1, 5), 2]]


@family("adaptive_avg_pool3d", FLOATS, 2)
def adaptive_avg_pool3d(d):
    return [d.tensor([2, 3, d.rng.randint(1, 4), 5, 3]), [d.rng.randint(1, 3), 2, 2]]


@family("avg_pool1d", FLOATS, 2)
def avg_pool1d(d):
    kernel = d.rng.randint(1, 3)
    return [d.tensor([2, 3, 7]), [kernel], d.pick([], [2]), [d.upto(kernel // 2)], d.chance(0.5), d.chance(0.5)]


@family("_batch_norm_no_update", EXACT, 3)
def batch_norm_no_update(d):
    c = d.rng.randint(1, 4)
    return [d.tensor([2, c, 3]), d.tensor([c]), d.tensor([c]), d.tensor([c]), d.tensor([c]).abs() + 0.5, 0.1, 1e-5]


@family("batch_norm_update_stats", EXACT, 3)
def batch_norm_update_stats(d):
    c = d.rng.randint(1, 4)
    return [d.tensor([2, c, 3]), d.tensor([c]), d.tensor([c]).abs() + 0.5, 0.1]


@family("_embedding_bag", EXACT, 4)
def embedding_bag(d):
    mode = d.upto(2)
    count = d.rng.randint(1, 7)
    ends = d.chance(0.3)
    offsets = torch.tensor(sorted([0, d.upto(count), count if ends else d.upto(count)]))
    weights = d.tensor([count]) if mode == 0 and d.chance(0.5) else None
    return [d.tensor([5, 3]), d.indices([count], 5, negative=False), offsets, False, mode, False, weights, ends, d.pick(-1, -1, 2)]


@family("conv_tbc", FLOATS, 2)
def conv_tbc(d):
    k, cin, cout = d.rng.randint(1, 3), d.rng.randint(1, 4), d.rng.randint(1, 4)
    return [d.tensor([6, 2, cin], scale=1), d.tensor([k, cin, cout], scale=1), d.tensor([cout], scale=1), d.upto(1)]


@family("col2im", FLOATS, 2)
def col2im(d):
    x = d.tensor([2, 3, 5, 6])
    args = [[2, d.rng.randint(1, 3)], [1, d.rng.randint(1, 2)], [d.upto(1), d.upto(1)], [d.rng.randint(1, 2), 1]]
    return [aten.im2col(x, *args), [5, 6], *args]


@family("affine_grid_generator", EXACT, 3)
def affine_grid_generator(d):
    return d.pick([d.tensor([2, 2, 3]), [2, 1, 3, 4], d.chance(0.5)], [d.tensor([1, 3, 4]), [1, 2, 2, 3, 2], d.chance(0.5)])


@family("_upsample_nearest_exact3d upsample_nearest3d", FLOATS, 2)
def nearest3d(d):
    return [d.tensor([1, 2, 2, 3, 4]), [d.rng.randint(1, 5), d.rng.randint(1, 5), 3]]


@family("_upsample_bicubic2d_aa _upsample_lanczos2d_aa upsample_bicubic2d upsample_bilinear2d _upsample_bilinear2d_aa", FLOATS[:2], 3)
def resize2d(d):
    return [d.tensor([1, 2, d.rng.randint(2, 6), 5]), [d.rng.randint(1, 7), d.rng.randint(1, 7)], d.chance(0.5)]


@family("_masked_softmax", EXACT, 3)
def masked_softmax(d):
    return [d.tensor([2, 3, 4]), d.tensor([2, 3, 4], torch.bool) & (torch.arange(4) > 0), 2, 2]


@family("softmax.int log_softmax.int", FLOATS, 2)
def softmax_int(d):
    shape = d.shape(empty=0)
    return [d.tensor(shape), d.dim(shape), d.pick(None, torch.float64)]


# --- matrices ----------------------------------------------------------------------------------------------------


def square(d, n=None, batch=None):
    n = n or d.rng.randint(1, 5)
    return d.tensor([*(d.shape(0, 1, empty=0) if batch is None else batch), n, n], scale=1)


def positive(d):
    a = square(d)
    return a @ a.mH + torch.eye(a.shape[-1], dtype=a.dtype)


@family("linalg_det linalg_inv inverse linalg_slogdet slogdet linalg_lu_factor", MATRICES, 3)
def of_square(d):
    a = square(d)
    return [a + 2 * torch.eye(a.shape[-1], dtype=a.dtype)]


@family("linalg_cholesky linalg_eigvalsh linalg_eigh", MATRICES, 3)
def of_positive(d):
    return [positive(d)]


@family("linalg_eigvals", MATRICES, 3)
def eigvals(d):
    return [positive(d)]


@family("linalg_svd linalg_svdvals", MATRICES, 3)
def of_any(d):
    return [d.tensor([*d.shape(0, 1, empty=0), d.rng.randint(1, 5), d.rng.randint(1, 5)], scale=1)]


@family("linalg_solve linalg_solve_ex", MATRICES, 3)
def solve(d):
    n = d.rng.randint(1, 5)
    a = square(d, n) + 2 * torch.eye(n, dtype=d.dtype)
    return [a, d.tensor([*a.shape[:-2], n, 2], scale=1)]


@family("lu_solve", MATRICES, 3)
def lu_solve(d):
    n = d.rng.randint(1, 5)
    lu, pivots = torch.linalg.lu_factor(square(d, n, []) + 2 * torch.eye(n, dtype=d.dtype))
    return [d.tensor([n, 2], scale=1), lu.contiguous(), pivots]


@family("_cholesky_solve_helper", MATRICES, 3)
def cholesky_solve_helper(d):
    upper = d.chance(0.5)
    factor = torch.linalg.cholesky(positive(d), upper=upper).contiguous()
    return [d.tensor([*factor.shape[:-1], 2], scale=1), factor, upper]


@family("orgqr", MATRICES, 3)
def orgqr(d):
    a, tau = torch.geqrf(d.tensor([5, d.rng.randint(1, 5)], scale=1))
    return [a.contiguous(), tau]


@family("cross", REAL[:-1] + [torch.complex64])
def cross(d):
    return [d.tensor([2, 3, 4], scale=1), d.tensor([2, 3, 4], scale=1), d.pick(None, 1, -2)]


@family("ger outer", ANY)
def outer(d):
    return [d.tensor([d.upto(5)]), d.tensor([d.upto(5)])]


@family("matmul linalg_matmul", FLOATS + INTS[:2] + [torch.complex64], 2)
def matmul(d):
    k = d.rng.randint(1, 5)
    shapes = d.pick(([k], [k]), ([3, k], [k]), ([k], [k, 2]), ([4, k], [k, 3]), ([2, 1, 3, k], [5, k, 2]), ([3, k], [2, k, 2]), ([2, 3, k], [k]))
    return [d.tensor(s, scale=1) for s in shapes]


@family("inner", FLOATS + INTS[:2], 2)
def inner(d):
    k = d.rng.randint(1, 5)
    return [d.tensor(d.pick([k], [3, k], [2, 3, k]), scale=1), d.tensor(d.pick([k], [4, k]), scale=1)]


@family("_int_mm", [torch.int8], 6)
def int_mm(d):
    n, k, m = (8 * d.rng.randint(1, 4) for _ in range(3))
    return [d.tensor([n + 17, k]), d.tensor([k, m])]


@family("frobenius_norm.dim", MATRICES, 3)
def frobenius_norm(d):
    return [d.tensor([2, 3, 4]), d.pick([0], [1, 2], [-1]), d.chance(0.5)]


@family("native_norm", EXACT, 3)
def native_norm(d):
    return [d.tensor(d.shape(empty=0)), d.pick(1, 2, 3.5)]


@family("native_norm.ScalarOpt_dim_dtype", EXACT, 3)
def native_norm_over(d):
    return [d.tensor([2, 3, 4]), d.pick(1, 2, 3.5), d.pick([0], [1, 2]), d.chance(0.5), None]


@family("norm.ScalarOpt_dtype", EXACT, 3)
def norm_dtype(d):
    return [d.tensor([2, 3, 4]), d.pick(None, 1, 2, 3.5)], {"dtype": torch.float64}


@family("norm.ScalarOpt_dim_dtype", EXACT, 3)
def norm_dim_dtype(d):
    return [d.tensor([2, 3, 4]), d.pick(None, 1, 2, 3.5), d.pick([0], [1, 2]), d.chance(0.5)], {"dtype": torch.float64}


# --- elements ----------------------------------------------------------------------------------------------------


@family("complex", [torch.float32], 6)
def complex_(d):
    shape = d.shape()
    return [d.tensor(shape), d.tensor(d.narrowed(shape))]


@family("polar", [torch.float32], 6)
def polar(d):
    shape = d.shape()
    return [d.tensor(shape).abs(), d.tensor(d.narrowed(shape))]


@family("view_as_complex", [torch.float32], 6)
def view_as_complex(d):
    return [d.tensor([*d.shape(), 2])]


@family("clamp_max clamp_min", FLOATS + INTS)
def clamp_one_side(d):
    return [d.tensor(d.shape(), special=0.4), d.pick(1, 2)]


@family("arctan2 true_divide.Tensor max.other min.other", REAL, 1)
def two_tensors(d):
    shape = d.shape()
    return [d.tensor(shape, special=0.3), d.tensor(d.narrowed(shape), d.other_dtype([torch.float32, torch.int64]), special=0.3)]


@family("special_ndtr log_sigmoid", REAL, 2)
def one_tensor(d):
    return [d.tensor(d.shape(), special=0.4)]


@family("lift _neg_view", ANY)
def copies(d):
    return [d.tensor(d.shape())]


@family("special_zeta.self_scalar", FLOATS + INTS, 2)
def zeta_of_number(d):
    return [d.pick(1, 2, 3.5, 0.5), d.tensor(d.shape(), scale=2)]


POLYNOMIALS = [f"special_{p}" for p in ("chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
                                        "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t "
                                        "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w").split()]


@family(" ".join(f"{p}.n_scalar" for p in POLYNOMIALS), EXACT + INTS[:2], 2)
def polynomial_n(d):
    return [d.tensor(d.shape(), scale=1), d.pick(0, 1, 3, 5.5, 9, -1)]


@family(" ".join(f"{p}.x_scalar" for p in POLYNOMIALS), EXACT + INTS[:2], 2)
def polynomial_x(d):
    return [d.pick(0.5, -1, 1, 0.25, 2), d.tensor(d.shape(), scale=2)]


@family("isin.Scalar_Tensor", FLOATS[:2] + INTS)
def isin_number(d):
    return [d.pick(1, 2), d.tensor([6])], {"invert": d.chance(0.5)}


@family("isin.Tensor_Scalar", FLOATS[:2] + INTS)
def isin_tensor(d):
    return [d.tensor(d.shape()), d.pick(1, 2)], {"invert": d.chance(0.5)}


@family("bucketize.Scalar", FLOATS[:2] + INTS)
def bucketize_number(d):
    return [d.pick(1, 2.5, -3), d.tensor([5]).sort()[0]], {"right": d.chance(0.5), "out_int32": d.chance(0.5)}


@family("searchsorted.Scalar", FLOATS[:2] + INTS)
def searchsorted_number(d):
    return [d.tensor([5]).sort()[0], d.pick(1, 2.5, -3)], {"right": d.chance(0.5), "out_int32": d.chance(0.5)}


@family("view_copy.dtype", [torch.float32, torch.int32, torch.int64, torch.uint8, torch.int16], 2)
def view_dtype(d):
    return [d.tensor([*d.shape(0, 2, empty=0), 8]), d.pick(torch.float32, torch.int32, torch.uint8, torch.int16)]


# --- reductions and places ---------------------------------------------------------------------------------------


@family("_aminmax aminmax", REAL)
def aminmax(d):
    return [d.tensor(d.shape(empty=0))]


@family("_aminmax.dim", REAL)
def aminmax_dim(d):
    shape = d.shape(1, 3, empty=0)
    return [d.tensor(shape), d.dim(shape), d.chance(0.5)]


@family("nanmean", FLOATS, 3)
def nanmean(d):
    shape = d.shape(empty=0)
    x = d.tensor(shape, scale=1)
    return [torch.where(d.tensor(shape, torch.bool), x, torch.tensor(NAN, dtype=d.dtype)), d.pick(None, d.dims(shape)), d.chance(0.5)]


@family("special_logsumexp", REAL, 2)
def special_logsumexp(d):
    shape = d.shape(empty=0)
    return [d.tensor(shape), d.dims(shape), d.chance(0.5)]


@family("_index_put_impl", ANY, 2)
def index_put_impl(d):
    return index_put(d)


@family("scatter.value_reduce", FLOATS + INTS, 2)
def scatter_value_reduce(d):
    return [d.tensor([4, 3], scale=1), 0, torch.stack([torch.randperm(4, generator=d.generator)[:2] for _ in range(3)], 1), d.pick(2, 3)], {
        "reduce": d.pick("add", "multiply")}


@family("take_along_dim", ANY, 2)
def take_along_dim(d):
    return d.pick([d.tensor([3, 4]), d.indices([2, 1], 3, negative=False), 0], [d.tensor([3, 4]), d.indices([5], 12, negative=False), None])


@family("_unique", FLOATS + INTS, 1)
def unique(d):
    return [d.tensor([9], scale=1).round() if d.dtype.is_floating_point else d.tensor([9]), True, True]


@family("unique_dim", FLOATS[:2] + INTS, 1)
def unique_dim(d):
    return [torch.randint(0, 2, [6, 2], generator=d.generator).to(d.dtype), 0, True, True, True]


@family("unique_dim_consecutive", FLOATS[:2] + INTS, 1)
def unique_dim_consecutive(d):
    return [torch.randint(0, 2, [6, 2], generator=d.generator).to(d.dtype), 0, True, True]


@family("_reshape_alias", ANY)
def reshape_alias(d):
    return [d.tensor([2, 6]), [3, 4], [4, 1]]


@family("diag", ANY, 2)
def diag(d):
    return [d.tensor(d.pick([4], [3, 4], [4, 2])), d.rng.randint(-2, 2)]


@family("_stack", ANY)
def stack(d):
    shape = d.shape()
    return [[d.tensor(shape) for _ in range(d.rng.randint(1, 3))], d.upto(len(shape))]


@family("concat concatenate", ANY)
def concat(d):
    shape = d.shape(1, 3)
    return [[d.tensor(shape) for _ in range(d.rng.randint(1, 3))], d.dim(shape)]


@family("column_stack dstack hstack row_stack vstack", ANY)
def stacks(d):
    shape = d.shape(0, 3)
    return [[d.tensor(shape) for _ in range(d.rng.randint(1, 3))]]


# --- creation ----------------------------------------------------------------------------------------------------


@family("_efficientzerotensor rand.generator randn.generator", [torch.float32], 6)
def of_shape(d):
    return [d.shape()], {"generator": None}


@family("_efficientzerotensor", [torch.float32], 6)
def zero_tensor(d):
    return [d.shape()]


@family("fft_fftfreq fft_rfftfreq", [torch.float32], 6)
def frequencies(d):
    return [d.rng.randint(1, 9), d.pick(1.0, 0.25, 3.0)]


@family("bartlett_window blackman_window hamming_window hann_window kaiser_window", [torch.float32], 6)
def window(d):
    return [d.upto(9)], {"dtype": d.pick(torch.float32, torch.float64)}


@family("bartlett_window.periodic blackman_window.periodic hamming_window.periodic hann_window.periodic kaiser_window.periodic", [torch.float32], 6)
def periodic_window(d):
    return [d.upto(9), d.chance(0.5)], {"dtype": d.pick(torch.float32, torch.float64)}


@family("hamming_window.periodic_alpha kaiser_window.beta", [torch.float32], 6)
def window_alpha(d):
    return [d.upto(9), d.chance(0.5), d.pick(0.6, 5.0)]


@family("hamming_window.periodic_alpha_beta", [torch.float32], 6)
def window_alpha_beta(d):
    return [d.upto(9), d.chance(0.5), 0.6, 0.4]


@family("range", [torch.float32], 6)
def range_(d):
    return [d.pick(0, 1, -2.5), d.pick(3, 4.5)]


@family("range.step", [torch.float32], 6)
def range_step(d):
    return [d.pick(0, 1, -2.5), d.pick(3, 4.5), d.pick(1, 0.75)]


@family("linspace.Scalar_Tensor logspace.Scalar_Tensor", [torch.float32], 6)
def space_to(d):
    return [d.pick(0, 1.5), d.tensor([], torch.float32, scale=1), d.upto(6)]


@family("linspace.Tensor_Scalar logspace.Tensor_Scalar", [torch.float32], 6)
def space_from(d):
    return [d.tensor([], torch.float32, scale=1), d.pick(0, 1.5), d.upto(6)]


@family("linspace.Tensor_Tensor logspace.Tensor_Tensor", [torch.float32], 6)
def space_between(d):
    return [d.tensor([], torch.float32, scale=1), d.tensor([], torch.float32, scale=1), d.upto(6)]


# --- random numbers: their shapes -----------------------------------------------------------------------------


def probabilities(d, shape):
    return torch.rand(shape, generator=d.generator).to(d.dtype)


@family("_sample_dirichlet _standard_gamma poisson", EXACT, 3)
def positive_parameters(d):
    return [d.tensor([*d.shape(0, 2), 3]).abs() + 0.1]


@family("bernoulli.Tensor", FLOATS, 2)
def bernoulli(d):
    shape = d.shape()
    return [d.tensor(shape), probabilities(d, shape)]


@family("binomial", EXACT, 3)
def binomial(d):
    return [torch.full([5], 7.0, dtype=d.dtype), probabilities(d, [5])]


@family("normal.float_Tensor", EXACT, 3)
def normal(d):
    return [0.5, d.tensor(d.shape()).abs()]


@family("rand_like.generator randn_like.generator", FLOATS, 2)
def like_generator(d):
    return [d.tensor(d.shape())], {"generator": None}


@family("randint.generator", [torch.int64], 5)
def randint(d):
    return [9, d.shape()], {"generator": None}


@family("randint.low_generator", [torch.int64], 5)
def randint_low(d):
    return [-3, 9, d.shape()], {"generator": None}


@family("randint_like.Tensor", INTS, 1)
def randint_like(d):
    return [d.tensor(d.shape()), torch.tensor(9)]


@family("randint_like.Tensor_generator", INTS, 1)
def randint_like_generator(d):
    return [d.tensor(d.shape()), torch.tensor(9)], {"generator": None}


@family("randint_like.generator", INTS, 1)
def randint_like_number(d):
    return [d.tensor(d.shape()), 9], {"generator": None}


@family("randint_like.low_generator_dtype", INTS, 1)
def randint_like_low(d):
    return [d.tensor(d.shape()), 1, 9], {"generator": None}


@family("random", FLOATS + INTS, 1)
def random(d):
    return [d.tensor(d.shape())]


@family("random.to", FLOATS + INTS, 1)
def random_to(d):
    return [d.tensor(d.shape()), 7]


@family("random.from", FLOATS + INTS, 1)
def random_from(d):
    return [d.tensor(d.shape()), 2, 9]


@family("randperm", [torch.int64], 5)
def randperm(d):
    return [d.upto(9)]


@family("randperm.generator", [torch.int64], 5)
def randperm_generator(d):
    return [d.upto(9)], {"generator": None}
