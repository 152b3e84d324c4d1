#include "ops/elementwise.h"

#include <algorithm>

#include "core/convert.h"

namespace etrt::ops {
namespace {

// Do the elements of `tensor` fill its memory? Not so where it stands for a part of another.
bool fills_memory(const Tensor& tensor) {
  int64_t last = 0;
  for (int d = 0; d < tensor.rank(); ++d) {
    last += (tensor.size(d) - 1) * tensor.stride(d);
  }
  return last == tensor.numel() - 1;
}

}  // namespace

DType real_dtype(DType complex) {
  switch (complex) {
    case DType::Complex32:
      return DType::Float16;
    case DType::Complex64:
      return DType::Float32;
    case DType::Complex128:
      return DType::Float64;
    default:
      return complex;
  }
}

Compute compute_type(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return Compute::Double;
    case DType::Complex32:
    case DType::Complex64:
      return Compute::ComplexFloat;
    case DType::Complex128:
      return Compute::ComplexDouble;
    case DType::UInt64:
      return Compute::UInt;
    default:
      break;
  }
  if (is_int(dtype) || is_bool(dtype)) {
    return Compute::Int;
  }
  return is_float(dtype) ? Compute::Float : Compute::None;
}

// ---- types

namespace {

// Eager's rule for a group of inputs that ranks below `higher`: it only lifts the category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) {
    return higher ? higher : lower;
  }
  if (is_complex(*higher)) {
    return higher;
  }
  if (is_float(*higher)) {
    if (!is_complex(*lower)) {
      return higher;
    }
    return *higher == DType::Float64   ? DType::Complex128
           : *higher == DType::Float16 ? DType::Complex32
                                       : DType::Complex64;
  }
  if (is_bool(*higher) || is_float(*lower) || is_complex(*lower)) {
    return promote(*higher, *lower);
  }
  return higher;
}

DType scalar_dtype(Scalar scalar) {
  return scalar.is_float() ? DType::Float32 : scalar.is_bool() ? DType::Bool : DType::Int64;
}

}  // namespace

Result<DType> result_type(const Call& call, std::span<const Operand> inputs) {
  std::optional<DType> with_dims;
  std::optional<DType> without_dims;
  std::optional<DType> numbers;
  for (const Operand& input : inputs) {
    const DType dtype = input.tensor != nullptr ? input.tensor->dtype : scalar_dtype(input.scalar);
    std::optional<DType>& group = input.tensor == nullptr    ? numbers
                                  : input.tensor->rank() > 0 ? with_dims
                                                             : without_dims;
    const std::optional<DType> joined = group ? promote(*group, dtype) : dtype;
    if (!joined) {
      return call.fail(Status::InvalidArgument, "{} and {} have no common dtype", dtype_name(*group),
                       dtype_name(dtype));
    }
    group = joined;
  }
  const std::optional<DType> result = combine(with_dims, combine(without_dims, numbers));
  if (!result) {
    return call.fail(Status::InvalidArgument, "the inputs have no common dtype");
  }
  return *result;
}

// ---- shapes

Status resize_to_broadcast(Call& call, size_t out) {
  const auto args = call.args();
  if (out >= args.size() || args[out]->kind != Kind::Tensor) {
    return out < args.size() ? call.wrong_kind(out, "a tensor")
                             : call.fail(Status::InvalidProgram, "has {} arguments, expected {}", args.size(), out + 1);
  }
  const Tensor& result = *args[out]->as_tensor;
  int rank = 0;
  bool alike = result.data != nullptr;
  for (size_t i = 0; i < out; ++i) {
    if (args[i]->kind == Kind::Tensor) {
      rank = std::max(rank, args[i]->as_tensor->rank());
      alike = alike && args[i]->as_tensor->same_sizes(result);
    }
  }
  if (alike) {
    return Status::Ok;  // the usual case, at the cost of a look
  }
  std::array<int64_t, kMaxRank> sizes;
  sizes.fill(1);
  for (size_t i = 0; i < out; ++i) {
    if (args[i]->kind != Kind::Tensor) {
      continue;
    }
    const Tensor& input = *args[i]->as_tensor;
    for (int d = 0; d < input.rank(); ++d) {
      int64_t& size = sizes[static_cast<size_t>(d + rank - input.rank())];
      if (size == 1) {
        size = input.size(d);
      } else if (input.size(d) != 1 && input.size(d) != size) {
        return call.fail(Status::InvalidArgument,
                         "{} has sizes {}, which don't broadcast with the inputs before it: size {} of dimension {} "
                         "meets {}",
                         call.arg_name(i), sizes_text(input.sizes()), input.size(d), d, size);
      }
    }
  }
  return call.resize(*args[out]->as_tensor, std::span<const int64_t>(sizes.data(), static_cast<size_t>(rank)));
}

// ---- parts of tensors

Tensor part_of(const Tensor& tensor, int dim, int64_t start, int64_t size) {
  Tensor part = tensor;
  const auto d = static_cast<size_t>(dim);
  part.data = tensor.bytes() + start * tensor.stride(dim) * static_cast<int64_t>(tensor.element_size());
  part.numel_ = tensor.numel() / std::max<int64_t>(tensor.size(dim), 1) * size;
  part.sizes_[d] = size;
  return part;
}

Tensor real_part_of(const Tensor& complex, int index) {
  Tensor part = complex;
  part.dtype = real_dtype(complex.dtype);
  part.data = complex.bytes() + static_cast<size_t>(index) * part.element_size();
  for (int64_t& stride : part.strides_) {
    stride *= 2;
  }
  return part;
}

// ---- loops

Status LoopNest::build(const Call& call, const Tensor& out, std::span<const Tensor* const> inputs) {
  operands_ = static_cast<int>(inputs.size()) + 1;
  numel_ = out.numel();
  rank_ = 1;
  if (numel_ > 0 && out.data == nullptr) {
    return call.fail(Status::InvalidState, "{} has no memory", call.arg_name(out));
  }
  bool even = fills_memory(out);  // every operand walks like out or stands still: one loop
  for (const Tensor* input : inputs) {
    bool fits = input->rank() <= out.rank();
    for (int d = 0; fits && d < input->rank(); ++d) {
      fits = input->size(d) == 1 || input->size(d) == out.size(d + out.rank() - input->rank());
    }
    if (!fits) {
      return call.fail(Status::InvalidArgument, "{} has sizes {}, which don't broadcast to the output's {}",
                       call.arg_name(*input), sizes_text(input->sizes()), sizes_text(out.sizes()));
    }
    if (numel_ > 0 && input->data == nullptr) {
      return call.fail(Status::InvalidState, "{} has no memory", call.arg_name(*input));
    }
    even = even && (input->numel() == 1 || input->same_layout(out));
  }
  if (even || numel_ == 0) {
    sizes_[0] = numel_;
    strides_[0][0] = 1;
    for (size_t i = 0; i < inputs.size(); ++i) {
      strides_[i + 1][0] = inputs[i]->numel() == 1 ? 0 : 1;
    }
    return Status::Ok;
  }
  rank_ = 0;
  for (const uint8_t dim : out.dim_order()) {
    const int64_t size = out.size(dim);
    if (size == 1) {
      continue;
    }
    std::array<int64_t, 1 + kMaxInputs> step;
    step[0] = out.stride(dim);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int d = dim - (out.rank() - inputs[i]->rank());
      step[i + 1] = d < 0 || inputs[i]->size(d) == 1 ? 0 : inputs[i]->stride(d);
    }
    // One loop with the dimension around it when every operand goes on evenly from one to the next.
    const auto outer = static_cast<size_t>(rank_ - 1);
    bool joins = rank_ > 0;
    for (size_t i = 0; joins && i < static_cast<size_t>(operands_); ++i) {
      joins = strides_[i][outer] == step[i] * size;
    }
    const size_t at = joins ? outer : static_cast<size_t>(rank_++);
    sizes_[at] = joins ? sizes_[at] * size : size;
    for (size_t i = 0; i < static_cast<size_t>(operands_); ++i) {
      strides_[i][at] = step[i];
    }
  }
  return Status::Ok;
}

void LoopNest::for_range(int64_t begin, int64_t end, FunctionRef<void(const int64_t* offsets, int64_t n)> run) const {
  const auto rank = static_cast<size_t>(rank_);
  const auto operands = static_cast<size_t>(operands_);
  std::array<int64_t, kMaxRank> index;
  std::array<int64_t, 1 + kMaxInputs> offsets{};
  int64_t rest = begin;
  for (size_t d = rank; d-- > 0;) {
    index[d] = rest % sizes_[d];
    rest /= sizes_[d];
    for (size_t i = 0; i < operands; ++i) {
      offsets[i] += index[d] * strides_[i][d];
    }
  }
  while (begin < end) {
    const int64_t n = std::min(sizes_[rank - 1] - index[rank - 1], end - begin);
    run(offsets.data(), n);
    begin += n;
    // On to the start of the next run: the innermost index is at its end, or this was the last one.
    index[rank - 1] += n;
    for (size_t i = 0; i < operands; ++i) {
      offsets[i] += n * strides_[i][rank - 1];
    }
    for (size_t d = rank - 1; d > 0 && index[d] == sizes_[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
      for (size_t i = 0; i < operands; ++i) {
        offsets[i] += strides_[i][d - 1] - sizes_[d] * strides_[i][d];
      }
    }
  }
}

namespace detail {
namespace {

constexpr int64_t kChunk = 512;

template <class T>
constexpr DType kDTypeOf = DType::Bool;
template <>
constexpr DType kDTypeOf<int64_t> = DType::Int64;
template <>
constexpr DType kDTypeOf<uint64_t> = DType::UInt64;
template <>
constexpr DType kDTypeOf<float> = DType::Float32;
template <>
constexpr DType kDTypeOf<double> = DType::Float64;
template <>
constexpr DType kDTypeOf<std::complex<float>> = DType::Complex64;
template <>
constexpr DType kDTypeOf<std::complex<double>> = DType::Complex128;

// Uninitialised room for `count` elements: std::complex would be zeroed.
template <class T, int64_t kCount>
struct Room {
  alignas(64) std::byte bytes[sizeof(T) * kCount];
  T* get() { return reinterpret_cast<T*>(bytes); }
};

template <class C>
C scalar_as(Scalar scalar) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(scalar.as_int());
  } else if constexpr (std::is_floating_point_v<C>) {
    return scalar.is_float() ? static_cast<C>(scalar.d) : static_cast<C>(scalar.i);
  } else {
    return C(scalar_as<typename C::value_type>(scalar));
  }
}
// The same after it was an element of `dtype`.
template <class C>
C scalar_through(Scalar scalar, DType dtype) {
  if (is_bool(dtype)) {
    return C(scalar.as_bool() ? 1 : 0);
  }
  const C value = scalar_as<C>(scalar);
  if (dtype == kDTypeOf<C>) {
    return value;
  }
  Room<C, 1> element;
  store_run<C>(dtype)(&value, element.get(), 1, 1);
  return load_one<C>(dtype, element.get());
}

template <class C>
struct Source {
  const std::byte* data = nullptr;  // null: `value` everywhere
  size_t operand = 0;               // its place in the nest
  DType dtype{};
  DType common{};
  int64_t element_size = 0;
  int64_t inner_stride = 0;
  bool direct = false;   // adjacent elements of type C
  bool through = false;  // elements become the common dtype first
  LoadRun<C> load = nullptr;
  C value{};

  void read(const void* from, int64_t stride, int64_t n, C* to) const {
    if (!through) {
      load(from, stride, n, to);
      return;
    }
    Room<std::complex<double>, kChunk> elements;
    convert_run(dtype, from, stride, common, elements.get(), 1, n);
    load(elements.get(), 1, n, to);
  }
};

struct Target {
  std::byte* data = nullptr;
  DType dtype{};
  int64_t element_size = 0;
  int64_t inner_stride = 0;
  bool direct = false;
};

template <class R>
void store_chunk(const Target& target, const R* from, std::byte* to, int64_t n) {
  if constexpr (std::is_same_v<R, bool>) {
    convert_run(DType::Bool, from, 1, target.dtype, to, target.inner_stride, n);
  } else {
    store_run<R>(target.dtype)(from, to, target.inner_stride, n);
  }
}

// Elements [begin, end) of the nest, a chunk at a time.
template <class C, class R>
void run_range(const LoopNest& nest, std::span<const Source<C>> sources, const Target& target, int64_t begin,
               int64_t end, Body<C, R> body) {
  Room<C, kChunk * kMaxInputs> input_room;
  Room<R, kChunk> output_room;
  std::array<const C*, kMaxInputs> in{};
  bool buffered = !target.direct;
  for (size_t i = 0; i < sources.size(); ++i) {
    C* buffer = input_room.get() + static_cast<int64_t>(i) * kChunk;
    in[i] = buffer;
    if (sources[i].data == nullptr) {
      std::fill_n(buffer, std::min(kChunk, end - begin), sources[i].value);
    }
    buffered = buffered || !sources[i].direct;
  }
  nest.for_range(begin, end, [&](const int64_t* offsets, int64_t n) {
    for (int64_t at = 0; at < n;) {
      const int64_t count = buffered ? std::min(kChunk, n - at) : n;
      for (size_t i = 0; i < sources.size(); ++i) {
        const Source<C>& source = sources[i];
        if (source.data == nullptr) {
          continue;
        }
        const std::byte* from =
            source.data + (offsets[source.operand] + at * source.inner_stride) * source.element_size;
        if (source.direct) {
          in[i] = reinterpret_cast<const C*>(from);
        } else {
          C* buffer = input_room.get() + static_cast<int64_t>(i) * kChunk;
          source.read(from, source.inner_stride, count, buffer);
        }
      }
      std::byte* to = target.data + (offsets[0] + at * target.inner_stride) * target.element_size;
      if (target.direct) {
        body(in.data(), reinterpret_cast<R*>(to), count);
      } else {
        body(in.data(), output_room.get(), count);
        store_chunk(target, output_room.get(), to, count);
      }
      at += count;
    }
  });
}

template <class R>
bool can_store(DType dtype) {
  if constexpr (std::is_same_v<R, bool>) {
    return compute_type(dtype) != Compute::None;
  } else {
    return store_run<R>(dtype) != nullptr;
  }
}

}  // namespace

Status unsupported(const Call& call, DType dtype) {
  return call.fail(Status::InvalidArgument, "isn't defined for dtype {}", dtype_name(dtype));
}

DType result_of(DType common, bool is_bool, bool is_real) {
  return is_bool ? DType::Bool : is_real ? real_dtype(common) : common;
}

Status check_result(const Call& call, DType result, const Tensor& out) {
  if (!can_cast(result, out.dtype)) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, which can't hold the result's {}", call.arg_name(out),
                     dtype_name(out.dtype), dtype_name(result));
  }
  return Status::Ok;
}

namespace {

// The whole of a small output whose inputs are of the compute type and laid out like it, or numbers. False when it
// isn't so. Most calls of small programs are; the loops of any shape cost them more than their arithmetic.
template <class C, class R>
bool run_alike(DType common, const Tensor& out, std::span<const Operand> inputs, int64_t grain, Body<C, R> body) {
  const int64_t numel = out.numel();
  if (common != kDTypeOf<C> || out.dtype != kDTypeOf<R> || out.data == nullptr || numel > grain || !fills_memory(out)) {
    return false;
  }
  Room<C, kChunk> repeated;  // each number as often as there are elements
  int64_t room = kChunk;
  const auto repeat = [&](C value) -> const C* {
    if (numel > room) {
      return nullptr;
    }
    room -= numel;
    return std::fill_n(repeated.get() + room, numel, value) - numel;
  };
  std::array<const C*, kMaxInputs> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs[i].tensor;
    if (tensor == nullptr) {
      sources[i] = repeat(scalar_as<C>(inputs[i].scalar));
    } else if (tensor->dtype != kDTypeOf<C> || tensor->data == nullptr) {
      return false;
    } else if (tensor->same_layout(out)) {
      sources[i] = tensor->as<const C>();
    } else if (tensor->numel() == 1 && tensor->rank() <= out.rank()) {
      sources[i] = repeat(*tensor->as<const C>());
    } else {
      return false;
    }
    if (sources[i] == nullptr) {
      return false;
    }
  }
  body(sources.data(), out.as<R>(), numel);
  return true;
}

}  // namespace

template <class C, class R>
Status run_elementwise(Call& call, DType common, Tensor& out, std::span<const Operand> inputs, int64_t grain,
                       Body<C, R> body) {
  if (run_alike<C, R>(common, out, inputs, grain, body)) {
    return Status::Ok;
  }
  if (!can_store<R>(out.dtype)) {
    return unsupported(call, out.dtype);
  }
  std::array<Source<C>, kMaxInputs> sources;
  std::array<const Tensor*, kMaxInputs> walking{};  // the inputs that take part in the nest
  size_t walking_count = 0;
  const LoadRun<C> load_common = load_run<C>(common);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs[i].tensor;
    const bool kept = inputs[i].exact && is_half(common);
    Source<C>& source = sources[i];
    if (tensor == nullptr) {
      source.value = kept ? scalar_as<C>(inputs[i].scalar) : scalar_through<C>(inputs[i].scalar, common);
      continue;
    }
    const bool one = tensor->numel() == 1 && tensor->data != nullptr;
    source.dtype = tensor->dtype;
    source.common = common;
    source.through = tensor->dtype != common && common != kDTypeOf<C> && !(one && kept);
    source.load = load_run<C>(tensor->dtype);
    if (source.load == nullptr) {
      return unsupported(call, tensor->dtype);
    }
    if (source.through) {
      source.load = load_common;
    }
    if (one) {
      source.read(tensor->data, 1, 1, &source.value);
      continue;
    }
    source.data = tensor->bytes();
    walking[walking_count++] = tensor;
    source.operand = walking_count;
    source.element_size = static_cast<int64_t>(tensor->element_size());
  }
  LoopNest nest;
  ET_TRY(nest.build(call, out, std::span<const Tensor* const>(walking.data(), walking_count)));
  if (nest.numel() == 0) {
    return Status::Ok;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Source<C>& source = sources[i];
    if (source.data != nullptr) {
      source.inner_stride = nest.inner_stride(static_cast<int>(source.operand));
      source.direct = source.dtype == kDTypeOf<C> && source.inner_stride == 1;
    }
  }
  Target target{.data = out.bytes(),
                .dtype = out.dtype,
                .element_size = static_cast<int64_t>(out.element_size()),
                .inner_stride = nest.inner_stride(0)};
  target.direct = out.dtype == kDTypeOf<R> && target.inner_stride == 1;
  const auto used = std::span<const Source<C>>(sources.data(), inputs.size());
  parallel_for(nest.numel(), grain,
               [&](int64_t begin, int64_t end) { run_range<C, R>(nest, used, target, begin, end, body); });
  return Status::Ok;
}

#define ETRT_INSTANTIATE(C, R) \
  template Status run_elementwise<C, R>(Call&, DType, Tensor&, std::span<const Operand>, int64_t, Body<C, R>)
ETRT_INSTANTIATE(int64_t, int64_t);
ETRT_INSTANTIATE(uint64_t, uint64_t);
ETRT_INSTANTIATE(float, float);
ETRT_INSTANTIATE(double, double);
ETRT_INSTANTIATE(std::complex<float>, std::complex<float>);
ETRT_INSTANTIATE(std::complex<double>, std::complex<double>);
ETRT_INSTANTIATE(int64_t, bool);
ETRT_INSTANTIATE(uint64_t, bool);
ETRT_INSTANTIATE(float, bool);
ETRT_INSTANTIATE(double, bool);
ETRT_INSTANTIATE(std::complex<float>, bool);
ETRT_INSTANTIATE(std::complex<double>, bool);
ETRT_INSTANTIATE(std::complex<float>, float);
ETRT_INSTANTIATE(std::complex<double>, double);
#undef ETRT_INSTANTIATE

}  // namespace detail
}  // namespace etrt::ops
