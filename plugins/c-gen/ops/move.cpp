// Operators that copy elements of any type, by strides and offsets.
#include <algorithm>

#include "nest.hpp"
#include "numbers.hpp"
#include "rows.hpp"

namespace anybit::cgen {
namespace {

void copy(Node& node, const Dims& dims, const std::string& from, const Walk& read, const std::string& to,
          const Walk& written) {
  const Nest nest(dims, {read, written});
  nest.open(node);
  node.line("{}[{}] = {}[{}];", to, nest.at(1), from, nest.at(0));
  nest.close(node);
}

// Copies input 0, read through `read`, to all of output 0.
void copy_out(Node& node, const Walk& read) {
  copy(node, node.out().dims, node.x(0), read, node.y(), {strides_of(node.out().dims)});
}

void emit_transpose(Node& node) {
  const Value& in = node.in(0);
  Walk read;
  const auto order = node.integers("perm");
  for (std::size_t i = 0; i < in.rank(); ++i)
    read.strides.push_back(in.stride(order ? node.axis((*order)[i], in.rank()) : in.rank() - 1 - i));
  copy_out(node, read);
}

void emit_expand(Node& node) { copy_out(node, {spread_strides(node.in(0).dims, node.out().dims)}); }

// Each axis becomes two: the repetition, and the index in it.
void emit_tile(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  Dims dims;
  Walk read, written;
  for (std::size_t i = 0; i < in.rank(); ++i) {
    dims.push_back(in.dims[i] ? out.dims[i] / in.dims[i] : 0);
    dims.push_back(in.dims[i]);
    read.strides.push_back(0);
    read.strides.push_back(in.stride(i));
    written.strides.push_back(out.stride(i) * in.dims[i]);
    written.strides.push_back(out.stride(i));
  }
  copy(node, dims, node.x(0), read, node.y(), written);
}

// A list that is an input in newer versions and an attribute in older ones.
std::optional<Dims> list_of(const Node& node, std::size_t input, std::string_view name) {
  if (node.has(input)) return node.integers_in(input, name);
  return node.integers(name);
}

void emit_slice(Node& node) {
  const Value& in = node.in(0);
  const auto starts = list_of(node, 1, "starts"), axes = list_of(node, 3, "axes"),
             steps = list_of(node, 4, "steps");
  if (!starts) node.refuse("starts are missing");
  Walk read{strides_of(in.dims)};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = node.axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), in.rank());
    const std::int64_t size = in.dims[axis], step = steps ? (*steps)[i] : 1;
    const std::int64_t start = (*starts)[i] + ((*starts)[i] < 0 ? size : 0);
    read.offset += std::clamp<std::int64_t>(start, 0, step < 0 ? std::max<std::int64_t>(size - 1, 0) : size) *
                   read.strides[axis];
    read.strides[axis] *= std::clamp(step, -size - 1, size + 1);
  }
  if (node.out().count() > 0) copy_out(node, read);
}

void emit_split(Node& node) {
  const Value& in = node.in(0);
  const std::size_t axis = node.axis(node.integer("axis", 0), in.rank());
  Walk read{strides_of(in.dims)};
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    if (!node.has_out(i)) node.refuse("output {} is not used", i);
    const Dims& dims = node.out(i).dims;
    if (node.out(i).count() > 0) copy(node, dims, node.x(0), read, node.y(i), {strides_of(dims)});
    read.offset += dims[axis] * read.strides[axis];
  }
}

void emit_concat(Node& node) {
  const Value& out = node.out();
  const std::size_t axis = node.axis(node.integer("axis", 1), out.rank());
  Walk written{strides_of(out.dims)};
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const Dims& dims = node.in(i).dims;
    if (node.in(i).count() > 0) copy(node, dims, node.x(i), {strides_of(dims)}, node.y(), written);
    written.offset += dims[axis] * written.strides[axis];
  }
}

void fill(Node& node, const std::string& element) {
  node.loop("i", node.out().count());
  node.line("{}[i] = {};", node.y(), element);
  node.end();
}

// The position of the input in the output, and the cropping on each side.
struct Placed {
  Dims dims;
  Walk read, written;
};

Placed placed(const Value& in, const Value& out, const Dims& before) {
  Placed p{{}, {strides_of(in.dims)}, {strides_of(out.dims)}};
  for (std::size_t i = 0; i < in.rank(); ++i) {
    const std::int64_t cut = std::max<std::int64_t>(0, -before[i]),
                       gap = std::max<std::int64_t>(0, before[i]);
    p.dims.push_back(std::max<std::int64_t>(0, std::min(in.dims[i] - cut, out.dims[i] - gap)));
    p.read.offset += cut * p.read.strides[i];
    p.written.offset += gap * p.written.strides[i];
  }
  return p;
}

Dims pads_before(const Node& node) {
  const Value& in = node.in(0);
  const auto pads = list_of(node, 1, node.version() < 2 ? "paddings" : "pads");
  if (!pads) node.refuse("the pads are missing");
  Dims before(in.rank(), 0);
  if (!node.has(3)) {
    std::copy_n(pads->begin(), std::min(before.size(), pads->size()), before.begin());
    return before;
  }
  const Dims axes = node.integers_in(3, "the axes");
  for (std::size_t i = 0; i < axes.size(); ++i) before[node.axis(axes[i], in.rank())] = (*pads)[i];
  return before;
}

// The input index of an output index, in modes that repeat elements.
std::int64_t source(const std::string& mode, std::int64_t place, std::int64_t from, std::int64_t kept) {
  if (place >= 0 && place < kept) return from + place;
  if (mode == "edge") return from + std::clamp<std::int64_t>(place, 0, kept - 1);
  if (mode == "wrap") return from + (place % kept + kept) % kept;
  if (kept == 1) return from;
  const std::int64_t period = 2 * (kept - 1), in_period = (place % period + period) % period;
  return from + std::min(in_period, period - in_period);
}

void emit_pad(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  const std::string mode = node.text("mode", "constant");
  const Dims before = pads_before(node);
  const Placed p = placed(in, out, before);
  if (out.count() == 0) return;
  if (mode == "constant") {
    const float given = node.version() < 11 ? node.real("value", 0) : 0;
    const std::string constant = given != 0 && is_real(in) ? number(in, given) : "0";
    fill(node, node.has(2) ? fmt::format("{}[0]", node.x(2)) : constant);
    if (in.count() > 0) copy(node, p.dims, node.x(0), p.read, node.y(), p.written);
    return;
  }
  std::string from;
  for (std::size_t i = 0; i < in.rank(); ++i) node.loop(fmt::format("i{}", i), out.dims[i]);
  for (std::size_t i = 0; i < in.rank(); ++i) {
    std::vector<std::int32_t> places;
    node.check_table(out.dims[i]);
    const std::int64_t after = out.dims[i] - in.dims[i] - before[i];
    const std::int64_t cut = std::max<std::int64_t>(0, -before[i]),
                       kept = in.dims[i] - cut - std::max<std::int64_t>(0, -after);
    for (std::int64_t j = 0; j < out.dims[i]; ++j)
      places.push_back(static_cast<std::int32_t>(
          source(mode, j - std::max<std::int64_t>(0, before[i]), cut, kept) * in.stride(i)));
    const bool still = before[i] == 0 && out.dims[i] == in.dims[i];
    from += fmt::format(
        "{}{}", i ? " + " : "",
        still ? fmt::format("i{} * {}", i, in.stride(i)) : fmt::format("{}[i{}]", node.int32s(places), i));
  }
  std::string to;
  for (std::size_t i = 0; i < out.rank(); ++i)
    to += fmt::format("{}i{} * {}", i ? " + " : "", i, out.stride(i));
  node.line("{}[{}] = {}[{}];", node.y(), to, node.x(0), from);
  for (std::size_t i = 0; i < in.rank(); ++i) node.end();
}

void emit_center_crop_pad(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  Dims before;
  for (std::size_t i = 0; i < in.rank(); ++i) {
    const std::int64_t more = out.dims[i] - in.dims[i];
    before.push_back(more >= 0 ? more / 2 : -(-more / 2));
  }
  const Placed p = placed(in, out, before);
  fill(node, "0");
  copy(node, p.dims, node.x(0), p.read, node.y(), p.written);
}

// The input with other dims, and its axes permuted.
void rearrange(Node& node, const Dims& dims, const std::vector<std::size_t>& order) {
  const Dims strides = strides_of(dims);
  Dims moved;
  Walk read;
  for (const std::size_t axis : order) {
    moved.push_back(dims[axis]);
    read.strides.push_back(strides[axis]);
  }
  copy(node, moved, node.x(0), read, node.y(), {strides_of(moved)});
}

void emit_depth_to_space(Node& node) {
  const Dims& d = node.in(0).dims;
  const std::int64_t b = node.integer("blocksize", 1);
  if (node.text("mode", "DCR") == "DCR")
    return rearrange(node, {d[0], b, b, d[1] / (b * b), d[2], d[3]}, {0, 3, 4, 1, 5, 2});
  rearrange(node, {d[0], d[1] / (b * b), b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3});
}

void emit_space_to_depth(Node& node) {
  const Dims& d = node.in(0).dims;
  const std::int64_t b = node.integer("blocksize", 1);
  rearrange(node, {d[0], d[1], d[2] / b, b, d[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

void emit_trilu(Node& node) {
  const Value& in = node.in(0);
  const std::int64_t rows = in.dims[in.rank() - 2], columns = in.dims[in.rank() - 1];
  node.line("const int64_t k = {};", node.has(1) ? fmt::format("{}[0]", node.x(1)) : "0");
  node.loop("i", rows ? in.count() / std::max<std::int64_t>(1, columns) : 0);
  node.loop("j", columns);
  node.line("{0}[i * {1} + j] = j {2}= i % {3} + k ? {4}[i * {1} + j] : 0;", node.y(), columns,
            node.flag("upper", true) ? '>' : '<', std::max<std::int64_t>(rows, 1), node.x(0));
  node.end();
  node.end();
}

void emit_reverse_sequence(Node& node) {
  const Value& in = node.in(0);
  const bool time_first = node.integer("time_axis", 0) == 0;
  const std::int64_t times = in.dims[time_first ? 0 : 1], batch = in.dims[time_first ? 1 : 0],
                     inner = in.product(2, in.rank());
  node.loop("b", batch);
  node.loop("t", times);
  node.line("const int32_t length = {};", within(node, node.x(1) + "[b]", 0, times));
  node.line("const int32_t from = t < length ? length - 1 - t : t;");
  node.loop("i", inner);
  const std::int64_t step = time_first ? batch * inner : inner, sample = time_first ? inner : times * inner;
  node.line("{0}[b * {1} + t * {2} + i] = {3}[b * {1} + from * {2} + i];", node.y(), sample, step, node.x(0));
  node.end();
  node.end();
  node.end();
}

void emit_eye_like(Node& node) {
  const Value& out = node.out();
  const std::int64_t k = node.integer("k", 0);
  node.loop("i", out.dims[0]);
  node.loop("j", out.dims[1]);
  node.line("{}", store(node, out, node.y(), fmt::format("i * {} + j", out.dims[1]),
                        fmt::format("j - i == {}", k)));
  node.end();
  node.end();
}

void emit_one_hot(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  const std::size_t axis = node.axis(node.integer("axis", -1), out.rank());
  const Rows rows = rows_along(out, axis);
  fill(node, fmt::format("{}[0]", node.x(2)));
  if (rows.n == 0) return;
  rows.open(node);
  node.line("const int64_t given = (int64_t){};",
            load(node, in, node.x(0), fmt::format("o * {} + r", rows.inner)));
  node.line("const int64_t at = given < 0 ? given + {} : given;", rows.n);
  node.line("if (at >= 0 && at < {}) {}[{}] = {}[1];", rows.n, node.y(), rows.at("at"), node.x(2));
  rows.close(node);
}

void emit_constant_of_shape(Node& node) {
  const anybit_attribute* value = node.attribute("value");
  if (!value || !value->tensor || value->tensor->bytes == 0) return fill(node, "0");
  fill(node, fmt::format("{}[0]", node.array(node.out().type, value->tensor->data, 1)));
}

void emit_range(Node& node) {
  const Value& in = node.in(0);
  const std::string start = load(node, in, node.x(0), "0"), step = load(node, in, node.x(2), "0");
  node.loop("i", node.out().count());
  const std::string_view type = is_real(in) ? computed(in) : wrapping(in);
  node.line("{}", store(node, node.out(), node.y(), "i",
                        fmt::format("({0}){1} + ({0})i * ({0}){2}", type, start, step)));
  node.end();
}

void emit_shape(Node& node) {
  const Value& in = node.in(0);
  const auto rank = static_cast<std::int64_t>(in.rank());
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = bound(node.integer("start", 0)), end = bound(node.integer("end", rank));
  for (std::int64_t i = start; i < end; ++i)
    node.line("{}[{}] = {};", node.y(), i - start, in.dims[static_cast<std::size_t>(i)]);
}

void emit_size(Node& node) { node.line("{}[0] = {};", node.y(), node.in(0).count()); }

// Training mode is not supported.
void emit_dropout(Node& node) {
  if (node.version() >= 12 && node.has(2) && node.integer_in(2, "training_mode", 0) != 0)
    node.refuse("training_mode is on");
  copy_out(node, {strides_of(node.out().dims)});
  if (!node.has_out(1)) return;
  node.loop("i", node.out(1).count());
  node.line("{}", store(node, node.out(1), node.y(1), "i", "1"));
  node.end();
}

}  // namespace

std::span<const Descriptor> move_descriptors() {
  static constexpr Descriptor all[] = {
      {"CenterCropPad", "", emit_center_crop_pad},
      {"Concat", "", emit_concat},
      {"ConstantOfShape", "", emit_constant_of_shape},
      {"DepthToSpace", "", emit_depth_to_space},
      {"Dropout", "", emit_dropout, InPlace::yes},
      {"Expand", "", emit_expand},
      {"EyeLike", "", emit_eye_like},
      {"OneHot", "", emit_one_hot},
      {"Pad", "", emit_pad},
      {"Range", "", emit_range},
      {"ReverseSequence", "", emit_reverse_sequence},
      {"Shape", "", emit_shape},
      {"Size", "", emit_size},
      {"Slice", "", emit_slice},
      {"SpaceToDepth", "", emit_space_to_depth},
      {"Split", "", emit_split},
      {"Tile", "", emit_tile},
      {"Transpose", "", emit_transpose},
      {"Trilu", "", emit_trilu, InPlace::yes},
  };
  return all;
}

}  // namespace anybit::cgen
