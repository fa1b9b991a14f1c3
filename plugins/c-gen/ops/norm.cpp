// Normalizations: mean and variance of parts of a tensor, then scale and shift.
#include <algorithm>

#include "nest.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// Contiguous rows of n elements. `scale` and `shift` are C expressions of row i and element j, or empty.
struct Normalized {
  std::int64_t rows, n;
  std::string scale, shift;
  bool centered = true;
};

// Computes `mean` and `inverse` (1 / standard deviation) of row i.
void emit_moments(Node& node, const Normalized& norm, std::string_view type, const std::string& element,
                  const std::string& epsilon) {
  const Value& in = node.in(0);
  const std::string count = number(in, static_cast<double>(norm.n));
  node.line("{} mean = 0, inverse = 0;", type);
  if (norm.centered) {
    node.line("for (int32_t j = 0; j < {}; ++j) mean += {};", norm.n, element);
    node.line("mean /= {};", count);
  }
  node.loop("j", norm.n);
  node.line("const {} d = {} - mean;", type, element);
  node.line("inverse += d * d;");
  node.end();
  node.line("{}", typed("inverse = 1 / sqrt$f(inverse / $n + $e);", in, {{"n", count}, {"e", epsilon}}));
}

void emit_rows(Node& node, const Normalized& norm, float epsilon) {
  const Value& in = node.in(0);
  if (!is_real(in)) node.refuse("unsupported input type {}", in.info().name);
  const std::string element = load(node, in, node.x(0), fmt::format("i * {} + j", norm.n));
  node.loop("i", norm.rows);
  emit_moments(node, norm, computed(in), element, number(in, epsilon));
  const bool layer = node.op().find("Layer") != std::string_view::npos;
  const std::size_t inverse_out = norm.centered ? 2 : 1;
  if (layer && norm.centered && node.has_out(1))
    node.line("{}", store(node, node.out(1), node.y(1), "i", "mean"));
  if (layer && node.has_out(inverse_out))
    node.line("{}", store(node, node.out(inverse_out), node.y(inverse_out), "i", "inverse"));
  node.loop("j", norm.n);
  std::string text = norm.centered ? fmt::format("({} - mean) * inverse", element) : element + " * inverse";
  if (!norm.scale.empty()) text += " * " + norm.scale;
  if (!norm.shift.empty()) text += " + " + norm.shift;
  node.line("{}", store(node, node.out(), node.y(), fmt::format("i * {} + j", norm.n), text));
  node.end();
  node.end();
}

// Element j of a row of scales or shifts, which broadcast to the dims from `axis` on.
std::string of_row(Node& node, std::size_t input, std::size_t axis, std::int64_t n) {
  if (!node.has(input)) return "";
  const Value &value = node.in(input), &x = node.in(0);
  if (value.count() == 1) return load(node, value, node.x(input), "0");
  if (value.count() == n) return load(node, value, node.x(input), "j");
  // Another broadcast operand: its index for each element of the row.
  if (value.rank() > x.rank() - axis) node.refuse("input {} differs from row to row", input);
  const Dims dims(x.dims.begin() + static_cast<std::ptrdiff_t>(axis), x.dims.end());
  const Dims strides = spread_strides(value.dims, dims), own = strides_of(dims);
  std::string at = "0";
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (strides[k] != 0) at += fmt::format(" + j / {} % {} * {}", own[k], dims[k], strides[k]);
  }
  return load(node, value, node.x(input), at);
}

void emit_layer(Node& node) {
  const Value& x = node.in(0);
  const std::size_t axis = node.axis(node.integer("axis", -1), x.rank());
  const bool centered = node.op() == "LayerNormalization";
  const std::int64_t n = x.product(axis, x.rank());
  emit_rows(
      node,
      {x.product(0, axis), n, of_row(node, 1, axis, n), centered ? of_row(node, 2, axis, n) : "", centered},
      node.real("epsilon", 1e-5f));
}

void emit_instance(Node& node) {
  const Value& x = node.in(0);
  const auto of_channel = [&](std::size_t i) {
    return load(node, node.in(i), node.x(i), fmt::format("i % {}", x.dims[1]));
  };
  emit_rows(node, {x.dims[0] * x.dims[1], x.product(2, x.rank()), of_channel(1), of_channel(2)},
            node.real("epsilon", 1e-5f));
}

// Scales and shifts are per group before version 21, per channel since.
void emit_group(Node& node) {
  const Value& x = node.in(0);
  const std::int64_t groups = node.integer("num_groups", 1), in_group = x.dims[1] / groups,
                     space = x.product(2, x.rank());
  const std::string index = node.version() < 21
                                ? fmt::format("i % {}", groups)
                                : fmt::format("i % {} * {} + j / {}", groups, in_group, space);
  const auto at = [&](std::size_t i) { return load(node, node.in(i), node.x(i), index); };
  emit_rows(node, {x.dims[0] * groups, in_group * space, at(1), at(2)}, node.real("epsilon", 1e-5f));
}

void emit_batch(Node& node) {
  const Value& x = node.in(0);
  if (node.flag("training_mode")) node.refuse("training_mode is on");
  const std::int64_t channels = x.rank() > 1 ? x.dims[1] : 1,
                     space = x.rank() > 1 ? x.product(2, x.rank()) : 1;
  const auto of = [&](std::size_t i) { return load(node, node.in(i), node.x(i), "c"); };
  node.loop("n", x.dims[0]);
  node.loop("c", channels);
  node.line("const {} a = {};", computed(x),
            typed("$s / sqrt$f($v + $e)", x,
                  {{"s", of(1)}, {"v", of(4)}, {"e", number(x, node.real("epsilon", 1e-5f))}}));
  node.line("const {} b = {} - a * {};", computed(x), of(2), of(3));
  node.loop("i", space);
  const std::string at = fmt::format("(n * {} + c) * {} + i", channels, space);
  node.line("{}", store(node, node.out(), node.y(), at, load(node, x, node.x(0), at) + " * a + b"));
  node.end();
  node.end();
  node.end();
}

void emit_mean_variance(Node& node) {
  const Value& x = node.in(0);
  std::vector<bool> reduced(x.rank(), false);
  for (const std::int64_t axis : node.integers("axes").value_or(Dims{0, 2, 3}))
    reduced[node.axis(axis, x.rank())] = true;
  Dims kept, moved;
  Walk outer, inner;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    (reduced[i] ? moved : kept).push_back(x.dims[i]);
    (reduced[i] ? inner : outer).strides.push_back(x.stride(i));
  }
  std::int64_t count = 1;
  for (const std::int64_t size : moved) count *= size;
  const Nest rows(kept, {outer}), elements(moved, {inner}, "j");
  const std::string at = rows.at(0) + " + " + elements.at(0);
  const std::string n = number(x, static_cast<double>(count));
  rows.open(node);
  node.line("{} mean = 0, squares = 0;", computed(x));
  elements.open(node);
  node.line("mean += {} / {};", load(node, x, node.x(0), at), n);
  elements.close(node);
  elements.open(node);
  node.line("const {} d = {} - mean;", computed(x), load(node, x, node.x(0), at));
  node.line("squares += d * d / {};", n);
  elements.close(node);
  elements.open(node);
  node.line("{}", store(node, node.out(), node.y(), at,
                        typed("($x - mean) / (sqrt$f(squares) + 1e-9$f)", x,
                              {{"x", load(node, x, node.x(0), at)}})));
  elements.close(node);
  rows.close(node);
}

void emit_local_response(Node& node) {
  const Value& x = node.in(0);
  const std::int64_t size = node.integer("size", 1), channels = x.dims[1], space = x.product(2, x.rank());
  const std::int64_t before = (size - 1) / 2, after = size - 1 - before;
  node.loop("n", x.dims[0]);
  node.loop("c", channels);
  node.loop("i", space);
  node.line("{} s = 0;", computed(x));
  node.open("for (int32_t k = c - {}; k <= c + {}; ++k)", before, after);
  node.line("if (k < 0 || k >= {}) continue;", channels);
  node.line("const {} x = {};", computed(x),
            load(node, x, node.x(0), fmt::format("(n * {} + k) * {} + i", channels, space)));
  node.line("s += x * x;");
  node.close();
  const std::string at = fmt::format("(n * {} + c) * {} + i", channels, space);
  const std::string scale = number(x, node.real("alpha", 1e-4f) / static_cast<float>(size));
  node.line("{}", store(node, node.out(), node.y(), at,
                        typed("$x / pow$f($k + $a * s, $p)", x,
                              {{"x", load(node, x, node.x(0), at)},
                               {"k", number(x, node.real("bias", 1))},
                               {"a", scale},
                               {"p", number(x, node.real("beta", 0.75f))}})));
  node.end();
  node.end();
  node.end();
}

}  // namespace

std::span<const Descriptor> norm_descriptors() {
  static constexpr Descriptor all[] = {
      {"BatchNormalization", "", emit_batch, InPlace::yes},
      {"GroupNormalization", "", emit_group, InPlace::yes},
      {"InstanceNormalization", "", emit_instance, InPlace::yes},
      {"LRN", "", emit_local_response},
      {"LayerNormalization", "", emit_layer, InPlace::yes},
      {"LayerNormalization", "com.microsoft", emit_layer, InPlace::yes},
      {"MeanVarianceNormalization", "", emit_mean_variance, InPlace::yes},
      {"RMSNormalization", "", emit_layer, InPlace::yes},
      {"SimplifiedLayerNormalization", "", emit_layer, InPlace::yes},
      {"SimplifiedLayerNormalization", "com.microsoft", emit_layer, InPlace::yes},
  };
  return all;
}

}  // namespace anybit::cgen
