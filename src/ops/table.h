// Every operator, by family. One function a file; table.cc joins them.
#pragma once

#include <span>

#include "ops/op.h"

namespace etrt::ops {

using Table = std::span<const Op>;

Table unary_ops();       // elementwise functions of one tensor
Table special_ops();     // Bessel functions, gamma family, orthogonal polynomials
Table binary_ops();      // arithmetic of two tensors or a tensor and a number
Table comparison_ops();  // comparisons, logical and bitwise operators
Table pointwise_ops();   // where, clamp, masked_fill, lerp, addcmul, …
Table creation_ops();    // full, arange, zeros, empty, eye, …
Table cast_ops();        // dtype and dim_order changes, clone, copy
Table random_ops();      // rand, randn, dropout, …
Table reduction_ops();   // sum, mean, amax, argmax, any, var, prod, …
Table statistics_ops();  // var, std, norm, logsumexp
Table scan_ops();        // cumsum, cumprod, cummax, …
Table sort_ops();        // sort, topk, searchsorted, unique, …
Table selection_ops();   // topk, median, mode, kthvalue, quantile
Table unique_ops();      // unique, bincount, histc, isin
Table softmax_ops();
Table norm_ops();       // layer, group and batch norm
Table view_ops();       // reshapes, permutations, slices, expansions
Table index_ops();      // index, index_put, take, put
Table scatter_ops();    // gather, scatter, index_select, index_add, …
Table mask_ops();       // nonzero, masked_select, masked_scatter, tril_indices, …
Table embedding_ops();  // embedding, embedding_bag
Table pad_ops();
Table join_ops();    // cat, stack, split, unbind
Table prim_ops();    // executorch_prim::* and the scalar functions of shapes
Table matmul_ops();  // mm, bmm, addmm, linear, …
Table conv_ops();
Table pool_ops();
Table resize_ops();    // upsample_*
Table sampling_ops();  // grid_sampler, affine_grid_generator
Table linalg_ops();
Table fft_ops();
Table distance_ops();   // cdist, pdist
Table quantized_ops();  // quantized_decomposed::*
Table torchao_ops();
Table llm_ops();          // llama::*, preprocess::*
Table device_copy_ops();  // et_copy::*

std::span<const Table> all_tables();

}  // namespace etrt::ops
