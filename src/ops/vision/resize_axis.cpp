#include "ops/vision/resize_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace anybit::ops {
namespace {

using Coordinates = ResizeRule::Coordinates;
using Mode = ResizeRule::Mode;
using Nearest = ResizeRule::Nearest;

template <class Enum, std::size_t N>
Result<Enum> named(std::string_view what, std::string_view name,
                   const std::array<std::pair<std::string_view, Enum>, N>& names) {
  for (const auto& [known, value] : names) {
    if (known == name) return value;
  }
  std::string all;
  for (const auto& [known, value] : names) all += (all.empty() ? "" : ", ") + std::string(known);
  return wrong(fmt::format("{} is '{}'", what, shown(name)), all);
}

constexpr std::array<std::pair<std::string_view, Mode>, 5> kModes{{{"nearest", Mode::nearest},
                                                                   {"linear", Mode::linear},
                                                                   {"cubic", Mode::cubic},
                                                                   {"bilinear", Mode::linear},
                                                                   {"trilinear", Mode::linear}}};
constexpr std::array<std::pair<std::string_view, Coordinates>, 7> kCoordinates{
    {{"half_pixel", Coordinates::half_pixel},
     {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
     {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
     {"align_corners", Coordinates::align_corners},
     {"asymmetric", Coordinates::asymmetric},
     {"tf_half_pixel_for_nn", Coordinates::tf_half_pixel_for_nn},
     {"tf_crop_and_resize", Coordinates::tf_crop_and_resize}}};
constexpr std::array<std::pair<std::string_view, Nearest>, 4> kNearest{
    {{"round_prefer_floor", Nearest::prefer_floor},
     {"round_prefer_ceil", Nearest::prefer_ceil},
     {"floor", Nearest::floor},
     {"ceil", Nearest::ceil}}};

double nearest(const ResizeRule& rule, const ResizeAxis& axis, double x) {
  switch (rule.nearest) {
    case Nearest::prefer_floor:
      return std::ceil(x - 0.5);
    case Nearest::prefer_ceil:
      return std::floor(x + 0.5);
    case Nearest::floor:
      return std::floor(x);
    case Nearest::ceil:
      return std::ceil(x);
    case Nearest::simple:
      break;
  }
  return axis.scale < 1 ? std::ceil(x) : std::floor(x);
}

// Keys' cubic convolution kernel; see the operator's specification.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double filter(const ResizeRule& rule, double x) {
  return rule.mode == Mode::cubic ? cubic(x, rule.cubic_a) : std::max(0.0, 1 - std::abs(x));
}

}  // namespace

Result<ResizeRule> resize_rule(const Frame& frame, bool old) {
  ResizeRule rule;
  rule.mode = TRY(named("mode", frame.text("mode", "nearest"), kModes));
  rule.coordinates = Coordinates::asymmetric;
  rule.nearest = Nearest::simple;
  if (old) return rule;
  rule.coordinates = TRY(named("coordinate_transformation_mode",
                               frame.text("coordinate_transformation_mode", "half_pixel"), kCoordinates));
  rule.nearest = TRY(named("nearest_mode", frame.text("nearest_mode", "round_prefer_floor"), kNearest));
  rule.antialias = frame.flag("antialias");
  rule.exclude_outside = frame.flag("exclude_outside");
  rule.cubic_a = frame.real("cubic_coeff_a", -0.75);
  rule.extrapolation = frame.real("extrapolation_value", 0);
  return rule;
}

double ResizeAxis::place(const ResizeRule& rule, std::int64_t j) const {
  const auto x = static_cast<double>(j), size = static_cast<double>(in), wide = static_cast<double>(out);
  const double exact = scale * size;  // exact output size before rounding
  switch (rule.coordinates) {
    case Coordinates::half_pixel:
      break;
    case Coordinates::half_pixel_symmetric:
      return size / 2 * (1 - wide / exact) + (x + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      if (exact == 1) return -0.5;
      break;
    case Coordinates::align_corners:
      return exact == 1 ? 0 : x * (size - 1) / (exact - 1);
    case Coordinates::asymmetric:
      return x / scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / scale;
    case Coordinates::tf_crop_and_resize:
      if (exact == 1) return (end - start) * (size - 1) / 2 + start * (size - 1);
      return x * (end - start) * (size - 1) / (exact - 1) + start * (size - 1);
  }
  return (x + 0.5) / scale - 0.5;
}

bool ResizeAxis::outside(const ResizeRule& rule, std::int64_t j) const {
  if (rule.coordinates != Coordinates::tf_crop_and_resize) return false;
  const double x = place(rule, j);
  return !(x >= 0 && x <= static_cast<double>(in - 1));
}

Result<std::span<const std::int64_t>> nearest_places(Frame& frame, const ResizeRule& rule,
                                                     const ResizeAxis& axis) {
  const auto places = TRY(frame.scratch_of<std::int64_t>(axis.out));
  for (std::int64_t j = 0; j < axis.out; ++j) {
    const double x = nearest(rule, axis, axis.place(rule, j)), last = static_cast<double>(axis.in - 1);
    const double inside = x > 0 ? std::min(x, last) : 0;  // NaN gives 0
    places[static_cast<std::size_t>(j)] = static_cast<std::int64_t>(inside);
  }
  return std::span<const std::int64_t>(places);
}

template <class T>
Result<kernels::Taps<T>> resize_taps(Frame& frame, const ResizeRule& rule, const ResizeAxis& axis) {
  // When downsampling, an antialiased filter is wider by the inverse of the scale.
  const double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double reach = rule.mode == Mode::cubic ? 2 : 1;
  const double before = std::floor(-reach / shrink) + 1;
  const double wide = 2 - 2 * before, most = static_cast<double>(axis.in) * 4 + 16;
  if (!(wide <= most) && !(wide * static_cast<double>(axis.out) <= most))
    return wrong(fmt::format("scale {} is too small for an axis of size {}", axis.scale, axis.in));
  const auto count =
      static_cast<std::int64_t>(std::min(wide, 0x1p62));  // an axis without outputs may have any count
  kernels::Taps<T> taps{axis.in, axis.out, std::min(count, axis.in), {}, {}};
  const auto first = TRY(frame.scratch_of<std::int64_t>(axis.out));
  const auto weights = TRY(frame.scratch_of<T>(axis.out * taps.taps));
  const auto sums = TRY(frame.scratch_of<double>(taps.taps));
  for (std::int64_t j = 0; j < axis.out; ++j) {
    const double x = std::clamp(axis.outside(rule, j) ? 0 : axis.place(rule, j), -1e9, 1e15);
    const double floor = std::floor(x), ratio = x - floor;
    const auto from = static_cast<std::int64_t>(floor + before);
    const std::int64_t begin = std::clamp<std::int64_t>(from, 0, axis.in - taps.taps);
    std::ranges::fill(sums, 0.0);
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = from + i, inside = std::clamp<std::int64_t>(at, 0, axis.in - 1);
      if (rule.exclude_outside && at != inside) continue;
      const double weight = filter(rule, (before + static_cast<double>(i) - ratio) * shrink);
      total += weight;
      sums[static_cast<std::size_t>(inside - begin)] += weight;
    }
    const double unit = (rule.antialias || rule.exclude_outside) && total != 0 ? total : 1;
    first[static_cast<std::size_t>(j)] = begin;
    for (std::int64_t t = 0; t < taps.taps; ++t) {
      weights[static_cast<std::size_t>(j * taps.taps + t)] =
          static_cast<T>(sums[static_cast<std::size_t>(t)] / unit);
    }
  }
  taps.first = first;
  taps.weights = weights;
  return taps;
}
template Result<kernels::Taps<float>> resize_taps(Frame&, const ResizeRule&, const ResizeAxis&);
template Result<kernels::Taps<double>> resize_taps(Frame&, const ResizeRule&, const ResizeAxis&);

}  // namespace anybit::ops
