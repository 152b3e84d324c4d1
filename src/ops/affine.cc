#include "ops/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/convert.h"
#include "core/thread_pool.h"
#include "ops/strided_copy.h"

namespace etrt::ops {
namespace {

constexpr int64_t kChunk = 512;          // elements worked on at a time
constexpr int64_t kGrain = 32768;        // elements worth a thread
constexpr double kSmallZeroPoint = 1e6;  // zero points below this leave room in a float's 24 bits
constexpr double kSmallRange = 65536;    // so do quantized values of at most 16 bits

// One dimension of the walk below. Strides in elements; the parameters' move once every `block` elements.
struct WalkDim {
  int64_t size;
  int64_t in;
  int64_t out;
  int64_t block;
  int64_t scale;
  int64_t zero_point;

  bool constant() const { return scale == 0 && zero_point == 0; }
};

// Adjacent elements whose parameters are the same or lie evenly.
struct Piece {
  int64_t in;
  int64_t out;
  int64_t n;
  int64_t scale;  // index of the first element's scale, and how it moves
  int64_t zero_point;
  int64_t scale_step;
  int64_t zero_point_step;
};

// Visits all elements of a tensor in the order in which `out` lies in memory, in pieces.
class Walk {
 public:
  Walk(const Tensor& input, const Tensor& out, const Blocks& blocks) : numel_(input.numel()) {
    for (const uint8_t d : out.dim_order()) {
      add({input.size(d), input.stride(d), out.stride(d), blocks.size[d], blocks.scale.stride[d],
           blocks.zero_point.stride[d]});
    }
    if (rank_ == 0) {
      dims_[rank_++] = {1, 1, 1, 1, 0, 0};
    }
  }

  int64_t numel() const { return numel_; }
  int64_t in_stride() const { return inner().in; }
  int64_t out_stride() const { return inner().out; }
  // Are the parameters' values enough for every element?
  bool fits(const Blocks& blocks) const {
    int64_t scale = 0;
    int64_t zero_point = 0;
    for (int i = 0; i < rank_; ++i) {
      const WalkDim& d = dims_[static_cast<size_t>(i)];
      scale += (d.size - 1) / d.block * d.scale;
      zero_point += (d.size - 1) / d.block * d.zero_point;
    }
    return numel_ == 0 ||
           (scale < std::ssize(blocks.scale.values) && zero_point < std::ssize(blocks.zero_point.values));
  }

  // Calls work(piece) for the elements [begin, end) of the walk.
  template <class Work>
  void visit(int64_t begin, int64_t end, Work work) const {
    const int64_t row = inner().size;
    while (begin < end) {
      const int64_t j = begin % row;
      const int64_t n = std::min(row - j, end - begin);
      visit_row(at_row(begin / row), j, n, work);
      begin += n;
    }
  }

 private:
  const WalkDim& inner() const { return dims_[static_cast<size_t>(rank_ - 1)]; }

  // Appends an inner dimension, joined with the one outside it where one loop can do both.
  void add(WalkDim d) {
    if (d.size == 1) {
      return;
    }
    if (d.block >= d.size) {
      d.scale = 0;
      d.zero_point = 0;
    }
    if (d.constant()) {
      d.block = 1;
    }
    if (rank_ > 0 && join(dims_[static_cast<size_t>(rank_ - 1)], d)) {
      return;
    }
    dims_[static_cast<size_t>(rank_++)] = d;
  }

  static bool join(WalkDim& outer, const WalkDim& d) {
    if (outer.in != d.in * d.size || outer.out != d.out * d.size) {
      return false;
    }
    const int64_t blocks = d.size / d.block;
    if (d.constant()) {
      outer.block = outer.constant() ? 1 : outer.block * d.size;
    } else if (outer.block == 1 && d.size % d.block == 0 && outer.scale == d.scale * blocks &&
               outer.zero_point == d.zero_point * blocks) {
      outer.block = d.block;
      outer.scale = d.scale;
      outer.zero_point = d.zero_point;
    } else {
      return false;
    }
    outer.in = d.in;
    outer.out = d.out;
    outer.size *= d.size;
    return true;
  }

  Piece at_row(int64_t row) const {
    Piece p{};
    for (int i = rank_ - 2; i >= 0; --i) {
      const WalkDim& d = dims_[static_cast<size_t>(i)];
      const int64_t at = row % d.size;
      row /= d.size;
      p.in += at * d.in;
      p.out += at * d.out;
      p.scale += at / d.block * d.scale;
      p.zero_point += at / d.block * d.zero_point;
    }
    return p;
  }

  template <class Work>
  void visit_row(const Piece& row, int64_t j, int64_t n, Work work) const {
    const WalkDim& d = inner();
    const bool varying = d.block == 1 && !d.constant();
    const int64_t end = j + n;
    while (j < end) {
      const int64_t block = j / d.block;
      Piece p = row;
      p.in += j * d.in;
      p.out += j * d.out;
      p.n = d.block == 1 ? end - j : std::min(end, (block + 1) * d.block) - j;
      p.scale += block * d.scale;
      p.zero_point += block * d.zero_point;
      p.scale_step = varying ? d.scale : 0;
      p.zero_point_step = varying ? d.zero_point : 0;
      work(p);
      j += p.n;
    }
  }

  int64_t numel_;
  int rank_ = 0;
  std::array<WalkDim, kMaxRank + 1> dims_;
};

// `n` parameters from index `at` on, `step` apart.
template <class C>
void gather(std::span<const double> values, int64_t at, int64_t step, int64_t n, C* to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<C>(values[static_cast<size_t>(at + i * step)]);
  }
}

template <class Work>
void in_chunks(const Piece& piece, int64_t in_stride, int64_t out_stride, Work work) {
  for (int64_t i = 0; i < piece.n; i += kChunk) {
    Piece p = piece;
    p.n = std::min(kChunk, piece.n - i);
    p.in += i * in_stride;
    p.out += i * out_stride;
    p.scale += i * piece.scale_step;
    p.zero_point += i * piece.zero_point_step;
    work(p);
  }
}

// The memory of a tensor as elements of a storage dtype.
struct Elements {
  std::byte* data;
  DType dtype;
  int64_t size;

  explicit Elements(const Tensor& t)
      : data(t.bytes()), dtype(storage_dtype(t.dtype)), size(static_cast<int64_t>(dtype_size(dtype))) {}
  std::byte* at(int64_t i) const { return data + i * size; }
};

bool small_zero_points(const Blocks& blocks) {
  return std::all_of(blocks.zero_point.values.begin(), blocks.zero_point.values.end(),
                     [](double z) { return std::abs(z) <= kSmallZeroPoint && z == std::nearbyint(z); });
}

bool is_small_int(DType dtype) {
  return dtype == DType::UInt8 || dtype == DType::Int8 || dtype == DType::Int16 || dtype == DType::UInt16;
}

// x * inverse rounded to even, + zero point, clamped; NaN gives 0. A plain loop that the compiler vectorises:
// adding and subtracting 1.5 * 2^23 rounds, and values too big for that are beyond any clamp.
inline int32_t quantize_one(float x, float inverse, float zero_point, float low, float high) {
  constexpr float kRounder = 12582912.0F;
  constexpr float kLimit = 4194304.0F;
  float v = x * inverse;
  v = v < -kLimit ? -kLimit : v;
  v = v > kLimit ? kLimit : v;
  v = (v + kRounder) - kRounder + zero_point;
  v = v < low ? low : v;
  v = v > high ? high : v;
  return static_cast<int32_t>(v == v ? v : 0.0F);
}

struct FloatChunk {
  const float* x;
  const float* inverse;  // one, or one an element if varying
  const float* zero_point;
  bool varying;
  float low;
  float high;
  int64_t n;
};

template <class T>
void quantize_chunk(const FloatChunk& c, std::byte* target, int64_t stride) {
  auto* out = reinterpret_cast<T*>(target);
  const float inverse = *c.inverse;
  const float zero_point = *c.zero_point;
  if (c.varying) {
    for (int64_t i = 0; i < c.n; ++i) {
      out[i * stride] = static_cast<T>(quantize_one(c.x[i], c.inverse[i], c.zero_point[i], c.low, c.high));
    }
  } else if (stride == 1) {
    for (int64_t i = 0; i < c.n; ++i) {
      out[i] = static_cast<T>(quantize_one(c.x[i], inverse, zero_point, c.low, c.high));
    }
  } else {
    for (int64_t i = 0; i < c.n; ++i) {
      out[i * stride] = static_cast<T>(quantize_one(c.x[i], inverse, zero_point, c.low, c.high));
    }
  }
}

using QuantizeChunk = void (*)(const FloatChunk&, std::byte*, int64_t);
QuantizeChunk quantize_chunk_for(DType dtype) {
  switch (dtype) {
    case DType::UInt8:
      return quantize_chunk<uint8_t>;
    case DType::Int8:
      return quantize_chunk<int8_t>;
    case DType::Int16:
      return quantize_chunk<int16_t>;
    case DType::UInt16:
      return quantize_chunk<uint16_t>;
    default:
      return nullptr;
  }
}

bool exact_in_float(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float16 || dtype == DType::BFloat16 || is_small_int(dtype);
}

void quantize_in_float(const Walk& walk, int64_t begin, int64_t end, const Elements& in, const Blocks& blocks,
                       const QuantizeSteps& steps, QuantizeChunk chunk, const Elements& out) {
  const LoadRun<float> load = load_run<float>(in.dtype);
  const bool in_place = in.dtype == DType::Float32 && walk.in_stride() == 1;
  alignas(64) float buffer[kChunk];
  alignas(64) float inverse[kChunk];
  alignas(64) float zero_point[kChunk];
  walk.visit(begin, end, [&](const Piece& piece) {
    in_chunks(piece, walk.in_stride(), walk.out_stride(), [&](const Piece& p) {
      const bool varying = p.scale_step != 0 || p.zero_point_step != 0;
      const int64_t params = varying ? p.n : 1;
      gather(blocks.scale.values, p.scale, p.scale_step, params, inverse);
      gather(blocks.zero_point.values, p.zero_point, p.zero_point_step, params, zero_point);
      const auto* x = reinterpret_cast<const float*>(in.at(p.in));
      if (!in_place) {
        load(in.at(p.in), walk.in_stride(), p.n, buffer);
        x = buffer;
      }
      chunk({x, inverse, zero_point, varying, static_cast<float>(steps.low), static_cast<float>(steps.high), p.n},
            out.at(p.out), walk.out_stride());
    });
  });
}

void quantize_in_double(const Walk& walk, int64_t begin, int64_t end, const Elements& in, const Blocks& blocks,
                        const QuantizeSteps& steps, const Elements& out) {
  const LoadRun<double> load = load_run<double>(in.dtype);
  const StoreRun<double> store = store_run<double>(out.dtype);
  const double low = rounded(steps.sum, steps.low);
  const double high = rounded(steps.sum, steps.high);
  const bool before = steps.whole && steps.round_first;
  const bool after = steps.whole && !steps.round_first;
  double x[kChunk];
  double inverse[kChunk];
  double zero_point[kChunk];
  walk.visit(begin, end, [&](const Piece& piece) {
    in_chunks(piece, walk.in_stride(), walk.out_stride(), [&](const Piece& p) {
      gather(blocks.scale.values, p.scale, p.scale_step, p.n, inverse);
      gather(blocks.zero_point.values, p.zero_point, p.zero_point_step, p.n, zero_point);
      load(in.at(p.in), walk.in_stride(), p.n, x);
      for (int64_t i = 0; i < p.n; ++i) {
        x[i] = steps.divide ? x[i] / inverse[i] : x[i] * inverse[i];
      }
      round_values(steps.product, x, p.n);
      for (int64_t i = 0; i < p.n; ++i) {
        x[i] = (before ? std::nearbyint(x[i]) : x[i]) + zero_point[i];
      }
      round_values(steps.sum, x, p.n);
      for (int64_t i = 0; i < p.n; ++i) {
        double v = after ? std::nearbyint(x[i]) : x[i];
        v = v < low ? low : v;
        x[i] = v > high ? high : v;
      }
      store(x, out.at(p.out), walk.out_stride(), p.n);
    });
  });
}

// (q - zero_point) * scale where every intermediate value is exact but the product.
void dequantize_in_float(const Walk& walk, int64_t begin, int64_t end, const Elements& in, const Blocks& blocks,
                         const Elements& out) {
  const LoadRun<float> load = load_run<float>(in.dtype);
  const StoreRun<float> store = store_run<float>(DType::Float32);
  const bool in_place = walk.out_stride() == 1;
  alignas(64) float buffer[kChunk];
  alignas(64) float scale[kChunk];
  alignas(64) float zero_point[kChunk];
  walk.visit(begin, end, [&](const Piece& piece) {
    in_chunks(piece, walk.in_stride(), walk.out_stride(), [&](const Piece& p) {
      float* x = in_place ? reinterpret_cast<float*>(out.at(p.out)) : buffer;
      load(in.at(p.in), walk.in_stride(), p.n, x);
      if (p.scale_step != 0 || p.zero_point_step != 0) {
        gather(blocks.scale.values, p.scale, p.scale_step, p.n, scale);
        gather(blocks.zero_point.values, p.zero_point, p.zero_point_step, p.n, zero_point);
        for (int64_t i = 0; i < p.n; ++i) {
          x[i] = (x[i] - zero_point[i]) * scale[i];
        }
      } else {
        const auto s = static_cast<float>(blocks.scale.values[static_cast<size_t>(p.scale)]);
        const auto z = static_cast<float>(blocks.zero_point.values[static_cast<size_t>(p.zero_point)]);
        for (int64_t i = 0; i < p.n; ++i) {
          x[i] = (x[i] - z) * s;
        }
      }
      if (!in_place) {
        store(x, out.at(p.out), walk.out_stride(), p.n);
      }
    });
  });
}

void dequantize_in_double(const Walk& walk, int64_t begin, int64_t end, const Elements& in, const Blocks& blocks,
                          const DequantizeSteps& steps, const Elements& out) {
  const LoadRun<double> load = load_run<double>(in.dtype);
  const StoreRun<double> store = store_run<double>(out.dtype);
  double x[kChunk];
  double scale[kChunk];
  double zero_point[kChunk];
  walk.visit(begin, end, [&](const Piece& piece) {
    in_chunks(piece, walk.in_stride(), walk.out_stride(), [&](const Piece& p) {
      gather(blocks.scale.values, p.scale, p.scale_step, p.n, scale);
      load(in.at(p.in), walk.in_stride(), p.n, x);
      round_values(steps.input, x, p.n);
      gather(blocks.zero_point.values, p.zero_point, p.zero_point_step, p.n, zero_point);
      round_values(steps.difference, x, p.n);
      for (int64_t i = 0; i < p.n; ++i) {
        x[i] -= zero_point[i];
      }
      round_values(steps.difference, x, p.n);
      round_values(steps.product, x, p.n);
      for (int64_t i = 0; i < p.n; ++i) {
        x[i] *= scale[i];
      }
      round_values(steps.product, x, p.n);
      store(x, out.at(p.out), walk.out_stride(), p.n);
    });
  });
}

// The parts of `quantize` and `dequantize` that don't depend on the direction.
Status check_walk(Call& call, const Tensor& input, const Tensor& out, const Blocks& blocks, const Walk& walk) {
  if (!input.same_sizes(out)) {
    return call.fail(Status::InvalidArgument, "{} is {}, but {} is {}", call.arg_name(out), tensor_text(out),
                     call.arg_name(input), tensor_text(input));
  }
  if (!walk.fits(blocks)) {
    return call.fail(Status::InvalidArgument, "{} scales and {} zero points are too few for {}",
                     blocks.scale.values.size(), blocks.zero_point.values.size(), tensor_text(input));
  }
  for (const Tensor* t : {&input, &out}) {
    if (load_run<double>(storage_dtype(t->dtype)) == nullptr) {
      return call.fail(Status::InvalidArgument, "{} has dtype {}, expected an integer or floating dtype",
                       call.arg_name(*t), dtype_name(t->dtype));
    }
  }
  return Status::Ok;
}

constexpr bool is_exact_integer_step(DType dtype) {
  return dtype == DType::Int32 || dtype == DType::Int64 || dtype == DType::Float32 || dtype == DType::Int16;
}

// The plain loop over floats; NaN is kept apart so that the comparisons vectorise.
template <class C>
void add_to_range(const C* x, int64_t n, BlockRange& range) {
  C low = std::numeric_limits<C>::infinity();
  C high = -low;
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    nan |= std::isnan(x[i]);
  }
  if (nan) {
    range.low = std::numeric_limits<double>::quiet_NaN();
    range.high = range.low;
  } else if (range.low == range.low) {
    range.low = std::min(range.low, static_cast<double>(low));
    range.high = std::max(range.high, static_cast<double>(high));
  }
}

}  // namespace

DType storage_dtype(DType dtype) {
  switch (dtype) {
    case DType::Bits8:
    case DType::QUInt8:
      return DType::UInt8;
    case DType::QInt8:
      return DType::Int8;
    case DType::Bits16:
      return DType::UInt16;
    case DType::QInt32:
      return DType::Int32;
    default:
      return dtype;
  }
}

void round_values(DType dtype, double* values, int64_t n) {
  switch (dtype) {
    case DType::Float64:
    case DType::Int64:
      return;
    case DType::Float32:
      for (int64_t i = 0; i < n; ++i) {
        values[i] = static_cast<double>(static_cast<float>(values[i]));
      }
      return;
    case DType::Int32:
      for (int64_t i = 0; i < n; ++i) {
        // NaN and what no int64 holds stay; nothing that eager computes gets there.
        if (std::abs(values[i]) < 9e18) {
          values[i] = static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(values[i])));
        }
      }
      return;
    default:
      break;
  }
  const StoreRun<double> store = store_run<double>(dtype);
  const LoadRun<double> load = load_run<double>(dtype);
  if (store == nullptr || load == nullptr) {
    return;
  }
  std::byte stored[256];
  const int64_t step = 256 / static_cast<int64_t>(dtype_size(dtype));
  for (int64_t i = 0; i < n; i += step) {
    const int64_t count = std::min(step, n - i);
    store(values + i, stored, 1, count);
    load(stored, 1, count, values + i);
  }
}

double rounded(DType dtype, double value) {
  round_values(dtype, &value, 1);
  return value;
}

DType promote_tensors(DType a, int rank_a, DType b, int rank_b) {
  const auto category = [](DType d) { return is_complex(d) ? 3 : is_float(d) ? 2 : is_bool(d) ? 0 : 1; };
  if (rank_a == 0 && rank_b > 0 && category(a) <= category(b)) {
    return b;
  }
  if (rank_b == 0 && rank_a > 0 && category(b) <= category(a)) {
    return a;
  }
  // Where eager has no promotion (uint16 with a signed type, float8) double holds every value.
  return promote(a, b).value_or(DType::Float64);
}

Result<std::span<double>> load_values(Call& call, const Tensor& tensor, const char* name) {
  auto* values = call.scratch<double>(std::max<int64_t>(tensor.numel(), 1));
  const Tensor target = Tensor::view(values, DType::Float64, tensor.sizes());
  if (!strided_convert(tensor.sizes(), storage_dtype(tensor.dtype), tensor.data, tensor.strides(), DType::Float64,
                       values, target.strides())) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected an integer or floating dtype", name,
                     dtype_name(tensor.dtype));
  }
  return std::span<double>(values, static_cast<size_t>(tensor.numel()));
}

Result<double> load_single(Call& call, const Tensor& tensor, const char* name) {
  if (tensor.numel() != 1) {
    return call.fail(Status::InvalidArgument, "{} has sizes {}, expected one element", name,
                     sizes_text(tensor.sizes()));
  }
  ET_ASSIGN(const auto values, load_values(call, tensor, name));
  return values[0];
}

Blocks whole_tensor_block(const Tensor& tensor) {
  Blocks blocks;
  for (int d = 0; d < tensor.rank(); ++d) {
    blocks.size[static_cast<size_t>(d)] = std::max<int64_t>(tensor.size(d), 1);
  }
  return blocks;
}

Status quantize(Call& call, const Tensor& input, const Blocks& blocks, const QuantizeSteps& steps, Tensor& out) {
  const Walk walk(input, out, blocks);
  ET_TRY(check_walk(call, input, out, blocks, walk));
  const Elements from(input);
  const Elements to(out);
  const QuantizeChunk chunk = quantize_chunk_for(to.dtype);
  const bool in_float = chunk != nullptr && exact_in_float(from.dtype) && steps.whole && !steps.divide &&
                        steps.round_first && steps.product == DType::Float32 && steps.sum == DType::Float32 &&
                        steps.low >= -kSmallRange && steps.high <= kSmallRange && steps.low <= steps.high &&
                        small_zero_points(blocks);
  parallel_for(walk.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (in_float) {
      quantize_in_float(walk, begin, end, from, blocks, steps, chunk, to);
    } else {
      quantize_in_double(walk, begin, end, from, blocks, steps, to);
    }
  });
  return Status::Ok;
}

Status dequantize(Call& call, const Tensor& input, const Blocks& blocks, const DequantizeSteps& steps, Tensor& out) {
  const Walk walk(input, out, blocks);
  ET_TRY(check_walk(call, input, out, blocks, walk));
  const Elements from(input);
  const Elements to(out);
  const bool in_float = is_small_int(from.dtype) && to.dtype == DType::Float32 && steps.product == DType::Float32 &&
                        (steps.input == from.dtype || steps.input == DType::Float32) &&
                        is_exact_integer_step(steps.difference) && small_zero_points(blocks);
  parallel_for(walk.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (in_float) {
      dequantize_in_float(walk, begin, end, from, blocks, to);
    } else {
      dequantize_in_double(walk, begin, end, from, blocks, steps, to);
    }
  });
  return Status::Ok;
}

Result<std::span<BlockRange>> block_ranges(Call& call, const Tensor& input, const Blocks& blocks, int64_t count) {
  auto* ranges = call.scratch<BlockRange>(std::max<int64_t>(count, 1));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::fill_n(ranges, count, BlockRange{kInfinity, -kInfinity});
  const Walk walk(input, input, blocks);
  const Elements in(input);
  const LoadRun<float> load = load_run<float>(in.dtype);
  const LoadRun<double> load_wide = load_run<double>(in.dtype);
  if (load == nullptr) {
    return call.fail(Status::InvalidArgument, "{} has dtype {}, expected an integer or floating dtype",
                     call.arg_name(input), dtype_name(input.dtype));
  }
  const bool narrow = exact_in_float(in.dtype);
  const bool in_place = in.dtype == DType::Float32 && walk.in_stride() == 1;
  alignas(64) float buffer[kChunk];
  double wide[kChunk];
  bool out_of_range = false;
  walk.visit(0, walk.numel(), [&](const Piece& piece) {
    in_chunks(piece, walk.in_stride(), walk.in_stride(), [&](const Piece& p) {
      const int64_t last = p.scale + (p.n - 1) * p.scale_step;
      if (last >= count) {
        out_of_range = true;
        return;
      }
      const int64_t each = p.scale_step == 0 ? p.n : 1;
      if (narrow) {
        const auto* x = reinterpret_cast<const float*>(in.at(p.in));
        if (!in_place) {
          load(in.at(p.in), walk.in_stride(), p.n, buffer);
          x = buffer;
        }
        for (int64_t i = 0; i < p.n; i += each) {
          add_to_range(x + i, each, ranges[p.scale + i * p.scale_step]);
        }
      } else {
        load_wide(in.at(p.in), walk.in_stride(), p.n, wide);
        for (int64_t i = 0; i < p.n; i += each) {
          add_to_range(wide + i, each, ranges[p.scale + i * p.scale_step]);
        }
      }
    });
  });
  if (out_of_range) {
    return call.fail(Status::InvalidArgument, "{} has more than {} blocks", tensor_text(input), count);
  }
  return std::span<BlockRange>(ranges, static_cast<size_t>(count));
}

}  // namespace etrt::ops
