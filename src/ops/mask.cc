// Operators by masks and truth: nonzero, masked_select, masked_scatter; the indices of triangles.
#include <algorithm>
#include <array>

#include "core/convert.h"
#include "ops/index_walk.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// One byte for every element of self in row-major order, not 0 where the element isn't.
Result<const uint8_t*> truth_of(Call& call, const Tensor& self) {
  if (is_bool(self.dtype)) {
    return reinterpret_cast<const uint8_t*>(row_major_data(call, self));
  }
  const Tensor flags = call.scratch_tensor(DType::Bool, self.sizes());
  if (!strided_convert(self.sizes(), self.dtype, self.data, self.strides(), DType::Bool, flags.data, flags.strides())) {
    return call.fail(Status::InvalidType, "self has dtype {}, which has no truth value", dtype_name(self.dtype));
  }
  return flags.as<const uint8_t>();
}

int64_t count_true(const uint8_t* flags, int64_t n) { return n - std::count(flags, flags + n, uint8_t{0}); }

// Refuses an output that is an input too: resizing it would change what is read.
Status check_distinct(const Call& call, const Tensor& out, const Tensor& input) {
  return &out == &input ? call.fail(Status::InvalidArgument, "out is the input {} too", call.arg_name(input))
                        : Status::Ok;
}

// Writes the coordinates of up to `limit` true elements into the rows of `out`; returns how many there were.
int64_t write_coordinates(const uint8_t* flags, std::span<const int64_t> sizes, int64_t limit, const Tensor& out) {
  auto* to = out.as<int64_t>();
  const int rank = static_cast<int>(sizes.size());
  if (rank == 0) {
    return std::min<int64_t>(limit, *flags != 0 ? 1 : 0);
  }
  int64_t rows = 1;
  for (const int64_t s : sizes.first(static_cast<size_t>(rank - 1))) {
    rows *= s;
  }
  const int64_t inner = sizes[static_cast<size_t>(rank - 1)];
  std::array<int64_t, kMaxRank> at{};
  int64_t found = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < inner && found < limit; ++i) {
      if (flags[row * inner + i] == 0) {
        continue;
      }
      at[static_cast<size_t>(rank - 1)] = i;
      for (int d = 0; d < rank; ++d) {
        to[found * out.stride(0) + d * out.stride(1)] = at[static_cast<size_t>(d)];
      }
      ++found;
    }
    for (int d = rank - 2; d >= 0; --d) {
      if (++at[static_cast<size_t>(d)] < sizes[static_cast<size_t>(d)]) {
        break;
      }
      at[static_cast<size_t>(d)] = 0;
    }
  }
  return found;
}

Status check_int64(const Call& call, const Tensor& out) {
  return out.dtype == DType::Int64
             ? Status::Ok
             : call.fail(Status::InvalidType, "out has dtype {}, expected int64", dtype_name(out.dtype));
}

Status nonzero(Call& call, const Tensor& self, Tensor& out) {
  ET_TRY(check_int64(call, out));
  ET_TRY(check_distinct(call, out, self));
  ET_ASSIGN(const uint8_t* flags, truth_of(call, self));
  const int64_t count = count_true(flags, self.numel());
  ET_TRY(call.resize(out, std::array<int64_t, 2>{count, self.rank()}));
  if (out.numel() > 0) {
    (void)write_coordinates(flags, self.sizes(), count, out);
  }
  return Status::Ok;
}

Status nonzero_static_shape(Call& call, const Tensor& self, int64_t size, int64_t /*fill_value*/, Tensor& out) {
  if (size < 0) {
    return call.fail(Status::InvalidArgument, "size {} is negative", size);
  }
  return call.resize(out, std::array<int64_t, 2>{size, self.rank()});
}

Status nonzero_static(Call& call, const Tensor& self, int64_t size, int64_t fill_value, Tensor& out) {
  ET_TRY(check_int64(call, out));
  ET_TRY(check_sizes(call, out, std::array<int64_t, 2>{size, self.rank()}));
  ET_ASSIGN(const uint8_t* flags, truth_of(call, self));
  if (out.numel() == 0) {
    return Status::Ok;
  }
  const int64_t found = self.numel() == 0 ? 0 : write_coordinates(flags, self.sizes(), size, out);
  View unused = view_of(out);
  narrow_to(unused, 0, found, size - found);
  fill_view(&fill_value, unused);
  return Status::Ok;
}

Status check_mask(const Call& call, const Tensor& mask) {
  return is_bool(mask.dtype)
             ? Status::Ok
             : call.fail(Status::InvalidType, "mask has dtype {}, expected bool", dtype_name(mask.dtype));
}

Status masked_select(Call& call, const Tensor& self, const Tensor& mask, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_mask(call, mask));
  ET_TRY(check_distinct(call, out, self));
  ET_TRY(check_distinct(call, out, mask));
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, self.sizes(), mask.sizes()));
  ET_ASSIGN(const int64_t n, checked_numel(sizes));
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major_data(call, mask, sizes));
  const std::byte* from = row_major_data(call, self, sizes);
  // The places first: out's memory may overlap the mask's.
  auto* places = call.scratch<int64_t>(count_true(flags, n));
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (flags[i] != 0) {
      places[count++] = i;
    }
  }
  ET_TRY(call.resize(out, std::array{count}));
  copy_at(out.element_size(), from, places, out.data, nullptr, count);
  return Status::Ok;
}

Status masked_scatter_shape(Call& call, const Tensor& self, const Tensor& mask, const Tensor& /*source*/, Tensor& out) {
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, self.sizes(), mask.sizes()));
  return call.resize(out, sizes);
}

Status masked_scatter(Call& call, const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_same_dtype(call, source, self));
  ET_TRY(check_mask(call, mask));
  ET_ASSIGN(const Dims sizes, broadcast_sizes(call, self.sizes(), mask.sizes()));
  ET_TRY(check_sizes(call, out, sizes));
  const auto* flags = reinterpret_cast<const uint8_t*>(row_major_data(call, mask, sizes));
  const int64_t n = out.numel();
  auto* places = call.scratch<int64_t>(std::min(source.numel(), n));
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (flags[i] == 0) {
      continue;
    }
    if (count == source.numel()) {
      return call.fail(Status::InvalidArgument, "source has {} elements, fewer than mask has true ones",
                       source.numel());
    }
    places[count++] = i;
  }
  const std::byte* from = row_major_data(call, source);
  const Tensor flat = is_row_major(out) ? out : call.scratch_tensor(out.dtype, sizes);
  ET_TRY(copy_view(call, broadcast_to(view_of(self), sizes), view_of(flat)));
  copy_at(out.element_size(), from, nullptr, flat.data, places, count);
  return flat.data == out.data ? Status::Ok : copy_view(call, view_of(flat), view_of(out));
}

// ---------------------------------------------------------------------------------------------------------
// tril_indices, triu_indices: the coordinates of the elements of a triangle, row by row.

Status check_triangle(const Call& call, int64_t row, int64_t col, int64_t offset) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  if (row < 0 || col < 0 || row > kLimit || col > kLimit || offset < -kLimit || offset > kLimit) {
    return call.fail(Status::InvalidArgument,
                     "row {}, col {} and offset {} must be at most {}, row and col not negative", row, col, offset,
                     kLimit);
  }
  return Status::Ok;
}

// How many elements of row r lie in the lower triangle.
int64_t lower_length(int64_t r, int64_t col, int64_t offset) { return std::clamp<int64_t>(r + offset + 1, 0, col); }

// Elements of the lower triangle in all rows. Lengths rise by one from row `rising` to row `full`.
int64_t lower_count(int64_t row, int64_t col, int64_t offset) {
  const int64_t rising = std::clamp<int64_t>(-offset, 0, row);
  const int64_t full = std::clamp<int64_t>(col - offset - 1, rising, row);
  const int64_t sum = lower_length(rising, col, offset) + lower_length(full - 1, col, offset);
  return (full > rising ? sum * (full - rising) / 2 : 0) + (row - full) * lower_length(full, col, offset);
}

template <bool Upper>
Status triangle_shape(Call& call, int64_t row, int64_t col, int64_t offset, Tensor& out) {
  ET_TRY(check_triangle(call, row, col, offset));
  const int64_t count = Upper ? row * col - lower_count(row, col, offset - 1) : lower_count(row, col, offset);
  return call.resize(out, std::array<int64_t, 2>{2, count});
}

template <bool Upper, class T>
void write_triangle(int64_t row, int64_t col, int64_t offset, const Tensor& out) {
  T* to = out.as<T>();
  int64_t at = 0;
  const int64_t count = out.size(1);
  for (int64_t r = 0; r < row && at < count; ++r) {
    const int64_t first = Upper ? lower_length(r, col, offset - 1) : 0;
    const int64_t last = Upper ? col : lower_length(r, col, offset);
    for (int64_t c = first; c < last && at < count; ++c, ++at) {
      to[at * out.stride(1)] = static_cast<T>(r);
      to[out.stride(0) + at * out.stride(1)] = static_cast<T>(c);
    }
  }
}

template <bool Upper>
Status triangle(Call& call, int64_t row, int64_t col, int64_t offset, Tensor& out) {
  ET_TRY(check_triangle(call, row, col, offset));
  if (out.rank() != 2 || out.size(0) != 2) {
    return call.fail(Status::InvalidArgument, "out has sizes {}, expected [2, n]", sizes_text(out.sizes()));
  }
  switch (out.dtype) {
    case DType::Int64:
      write_triangle<Upper, int64_t>(row, col, offset, out);
      return Status::Ok;
    case DType::Int32:
      write_triangle<Upper, int32_t>(row, col, offset, out);
      return Status::Ok;
    default:
      return call.fail(Status::InvalidType, "out has dtype {}, expected int64 or int32", dtype_name(out.dtype));
  }
}

constexpr uint32_t kMask = kPure | kAnyLayout;
constexpr std::string_view kTriangle = "(int row, int col, int offset=0, *, Tensor(a!) out) -> Tensor(a!)";

constexpr Op kOps[] = {
    {"aten::nonzero.out", "(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", nullptr, bind<nonzero>, kMask},
    {"aten::nonzero_static.out", "(Tensor self, *, SymInt size, int fill_value=-1, Tensor(a!) out) -> Tensor(a!)",
     bind<nonzero_static_shape>, bind<nonzero_static>, kMask},
    {"aten::masked_select.out", "(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)", nullptr,
     bind<masked_select>, kMask},
    {"aten::masked_scatter.out", "(Tensor self, Tensor mask, Tensor source, *, Tensor(a!) out) -> Tensor(a!)",
     bind<masked_scatter_shape>, bind<masked_scatter>, kMask},
    {"aten::tril_indices.out", kTriangle, bind<triangle_shape<false>>, bind<triangle<false>>, kMask},
    {"aten::triu_indices.out", kTriangle, bind<triangle_shape<true>>, bind<triangle<true>>, kMask},
};

}  // namespace

Table mask_ops() { return kOps; }

}  // namespace etrt::ops
