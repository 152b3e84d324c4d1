// llama::custom_sdpa, custom_quantized_sdpa and sdpa_with_kv_cache: attention of a few new positions to all positions
// of a cache.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/thread_pool.h"
#include "ops/compute.h"
#include "ops/gemm.h"
#include "ops/llm_rows.h"
#include "ops/shape_of_first.h"

namespace etrt::ops {
namespace {

constexpr int64_t kQueryRows = 64;  // query positions worked on at a time

// A tensor [batches, positions, heads, features], or with heads before positions.
struct Heads {
  const Tensor* tensor = nullptr;
  bool heads_first = false;

  int64_t batches() const { return tensor->size(0); }
  int64_t heads() const { return tensor->size(heads_first ? 1 : 2); }
  int64_t positions() const { return tensor->size(heads_first ? 2 : 1); }
  int64_t features() const { return tensor->size(3); }
  int64_t position_stride() const { return tensor->stride(heads_first ? 2 : 1); }
  // Where the first feature of a position lies, in elements.
  int64_t at(int64_t batch, int64_t head, int64_t position) const {
    return batch * tensor->stride(0) + head * tensor->stride(heads_first ? 1 : 2) + position * position_stride();
  }
  // One head's positions from `first` on, a row each.
  Matrix matrix(int64_t batch, int64_t head, int64_t first) const {
    return Matrix{tensor->data, tensor->dtype, position_stride(), tensor->stride(3)}.at(at(batch, head, first));
  }
};

// Scale and zero point of each position of a quantized tensor; null when it holds floats.
struct TokenParams {
  const Tensor* zero_points = nullptr;
  const Tensor* scales = nullptr;
};

struct Attention {
  Heads query;
  Heads key;
  Heads value;
  TokenParams query_params;
  TokenParams key_params;
  TokenParams value_params;
  const Tensor* mask = nullptr;
  bool causal = false;
  int64_t start = 0;  // position of the first query
  int64_t keys = 0;   // attended to
  double scale = 1;
  Heads out;

  bool quantized() const { return query_params.scales != nullptr; }
};

// ---- checks

Status check_quantized(Call& call, const Heads& heads, const TokenParams& params) {
  const Tensor& t = *heads.tensor;
  if (params.scales == nullptr || params.zero_points == nullptr) {
    return call.fail(Status::InvalidArgument, "{} is int8; its scales and zero points are missing", call.arg_name(t));
  }
  const std::array sizes{t.size(0), t.size(1), t.size(2), int64_t{1}};
  for (const Tensor* p : {params.scales, params.zero_points}) {
    ET_TRY(check_sizes(call, *p, sizes));
    ET_TRY(check_converts<float>(call, {p}));
  }
  return Status::Ok;
}

Status check_heads(Call& call, const Attention& a) {
  for (const Heads* h : {&a.query, &a.key, &a.value}) {
    ET_TRY(check_rank(call, *h->tensor, 4));
  }
  ET_TRY(check_same_dtype(call, *a.key.tensor, *a.query.tensor));
  ET_TRY(check_same_dtype(call, *a.value.tensor, *a.query.tensor));
  ET_TRY(check_sizes(call, *a.value.tensor, a.key.tensor->sizes()));
  if (a.key.batches() != a.query.batches() || a.key.features() != a.query.features()) {
    return call.fail(Status::InvalidArgument, "{} is {}, which doesn't match {} {}", call.arg_name(*a.key.tensor),
                     tensor_text(*a.key.tensor), call.arg_name(*a.query.tensor), tensor_text(*a.query.tensor));
  }
  if (a.key.heads() == 0 || a.query.heads() % a.key.heads() != 0) {
    return call.fail(Status::InvalidArgument, "the query has {} heads, which the {} of the key don't divide",
                     a.query.heads(), a.key.heads());
  }
  return Status::Ok;
}

Status check_dtypes(Call& call, const Attention& a, const Tensor& out) {
  const DType dtype = a.query.tensor->dtype;
  if (dtype == DType::Int8) {
    ET_TRY(check_quantized(call, a.query, a.query_params));
    ET_TRY(check_quantized(call, a.key, a.key_params));
    ET_TRY(check_quantized(call, a.value, a.value_params));
  } else if (!is_float(dtype)) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected a floating dtype or int8",
                     call.arg_name(*a.query.tensor), dtype_name(dtype));
  }
  if (!is_float(out.dtype)) {
    return call.fail(Status::InvalidArgument, "out has dtype {}, expected a floating dtype", dtype_name(out.dtype));
  }
  return Status::Ok;
}

// Fills in the mask and the number of keys. Without a mask only the positions up to the last query are there to see.
Status set_visible(Call& call, Attention& a, const Tensor* mask, int64_t start, bool causal) {
  const int64_t length = a.key.positions();
  const int64_t queries = a.query.positions();
  if (mask != nullptr && causal) {
    return call.fail(Status::InvalidArgument, "attn_mask and is_causal exclude each other");
  }
  if (start < 0 || start > length || (mask == nullptr && queries > length - start)) {
    return call.fail(Status::InvalidArgument, "start_pos {} and {} positions don't fit the {} of the key", start,
                     queries, length);
  }
  a.causal = causal;
  a.start = start;
  a.keys = mask == nullptr ? start + queries : length;
  if (mask == nullptr || mask->numel() == 0) {
    return Status::Ok;
  }
  ET_TRY(check_sizes(call, *mask, std::array{queries, length}));
  if (!is_float(mask->dtype) && !is_bool(mask->dtype)) {
    return call.fail(Status::InvalidArgument, "attn_mask has dtype {}, expected a floating dtype or bool",
                     dtype_name(mask->dtype));
  }
  a.mask = mask;
  return Status::Ok;
}

// ---- work

// Temporary memory of one worker.
template <class C>
struct Workspace {
  C* query;  // a block of queries, keys and values of a head, where they need to be dequantized
  C* key;
  C* value;
  C* scores;  // [rows of a block, keys]
  C* result;  // [rows of a block, features]
  C* mask_row;
  Gemm<C> score_product;
  Gemm<C> value_product;
};

template <class C>
Workspace<C> make_workspace(Call& call, const Attention& a) {
  const int64_t rows = std::min(kQueryRows, a.query.positions());
  const int64_t d = a.query.features();
  const bool q = a.quantized();
  return {call.scratch<C>(q ? rows * d : 0), call.scratch<C>(q ? a.keys * d : 0), call.scratch<C>(q ? a.keys * d : 0),
          call.scratch<C>(rows * a.keys),    call.scratch<C>(rows * d),           call.scratch<C>(a.keys),
          Gemm<C>(call, rows, a.keys, d),    Gemm<C>(call, rows, d, a.keys)};
}

// Positions [first, first + n) of one head as a matrix: in place, or dequantized into `buffer`.
template <class C>
Matrix head_rows(const Heads& heads, const TokenParams& params, int64_t batch, int64_t head, int64_t first, int64_t n,
                 C* buffer) {
  if (params.scales == nullptr) {
    return heads.matrix(batch, head, first);
  }
  const int64_t d = heads.features();
  const Heads scales{params.scales, heads.heads_first};
  const Heads zero_points{params.zero_points, heads.heads_first};
  const LoadRun<C> load = load_run<C>(heads.tensor->dtype);
  for (int64_t i = 0; i < n; ++i) {
    const C scale = load_one<C>(params.scales->dtype, scales.matrix(batch, head, first + i).data);
    const C zero_point = load_one<C>(params.zero_points->dtype, zero_points.matrix(batch, head, first + i).data);
    C* row = buffer + i * d;
    load(heads.matrix(batch, head, first + i).data, heads.tensor->stride(3), d, row);
    for (int64_t k = 0; k < d; ++k) {
      row[k] = (row[k] - zero_point) * scale;
    }
  }
  return {buffer, kDTypeOf<C>, d, 1};
}

// scores = scores * scale + mask, for a row of `n` keys. A bool mask keeps where it is true.
template <class C>
void scale_and_mask(const Attention& a, int64_t query, C* scores, int64_t n, C* mask_row) {
  const C scale = static_cast<C>(a.scale);
  for (int64_t i = 0; i < n; ++i) {
    scores[i] *= scale;
  }
  if (a.mask == nullptr) {
    return;
  }
  const auto at = query * a.mask->stride(0) * static_cast<int64_t>(a.mask->element_size());
  load_run<C>(a.mask->dtype)(a.mask->bytes() + at, a.mask->stride(1), n, mask_row);
  for (int64_t i = 0; i < n; ++i) {
    if (is_bool(a.mask->dtype)) {
      scores[i] = mask_row[i] != C{0} ? scores[i] : -std::numeric_limits<C>::infinity();
    } else {
      scores[i] += mask_row[i];
    }
  }
}

// Turns scores into weights; returns their sum. A row that sees nothing has weights of 0.
template <class C>
C exponentials(C* scores, int64_t n) {
  constexpr C kLowest = -std::numeric_limits<C>::infinity();
  C greatest = kLowest;
  for (int64_t i = 0; i < n; ++i) {
    greatest = scores[i] > greatest ? scores[i] : greatest;
  }
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    // NaN stays; with nothing but -inf the difference would be NaN.
    scores[i] = greatest == kLowest && scores[i] == kLowest ? C{0} : std::exp(scores[i] - greatest);
    sum += scores[i];
  }
  return sum;
}

// The queries [first, first + rows) of one head.
template <class C>
void attend(const Attention& a, int64_t batch, int64_t head, int64_t first, int64_t rows, const Matrix& keys,
            const Matrix& values, const Workspace<C>& work) {
  const int64_t d = a.query.features();
  const int64_t n = a.causal ? std::min(a.keys, a.start + first + rows) : a.keys;
  const Matrix queries = head_rows(a.query, a.query_params, batch, head, first, rows, work.query);
  work.score_product.part(rows, n, d).run(queries, keys.transposed(), {work.scores, n, 1});
  std::array<C, kQueryRows> sums;
  for (int64_t r = 0; r < rows; ++r) {
    C* scores = work.scores + r * n;
    const int64_t seen = a.causal ? std::min(n, a.start + first + r + 1) : n;
    scale_and_mask(a, first + r, scores, seen, work.mask_row);
    sums[static_cast<size_t>(r)] = exponentials(scores, seen);
    std::fill(scores + seen, scores + n, C{0});
  }
  work.value_product.part(rows, d, n).run({work.scores, kDTypeOf<C>, n, 1}, values, {work.result, d, 1});
  const Tensor& out = *a.out.tensor;
  const StoreRun<C> store = store_run<C>(out.dtype);
  for (int64_t r = 0; r < rows; ++r) {
    C* row = work.result + r * d;
    const C sum = sums[static_cast<size_t>(r)];
    const C factor = sum == C{0} ? C{0} : C{1} / sum;
    for (int64_t k = 0; k < d; ++k) {
      row[k] *= factor;
    }
    const int64_t at = a.out.at(batch, head, first + r) * static_cast<int64_t>(out.element_size());
    store(row, out.bytes() + at, out.stride(3), d);
  }
}

// All query heads that share one head of keys and values.
template <class C>
void attend_group(const Attention& a, int64_t batch, int64_t kv_head, const Workspace<C>& work) {
  const int64_t group = a.query.heads() / a.key.heads();
  const Matrix keys = head_rows(a.key, a.key_params, batch, kv_head, 0, a.keys, work.key);
  const Matrix values = head_rows(a.value, a.value_params, batch, kv_head, 0, a.keys, work.value);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int64_t first = 0; first < a.query.positions(); first += kQueryRows) {
      attend(a, batch, head, first, std::min(kQueryRows, a.query.positions() - first), keys, values, work);
    }
  }
}

template <class C>
Status run_attention(Call& call, const Attention& a) {
  const int64_t groups = a.key.batches() * a.key.heads();
  const int64_t workers = std::min(groups, static_cast<int64_t>(thread_count()));
  std::vector<Workspace<C>> works;
  works.reserve(static_cast<size_t>(workers));
  for (int64_t i = 0; i < workers; ++i) {
    works.push_back(make_workspace<C>(call, a));
  }
  parallel_for(workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t w = begin; w < end; ++w) {
      for (int64_t g = groups * w / workers; g < groups * (w + 1) / workers; ++g) {
        attend_group(a, g / a.key.heads(), g % a.key.heads(), works[static_cast<size_t>(w)]);
      }
    }
  });
  return Status::Ok;
}

Status run_attention(Call& call, Attention& a, std::optional<double> scale, Tensor& out) {
  ET_TRY(check_sizes(call, out, a.query.tensor->sizes()));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  a.out = {&out, a.query.heads_first};
  a.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(a.query.features())));
  return a.query.tensor->dtype == DType::Float64 ? run_attention<double>(call, a) : run_attention<float>(call, a);
}

// ---- operators

Status custom_sdpa(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, int64_t start_pos,
                   const Tensor* attn_mask, double /*drpout_p*/, bool is_causal, std::optional<double> scale,
                   Tensor& out) {
  Attention a{.query = {&query}, .key = {&key}, .value = {&value}};
  ET_TRY(check_heads(call, a));
  ET_TRY(check_dtypes(call, a, out));
  ET_TRY(set_visible(call, a, attn_mask, start_pos, is_causal));
  return run_attention(call, a, scale, out);
}

Status custom_quantized_sdpa(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, int64_t start_pos,
                             const Tensor* attn_mask, double /*drpout_p*/, bool is_causal, std::optional<double> scale,
                             const Tensor* q_zero_points, const Tensor* q_scales, const Tensor* k_zero_points,
                             const Tensor* k_scales, const Tensor* v_zero_points, const Tensor* v_scales,
                             bool is_seq_at_dim_2, Tensor& out) {
  Attention a{.query = {&query, is_seq_at_dim_2}, .key = {&key, is_seq_at_dim_2}, .value = {&value, is_seq_at_dim_2}};
  if (query.dtype == DType::Int8) {
    a.query_params = {q_zero_points, q_scales};
    a.key_params = {k_zero_points, k_scales};
    a.value_params = {v_zero_points, v_scales};
  }
  ET_TRY(check_heads(call, a));
  ET_TRY(check_dtypes(call, a, out));
  ET_TRY(set_visible(call, a, attn_mask, start_pos, is_causal));
  return run_attention(call, a, scale, out);
}

Status sdpa_with_kv_cache(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, Tensor& key_cache,
                          Tensor& value_cache, int64_t start_pos, int64_t /*seq_len*/, const Tensor* attn_mask,
                          double /*drpout_p*/, bool is_causal, std::optional<double> scale, Tensor& out) {
  Attention a{.query = {&query}, .key = {&key_cache}, .value = {&value_cache}};
  ET_TRY(check_cache(call, key, key_cache, start_pos));
  ET_TRY(check_cache(call, value, value_cache, start_pos));
  ET_TRY(check_heads(call, a));
  ET_TRY(check_dtypes(call, a, out));
  ET_TRY(set_visible(call, a, attn_mask, start_pos, is_causal));
  write_cache(key, key_cache, start_pos);
  write_cache(value, value_cache, start_pos);
  return run_attention(call, a, scale, out);
}

}  // namespace

Table llm_attention_rows() {
  static const Op rows[] = {
      {"llama::sdpa_with_kv_cache.out",
       "(Tensor query, Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, SymInt start_pos, "
       "SymInt seq_len, Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, float? scale=None, *, "
       "Tensor(c!) out) -> Tensor(c!)",
       shape_of_first<11>, bind<sdpa_with_kv_cache>, kAnyLayout},
      {"llama::custom_sdpa.out",
       "(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, bool "
       "is_causal=False, float? scale=None, *, Tensor(a!) out) -> Tensor(a!)",
       shape_of_first<8>, bind<custom_sdpa>, kPure | kAnyLayout},
      {"llama::custom_quantized_sdpa.out",
       "(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, bool "
       "is_causal=False, float? scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? "
       "k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? v_scales=None, bool "
       "is_seq_at_dim_2=False, *, Tensor(a!) out) -> Tensor(a!)",
       shape_of_first<15>, bind<custom_quantized_sdpa>, kPure | kAnyLayout},
  };
  return rows;
}

}  // namespace etrt::ops
