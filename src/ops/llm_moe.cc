// llama::quantized_moe_ffn: a mixture of experts with int4 or int8 weights, packed as torchao does.
//
// Each token goes to its best experts by a router; an expert computes w2 (silu(w1 x) * (w3 x)); the results are summed
// with the router's weights.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/checked.h"
#include "ops/compute.h"
#include "ops/gemm.h"
#include "ops/llm_rows.h"

namespace etrt::ops {
namespace {

// ---- packed weights

// The packing's tile: 8 rows of the weight by 16 columns, in two halves of 8 columns.
constexpr int64_t kRows = 8;
constexpr int64_t kColumns = 16;
constexpr int64_t kHalf = kColumns / 2;
constexpr int64_t kTile = kRows * kColumns;
constexpr int64_t kHeaderBytes = 64;

// The blob starts with these int32: magic, kind, then bits, has_zeros, has_bias, rows, columns, halves of the tile.
constexpr int32_t kMagic = 6712;
constexpr int32_t kUniversal = 1;

int32_t read_int(const std::byte* at) {
  int32_t v = 0;
  std::memcpy(&v, at, sizeof(v));
  return v;
}

// A matrix [rows, columns] in groups of `group` columns that share a scale.
struct Packed {
  const std::byte* data = nullptr;
  int64_t bytes = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t group = 0;
  int64_t bits = 0;

  int64_t tile_bytes() const { return kTile * bits / 8; }
  // The values of 8 rows in one group, their scales, and their sums, which only products of integers need.
  int64_t group_bytes() const { return group / kColumns * tile_bytes() + kRows * 8; }
};

Status check_packed(Call& call, const Packed& w, const char* name) {
  int64_t needed = 0;
  if (!checked_mul((w.rows + kRows - 1) / kRows, w.columns / w.group, needed) ||
      !checked_mul(needed, w.group_bytes(), needed) || !checked_add(needed, kHeaderBytes, needed)) {
    return call.fail(Status::InvalidArgument, "{} of {} x {} is too large", name, w.rows, w.columns);
  }
  if (w.bytes < needed) {
    return call.fail(Status::InvalidArgument, "{} has {} bytes an expert, but {} x {} in groups of {} need {}", name,
                     w.bytes, w.rows, w.columns, w.group, needed);
  }
  return Status::Ok;
}

// Each expert's blob has its own header.
Status check_header(Call& call, const Packed& w, const char* name) {
  const int32_t kind = read_int(w.data + 4);
  if (read_int(w.data) != kMagic) {
    return call.fail(Status::InvalidArgument, "{} isn't a packed weight of torchao", name);
  }
  if (kind != kUniversal) {
    return call.fail(Status::NotSupported,
                     "{} is packed for one kind of processor (kind {}); export it with the "
                     "packing \"universal\"",
                     name, kind);
  }
  const std::array<int32_t, 6> expected{static_cast<int32_t>(w.bits),   0, 0, static_cast<int32_t>(kRows),
                                        static_cast<int32_t>(kColumns), 2};
  for (size_t i = 0; i < expected.size(); ++i) {
    const int32_t found = read_int(w.data + 8 + 4 * i);
    if (found != expected[i]) {
      return call.fail(Status::NotSupported, "{} is packed with parameter {} = {}, expected {}", name, i, found,
                       expected[i]);
    }
  }
  return Status::Ok;
}

// The 128 values of a tile, half by half and there row by row.
void unpack_tile(const std::byte* from, int64_t bits, int8_t* values) {
  if (bits == 8) {
    std::memcpy(values, from, kTile);
    return;
  }
  // 16 bytes hold 32 values: the first 16 in the low halves of the bytes.
  for (int64_t i = 0; i < kTile; ++i) {
    const auto byte = std::to_integer<int>(from[i / 32 * 16 + i % 16]);
    values[i] = static_cast<int8_t>((i % 32 < 16 ? byte & 15 : byte >> 4) - 8);
  }
}

// The weight as floats, row-major.
void unpack(const Packed& w, float* weight) {
  const std::byte* at = w.data + kHeaderBytes;
  std::array<int8_t, kTile> tile;
  for (int64_t row = 0; row < w.rows; row += kRows) {
    const int64_t rows = std::min(kRows, w.rows - row);
    for (int64_t first = 0; first < w.columns; first += w.group) {
      const std::byte* scales = at + w.group / kColumns * w.tile_bytes();
      for (int64_t column = first; column < first + w.group; column += kColumns) {
        unpack_tile(at, w.bits, tile.data());
        at += w.tile_bytes();
        for (int64_t r = 0; r < rows; ++r) {
          const float scale = std::bit_cast<float>(read_int(scales + 4 * r));
          float* to = weight + (row + r) * w.columns + column;
          for (int64_t k = 0; k < kColumns; ++k) {
            to[k] =
                static_cast<float>(tile[static_cast<size_t>(k / kHalf * kTile / 2 + r * kHalf + k % kHalf)]) * scale;
          }
        }
      }
      at += kRows * 8;
    }
  }
}

// ---- the router

float sigmoid(float v) {
  if (v >= 0) {
    return 1.0F / (1.0F + std::exp(-v));
  }
  const float e = std::exp(v);
  return e / (1.0F + e);
}

// What a token's row of scores becomes: the experts chosen and their weights.
struct Route {
  int64_t* experts;  // [chosen]
  float* weights;
};

// The `chosen` greatest of `n` scores, ties in order, NaN last.
void choose_best(const float* scores, int64_t n, int64_t chosen, int64_t* order, int64_t* best) {
  for (int64_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  const auto before = [scores](int64_t a, int64_t b) {
    const bool nan_a = scores[a] != scores[a];
    const bool nan_b = scores[b] != scores[b];
    if (nan_a != nan_b) {
      return nan_b;
    }
    return nan_a || scores[a] == scores[b] ? a < b : scores[a] > scores[b];
  };
  std::partial_sort(order, order + chosen, order + n, before);
  std::copy_n(order, chosen, best);
}

void softmax(float* x, int64_t n) {
  const float greatest = *std::max_element(x, x + n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = std::exp(x[i] - greatest);
    sum += x[i];
  }
  for (int64_t i = 0; i < n; ++i) {
    x[i] /= sum;
  }
}

// Scales weights to the sum `total`.
void normalize(float* weights, int64_t n, float total) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += weights[i];
  }
  const float factor = total / std::max(sum, std::numeric_limits<float>::min());
  for (int64_t i = 0; i < n; ++i) {
    weights[i] *= factor;
  }
}

struct Moe {
  int64_t tokens;
  int64_t dim;
  int64_t hidden;
  int64_t experts;
  int64_t chosen;
  bool by_sigmoid;
  float route_scale;
  const float* x;
  const float* gate;
  const float* bias;  // may be null
};

// experts and weights of all tokens: [tokens, chosen].
Route route(Call& call, const Moe& m) {
  const Route r{call.scratch<int64_t>(m.tokens * m.chosen), call.scratch<float>(m.tokens * m.chosen)};
  float* scores = call.scratch<float>(m.tokens * m.experts);
  float* biased = call.scratch<float>(m.experts);
  int64_t* order = call.scratch<int64_t>(m.experts);
  const Gemm<float> gemm(call, m.tokens, m.experts, m.dim);
  gemm.run({m.x, DType::Float32, m.dim, 1}, {m.gate, DType::Float32, 1, m.dim}, {scores, m.experts, 1});
  for (int64_t t = 0; t < m.tokens; ++t) {
    float* row = scores + t * m.experts;
    if (m.by_sigmoid) {
      std::transform(row, row + m.experts, row, sigmoid);
    }
    std::copy_n(row, m.experts, biased);
    for (int64_t e = 0; m.bias != nullptr && e < m.experts; ++e) {
      biased[e] += m.bias[e];
    }
    int64_t* best = r.experts + t * m.chosen;
    float* weights = r.weights + t * m.chosen;
    choose_best(biased, m.experts, m.chosen, order, best);
    for (int64_t k = 0; k < m.chosen; ++k) {
      weights[k] = row[best[k]];
    }
    if (m.by_sigmoid) {
      normalize(weights, m.chosen, m.route_scale);
    } else {
      softmax(weights, m.chosen);
    }
  }
  return r;
}

// ---- the experts

// The rows of x that go to one expert, and where they come from.
struct Batch {
  int64_t* tokens;
  float* weights;
  int64_t count;
};

Batch gather_tokens(const Moe& m, const Route& r, int64_t expert, Batch batch) {
  batch.count = 0;
  for (int64_t i = 0; i < m.tokens * m.chosen; ++i) {
    if (r.experts[i] == expert) {
      batch.tokens[batch.count] = i / m.chosen;
      batch.weights[batch.count++] = r.weights[i];
    }
  }
  return batch;
}

struct Buffers {
  float* weight;  // the larger of the two, as floats
  float* x;       // [tokens, dim]
  float* both;    // [tokens, 2 hidden]
  float* hidden;  // [tokens, hidden]
  float* y;       // [tokens, dim]
  Gemm<float> up;
  Gemm<float> down;
};

void run_expert(const Moe& m, const Packed& w13, const Packed& w2, const Batch& batch, const Buffers& b, float* out) {
  for (int64_t i = 0; i < batch.count; ++i) {
    std::copy_n(m.x + batch.tokens[i] * m.dim, m.dim, b.x + i * m.dim);
  }
  unpack(w13, b.weight);
  b.up.part(batch.count, 2 * m.hidden, m.dim)
      .run({b.x, DType::Float32, m.dim, 1}, {b.weight, DType::Float32, 1, m.dim}, {b.both, 2 * m.hidden, 1});
  for (int64_t i = 0; i < batch.count; ++i) {
    const float* row = b.both + i * 2 * m.hidden;
    for (int64_t j = 0; j < m.hidden; ++j) {
      b.hidden[i * m.hidden + j] = row[j] * sigmoid(row[j]) * row[m.hidden + j];
    }
  }
  unpack(w2, b.weight);
  b.down.part(batch.count, m.dim, m.hidden)
      .run({b.hidden, DType::Float32, m.hidden, 1}, {b.weight, DType::Float32, 1, m.hidden}, {b.y, m.dim, 1});
  for (int64_t i = 0; i < batch.count; ++i) {
    float* to = out + batch.tokens[i] * m.dim;
    for (int64_t j = 0; j < m.dim; ++j) {
      to[j] += batch.weights[i] * b.y[i * m.dim + j];
    }
  }
}

Status check_moe(Call& call, const Moe& m, const Tensor& x, const Tensor& gate_weight, const Tensor& expert_bias,
                 int64_t group, int64_t bits, std::string_view score_func) {
  if (m.experts <= 0 || m.chosen <= 0 || m.chosen > m.experts || m.dim <= 0 || m.hidden <= 0) {
    return call.fail(Status::InvalidArgument,
                     "num_activated_experts {} of num_experts {}, dim {} and hidden_dim {} make no sense", m.chosen,
                     m.experts, m.dim, m.hidden);
  }
  if (score_func != "sigmoid" && score_func != "softmax") {
    return call.fail(Status::InvalidArgument, "score_func is \"{}\", expected sigmoid or softmax", score_func);
  }
  if (bits != 4 && bits != 8) {
    return call.fail(Status::InvalidArgument, "weight_nbit is {}, expected 4 or 8", bits);
  }
  if (group <= 0 || group % kColumns != 0 || m.dim % group != 0 || m.hidden % group != 0) {
    return call.fail(Status::InvalidArgument,
                     "group_size {} must be a multiple of {} and divide dim {} and hidden_dim {}", group, kColumns,
                     m.dim, m.hidden);
  }
  ET_TRY(check_rank(call, x, 2));
  ET_TRY(check_sizes(call, x, std::array{x.size(0), m.dim}));
  ET_TRY(check_sizes(call, gate_weight, std::array{m.experts, m.dim}));
  if (expert_bias.numel() > 0) {
    ET_TRY(check_sizes(call, expert_bias, std::array{m.experts}));
    if (!m.by_sigmoid) {
      return call.fail(Status::InvalidArgument, "expert_bias goes with score_func sigmoid only");
    }
  }
  return check_converts<float>(call, {&x, &gate_weight, &expert_bias});
}

Status check_blobs(Call& call, const Tensor& blobs, int64_t experts) {
  ET_TRY(check_rank(call, blobs, 2));
  ET_TRY(check_sizes(call, blobs, std::array{experts, blobs.size(1)}));
  if (dtype_size(blobs.dtype) != 1 || !blobs.contiguous()) {
    return call.fail(Status::InvalidArgument, "{} is {}, expected row-major bytes", call.arg_name(blobs),
                     tensor_text(blobs));
  }
  return Status::Ok;
}

Status shape_of_moe(Call& call, const Tensor& x, const Tensor& /*gate_weight*/, const Tensor& /*expert_bias*/,
                    const Tensor& /*packed_w13*/, const Tensor& /*packed_w2*/, int64_t /*num_activated_experts*/,
                    int64_t /*num_experts*/, int64_t /*hidden_dim*/, int64_t dim, int64_t /*group_size*/,
                    int64_t /*weight_nbit*/, std::string_view /*score_func*/, double /*route_scale*/, Tensor& out) {
  ET_TRY(check_rank(call, x, 2));
  ET_TRY(check_sizes(call, x, std::array{x.size(0), dim}));
  return call.resize(out, std::array{x.size(0), dim});
}

Status quantized_moe_ffn(Call& call, const Tensor& x, const Tensor& gate_weight, const Tensor& expert_bias,
                         const Tensor& packed_w13, const Tensor& packed_w2, int64_t num_activated_experts,
                         int64_t num_experts, int64_t hidden_dim, int64_t dim, int64_t group_size, int64_t weight_nbit,
                         std::string_view score_func, double route_scale, Tensor& out) {
  Moe m{};
  m.dim = dim;
  m.hidden = hidden_dim;
  m.experts = num_experts;
  m.chosen = num_activated_experts;
  m.by_sigmoid = score_func == "sigmoid";
  m.route_scale = static_cast<float>(route_scale);
  ET_TRY(check_moe(call, m, x, gate_weight, expert_bias, group_size, weight_nbit, score_func));
  m.tokens = x.size(0);
  ET_TRY(check_blobs(call, packed_w13, num_experts));
  ET_TRY(check_blobs(call, packed_w2, num_experts));
  ET_TRY(check_sizes(call, out, std::array{m.tokens, dim}));
  ET_TRY(check_converts<float>(call, {&out}));
  int64_t both = 0;
  int64_t weight_numel = 0;
  if (!checked_mul(hidden_dim, int64_t{2}, both) || !checked_mul(both, dim, weight_numel)) {
    return call.fail(Status::InvalidArgument, "hidden_dim {} and dim {} are too large", hidden_dim, dim);
  }
  Packed w13{packed_w13.bytes(), packed_w13.size(1), both, dim, group_size, weight_nbit};
  Packed w2{packed_w2.bytes(), packed_w2.size(1), dim, hidden_dim, group_size, weight_nbit};
  ET_TRY(check_packed(call, w13, "packed_w13"));
  ET_TRY(check_packed(call, w2, "packed_w2"));
  if (m.tokens == 0) {
    return Status::Ok;
  }
  m.x = load_rows<float>(call, x);
  m.gate = load_rows<float>(call, gate_weight);
  m.bias = expert_bias.numel() > 0 ? load_rows<float>(call, expert_bias) : nullptr;
  const Route routes = route(call, m);
  // A token goes to an expert once at most.
  const Batch room{call.scratch<int64_t>(m.tokens), call.scratch<float>(m.tokens), 0};
  const Buffers buffers{call.scratch<float>(weight_numel),           call.scratch<float>(m.tokens * dim),
                        call.scratch<float>(m.tokens * both),        call.scratch<float>(m.tokens * hidden_dim),
                        call.scratch<float>(m.tokens * dim),         Gemm<float>(call, m.tokens, both, dim),
                        Gemm<float>(call, m.tokens, dim, hidden_dim)};
  float* sums = call.scratch<float>(m.tokens * dim);
  std::fill_n(sums, m.tokens * dim, 0.0F);
  for (int64_t e = 0; e < m.experts; ++e) {
    w13.data = packed_w13.bytes() + e * w13.bytes;
    w2.data = packed_w2.bytes() + e * w2.bytes;
    const Batch batch = gather_tokens(m, routes, e, room);
    if (batch.count > 0) {
      ET_TRY(check_header(call, w13, "packed_w13"));
      ET_TRY(check_header(call, w2, "packed_w2"));
      run_expert(m, w13, w2, batch, buffers, sums);
    }
  }
  store_rows<float>(sums, out);
  return Status::Ok;
}

}  // namespace

Table llm_moe_rows() {
  static const Op rows[] = {
      {"llama::quantized_moe_ffn.out",
       "(Tensor x, Tensor gate_weight, Tensor expert_bias, Tensor packed_w13, Tensor packed_w2, int "
       "num_activated_experts, int num_experts, int hidden_dim, int dim, int group_size, int weight_nbit, str "
       "score_func, float route_scale, *, Tensor(a!) out) -> Tensor(a!)",
       bind<shape_of_moe>, bind<quantized_moe_ffn>, kPure},
  };
  return rows;
}

}  // namespace etrt::ops
