#include "ops/elementwise/broadcast.hpp"

#include <cstring>
#include <optional>

#include "ops/check.hpp"
#include "ops/elementwise/element_kernel.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kLanes = 8;       // of Layout::blocked8
constexpr std::int64_t kShortRow = 512;  // bytes; shorter rows are repeated to fill a tile
constexpr std::int64_t kTile = 4096;     // bytes

// The dims of an array's memory, row-major, in a layout.
Dims lying(const Dims& dims, Layout layout) {
  if (layout == Layout::plain) return dims;
  Dims result;
  result.push_back(dims[0]);
  if (layout == Layout::blocked8) result.push_back((dims[1] + kLanes - 1) / kLanes);
  for (std::size_t i = 2; i < dims.size(); ++i) result.push_back(dims[i]);
  result.push_back(layout == Layout::blocked8 ? kLanes : dims[1]);
  return result;
}

using Operand = LaidOperand;

// A plain [batch, channels, 1, …], with channels padded to whole blocks.
Result<Operand> in_blocks(Frame& frame, const Array& array, std::int64_t batch, std::int64_t channels,
                          const Dims& dims) {
  if (channels % kLanes == 0) return Operand{array.bytes(), dims};
  const auto size = static_cast<std::int64_t>(element_bytes(array.type()));
  const std::int64_t padded = (channels + kLanes - 1) / kLanes * kLanes;
  std::byte* copy = TRY(frame.scratch(batch * padded * size));
  std::memset(copy, 0, static_cast<std::size_t>(batch * padded * size));
  for (std::int64_t n = 0; n < batch; ++n) {
    std::memcpy(copy + n * padded * size, array.bytes() + n * channels * size,
                static_cast<std::size_t>(channels * size));
  }
  return Operand{copy, dims};
}

// Nothing if the array cannot be read next to a result of `layout` and `to` without a layout conversion.
Result<std::optional<Operand>> operand_in(Frame& frame, const Array& array, const Dims& to, Layout layout) {
  using Found = std::optional<Operand>;
  if (array.count() == 1 && array.layout() == Layout::plain) return Found({array.bytes(), Dims()});
  if (array.rank() > to.size()) return Found();
  Dims dims(to.size() - array.rank(), 1);
  for (const std::int64_t dim : array.dims()) dims.push_back(dim);
  if (array.layout() == layout) {
    if (dims[1] != to[1]) return Found();
    return Found({array.bytes(), lying(dims, layout)});
  }
  if (array.layout() != Layout::plain || array.type() == ElementType::string) return Found();
  if (dims[1] == 1) {
    // A single channel: [batch, (1,) space…, 1].
    Dims flat = dims;
    if (layout == Layout::channels_last) flat.erase(1);
    flat.push_back(1);
    return Found({array.bytes(), flat});
  }
  if (dims[1] != to[1] || dims.product(2, dims.size()) != 1) return Found();
  if (layout == Layout::channels_last) return Found({array.bytes(), lying(dims, layout)});
  return Found(TRY(in_blocks(frame, array, dims[0], dims[1], lying(dims, layout))));
}

// Sizes of the second operand aligned to a first one of `rank`, also for versions before numpy broadcasting.
template <class Sizes>
Sizes second_sizes(const Attributes& node, std::size_t rank, Sizes dims) {
  if (node.version >= kNumpyBroadcast || !node.flag("broadcast") || dims.size() >= rank) return dims;
  const std::int64_t axis = node.integer("axis", static_cast<std::int64_t>(rank - dims.size()));
  const std::int64_t front = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (front < 0 || front > static_cast<std::int64_t>(rank - dims.size())) return dims;
  while (dims.size() + static_cast<std::size_t>(front) < rank) dims.push_back(1);
  return dims;
}

struct Work {
  Loops loops;
  const std::byte *a, *b;
  std::byte* out;
  std::int64_t a_size, out_size;  // bytes of an element
  BinaryRow row;
  const void* parameters;
  std::int64_t period = 0;  // > 0: one operand repeats after so many elements, …
  std::size_t tiled = 0;    // … this one
  std::span<const FinishStep> finish = {};
};

// [many, few] with [few] makes short rows. Merges the two axes; one operand repeats along the merged axis.
void tile(Work& work) {
  Loops& loops = work.loops;
  const std::size_t rank = loops.dims.size();
  if (rank < 2 || loops.dims[rank - 1] >= kShortRow / work.a_size || work.a_size > 8) return;
  const std::int64_t few = loops.dims[rank - 1];
  const auto repeats = [&](std::size_t k) {
    return loops.strides[k][rank - 2] == 0 && loops.strides[k][rank - 1] == 1;
  };
  const auto runs = [&](std::size_t k) {
    return loops.strides[k][rank - 2] == few && loops.strides[k][rank - 1] == 1;
  };
  if (!(repeats(0) && runs(1)) && !(repeats(1) && runs(0))) return;
  work.tiled = repeats(0) ? 0 : 1;
  work.period = few;
  loops.dims.erase(rank - 1);
  loops.dims[rank - 2] *= few;
  for (Dims& strides : loops.strides) {
    if (strides.size() != rank) continue;
    strides.erase(rank - 1);
    strides[rank - 2] = 1;
  }
  loops.strides[work.tiled][rank - 2] = 0;  // each row looks its tile up
}

void tiled_row(const Work& work, const std::array<std::int64_t, Loops::kMost>& offsets, std::int64_t out,
               std::int64_t n) {
  alignas(64) std::byte buffer[kTile + 2 * kShortRow];
  const std::int64_t size = work.a_size, period = work.period;
  const std::byte* few = (work.tiled == 0 ? work.a : work.b) + offsets[work.tiled] * size;
  const std::int64_t phase = (out % work.loops.dims.back()) % period;
  const std::int64_t chunk = kTile / size / period * period;
  const std::int64_t filled = std::min(n + phase, chunk + phase);
  for (std::int64_t i = 0; i < filled; i += period) {
    std::memcpy(buffer + i * size, few, static_cast<std::size_t>(period * size));
  }
  const std::byte* pattern = buffer + phase * size;
  const std::byte* other = (work.tiled == 0 ? work.b : work.a) + offsets[1 - work.tiled] * size;
  for (std::int64_t i = 0; i < n; i += chunk) {
    const std::int64_t m = std::min(chunk, n - i);
    std::byte* to = work.out + (out + i) * work.out_size;
    if (work.tiled == 0) {
      work.row(pattern, 1, other + i * size, 1, to, m, work.parameters);
    } else {
      work.row(other + i * size, 1, pattern, 1, to, m, work.parameters);
    }
  }
}

void go(Frame& frame, Work work, std::int64_t count, double cost) {
  tile(work);
  const Dims& a_strides = work.loops.strides[0];
  const Dims& b_strides = work.loops.strides[1];
  const std::int64_t a_step = a_strides.back(), b_step = b_strides.back();
  const auto rows = [&](std::int64_t first, std::int64_t last) {
    for_rows(work.loops, first, last, [&](const auto& offsets, std::int64_t out, std::int64_t n) {
      if (work.period > 0) return tiled_row(work, offsets, out, n);
      work.row(work.a + offsets[0] * work.a_size, a_step, work.b + offsets[1] * work.a_size, b_step,
               work.out + out * work.out_size, n, work.parameters);
    });
  };
  auto* const y = reinterpret_cast<float*>(work.out);
  parallel(frame, count, cost,
           [&](std::int64_t first, std::int64_t last) { finished_runs(work.finish, y, first, last, rows); });
}

std::int64_t bytes_of(ElementType type) { return static_cast<std::int64_t>(element_bytes(type)); }

std::span<const FinishStep> take_float_finish(Frame& frame, ElementType type) {
  return type == ElementType::float32 ? frame.take_finish() : std::span<const FinishStep>();
}

// Runs on both operands as stored, if the result can have the layout of one of them; false: convert them to
// plain.
Result<bool> run_laid(Frame& frame, std::size_t a, std::size_t b, ElementType type, BinaryRow row,
                      double cost, const void* parameters) {
  const Array &first = frame.in(a), &second = frame.in(b);
  const std::size_t lead = first.layout() != Layout::plain ? a : b;
  const Layout layout = frame.in(lead).layout();
  const Dims dims = TRY(broadcast_dims(first.dims(), second.dims()));
  if (dims.size() != frame.in(lead).rank() || dims[1] != frame.in(lead).dim(1)) return false;
  const auto one = TRY(operand_in(frame, first, dims, layout));
  const auto other = one ? TRY(operand_in(frame, second, dims, layout)) : std::nullopt;
  if (!one || !other) return false;
  Array* out = frame.in(lead).dims() == dims ? TRY(frame.out_over(0, lead, type, dims))
                                             : TRY(frame.out(0, type, dims, layout));
  const Loops loops = loops_over(lying(dims, layout), {&one->dims, &other->dims});
  go(frame,
     {loops, one->data, other->data, out->mutable_bytes(), bytes_of(first.type()), bytes_of(type), row,
      parameters, 0, 0, take_float_finish(frame, type)},
     out->stored(), cost);
  clear_padding(*out);
  return true;
}

Work plain_work(const Array& a, const Dims& a_dims, const Array& b, const Dims& b_dims, Array& out,
                BinaryRow row, const void* parameters) {
  return {loops_over(out.dims(), {&a_dims, &b_dims}),
          a.bytes(),
          b.bytes(),
          out.mutable_bytes(),
          bytes_of(a.type()),
          bytes_of(out.type()),
          row,
          parameters};
}

}  // namespace

Dims laid_dims(const Dims& dims, Layout layout) { return lying(dims, layout); }

Result<std::optional<LaidOperand>> laid_operand(Frame& frame, const Array& array, const Dims& to,
                                                Layout layout) {
  return operand_in(frame, array, to, layout);
}

Loops loops_over(const Dims& to, std::initializer_list<const Dims*> operands) {
  Loops loops;
  loops.operands = operands.size();
  std::array<Dims, Loops::kMost> all;
  std::size_t k = 0;
  for (const Dims* dims : operands) all[k++] = broadcast_strides(*dims, to);
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis] == 1) continue;
    bool merges = !loops.dims.empty();
    for (k = 0; merges && k < loops.operands; ++k)
      merges = loops.strides[k].back() == all[k][axis] * to[axis];
    if (!merges) {
      loops.dims.push_back(1);
      for (k = 0; k < loops.operands; ++k) loops.strides[k].push_back(0);
    }
    loops.dims.back() *= to[axis];
    for (k = 0; k < loops.operands; ++k) loops.strides[k].back() = all[k][axis];
  }
  if (loops.dims.empty()) {
    loops.dims.push_back(1);
    for (k = 0; k < loops.operands; ++k) loops.strides[k].push_back(0);
  }
  return loops;
}

void run_binary_into(Frame& frame, const Array& a, const Dims& a_dims, const Array& b, const Dims& b_dims,
                     Array& out, BinaryRow row, double cost, const void* parameters) {
  go(frame, plain_work(a, a_dims, b, b_dims, out, row, parameters), out.count(), cost);
}

Result<void> run_binary(Frame& frame, std::size_t a, std::size_t b, ElementType type, BinaryRow row,
                        double cost, const void* parameters) {
  if (frame.in(a).type() != frame.in(b).type()) {
    return wrong(fmt::format("the inputs are {} and {}", to_string(frame.in(a)), to_string(frame.in(b))),
                 "the same element type");
  }
  if (const ElementProbe* probe = ElementProbe::in(frame)) {
    const bool plain = type == ElementType::float32 && a == 0 && b == 1 && !parameters;
    if (plain && frame.version >= kNumpyBroadcast) probe->found = {.row = row};
    return not_known();
  }
  if (frame.in(a).layout() != Layout::plain || frame.in(b).layout() != Layout::plain) {
    if (!frame.flag("broadcast") && TRY(run_laid(frame, a, b, type, row, cost, parameters))) return {};
    TRY(frame.make_plain(a));
    TRY(frame.make_plain(b));
  }
  const Dims& first = frame.in(a).dims();
  const Dims second = second_sizes(frame, first.size(), frame.in(b).dims());
  const Dims dims = TRY(broadcast_dims(first, second));
  Array* out = first == dims && !frame.is_constant(a) ? TRY(frame.out_over(0, a, type, dims))
               : frame.in(b).dims() == dims           ? TRY(frame.out_over(0, b, type, dims))
                                                      : TRY(frame.out(0, type, dims));
  Work work = plain_work(frame.in(a), first, frame.in(b), second, *out, row, parameters);
  work.finish = take_float_finish(frame, type);
  go(frame, std::move(work), out->count(), cost);
  return {};
}

Result<Value> broadcast_all(const Call& call) {
  Value value = tensor(call.in(0).type, call.in(0).shape);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    value.shape = TRY(broadcast(value.shape, call.in(i).shape));
    if (value.type == ElementType::undefined) value.type = call.in(i).type;
  }
  return value;
}

Result<std::optional<Shape>> binary_shape(const Call& call) {
  const auto &a = call.in(0).shape, &b = call.in(1).shape;
  if (!a || !b) return std::optional<Shape>();
  return broadcast(a, second_sizes(call, a->size(), *b));
}

Result<Values> infer_binary(const Call& call, Combine fold) {
  Value value = tensor(call.in(0).type, TRY(binary_shape(call)));
  if (value.type == ElementType::undefined) value.type = call.in(1).type;
  if (fold && call.version >= kNumpyBroadcast) value.elements = combine(call.in(0), call.in(1), fold);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_all(const Call& call, Combine fold) {
  if (call.inputs.size() == 2) return infer_binary(call, fold);
  return outputs_of(call, TRY(broadcast_all(call)));
}

}  // namespace anybit::ops
