#include <cmath>
#include <limits>

#include "core/checked.h"
#include "ops/elementwise.h"
#include "ops/moments.h"
#include "ops/reduce.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// The dtype in which a normalisation of `dtype` computes, statistics and parameters included.
DType compute_dtype(DType dtype) { return dtype == DType::Float64 ? DType::Float64 : DType::Float32; }

Status check_floating(const Call& call, const Tensor& input) {
  return is_float(input.dtype) ? Status::Ok : refuse_dtype(call, input);
}

// A parameter must have exactly `sizes`; absent is fine.
Status check_parameter(const Call& call, const Tensor* parameter, std::span<const int64_t> sizes) {
  if (parameter == nullptr) {
    return Status::Ok;
  }
  ET_TRY(check_sizes(call, *parameter, sizes));
  ET_TRY(check_memory(call, *parameter));
  return is_float(parameter->dtype) ? Status::Ok : refuse_dtype(call, *parameter);
}

// A view of statistics or parameters with other sizes: row-major, as many elements.
Tensor reshaped(const Tensor& t, std::span<const int64_t> sizes) { return Tensor::view(t.data, t.dtype, sizes); }

// The elements of `from` as a row-major temporary of the type that the kernel computes in; `fill` where absent.
Result<Tensor> loaded(Call& call, const Tensor* from, DType dtype, int64_t count, double fill) {
  const int64_t sizes[] = {count};
  Tensor to = call.scratch_tensor(dtype, sizes);
  const Scalar value = Scalar::of(fill);
  if (from == nullptr) {
    ET_TRY((map<kFloats>(
        call, dtype, to, [](auto x) { return x; }, value)));
  } else {
    ET_TRY((map<kFloats>(
        call, dtype, to, [](auto x) { return x; }, *from)));
  }
  return to;
}

Status copy_values(Call& call, const Tensor& from, Tensor& to) {
  return map<kFloats>(
      call, from.dtype, to, [](auto x) { return x; }, from);
}

// Mean and 1/sqrt(variance + eps) of every part of a reduction's space, in the order of operand 1.
struct Statistics {
  Tensor mean;
  Tensor rstd;
  Tensor variance;  // biased
};
void compute_statistics(const Tensor& input, const ReduceSpace& space, double eps, Statistics& stats) {
  with_float_type(input.dtype, [&]<class C>() {
    C* const mean = stats.mean.as<C>();
    C* const rstd = stats.rstd.as<C>();
    C* const variance = stats.variance.as<C>();
    reduce(space, MomentsFold<C>{}, Reader<C>(input.dtype), input.bytes(), [&](const auto& acc, const Walk& at) {
      const double v = acc.m2 / acc.count;
      mean[at.offset(1)] = static_cast<C>(acc.mean);
      variance[at.offset(1)] = static_cast<C>(v);
      rstd[at.offset(1)] = static_cast<C>(1.0 / std::sqrt(v + eps));
    });
  });
}
Statistics scratch_statistics(Call& call, DType dtype, std::span<const int64_t> sizes) {
  return {call.scratch_tensor(dtype, sizes), call.scratch_tensor(dtype, sizes), call.scratch_tensor(dtype, sizes)};
}

// ---- Layer norm ----

// The sizes of the statistics: those of the input, 1 for the dimensions that are normalised.
Result<Dims> layer_statistics_sizes(const Call& call, const Tensor& input, IntList normalized_shape) {
  const auto n = static_cast<int>(normalized_shape.size());
  const auto inner = input.sizes().last(std::min<size_t>(normalized_shape.size(), static_cast<size_t>(input.rank())));
  if (n == 0 || !std::equal(inner.begin(), inner.end(), normalized_shape.begin(), normalized_shape.end())) {
    return call.fail(Status::InvalidArgument, "normalized_shape is {}, which input's sizes {} do not end in",
                     sizes_text(normalized_shape), sizes_text(input.sizes()));
  }
  Dims sizes(input.sizes());
  for (int d = input.rank() - n; d < input.rank(); ++d) {
    sizes[d] = 1;
  }
  return sizes;
}

Status shape_layer_norm(Call& call, const Tensor& input, IntList normalized_shape, const Tensor* weight,
                        const Tensor* bias, double /*eps*/, Tensor& out, Tensor& mean, Tensor& rstd) {
  ET_ASSIGN(const Dims sizes, layer_statistics_sizes(call, input, normalized_shape));
  ET_TRY(check_parameter(call, weight, normalized_shape));
  ET_TRY(check_parameter(call, bias, normalized_shape));
  ET_TRY(call.resize(out, input.sizes()));
  ET_TRY(call.resize(mean, sizes));
  return call.resize(rstd, sizes);
}

Status layer_norm(Call& call, const Tensor& input, IntList normalized_shape, const Tensor* weight, const Tensor* bias,
                  double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  ET_TRY(shape_layer_norm(call, input, normalized_shape, weight, bias, eps, out, mean, rstd));
  ET_TRY(check_floating(call, input));
  ET_ASSIGN(const Dims sizes, layer_statistics_sizes(call, input, normalized_shape));
  const auto n = static_cast<int>(normalized_shape.size());
  const uint32_t mask = all_dims(input) & ~((1U << (input.rank() - n)) - 1U);
  const DType dtype = compute_dtype(input.dtype);
  Statistics stats = scratch_statistics(call, dtype, sizes);
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, input, mask, true, {&stats.mean}));
  compute_statistics(input, space, eps, stats);
  if (weight == nullptr && bias == nullptr) {
    ET_TRY((map<kFloats>(
        call, dtype, out, [](auto x, auto m, auto r) { return (x - m) * r; }, input, stats.mean, stats.rstd)));
  } else {
    const auto affine = [](auto x, auto m, auto r, auto w, auto b) { return (x - m) * r * w + b; };
    const Operand w = weight != nullptr ? Operand(*weight) : Operand(Scalar::of(1.0));
    const Operand b = bias != nullptr ? Operand(*bias) : Operand(Scalar::of(0.0));
    ET_TRY((map<kFloats>(call, dtype, out, affine, input, stats.mean, stats.rstd, w, b)));
  }
  ET_TRY(copy_values(call, stats.mean, mean));
  return copy_values(call, stats.rstd, rstd);
}

// ---- Group norm ----

Status check_group_sizes(const Call& call, const Tensor& input, int64_t n, int64_t c, int64_t hxw, int64_t group) {
  int64_t elements = 0;
  const bool fits = input.rank() >= 2 && input.size(0) == n && input.size(1) == c && n >= 0 && c >= 0 && hxw > 0 &&
                    checked_mul(n, c, elements) && checked_mul(elements, hxw, elements) && elements == input.numel();
  if (!fits) {
    return call.fail(Status::InvalidArgument, "input has sizes {}, which do not fit N {}, C {} and HxW {}",
                     sizes_text(input.sizes()), n, c, hxw);
  }
  if (group <= 0 || c % group != 0) {
    return call.fail(Status::InvalidArgument, "C {} does not divide into {} groups", c, group);
  }
  return Status::Ok;
}

Status shape_group_norm(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias, int64_t n, int64_t c,
                        int64_t hxw, int64_t group, double /*eps*/, Tensor& out, Tensor& mean, Tensor& rstd) {
  ET_TRY(check_group_sizes(call, input, n, c, hxw, group));
  const int64_t channels[] = {c};
  const int64_t sizes[] = {n, group};
  ET_TRY(check_parameter(call, weight, channels));
  ET_TRY(check_parameter(call, bias, channels));
  ET_TRY(call.resize(out, input.sizes()));
  ET_TRY(call.resize(mean, sizes));
  return call.resize(rstd, sizes);
}

// The space of statistics over each sample's groups of channels; operand 1 is row-major [N, group].
ReduceSpace group_space(const Tensor& input, int64_t group) {
  const int64_t per_group = input.size(1) / group;
  ReduceSpace space;
  space.kept.push_back({input.size(0), {input.stride(0), group}});
  space.kept.push_back({group, {input.stride(1) * per_group, 1}});
  space.reduced.push_back({per_group, {input.stride(1)}});
  for (int d = 2; d < input.rank(); ++d) {
    space.reduced.push_back({input.size(d), {input.stride(d)}});
  }
  space.outputs = space.kept.positions();
  space.count = space.reduced.positions();
  space.reduced.sort_by_stride();
  space.reduced.coalesce();
  space.kept.coalesce();
  return space;
}

Status group_norm(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias, int64_t n, int64_t c,
                  int64_t hxw, int64_t group, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  ET_TRY(shape_group_norm(call, input, weight, bias, n, c, hxw, group, eps, out, mean, rstd));
  ET_TRY(check_group_sizes(call, input, n, c, hxw, group));  // again: an output may be the input
  ET_TRY(check_floating(call, input));
  ET_TRY(check_memory(call, input));
  const DType dtype = compute_dtype(input.dtype);
  const int64_t group_sizes[] = {n, group};
  Statistics stats = scratch_statistics(call, dtype, group_sizes);
  compute_statistics(input, group_space(input, group), eps, stats);
  ET_TRY(copy_values(call, stats.mean, mean));
  ET_TRY(copy_values(call, stats.rstd, rstd));

  // One factor and one mean a channel, with the sizes [N, C, 1, …] that broadcast to the input.
  Dims channel_sizes(input.sizes());
  for (int d = 2; d < input.rank(); ++d) {
    channel_sizes[d] = 1;
  }
  Tensor centre = call.scratch_tensor(dtype, channel_sizes);
  Tensor factor = call.scratch_tensor(dtype, channel_sizes);
  ET_ASSIGN(const Tensor weights, loaded(call, weight, dtype, c, 1.0));
  ET_ASSIGN(const Tensor biases, loaded(call, bias, dtype, c, 0.0));
  with_float_type(dtype, [&]<class C>() {
    const int64_t per_group = c / group;
    for (int64_t i = 0; i < n * c; ++i) {
      centre.as<C>()[i] = stats.mean.as<C>()[i / per_group];
      factor.as<C>()[i] = stats.rstd.as<C>()[i / per_group] * weights.as<C>()[i % c];
    }
  });
  Dims bias_sizes(channel_sizes);
  bias_sizes[0] = 1;
  return map<kFloats>(
      call, dtype, out, [](auto x, auto m, auto f, auto b) { return (x - m) * f + b; }, input, centre, factor,
      reshaped(biases, bias_sizes));
}

// ---- Batch norm ----

struct BatchNorm {
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  const Tensor* running_mean;  // written in training
  const Tensor* running_var;
  bool training;
  double momentum;
  double eps;
  Tensor& out;
  Tensor& save_mean;
  Tensor& save_invstd;
};

// In training the saved statistics are the batch's; else there are none.
Status shape_of(Call& call, const BatchNorm& a) {
  if (a.input.rank() < 2) {
    return call.fail(Status::InvalidArgument, "input has rank {}, expected 2 or more", a.input.rank());
  }
  const int64_t channels[] = {a.input.size(1)};
  const int64_t none[] = {0};
  for (const Tensor* parameter : {a.weight, a.bias, a.running_mean, a.running_var}) {
    ET_TRY(check_parameter(call, parameter, channels));
  }
  ET_TRY(call.resize(a.out, a.input.sizes()));
  ET_TRY(call.resize(a.save_mean, a.training ? channels : none));
  return call.resize(a.save_invstd, a.training ? channels : none);
}

// running = running * (1 - momentum) + value * scale * momentum
Status update_running(Call& call, const Tensor* running, double momentum, const Tensor& values, double scale) {
  if (running == nullptr) {
    return Status::Ok;
  }
  Tensor target = *running;
  return map<kFloats>(
      call, values.dtype, target,
      [momentum, scale](auto before, auto value) {
        using T = decltype(value);
        return static_cast<T>(momentum * scale) * value + static_cast<T>(1 - momentum) * before;
      },
      *running, values);
}

Status batch_statistics(Call& call, const Tensor& input, double eps, Statistics& stats) {
  ET_ASSIGN(const ReduceSpace space, reduce_space(call, input, all_dims(input) & ~2U, false, {&stats.mean}));
  compute_statistics(input, space, eps, stats);
  return Status::Ok;
}

// The unbiased variance is the biased one times this.
double unbiased_scale(const Tensor& input) {
  const auto count = static_cast<double>(input.numel() / input.size(1));
  return count / (count - 1);
}

Status batch_norm(Call& call, const BatchNorm& a) {
  ET_TRY(shape_of(call, a));
  ET_TRY(check_floating(call, a.input));
  const int64_t channels[] = {a.input.size(1)};
  const DType dtype = compute_dtype(a.input.dtype);
  Statistics stats = scratch_statistics(call, dtype, channels);
  if (a.training) {
    if (a.input.numel() == 0) {
      return call.fail(Status::InvalidArgument, "input has no elements in sizes {}", sizes_text(a.input.sizes()));
    }
    ET_TRY(batch_statistics(call, a.input, a.eps, stats));
    ET_TRY(copy_values(call, stats.mean, a.save_mean));
    ET_TRY(copy_values(call, stats.rstd, a.save_invstd));
    ET_TRY(update_running(call, a.running_mean, a.momentum, stats.mean, 1));
    ET_TRY(update_running(call, a.running_var, a.momentum, stats.variance, unbiased_scale(a.input)));
  } else {
    if (a.running_mean == nullptr || a.running_var == nullptr) {
      return call.fail(Status::InvalidArgument, "{} is missing, which inference needs",
                       a.running_mean == nullptr ? "running_mean" : "running_var");
    }
    ET_TRY(copy_values(call, *a.running_mean, stats.mean));
    const auto inverse = [eps = a.eps](auto v) { return 1 / std::sqrt(v + static_cast<decltype(v)>(eps)); };
    ET_TRY((map<kFloats>(call, dtype, stats.rstd, inverse, *a.running_var)));
  }
  // x * factor + shift, as eager does, with one of each a channel: sizes [C, 1, …] broadcast to the input.
  ET_ASSIGN(const Tensor weights, loaded(call, a.weight, dtype, channels[0], 1.0));
  ET_ASSIGN(const Tensor biases, loaded(call, a.bias, dtype, channels[0], 0.0));
  Tensor factor = stats.rstd;
  Tensor shift = stats.mean;
  ET_TRY((map<kFloats>(
      call, dtype, factor, [](auto r, auto w) { return r * w; }, stats.rstd, weights)));
  ET_TRY((map<kFloats>(
      call, dtype, shift, [](auto m, auto f, auto b) { return b - m * f; }, stats.mean, factor, biases)));
  Dims sizes(a.input.sizes().subspan(1));
  for (int d = 1; d < sizes.size(); ++d) {
    sizes[d] = 1;
  }
  return map<kFloats>(
      call, dtype, a.out, [](auto x, auto f, auto s) { return x * f + s; }, a.input, reshaped(factor, sizes),
      reshaped(shift, sizes));
}

// One argument list, for a shape function and a kernel.
template <Status (*kDo)(Call&, const BatchNorm&)>
struct BatchNormForms {
  static Status legit(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias, Tensor& running_mean,
                      Tensor& running_var, bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                      Tensor& save_invstd) {
    return kDo(
        call, {input, weight, bias, &running_mean, &running_var, training, momentum, eps, out, save_mean, save_invstd});
  }
  static Status no_stats(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias, bool training,
                         double momentum, double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
    return kDo(call, {input, weight, bias, nullptr, nullptr, training, momentum, eps, out, save_mean, save_invstd});
  }
  static Status no_training(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias,
                            const Tensor& running_mean, const Tensor& running_var, double momentum, double eps,
                            Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
    return kDo(call,
               {input, weight, bias, &running_mean, &running_var, false, momentum, eps, out, save_mean, save_invstd});
  }
  static Status native(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias,
                       const Tensor* running_mean, const Tensor* running_var, bool training, double momentum,
                       double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
    return kDo(call,
               {input, weight, bias, running_mean, running_var, training, momentum, eps, out, save_mean, save_invstd});
  }
  // The reserve is working memory of other devices.
  static Status with_update(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias,
                            Tensor& running_mean, Tensor& running_var, double momentum, double eps, Tensor& out,
                            Tensor& save_mean, Tensor& save_invstd, Tensor& reserve) {
    const int64_t none[] = {0};
    ET_TRY(call.resize(reserve, none));
    return kDo(call,
               {input, weight, bias, &running_mean, &running_var, true, momentum, eps, out, save_mean, save_invstd});
  }
  static Status no_update(Call& call, const Tensor& input, const Tensor* weight, const Tensor* bias,
                          const Tensor* running_mean, const Tensor* running_var, double momentum, double eps,
                          Tensor& out, Tensor& save_mean, Tensor& save_invstd, Tensor& reserve) {
    const int64_t none[] = {0};
    ET_TRY(call.resize(reserve, none));
    return kDo(call,
               {input, weight, bias, running_mean, running_var, false, momentum, eps, out, save_mean, save_invstd});
  }
};
using Shape = BatchNormForms<shape_of>;
using Kernel = BatchNormForms<batch_norm>;

Status shape_update_stats(Call& call, const Tensor& input, const Tensor* running_mean, const Tensor* running_var,
                          double /*momentum*/, Tensor& mean, Tensor& variance) {
  if (input.rank() < 2) {
    return call.fail(Status::InvalidArgument, "input has rank {}, expected 2 or more", input.rank());
  }
  const int64_t channels[] = {input.size(1)};
  ET_TRY(check_parameter(call, running_mean, channels));
  ET_TRY(check_parameter(call, running_var, channels));
  ET_TRY(call.resize(mean, channels));
  return call.resize(variance, channels);
}
Status update_stats(Call& call, const Tensor& input, const Tensor* running_mean, const Tensor* running_var,
                    double momentum, Tensor& mean, Tensor& variance) {
  ET_TRY(shape_update_stats(call, input, running_mean, running_var, momentum, mean, variance));
  ET_TRY(check_floating(call, input));
  if (input.numel() == 0) {
    return call.fail(Status::InvalidArgument, "input has no elements in sizes {}", sizes_text(input.sizes()));
  }
  Statistics stats = scratch_statistics(call, compute_dtype(input.dtype), mean.sizes());
  ET_TRY(batch_statistics(call, input, 0, stats));
  ET_TRY(copy_values(call, stats.mean, mean));
  ET_TRY(copy_values(call, stats.variance, variance));
  ET_TRY(update_running(call, running_mean, momentum, stats.mean, 1));
  return update_running(call, running_var, momentum, stats.variance, unbiased_scale(input));
}

constexpr uint32_t kFacts = kPure | kAnyLayout;

const Op kTable[] = {
    {"aten::native_layer_norm.out",
     "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps, *, Tensor(a!) out0, "
     "Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     bind<shape_layer_norm>, bind<layer_norm>, kFacts},
    {"aten::native_group_norm.out",
     "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps, *, Tensor(a!) "
     "out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     bind<shape_group_norm>, bind<group_norm>, kFacts},
    {"aten::_native_batch_norm_legit.out",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, "
     "float momentum, float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd) -> (Tensor(d!), "
     "Tensor(e!), Tensor(f!))",
     bind<Shape::legit>, bind<Kernel::legit>, kAnyLayout},
    {"aten::_native_batch_norm_legit.no_stats_out",
     "(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps, *, Tensor(a!) out, "
     "Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     bind<Shape::no_stats>, bind<Kernel::no_stats>, kFacts},
    {"aten::_native_batch_norm_legit_no_training.out",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps, "
     "*, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
     bind<Shape::no_training>, bind<Kernel::no_training>, kFacts},
    {"aten::native_batch_norm.out",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float "
     "momentum, float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), "
     "Tensor(b!), Tensor(c!))",
     bind<Shape::native>, bind<Kernel::native>, kAnyLayout},
    {"aten::_batch_norm_with_update.out",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, "
     "float eps, *, Tensor(d!) out, Tensor(e!) save_mean, Tensor(f!) save_invstd, Tensor(g!) reserve) -> (Tensor(d!), "
     "Tensor(e!), Tensor(f!), Tensor(g!))",
     bind<Shape::with_update>, bind<Kernel::with_update>, kAnyLayout},
    {"aten::_batch_norm_no_update.out",
     "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float "
     "eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2, Tensor(d!) out3) -> (Tensor(a!), Tensor(b!), "
     "Tensor(c!), Tensor(d!))",
     bind<Shape::no_update>, bind<Kernel::no_update>, kFacts},
    {"aten::batch_norm_update_stats.out",
     "(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum, *, Tensor(a!) out0, Tensor(b!) out1) "
     "-> (Tensor(a!), Tensor(b!))",
     bind<shape_update_stats>, bind<update_stats>, kAnyLayout},
};

}  // namespace

Table norm_ops() { return kTable; }

}  // namespace etrt::ops
