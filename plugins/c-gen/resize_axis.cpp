#include "resize_axis.hpp"

#include <algorithm>
#include <cmath>

namespace anybit::cgen {
namespace {

// The attributes, including those of older versions and of Upsample.
struct Rule {
  std::string mode, coordinates = "asymmetric", nearest = "simple";
  bool antialias = false, exclude_outside = false;
  double cubic = -0.75;
};

Rule rule_of(const Node& node, bool old) {
  Rule rule{node.text("mode", "nearest")};
  if (old) return rule;
  rule.coordinates = node.text("coordinate_transformation_mode", "half_pixel");
  rule.nearest = node.text("nearest_mode", "round_prefer_floor");
  rule.antialias = node.flag("antialias");
  rule.exclude_outside = node.flag("exclude_outside");
  rule.cubic = node.real("cubic_coeff_a", -0.75f);
  return rule;
}

// The input coordinate of output j.
double place(const Rule& rule, const ResizeAxis& axis, std::int64_t j) {
  const auto x = static_cast<double>(j), size = static_cast<double>(axis.in),
             wide = static_cast<double>(axis.out);
  const double exact = axis.scale * size;  // the exact size before truncation
  if (rule.coordinates == "half_pixel_symmetric")
    return size / 2 * (1 - wide / exact) + (x + 0.5) / axis.scale - 0.5;
  if (rule.coordinates == "pytorch_half_pixel" && exact == 1) return -0.5;
  if (rule.coordinates == "align_corners") return exact == 1 ? 0 : x * (size - 1) / (exact - 1);
  if (rule.coordinates == "asymmetric") return x / axis.scale;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (rule.coordinates == "tf_crop_and_resize") {
    const double from = axis.start * (size - 1), way = (axis.end - axis.start) * (size - 1);
    return exact == 1 ? way / 2 + from : x * way / (exact - 1) + from;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

bool is_outside(const Rule& rule, const ResizeAxis& axis, std::int64_t j) {
  if (rule.coordinates != "tf_crop_and_resize") return false;
  const double x = place(rule, axis, j);
  return !(x >= 0 && x <= static_cast<double>(axis.in - 1));
}

double nearest(const Rule& rule, const ResizeAxis& axis, double x) {
  if (rule.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (rule.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (rule.nearest == "simple") return axis.scale < 1 ? std::ceil(x) : std::floor(x);
  return rule.nearest == "floor" ? std::floor(x) : std::ceil(x);
}

double filter(const Rule& rule, double x) {
  x = std::abs(x);
  if (rule.mode != "cubic") return std::max(0.0, 1 - x);
  const double a = rule.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The first tap of an output, relative to the element before its coordinate.
double before_place(const Rule& rule, const ResizeAxis& axis) {
  const double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  return std::floor(-(rule.mode == "cubic" ? 2 : 1) / shrink) + 1;
}

// The number of table entries of an axis.
double work(const Rule& rule, const ResizeAxis& axis) {
  const double taps = rule.mode == "nearest" ? 1 : 2 - 2 * before_place(rule, axis);
  return static_cast<double>(axis.out) * taps;
}

// Taps beyond the edges are clamped to them, or excluded.
void weigh(const Rule& rule, ResizeAxis& axis) {
  const double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double before = before_place(rule, axis);
  // Capped: if an axis has no outputs, no check of the table size limits the taps.
  const auto count = static_cast<std::int64_t>(std::min(2 - 2 * before, 0x1p62));
  axis.taps = std::min(count, axis.in);
  for (std::int64_t j = 0; j < axis.out; ++j) {
    const bool outside = is_outside(rule, axis, j);
    const double x = std::clamp(outside ? 0 : place(rule, axis, j), -1e9, 1e15);
    const auto from = static_cast<std::int64_t>(std::floor(x) + before);
    const std::int64_t begin = std::clamp<std::int64_t>(from, 0, axis.in - axis.taps);
    std::vector<double> sums(static_cast<std::size_t>(axis.taps), 0);
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = from + i, inside = std::clamp<std::int64_t>(at, 0, axis.in - 1);
      if (rule.exclude_outside && at != inside) continue;
      const double weight = filter(rule, (before + static_cast<double>(i) - (x - std::floor(x))) * shrink);
      total += weight;
      sums[static_cast<std::size_t>(inside - begin)] += weight;
    }
    const double unit = (rule.antialias || rule.exclude_outside) && total != 0 ? total : 1;
    axis.first.push_back(outside ? -1 : static_cast<std::int32_t>(begin));
    for (const double sum : sums) axis.weights.push_back(static_cast<float>(sum / unit));
  }
}

void pick(const Rule& rule, ResizeAxis& axis) {
  for (std::int64_t j = 0; j < axis.out; ++j) {
    const double x = nearest(rule, axis, place(rule, axis, j)), last = static_cast<double>(axis.in - 1);
    axis.first.push_back(
        is_outside(rule, axis, j) ? -1 : static_cast<std::int32_t>(x > 0 ? std::min(x, last) : 0));
  }
}

void set_scales(const Node& node, const std::vector<std::size_t>& chosen, bool old,
                std::vector<ResizeAxis>& axes) {
  const std::size_t input = old ? 1 : 2;
  std::vector<float> scales;
  if (const auto given = node.reals("scales")) scales = *given;
  if (scales.empty() && node.has(input)) scales = node.floats_in(input, "the scales");
  double common = -1;
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  const std::vector<std::int64_t> sizes =
      scales.empty() ? node.integers_in(3, "the sizes") : std::vector<std::int64_t>();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ResizeAxis& axis = axes[chosen[i]];
    axis.scale = scales.empty() ? static_cast<double>(sizes[i]) / static_cast<double>(axis.in)
                                : static_cast<double>(scales[i]);
    const bool better = policy == "not_smaller" ? axis.scale > common : axis.scale < common;
    if (common < 0 || better) common = axis.scale;
  }
  for (const std::size_t i : chosen) {
    if (scales.empty() && policy != "stretch") axes[i].scale = common;
  }
}

}  // namespace

std::vector<ResizeAxis> resize_axes(const Node& node) {
  const Value &x = node.in(0), &y = node.out();
  const bool old = node.op() == "Upsample" || node.version() < 11;
  const Rule rule = rule_of(node, old);
  std::vector<ResizeAxis> axes;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    axes.push_back({x.dims[i], y.dims[i]});
    chosen.push_back(i);
  }
  if (const auto given = node.integers("axes"); given && !old) {
    chosen.clear();
    for (const std::int64_t axis : *given) chosen.push_back(node.axis(axis, x.rank()));
  }
  set_scales(node, chosen, old, axes);
  const bool crops = rule.coordinates == "tf_crop_and_resize";
  if (crops) {
    const std::vector<float> region = node.floats_in(1, "the region of interest");
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      axes[chosen[i]].start = region[i];
      axes[chosen[i]].end = region[chosen.size() + i];
    }
  }
  for (ResizeAxis& axis : axes) {
    axis.still = axis.in == axis.out && axis.scale == 1 && !crops;
    if (axis.still) continue;
    node.check_table(static_cast<std::int64_t>(std::min(work(rule, axis), 0x1p62)));
    rule.mode == "nearest" ? pick(rule, axis) : weigh(rule, axis);
  }
  return axes;
}

}  // namespace anybit::cgen
