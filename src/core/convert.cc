#include "core/convert.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/half.h"

namespace etrt {
namespace {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool kIsComplex = IsComplex<T>::value;

// Float to integer as the x86-64 instruction does it, without undefined behaviour elsewhere.
template <std::signed_integral To, std::floating_point From>
To truncate_to(From value) {
  constexpr From kLimit = static_cast<From>(uint64_t{1} << (sizeof(To) * 8 - 1));
  return value >= -kLimit && value < kLimit ? static_cast<To>(value) : std::numeric_limits<To>::min();
}

// int32 values just below -2^31 truncate into range when they come from double.
template <>
[[maybe_unused]] int32_t truncate_to<int32_t, double>(double value) {
  return value > -2147483649.0 && value < 2147483648.0 ? static_cast<int32_t>(value)
                                                       : std::numeric_limits<int32_t>::min();
}

template <std::integral To, std::floating_point From>
To float_to_int(From value) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    // Two halves of the range; negative values wrap.
    constexpr From kHalf = static_cast<From>(uint64_t{1} << 63);
    return value >= kHalf ? static_cast<uint64_t>(truncate_to<int64_t>(value - kHalf)) ^ (uint64_t{1} << 63)
                          : static_cast<uint64_t>(truncate_to<int64_t>(value));
  } else if constexpr (std::is_same_v<To, uint32_t> || std::is_same_v<To, uint8_t>) {
    return static_cast<To>(truncate_to<int64_t>(value));
  } else if constexpr (sizeof(To) < sizeof(int32_t)) {
    return static_cast<To>(truncate_to<int32_t>(value));
  } else {
    return truncate_to<To>(value);
  }
}

// One value to another type by eager's rules.
template <class To, class From>
To cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
    using R = typename To::value_type;
    return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
  } else if constexpr (kIsComplex<To>) {
    return To(cast<typename To::value_type>(value), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (kIsComplex<From>) {
    return cast<To>(value.real());
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_int<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// How an element lies in memory: Word is the stored form, Value what it stands for.
template <class T>
struct Plain {
  using Word = T;
  using Value = T;
  static Value decode(Word w) { return w; }
  static Word encode(Value v) { return v; }
};
struct BoolByte {
  using Word = uint8_t;
  using Value = bool;
  static Value decode(Word w) { return w != 0; }
  static Word encode(Value v) { return v ? 1 : 0; }
};
template <class W, float (*Decode)(W), W (*Encode)(float)>
struct SmallFloat {
  using Word = W;
  using Value = float;
  static Value decode(Word w) { return Decode(w); }
  static Word encode(Value v) { return Encode(v); }
};
using HalfWord = SmallFloat<uint16_t, half_to_float, float_to_half>;
using BFloat16Word = SmallFloat<uint16_t, bfloat16_to_float, float_to_bfloat16>;
using E5M2 = SmallFloat<uint8_t, float8_e5m2_to_float, float_to_float8_e5m2>;
using E4M3FN = SmallFloat<uint8_t, float8_e4m3fn_to_float, float_to_float8_e4m3fn>;
using E5M2FNUZ = SmallFloat<uint8_t, float8_e5m2fnuz_to_float, float_to_float8_e5m2fnuz>;
using E4M3FNUZ = SmallFloat<uint8_t, float8_e4m3fnuz_to_float, float_to_float8_e4m3fnuz>;
struct HalfPair {
  uint16_t real;
  uint16_t imag;
};
struct ComplexHalf {
  using Word = HalfPair;
  using Value = std::complex<float>;
  static Value decode(Word w) { return {half_to_float(w.real), half_to_float(w.imag)}; }
  static Word encode(Value v) { return {float_to_half(v.real()), float_to_half(v.imag())}; }
};

template <class C, class S>
void load(const void* source, int64_t stride, int64_t n, C* to) {
  const auto* from = static_cast<const typename S::Word*>(source);
  if (stride == 1) {
    if constexpr (std::is_same_v<C, typename S::Word> && std::is_same_v<S, Plain<C>>) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(C));
    } else if constexpr (std::is_same_v<S, HalfWord> && std::is_same_v<C, float>) {
      half_to_float_run(from, to, n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = cast<C>(S::decode(from[i]));
      }
    }
  } else if (stride == 0) {
    std::fill_n(to, n, n > 0 ? cast<C>(S::decode(*from)) : C{});
  } else {
    for (int64_t i = 0; i < n; ++i) {
      to[i] = cast<C>(S::decode(from[i * stride]));
    }
  }
}

template <class C, class S>
void store(const C* from, void* target, int64_t stride, int64_t n) {
  auto* to = static_cast<typename S::Word*>(target);
  if (stride == 1) {
    if constexpr (std::is_same_v<S, Plain<C>>) {
      std::memcpy(to, from, static_cast<size_t>(n) * sizeof(C));
    } else if constexpr (std::is_same_v<S, HalfWord> && std::is_same_v<C, float>) {
      float_to_half_run(from, to, n);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = S::encode(cast<typename S::Value>(from[i]));
      }
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      to[i * stride] = S::encode(cast<typename S::Value>(from[i]));
    }
  }
}

// Picks the storage form of `dtype` and gives visit<S>(); `none` where there is no arithmetic.
template <class Fn, class Visitor>
Fn for_storage(DType dtype, bool complex, Visitor visit) {
  switch (dtype) {
    case DType::UInt8:
      return visit.template operator()<Plain<uint8_t>>();
    case DType::Int8:
      return visit.template operator()<Plain<int8_t>>();
    case DType::Int16:
      return visit.template operator()<Plain<int16_t>>();
    case DType::Int32:
      return visit.template operator()<Plain<int32_t>>();
    case DType::Int64:
      return visit.template operator()<Plain<int64_t>>();
    case DType::UInt16:
      return visit.template operator()<Plain<uint16_t>>();
    case DType::UInt32:
      return visit.template operator()<Plain<uint32_t>>();
    case DType::UInt64:
      return visit.template operator()<Plain<uint64_t>>();
    case DType::Bool:
      return visit.template operator()<BoolByte>();
    case DType::Float16:
      return visit.template operator()<HalfWord>();
    case DType::BFloat16:
      return visit.template operator()<BFloat16Word>();
    case DType::Float32:
      return visit.template operator()<Plain<float>>();
    case DType::Float64:
      return visit.template operator()<Plain<double>>();
    case DType::Float8E5M2:
      return visit.template operator()<E5M2>();
    case DType::Float8E4M3FN:
      return visit.template operator()<E4M3FN>();
    case DType::Float8E5M2FNUZ:
      return visit.template operator()<E5M2FNUZ>();
    case DType::Float8E4M3FNUZ:
      return visit.template operator()<E4M3FNUZ>();
    case DType::Complex32:
      return complex ? visit.template operator()<ComplexHalf>() : nullptr;
    case DType::Complex64:
      return complex ? visit.template operator()<Plain<std::complex<float>>>() : nullptr;
    case DType::Complex128:
      return complex ? visit.template operator()<Plain<std::complex<double>>>() : nullptr;
    default:
      return nullptr;
  }
}

// The dtype whose storage form is C.
template <class C>
constexpr DType kDTypeOf = DType::Bool;
template <>
constexpr DType kDTypeOf<float> = DType::Float32;
template <>
constexpr DType kDTypeOf<double> = DType::Float64;
template <>
constexpr DType kDTypeOf<int64_t> = DType::Int64;
template <>
constexpr DType kDTypeOf<uint64_t> = DType::UInt64;
template <>
constexpr DType kDTypeOf<std::complex<float>> = DType::Complex64;
template <>
constexpr DType kDTypeOf<std::complex<double>> = DType::Complex128;

template <class C>
bool convert_through(DType from, const void* source, int64_t source_stride, DType to, void* target,
                     int64_t target_stride, int64_t n) {
  const LoadRun<C> read = load_run<C>(from);
  const StoreRun<C> write = store_run<C>(to);
  if (read == nullptr || write == nullptr) {
    return false;
  }
  if (to == kDTypeOf<C> && target_stride == 1) {
    read(source, source_stride, n, static_cast<C*>(target));
    return true;
  }
  if (from == kDTypeOf<C> && source_stride == 1) {
    write(static_cast<const C*>(source), target, target_stride, n);
    return true;
  }
  constexpr int64_t kChunk = 256;
  C buffer[kChunk];
  const auto* in = static_cast<const std::byte*>(source);
  auto* out = static_cast<std::byte*>(target);
  const auto in_step = source_stride * static_cast<int64_t>(dtype_size(from));
  const auto out_step = target_stride * static_cast<int64_t>(dtype_size(to));
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = std::min(kChunk, n - i);
    read(in + i * in_step, source_stride, count, buffer);
    write(buffer, out + i * out_step, target_stride, count);
  }
  return true;
}

template <class Word>
void copy_words(const void* source, int64_t source_stride, void* target, int64_t target_stride, int64_t n) {
  const auto* from = static_cast<const Word*>(source);
  auto* to = static_cast<Word*>(target);
  for (int64_t i = 0; i < n; ++i) {
    to[i * target_stride] = from[i * source_stride];
  }
}

struct Word16 {
  uint64_t low;
  uint64_t high;
};

}  // namespace

void copy_run(size_t element_size, const void* source, int64_t source_stride, void* target, int64_t target_stride,
              int64_t n) {
  if (n <= 0) {
    return;
  }
  if (source_stride == 1 && target_stride == 1) {
    std::memmove(target, source, static_cast<size_t>(n) * element_size);
    return;
  }
  switch (element_size) {
    case 1:
      return copy_words<uint8_t>(source, source_stride, target, target_stride, n);
    case 2:
      return copy_words<uint16_t>(source, source_stride, target, target_stride, n);
    case 4:
      return copy_words<uint32_t>(source, source_stride, target, target_stride, n);
    case 8:
      return copy_words<uint64_t>(source, source_stride, target, target_stride, n);
    default:
      return copy_words<Word16>(source, source_stride, target, target_stride, n);
  }
}

template <class C>
LoadRun<C> load_run(DType dtype) {
  return for_storage<LoadRun<C>>(dtype, kIsComplex<C>, []<class S>() -> LoadRun<C> {
    if constexpr (kIsComplex<typename S::Value> && !kIsComplex<C>) {
      return nullptr;
    } else {
      return &load<C, S>;
    }
  });
}

template <class C>
StoreRun<C> store_run(DType dtype) {
  return for_storage<StoreRun<C>>(dtype, kIsComplex<C>, []<class S>() -> StoreRun<C> {
    if constexpr (kIsComplex<typename S::Value> && !kIsComplex<C>) {
      return nullptr;
    } else {
      return &store<C, S>;
    }
  });
}

#define ETRT_INSTANTIATE(C)                     \
  template LoadRun<C> load_run<C>(DType dtype); \
  template StoreRun<C> store_run<C>(DType dtype)
ETRT_INSTANTIATE(float);
ETRT_INSTANTIATE(double);
ETRT_INSTANTIATE(int64_t);
ETRT_INSTANTIATE(uint64_t);
ETRT_INSTANTIATE(std::complex<float>);
ETRT_INSTANTIATE(std::complex<double>);
#undef ETRT_INSTANTIATE

bool convert_run(DType from, const void* source, int64_t source_stride, DType to, void* target, int64_t target_stride,
                 int64_t n) {
  if (from == to && from != DType::Bool) {  // a bool byte that is neither 0 nor 1 becomes 1
    copy_run(dtype_size(from), source, source_stride, target, target_stride, n);
    return true;
  }
  const auto wide = [](DType d) { return d == DType::Float64 || d == DType::Complex128; };
  const auto whole = [](DType d) { return is_int(d) || is_bool(d); };
  if (is_complex(from) || is_complex(to)) {
    return wide(from) || wide(to)
               ? convert_through<std::complex<double>>(from, source, source_stride, to, target, target_stride, n)
               : convert_through<std::complex<float>>(from, source, source_stride, to, target, target_stride, n);
  }
  if (whole(from) && whole(to)) {
    return convert_through<int64_t>(from, source, source_stride, to, target, target_stride, n);
  }
  if (wide(from) || wide(to)) {
    return convert_through<double>(from, source, source_stride, to, target, target_stride, n);
  }
  return convert_through<float>(from, source, source_stride, to, target, target_stride, n);
}

}  // namespace etrt
