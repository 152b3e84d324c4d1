#include "ops/combine.h"

#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "core/half.h"

namespace etrt::ops {
namespace {

// Stored type and computing type of an element.
template <class T>
struct Plain {
  using Word = T;
  static T load(T w) { return w; }
  static T store(T v) { return v; }
};
struct Float16 {
  using Word = uint16_t;
  static float load(Word w) { return half_to_float(w); }
  static Word store(float v) { return float_to_half(v); }
};
struct Bfloat16 {
  using Word = uint16_t;
  static float load(Word w) { return bfloat16_to_float(w); }
  static Word store(float v) { return float_to_bfloat16(v); }
};
struct BoolByte {
  using Word = uint8_t;
  static bool load(Word w) { return w != 0; }
  static Word store(bool v) { return v ? 1 : 0; }
};

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(v);
  } else {
    return false;
  }
}

template <Combine Op, class T>
T apply(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return Op == Combine::Add || Op == Combine::Max ? a || b : a && b;
  } else if constexpr (Op == Combine::Add || Op == Combine::Multiply) {
    if constexpr (std::is_integral_v<T>) {
      // Wraps; uint64_t because a product of two 16-bit numbers would be a signed int.
      const auto x = static_cast<uint64_t>(a);
      const auto y = static_cast<uint64_t>(b);
      return static_cast<T>(Op == Combine::Add ? x + y : x * y);
    } else {
      return Op == Combine::Add ? a + b : a * b;
    }
  } else if constexpr (IsComplex<T>::value) {
    return a;  // not reached: complex numbers have no order
  } else {
    if (is_nan(a) || is_nan(b)) {
      return is_nan(a) ? a : b;
    }
    return (Op == Combine::Min ? b < a : a < b) ? b : a;
  }
}

template <Combine Op, class S>
void update_at(const void* source, const int64_t* source_offsets, void* target, const int64_t* target_offsets,
               int64_t n) {
  const auto* from = static_cast<const typename S::Word*>(source);
  auto* to = static_cast<typename S::Word*>(target);
  for (int64_t i = 0; i < n; ++i) {
    auto& place = to[target_offsets[i]];
    place = S::store(apply<Op>(S::load(place), S::load(from[source_offsets[i]])));
  }
}

template <Combine Op, class S>
void update_run(const void* source, int64_t source_stride, void* target, int64_t target_stride, int64_t n) {
  const auto* from = static_cast<const typename S::Word*>(source);
  auto* to = static_cast<typename S::Word*>(target);
  if (source_stride == 1 && target_stride == 1) {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = S::store(apply<Op>(S::load(to[i]), S::load(from[i])));
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      auto& place = to[i * target_stride];
      place = S::store(apply<Op>(S::load(place), S::load(from[i * source_stride])));
    }
  }
}

struct Both {
  CombineAt at = nullptr;
  CombineRun run = nullptr;
};

template <class S>
Both both(Combine op) {
  switch (op) {
    case Combine::Add:
      return {update_at<Combine::Add, S>, update_run<Combine::Add, S>};
    case Combine::Multiply:
      return {update_at<Combine::Multiply, S>, update_run<Combine::Multiply, S>};
    default:
      break;
  }
  if constexpr (!IsComplex<typename S::Word>::value) {
    return op == Combine::Min ? Both{update_at<Combine::Min, S>, update_run<Combine::Min, S>}
                              : Both{update_at<Combine::Max, S>, update_run<Combine::Max, S>};
  } else {
    return {};
  }
}

Both find(Combine op, DType dtype) {
  switch (dtype) {
    case DType::UInt8:
      return both<Plain<uint8_t>>(op);
    case DType::Int8:
      return both<Plain<int8_t>>(op);
    case DType::Int16:
      return both<Plain<int16_t>>(op);
    case DType::Int32:
      return both<Plain<int32_t>>(op);
    case DType::Int64:
      return both<Plain<int64_t>>(op);
    case DType::UInt16:
      return both<Plain<uint16_t>>(op);
    case DType::UInt32:
      return both<Plain<uint32_t>>(op);
    case DType::UInt64:
      return both<Plain<uint64_t>>(op);
    case DType::Float16:
      return both<Float16>(op);
    case DType::BFloat16:
      return both<Bfloat16>(op);
    case DType::Float32:
      return both<Plain<float>>(op);
    case DType::Float64:
      return both<Plain<double>>(op);
    case DType::Bool:
      return both<BoolByte>(op);
    case DType::Complex64:
      return both<Plain<std::complex<float>>>(op);
    case DType::Complex128:
      return both<Plain<std::complex<double>>>(op);
    default:
      return {};
  }
}

}  // namespace

CombineAt combine_at(Combine op, DType dtype) { return find(op, dtype).at; }
CombineRun combine_run(Combine op, DType dtype) { return find(op, dtype).run; }

void combine_views(CombineRun run, const View& from, const View& to) {
  if (from.empty()) {
    return;
  }
  const auto size = static_cast<int64_t>(dtype_size(from.dtype));
  const int inner = from.rank() - 1;
  if (inner < 0) {
    run(from.first(), 0, to.first(), 0, 1);
    return;
  }
  std::array<int64_t, Dims::kCapacity> index{};
  const std::byte* source = from.first();
  std::byte* target = to.first();
  while (true) {
    run(source, from.strides[inner], target, to.strides[inner], from.sizes[inner]);
    int d = inner - 1;
    for (; d >= 0; --d) {
      int64_t& at = index[static_cast<size_t>(d)];
      source += from.strides[d] * size;
      target += to.strides[d] * size;
      if (++at < from.sizes[d]) {
        break;
      }
      source -= at * from.strides[d] * size;
      target -= at * to.strides[d] * size;
      at = 0;
    }
    if (d < 0) {
      return;
    }
  }
}

}  // namespace etrt::ops
