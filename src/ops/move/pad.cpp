// Pad: adds elements on each side of an axis, or crops with negative pads. ONNX: Pad-1, -2 (attributes), -11
// … -25 (inputs).
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "ops/check.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t rank = input.shape->size();
  const auto pads = call.list(1, call.version < 2 ? "paddings" : "pads");
  if (!pads) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  if (call.has(3)) {
    const auto given = call.in(3).elements ? numbers(*call.in(3).elements) : std::nullopt;
    if (!given) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
    axes = TRY(axes_of(*given, rank));
  }
  if (pads->size() != 2 * axes.size()) {
    return wrong(fmt::format("{} pads are given for {} axes", pads->size(), axes.size()),
                 "two for each axis: all before, then all after");
  }
  Shape shape = *input.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = shape[axes[i]];
    dim = dim + (*pads)[i] + (*pads)[axes.size() + i];
    if (dim.known() && *dim.size < 0)
      return wrong(fmt::format("axis {} is cropped to {}", axes[i], *dim.size));
  }
  return outputs_of(call, tensor(input.type, std::move(shape)));
}

enum class Mode : std::uint8_t { constant, reflect, edge, wrap };

Result<Mode> mode_of(const Frame& frame) {
  const std::string_view name = frame.text("mode", "constant");
  if (name == "constant") return Mode::constant;
  if (name == "reflect") return Mode::reflect;
  if (name == "edge") return Mode::edge;
  if (name == "wrap") return Mode::wrap;
  return wrong(fmt::format("mode is '{}'", name), "constant, reflect, edge or wrap");
}

// One axis: negative pads crop the input to [from, from + kept), which is then padded.
struct Side {
  std::int64_t before = 0, from = 0, kept = 0, size = 0;

  // The input index for an output index; -1 for the constant.
  std::int64_t source(Mode mode, std::int64_t at) const {
    const std::int64_t place = at - before;
    if (place >= 0 && place < kept) return from + place;
    switch (mode) {
      case Mode::edge:
        return from + std::clamp<std::int64_t>(place, 0, kept - 1);
      case Mode::wrap:
        return from + (place % kept + kept) % kept;
      case Mode::reflect: {
        if (kept == 1) return from;
        const std::int64_t period = 2 * (kept - 1), in_period = (place % period + period) % period;
        return from + std::min(in_period, period - in_period);
      }
      case Mode::constant:
        break;
    }
    return -1;
  }
};

Result<Side> side_of(std::int64_t size, std::int64_t before, std::int64_t after, Mode mode) {
  const auto more = checked_add(before, after);
  const auto total = more ? checked_add(size, *more) : std::nullopt;
  if (!total || *total < 0)
    return wrong(fmt::format("pads {} and {} on an axis of size {}", before, after, size));
  const std::int64_t cut_before =
      before < 0 ? std::min(-(before + 1), size) + (-(before + 1) < size ? 1 : 0) : 0;
  const std::int64_t left = size - cut_before;
  const std::int64_t cut_after = after < 0 ? std::min(-(after + 1), left) + (-(after + 1) < left ? 1 : 0) : 0;
  Side side{std::max<std::int64_t>(before, 0), cut_before, left - cut_after, *total};
  if (side.kept == 0 && side.size > 0 && mode != Mode::constant)
    return wrong("an axis without elements can only be padded with a constant", "mode 'constant'");
  return side;
}

struct Sides {
  std::array<Side, Dims::kCapacity> sides;
  std::size_t rank = 0;
  Dims dims;  // of the output
};

// For an input of `dims`; the indices of the inputs that give pads and axes.
Result<Sides> sides_for(const Frame& frame, Mode mode, const Dims& dims, std::size_t pads_at,
                        std::size_t axes_at) {
  const auto pads = TRY(dims_of(frame, pads_at, frame.version < 2 ? "paddings" : "pads"));
  if (!pads) return wrong("no pads are given");
  Dims axes;
  if (frame.has(axes_at)) {
    axes = TRY(axes_within(TRY(dims_from(frame.in(axes_at), "axes")).span(), dims.size()));
  } else {
    for (std::size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads->size() != 2 * axes.size()) {
    return wrong(fmt::format("{} pads are given for {} axes", pads->size(), axes.size()),
                 "two for each axis: all before, then all after");
  }
  Sides all;
  all.rank = dims.size();
  for (std::size_t i = 0; i < all.rank; ++i) all.sides[i] = TRY(side_of(dims[i], 0, 0, mode));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    all.sides[axis] = TRY(side_of(dims[axis], (*pads)[i], (*pads)[axes.size() + i], mode));
  }
  for (std::size_t i = 0; i < all.rank; ++i) all.dims.push_back(all.sides[i].size);
  return all;
}

Result<Sides> sides_of(const Frame& frame, Mode mode) {
  return sides_for(frame, mode, frame.in(0).dims(), 1, 3);
}

// Writes a row of the output (its last axis); `source` is null if the entire row is the constant.
template <class T>
void pad_row(const Side& side, Mode mode, const T* source, const T& constant, T* row) {
  if (!source) {
    std::fill_n(row, side.size, constant);
    return;
  }
  const std::int64_t end = side.before + side.kept;
  const auto fill = [&](std::int64_t first, std::int64_t last) {
    if (mode == Mode::constant) return void(std::fill(row + first, row + last, constant));
    for (std::int64_t i = first; i < last; ++i) row[i] = source[side.source(mode, i)];
  };
  fill(0, side.before);
  std::copy_n(source + side.from, side.kept, row + side.before);
  fill(end, side.size);
}

template <class T>
void pad_rows(const Frame& frame, const Sides& all, Mode mode, const T& constant, Array& out) {
  const Array& input = frame.in(0);
  const Side& last = all.sides[all.rank - 1];
  const Dims strides = strides_of(input.dims());
  const std::int64_t rows = out.count() / std::max<std::int64_t>(last.size, 1);
  const auto body = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t index = first; index < end; ++index) {
      std::int64_t rest = index, at = 0;
      bool inside = true;
      for (std::size_t i = all.rank - 1; i-- > 0;) {
        const std::int64_t place = all.sides[i].source(mode, rest % all.sides[i].size);
        rest /= all.sides[i].size;
        inside = inside && place >= 0;
        at += place * strides[i];
      }
      pad_row(last, mode, inside && last.kept > 0 ? input.data<T>() + at : nullptr, constant,
              out.mutable_data<T>() + index * last.size);
    }
  };
  parallel(frame, rows, 10.0 + 0.2 * static_cast<double>(last.size) * sizeof(T), std::ref(body));
}

// Merges trailing axes that are neither padded nor cropped into the last one that is, for longer rows.
void merge(Sides& all, const Dims& input) {
  std::int64_t row = 1;
  while (all.rank > 1) {
    const Side& last = all.sides[all.rank - 1];
    row *= input[all.rank - 1];
    if (last.kept != last.size || last.size != row) return;
    Side& side = all.sides[all.rank - 2];
    side = {side.before * last.size, side.from * last.size, side.kept * last.size, side.size * last.size};
    --all.rank;
  }
}

// Zero or the empty string if neither input nor attribute gives it.
template <class T>
Result<T> constant_of(const Frame& frame) {
  const Array& input = frame.in(0);
  if (frame.has(2)) {
    const Array& value = frame.in(2);
    if (value.type() != input.type() || value.count() != 1)
      return wrong(fmt::format("constant_value is {}", to_string(frame.datum(2))),
                   "one element of the data's type");
    return has_elements(value) ? *value.data<T>() : T{};
  }
  T constant{};
  if (const double given = frame.real("value", 0); frame.version < 11 && given != 0) {
    for_number(input.type(), [&]<class N>(N) {
      const N number = static_cast<N>(static_cast<Computed<N>>(given));
      if constexpr (sizeof(N) == sizeof(T) && !std::is_same_v<T, std::string>)
        constant = std::bit_cast<T>(number);
    });
  }
  return constant;
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Mode mode = TRY(mode_of(frame));
  Sides all = TRY(sides_of(frame, mode));
  if (all.dims == input.dims()) {
    const bool still =
        std::all_of(all.sides.begin(), all.sides.begin() + static_cast<std::ptrdiff_t>(all.rank),
                    [](const Side& side) { return side.before == 0 && side.from == 0; });
    if (still) return frame.share(0, 0, all.dims);
  }
  Result<void> done;
  if (all.dims.count() > 0) {
    const bool known = for_copied(input.type(), [&]<class T>(T) {
      if (auto constant = constant_of<T>(frame); !constant.ok()) done = std::move(constant).error();
    });
    if (!known) return wrong_type(frame, 0);
    TRY(done);
  }
  Array* out = TRY(frame.out(0, input.type(), all.dims));
  if (out->count() == 0) return {};
  if (mode == Mode::constant) merge(all, input.dims());
  for_copied(input.type(), [&]<class T>(T) { pad_rows<T>(frame, all, mode, *constant_of<T>(frame), *out); });
  return done;
}

Result<void> raise_to_11(Raising& raising) {
  TRY(raising.integers_to_input("pads", 1));
  TRY(raising.real_to_input("value", 2));
  return {};
}

// Since Pad-11 the constant is an input and is quantized with the data. Before, it is an attribute and cannot
// be quantized unless it is zero.
Traits::Role role_of(const graph::Node& node) {
  const graph::Attribute* value = node.attribute("value");
  const auto* number = value ? std::get_if<float>(&value->value) : nullptr;
  return number && *number != 0.0f ? Traits::Role::none : Traits::Role::move;
}

// A constant pads dx with nothing: dy is cropped, and what was cropped is padded with 0. Other modes add up
// the gradients of the copies. The constant gets what x does not.
Result<void> gradient(Gradient& g) {
  const auto axes = g.has(3) ? g.input(3) : std::string();
  const auto attribute = g.ints(g.version < 2 ? "paddings" : "pads");
  const std::string pads = g.has(1) ? g.input(1) : g.integers(*attribute);
  std::string dx;
  if (g.text("mode", "constant") == "constant") {
    dx = g.add("Pad", {g.dy(), g.add("Neg", {pads}), "", axes});
  } else {
    dx = g.add("PadGradient", {g.dy(), g.shape(g.input(0)), pads, axes}, attributes_of(g, {"mode"}),
               kTraining);
  }
  g.set(0, dx);
  if (g.wants(2)) {
    const auto whole = [&](const std::string& value) {
      return g.add("ReduceSum", {value}, {graph::attribute("keepdims", std::int64_t{0})});
    };
    const std::string rest = g.add("Sub", {whole(g.dy()), whole(dx)});
    g.set(2, g.add("Reshape", {rest, g.shape(g.input(2))}));
  }
  return {};
}

Result<Values> infer_gradient(const Call& call) {
  const auto& sizes = call.in(1).elements;
  return outputs_of(call, tensor(call.in(0).type, sizes ? std::optional<Shape>(*sizes) : std::nullopt));
}

// PadGradient(dy, shape of x, pads, axes): the sums of dy over the copies of each element. Batches are
// computed in parallel, each in the order of its elements.
Result<void> run_gradient(Frame& frame) {
  const Array& dy = frame.in(0);
  const Mode mode = TRY(mode_of(frame));
  const Dims dims = TRY(dims_from(frame.in(1), "the shape"));
  const Sides all = TRY(sides_for(frame, mode, dims, 2, 3));
  if (!(all.dims == dy.dims())) {
    return wrong(fmt::format("the gradient is {}", to_string(dy)),
                 fmt::format("of shape {}, as the result of Pad", to_string(all.dims)));
  }
  if (!is_float(dy.type())) return wrong_type(frame, 0);
  Array* dx = TRY(frame.out(0, dy.type(), dims));
  if (dx->byte_count() > 0) std::memset(dx->mutable_bytes(), 0, dx->byte_count());
  if (dy.count() == 0) return {};
  std::size_t batch = 0;  // leading axes that stay as they are
  while (batch < all.rank && all.sides[batch].kept == all.sides[batch].size && all.sides[batch].from == 0)
    ++batch;
  const Dims strides = strides_of(dims);
  const std::int64_t batches = dims.product(0, batch), each = dy.count() / batches;
  const std::int64_t out_each = dims.product(batch, dims.size());
  for_real(dy.type(), [&]<class T>(T) {
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        T* to = dx->mutable_data<T>() + i * out_each;
        for (std::int64_t k = 0; k < each; ++k) {
          std::int64_t rest = k, at = 0;
          bool inside = true;
          for (std::size_t axis = all.rank; axis-- > batch;) {
            const std::int64_t place = all.sides[axis].source(mode, rest % all.sides[axis].size);
            rest /= all.sides[axis].size;
            inside = inside && place >= 0;
            at += place * strides[axis];
          }
          if (!inside) continue;
          to[at] = static_cast<T>(static_cast<Computed<T>>(to[at]) +
                                  static_cast<Computed<T>>(dy.data<T>()[i * each + k]));
        }
      }
    };
    parallel(frame, batches, 10.0 * static_cast<double>(each), std::ref(body));
  });
  return {};
}

}  // namespace

std::span<const Descriptor> pad_descriptors() {
  static const Descriptor all[] = {{.name = "Pad",
                                    .domain = "",
                                    .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
                                    .infer = infer,
                                    .run = run,
                                    .raise = {{11, raise_to_11}},
                                    .traits = {.role = Traits::Role::move,
                                               .data = {0, 2},
                                               .pass_through = {.since = 11},
                                               .role_of = role_of},
                                    .gradient = gradient},
                                   {.name = "PadGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_gradient,
                                    .run = run_gradient,
                                    .required = 3}};
  return all;
}

}  // namespace anybit::ops
