// llama::gated_delta_rule: linear attention with a state that decays and learns by the delta rule.
//
// For each head the state S is a matrix [keys, values], and each token does
//   S = decay * S;  delta = beta * (v - S^T k);  S = S + k delta^T;  out = S^T q
// with one decay a token or one a row of S. Several query heads may share a head of keys and values.
#include <algorithm>
#include <array>

#include "core/thread_pool.h"
#include "ops/compute.h"
#include "ops/llm_rows.h"

namespace etrt::ops {
namespace {

Status check_delta_rule(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                        const Tensor& beta, const Tensor& state) {
  for (const Tensor* t : {&query, &key, &value, &state}) {
    ET_TRY(check_rank(call, *t, 4));
  }
  ET_TRY(check_rank_between(call, decay, 3, 4));
  const int64_t b = key.size(0);
  const int64_t h = key.size(1);
  const int64_t t = key.size(2);
  if (h == 0 || query.size(1) % h != 0) {
    return call.fail(Status::InvalidArgument, "query has {} heads, which the {} of key don't divide", query.size(1), h);
  }
  ET_TRY(check_sizes(call, query, std::array{b, query.size(1), t, key.size(3)}));
  ET_TRY(check_sizes(call, value, std::array{b, h, t, value.size(3)}));
  ET_TRY(check_sizes(call, beta, std::array{b, h, t}));
  ET_TRY(decay.rank() == 4 ? check_sizes(call, decay, std::array{b, h, t, key.size(3)})
                           : check_sizes(call, decay, std::array{b, h, t}));
  return check_sizes(call, state, std::array{b, h, key.size(3), value.size(3)});
}

Status shape_of_delta_rule(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                           const Tensor& beta, const Tensor& initial_state, Tensor& out, Tensor& final_state_out) {
  ET_TRY(check_delta_rule(call, query, key, value, decay, beta, initial_state));
  ET_TRY(call.resize(out, std::array{query.size(0), query.size(1), query.size(2), value.size(3)}));
  return call.resize(final_state_out, initial_state.sizes());
}

// The arguments of one call, row-major.
struct DeltaRule {
  const float* query;
  const float* key;
  const float* value;
  const float* decay;
  const float* beta;
  float* state;  // in: initial, out: final
  float* out;
  int64_t tokens;
  int64_t keys;
  int64_t values;
  int64_t queries_per_head;
  bool decay_per_key;
};

void add_scaled(float* y, const float* x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] += x[i] * factor;
  }
}

// All tokens of head `h`, counted over batches. `delta` has room for one value.
void run_head(const DeltaRule& r, int64_t h, float* delta) {
  float* state = r.state + h * r.keys * r.values;
  for (int64_t t = 0; t < r.tokens; ++t) {
    const int64_t token = h * r.tokens + t;
    const float* k = r.key + token * r.keys;
    const float* v = r.value + token * r.values;
    std::fill_n(delta, r.values, 0.0F);
    for (int64_t i = 0; i < r.keys; ++i) {
      const float decay = r.decay_per_key ? r.decay[token * r.keys + i] : r.decay[token];
      float* row = state + i * r.values;
      for (int64_t j = 0; j < r.values; ++j) {
        row[j] *= decay;
      }
      add_scaled(delta, row, k[i], r.values);
    }
    for (int64_t j = 0; j < r.values; ++j) {
      delta[j] = (v[j] - delta[j]) * r.beta[token];
    }
    for (int64_t i = 0; i < r.keys; ++i) {
      add_scaled(state + i * r.values, delta, k[i], r.values);
    }
    for (int64_t g = 0; g < r.queries_per_head; ++g) {
      const int64_t at = (h * r.queries_per_head + g) * r.tokens + t;
      const float* q = r.query + at * r.keys;
      float* out = r.out + at * r.values;
      std::fill_n(out, r.values, 0.0F);
      for (int64_t i = 0; i < r.keys; ++i) {
        add_scaled(out, state + i * r.values, q[i], r.values);
      }
    }
  }
}

Status gated_delta_rule(Call& call, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                        const Tensor& beta, const Tensor& initial_state, Tensor& out, Tensor& final_state_out) {
  ET_TRY(check_delta_rule(call, query, key, value, decay, beta, initial_state));
  ET_TRY(check_sizes(call, out, std::array{query.size(0), query.size(1), query.size(2), value.size(3)}));
  ET_TRY(check_sizes(call, final_state_out, initial_state.sizes()));
  ET_TRY(check_converts<float>(call, {&query, &key, &value, &decay, &beta, &initial_state, &out, &final_state_out}));
  if (out.numel() == 0 && final_state_out.numel() == 0) {
    return Status::Ok;
  }
  DeltaRule rule{};
  rule.query = load_rows<float>(call, query);
  rule.key = load_rows<float>(call, key);
  rule.value = load_rows<float>(call, value);
  rule.decay = load_rows<float>(call, decay);
  rule.beta = load_rows<float>(call, beta);
  rule.state = copy_rows<float>(call, initial_state);
  const RowsOf<float> output(call, out);
  rule.out = output.data();
  rule.tokens = key.size(2);
  rule.keys = key.size(3);
  rule.values = value.size(3);
  rule.queries_per_head = query.size(1) / key.size(1);
  rule.decay_per_key = decay.rank() == 4;
  const int64_t heads = key.size(0) * key.size(1);
  float* deltas = call.scratch<float>(heads * rule.values);
  parallel_for(heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h) {
      run_head(rule, h, deltas + h * rule.values);
    }
  });
  output.finish();
  store_rows<float>(rule.state, final_state_out);
  return Status::Ok;
}

constexpr std::string_view kSchema =
    "(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, "
    "Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))";

}  // namespace

Table llm_delta_rule_rows() {
  static const Op rows[] = {
      {"llama::gated_delta_rule.out", kSchema, bind<shape_of_delta_rule>, bind<gated_delta_rule>, kPure | kAnyLayout},
      // The older name.
      {"llama::channelwise_gated_delta_rule.out", kSchema, bind<shape_of_delta_rule>, bind<gated_delta_rule>,
       kPure | kAnyLayout},
  };
  return rows;
}

}  // namespace etrt::ops
