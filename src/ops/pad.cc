// Padding: constant, reflection, replication, and their gradients.
#include <algorithm>
#include <array>

#include "core/checked.h"
#include "ops/combine.h"
#include "ops/element.h"
#include "ops/strided_view.h"
#include "ops/table.h"

namespace etrt::ops {
namespace {

// ---------------------------------------------------------------------------------------------------------
// constant_pad_nd

// Padding before and after each dimension; `pad` gives pairs from the last dimension backward.
struct Padding {
  Dims before;
  Dims after;
  Dims out_sizes;
};

Result<Padding> paddings(const Call& call, const Tensor& self, IntList pad) {
  if (pad.size() % 2 != 0 || pad.size() > 2 * static_cast<size_t>(self.rank())) {
    return call.fail(Status::InvalidArgument, "pad {} must hold pairs for at most the {} dimensions of self",
                     sizes_text(pad), self.rank());
  }
  Padding p;
  for (int d = 0; d < self.rank(); ++d) {
    const size_t pair = static_cast<size_t>(self.rank() - 1 - d) * 2;
    const int64_t before = pair < pad.size() ? pad[pair] : 0;
    const int64_t after = pair < pad.size() ? pad[pair + 1] : 0;
    int64_t size = 0;
    // Cropping first: what negative padding leaves can't be negative, whatever the other side adds.
    int64_t kept = 0;
    if (!checked_add(self.size(d), std::min<int64_t>(before, 0), kept) ||
        !checked_add(kept, std::min<int64_t>(after, 0), kept) || kept < 0 || !checked_add(self.size(d), before, size) ||
        !checked_add(size, after, size)) {
      return call.fail(Status::InvalidArgument, "pad {} doesn't fit self of sizes {}: dimension {} would be negative",
                       sizes_text(pad), sizes_text(self.sizes()), d);
    }
    p.before.push_back(before);
    p.after.push_back(after);
    p.out_sizes.push_back(size);
  }
  return p;
}

Status constant_pad_shape(Call& call, const Tensor& self, IntList pad, Scalar /*value*/, Tensor& out) {
  ET_ASSIGN(const Padding p, paddings(call, self, pad));
  return call.resize(out, p.out_sizes);
}

Status constant_pad(Call& call, const Tensor& self, IntList pad, Scalar value, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_ASSIGN(const Padding p, paddings(call, self, pad));
  ET_TRY(check_sizes(call, out, p.out_sizes));
  ET_ASSIGN(const Element element, element_of(call, value, out.dtype));
  View from = view_of(self);
  View inside = view_of(out);
  for (int d = 0; d < self.rank(); ++d) {
    const int64_t before = std::max<int64_t>(p.before[d], 0);
    const int64_t after = std::max<int64_t>(p.after[d], 0);
    // The margins of this dimension, within the interior of the dimensions before it.
    View margin = inside;
    narrow_to(margin, d, 0, before);
    fill_view(element.data(), margin);
    margin = inside;
    narrow_to(margin, d, out.size(d) - after, after);
    fill_view(element.data(), margin);
    narrow_to(inside, d, before, out.size(d) - before - after);
    narrow_to(from, d, std::max<int64_t>(-p.before[d], 0), inside.sizes[d]);
  }
  return copy_view(call, from, inside);
}

// ---------------------------------------------------------------------------------------------------------
// Reflection and replication: along each padded dimension the output is up to three pieces, each a run through
// the input forward, backward or standing still.

enum class Mode : uint8_t { Reflect, Replicate };

struct Piece {
  int64_t out_start = 0;
  int64_t length = 0;
  int64_t in_start = 0;
  int64_t step = 1;  // 1, -1 or 0
};

struct Pieces {
  int64_t out_size = 0;
  std::array<Piece, 3> pieces;
};

Pieces pieces_of(Mode mode, int64_t size, int64_t before, int64_t after) {
  Pieces p;
  p.out_size = size + before + after;
  const int64_t first = std::clamp<int64_t>(before, 0, p.out_size);
  const int64_t last = std::clamp<int64_t>(before + size, first, p.out_size);
  const bool reflect = mode == Mode::Reflect;
  if (first > 0) {
    p.pieces[0] = {0, first, reflect ? before : 0, reflect ? -1 : 0};
  }
  if (last > first) {
    p.pieces[1] = {first, last - first, first - before, 1};
  }
  if (p.out_size > last) {
    const int64_t edge = size - 1;
    p.pieces[2] = {last, p.out_size - last, reflect ? edge - (last - before - edge) : edge, reflect ? -1 : 0};
  }
  return p;
}

struct SpatialPadding {
  int count = 0;  // padded dimensions, the last ones
  std::array<Pieces, 3> dims;
  Dims out_sizes;
};

// `N` padded dimensions after an optional batch dimension and the channels.
Result<SpatialPadding> spatial(const Call& call, Mode mode, int n, const Tensor& self, IntList padding) {
  if (padding.size() != static_cast<size_t>(2 * n)) {
    return call.fail(Status::InvalidArgument, "padding {} has {} entries, expected {}", sizes_text(padding),
                     padding.size(), 2 * n);
  }
  bool ok = self.rank() == n + 1 || self.rank() == n + 2;
  for (int d = self.rank() - n - 1; ok && d < self.rank(); ++d) {
    ok = self.size(d) > 0;
  }
  if (!ok) {
    return call.fail(Status::InvalidArgument,
                     "{} of sizes {} must have {} or {} dimensions, none of them empty but the batch's",
                     call.arg_name(self), sizes_text(self.sizes()), n + 1, n + 2);
  }
  SpatialPadding p{n, {}, Dims(self.sizes())};
  for (int i = 0; i < n; ++i) {
    const int d = self.rank() - n + i;
    const int64_t size = self.size(d);
    const int64_t before = padding[static_cast<size_t>(2 * (n - 1 - i))];
    const int64_t after = padding[static_cast<size_t>(2 * (n - 1 - i) + 1)];
    if (mode == Mode::Reflect && (before >= size || after >= size)) {
      return call.fail(Status::InvalidArgument, "padding ({}, {}) must be less than the size {} of dimension {}",
                       before, after, size, d);
    }
    int64_t out_size = 0;
    if (!checked_add(size, before, out_size) || !checked_add(out_size, after, out_size) || out_size < 1) {
      return call.fail(Status::InvalidArgument, "padding ({}, {}) leaves nothing of dimension {} of size {}", before,
                       after, d, size);
    }
    p.dims[static_cast<size_t>(i)] = pieces_of(mode, size, before, after);
    p.out_sizes[d] = out_size;
  }
  return p;
}

// Calls body(input view, output view) for every combination of pieces.
template <class Body>
Status for_each_piece(const SpatialPadding& p, const View& input, const View& output, int i, const Body& body) {
  if (i == p.count) {
    return body(input, output);
  }
  const int d = input.rank() - p.count + i;
  for (const Piece& piece : p.dims[static_cast<size_t>(i)].pieces) {
    if (piece.length <= 0) {
      continue;
    }
    View in = input;
    View out = output;
    narrow_to(out, d, piece.out_start, piece.length);
    in.offset += piece.in_start * in.strides[d];
    in.sizes[d] = piece.length;
    in.strides[d] *= piece.step;
    ET_TRY(for_each_piece(p, in, out, i + 1, body));
  }
  return Status::Ok;
}

template <Mode M, int N>
Status pad_shape(Call& call, const Tensor& self, IntList padding, Tensor& out) {
  ET_ASSIGN(const SpatialPadding p, spatial(call, M, N, self, padding));
  return call.resize(out, p.out_sizes);
}

Status pad_spatial(Call& call, const SpatialPadding& p, const Tensor& self, Tensor& out) {
  ET_TRY(check_same_dtype(call, out, self));
  ET_TRY(check_sizes(call, out, p.out_sizes));
  return for_each_piece(p, view_of(self), view_of(out), 0,
                        [&](const View& from, const View& to) { return copy_view(call, from, to); });
}

template <Mode M, int N>
Status pad(Call& call, const Tensor& self, IntList padding, Tensor& out) {
  ET_ASSIGN(const SpatialPadding p, spatial(call, M, N, self, padding));
  return pad_spatial(call, p, self, out);
}

// The gradient: every element of grad_output adds to the input element it came from.
Status pad_backward_spatial(Call& call, const SpatialPadding& p, const Tensor& grad_output, const Tensor& self,
                            Tensor& grad_input) {
  ET_TRY(check_same_dtype(call, grad_input, grad_output));
  ET_TRY(check_sizes(call, grad_output, p.out_sizes));
  ET_TRY(check_sizes(call, grad_input, self.sizes()));
  const CombineRun add = combine_run(Combine::Add, grad_input.dtype);
  if (add == nullptr) {
    return call.fail(Status::InvalidType, "grad_output has dtype {}, which has no arithmetic",
                     dtype_name(grad_input.dtype));
  }
  zero_fill(grad_input);
  return for_each_piece(p, view_of(grad_input), view_of(grad_output), 0, [&](const View& to, const View& from) {
    combine_views(add, from, to);
    return Status::Ok;
  });
}

Status pad_backward_shape(Call& call, const Tensor& /*grad_output*/, const Tensor& self, IntList /*padding*/,
                          Tensor& grad_input) {
  return call.resize(grad_input, self.sizes());
}

template <Mode M, int N>
Status pad_backward(Call& call, const Tensor& grad_output, const Tensor& self, IntList padding, Tensor& grad_input) {
  ET_ASSIGN(const SpatialPadding p, spatial(call, M, N, self, padding));
  return pad_backward_spatial(call, p, grad_output, self, grad_input);
}

constexpr uint32_t kPad = kPure | kAnyLayout;
constexpr std::string_view kSchema1 = "(Tensor self, SymInt[2] padding, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kSchema2 = "(Tensor self, SymInt[4] padding, *, Tensor(a!) out) -> Tensor(a!)";
constexpr std::string_view kSchema3 = "(Tensor self, SymInt[6] padding, *, Tensor(a!) out) -> Tensor(a!)";

template <Mode M, int N>
constexpr Op pad_op(std::string_view name, std::string_view schema) {
  return {name, schema, bind<pad_shape<M, N>>, bind<pad<M, N>>, kPad | kView};
}
template <Mode M, int N>
constexpr Op pad_backward_op(std::string_view name) {
  return {name, "(Tensor grad_output, Tensor self, SymInt[] padding, *, Tensor(a!) grad_input) -> Tensor(a!)",
          bind<pad_backward_shape>, bind<pad_backward<M, N>>, kPad};
}

constexpr Op kOps[] = {
    {"aten::constant_pad_nd.out", "(Tensor self, SymInt[] pad, Scalar value=0, *, Tensor(a!) out) -> Tensor(a!)",
     bind<constant_pad_shape>, bind<constant_pad>, kPad},
    pad_op<Mode::Reflect, 1>("aten::reflection_pad1d.out", kSchema1),
    pad_op<Mode::Reflect, 2>("aten::reflection_pad2d.out", kSchema2),
    pad_op<Mode::Reflect, 3>("aten::reflection_pad3d.out", kSchema3),
    pad_op<Mode::Replicate, 1>("aten::replication_pad1d.out", kSchema1),
    pad_op<Mode::Replicate, 2>("aten::replication_pad2d.out", kSchema2),
    pad_op<Mode::Replicate, 3>("aten::replication_pad3d.out", kSchema3),
    pad_backward_op<Mode::Reflect, 1>("aten::reflection_pad1d_backward.grad_input"),
    pad_backward_op<Mode::Reflect, 2>("aten::reflection_pad2d_backward.grad_input"),
    pad_backward_op<Mode::Reflect, 3>("aten::reflection_pad3d_backward.grad_input"),
    pad_backward_op<Mode::Replicate, 1>("aten::replication_pad1d_backward.grad_input"),
    pad_backward_op<Mode::Replicate, 2>("aten::replication_pad2d_backward.grad_input"),
    pad_backward_op<Mode::Replicate, 3>("aten::replication_pad3d_backward.grad_input"),
};

}  // namespace

Table pad_ops() { return kOps; }

}  // namespace etrt::ops
