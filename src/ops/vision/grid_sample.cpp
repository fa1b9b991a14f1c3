// GridSample: samples an image by interpolation. ONNX: GridSample-16 (2-D), -20 (any rank), -22.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/frame.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The grid's last axis holds coordinates; its other axes replace the image's spatial axes.
Result<Values> infer_grid_sample(const Call& call) {
  const auto& x = call.in(0).shape;
  const auto& grid = call.in(1).shape;
  if (!x || !grid) return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  if (x->size() < 3 || grid->size() != x->size()) {
    return wrong(fmt::format("the input has rank {}, the grid {}", x->size(), grid->size()));
  }
  Shape shape{(*x)[0], (*x)[1]};
  shape.insert(shape.end(), grid->begin() + 1, grid->end() - 1);
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

enum class Mode : std::uint8_t { linear, nearest, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };
constexpr std::size_t kMostAxes = 4;  // of space: 4^4 neighbours

struct Rule {
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;
};

Result<Rule> rule_of(const Frame& frame) {
  Rule rule;
  const std::string_view mode = frame.text("mode", "linear"), padding = frame.text("padding_mode", "zeros");
  if (mode == "nearest") {
    rule.mode = Mode::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    rule.mode = Mode::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return wrong(fmt::format("mode is '{}'", mode), "linear, nearest or cubic");
  }
  if (padding == "border") {
    rule.padding = Padding::border;
  } else if (padding == "reflection") {
    rule.padding = Padding::reflection;
  } else if (padding != "zeros") {
    return wrong(fmt::format("padding_mode is '{}'", padding), "zeros, border or reflection");
  }
  rule.align_corners = frame.flag("align_corners");
  return rule;
}

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  const double away = std::fmod(std::abs(x - low), 2 * range);
  return low + (away > range ? 2 * range - away : away);
}

// The neighbours of one coordinate on one axis: positions (-1 outside the image) and weights.
struct Neighbours {
  std::array<std::int64_t, 4> place;
  std::array<double, 4> weight;
  std::size_t count = 0;
};

std::int64_t inside(const Rule& rule, std::int64_t at, std::int64_t size) {
  if (at >= 0 && at < size) return at;
  switch (rule.padding) {
    case Padding::zeros:
      return -1;
    case Padding::border:
      return std::clamp<std::int64_t>(at, 0, size - 1);
    case Padding::reflection:
      break;
  }
  const double low = rule.align_corners ? 0 : -0.5,
               high = static_cast<double>(size) - (rule.align_corners ? 1 : 0.5);
  return std::clamp(static_cast<std::int64_t>(reflected(static_cast<double>(at), low, high)), std::int64_t{0},
                    size - 1);
}

Neighbours neighbours_of(const Rule& rule, double normal, std::int64_t size) {
  const auto length = static_cast<double>(size);
  double x = rule.align_corners ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
  x = std::isnan(x) ? -1e9 : std::clamp(x, -1e9, 1e15);
  if (rule.mode == Mode::nearest) x = std::nearbyint(x);
  const double low = rule.align_corners ? 0 : -0.5, high = length - (rule.align_corners ? 1 : 0.5);
  if (x < low || x > high) {
    // Cubic interpolation clamps its neighbours, not the coordinate: as PyTorch and ONNX Runtime do.
    if (rule.padding == Padding::border && rule.mode != Mode::cubic) x = std::clamp(x, 0.0, length - 1);
    if (rule.padding == Padding::reflection) x = reflected(x, low, high);
  }
  Neighbours found;
  const auto floor = static_cast<std::int64_t>(std::floor(x));
  const double ratio = x - std::floor(x);
  const auto add = [&](std::int64_t at, double weight) {
    found.place[found.count] = inside(rule, at, size);
    found.weight[found.count++] = weight;
  };
  switch (rule.mode) {
    case Mode::nearest:
      add(static_cast<std::int64_t>(std::nearbyint(x)), 1);
      break;
    case Mode::linear:
      add(floor, 1 - ratio);
      add(floor + 1, ratio);
      break;
    case Mode::cubic: {
      constexpr double a = -0.75;
      const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      add(floor - 1, far(ratio + 1));
      add(floor, near(ratio));
      add(floor + 1, near(1 - ratio));
      add(floor + 2, far(2 - ratio));
    }
  }
  return found;
}

// All neighbours of one point, as offsets within a channel.
struct Point {
  std::array<std::int64_t, 256> at;
  std::array<double, 256> weight;
  std::size_t count = 0;
};

template <class G>
Point point_of(const Rule& rule, const Array& x, const G* coordinates) {
  const std::size_t space = x.rank() - 2;
  Point point;
  point.count = 1;
  point.at[0] = 0;
  point.weight[0] = 1;
  for (std::size_t axis = 0; axis < space; ++axis) {
    // The grid lists the innermost axis first.
    const auto normal = static_cast<double>(static_cast<Computed<G>>(coordinates[space - 1 - axis]));
    const std::int64_t size = x.dim(axis + 2);
    const Neighbours next = neighbours_of(rule, normal, size);
    Point all;
    for (std::size_t i = 0; i < point.count; ++i) {
      for (std::size_t k = 0; k < next.count; ++k) {
        if (next.place[k] < 0) continue;
        all.at[all.count] = point.at[i] * size + next.place[k];
        all.weight[all.count++] = point.weight[i] * next.weight[k];
      }
    }
    std::copy_n(all.at.begin(), all.count, point.at.begin());
    std::copy_n(all.weight.begin(), all.count, point.weight.begin());
    point.count = all.count;
  }
  return point;
}

template <class T>
T blended(const Point& point, const T* image) {
  double sum = 0;
  for (std::size_t i = 0; i < point.count; ++i)
    sum += point.weight[i] * static_cast<double>(static_cast<Computed<T>>(image[point.at[i]]));
  return static_cast<T>(static_cast<Computed<T>>(sum));
}

template <class T, class G>
void sample(const Frame& frame, const Rule& rule, Array& out) {
  const Array& x = frame.in(0);
  const Array& grid = frame.in(1);
  const std::int64_t channels = x.dim(1), plane = x.dims().product(2, x.rank());
  const std::int64_t points = out.dims().product(2, out.rank());
  const auto space = static_cast<std::int64_t>(x.rank() - 2);
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Point point = point_of(rule, x, grid.data<G>() + i * space);
      const std::int64_t image = i / points * channels;
      for (std::int64_t c = image; c < image + channels; ++c)
        out.mutable_data<T>()[c * points + i % points] = blended(point, x.data<T>() + c * plane);
    }
  };
  parallel(frame, x.dim(0) * points, 60.0 + 8.0 * static_cast<double>(channels), std::ref(body));
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& grid = frame.in(1);
  const Rule rule = TRY(rule_of(frame));
  const bool fits = x.rank() >= 3 && x.rank() <= kMostAxes + 2 && grid.rank() == x.rank() &&
                    grid.dim(0) == x.dim(0) && grid.dims().back() == static_cast<std::int64_t>(x.rank()) - 2;
  if (!fits) {
    return wrong(
        fmt::format("the input is {}, the grid {}", to_string(frame.datum(0)), to_string(frame.datum(1))),
        "[batch, channels, up to 4 axes of space], and [batch, space…, coordinates]");
  }
  Dims dims{x.dim(0), x.dim(1)};
  for (std::size_t i = 1; i + 1 < grid.rank(); ++i) dims.push_back(grid.dim(i));
  if (!for_number(x.type(), [](auto) {})) return wrong_type(frame, 0);
  if (!for_real(grid.type(), [](auto) {})) return wrong_type(frame, 1);
  if (x.count() == 0 && dims.count() > 0) return wrong("the image is empty");
  Array* out = TRY(frame.out(0, x.type(), dims));
  if (out->count() == 0) return {};
  for_number(x.type(), [&]<class T>(T) {
    for_real(grid.type(), [&]<class G>(G) { sample<T, G>(frame, rule, *out); });
  });
  return {};
}

// Version 20 dropped the number of dimensions from the names of the modes.
Result<void> raise_to_20(Raising& raising) {
  if (raising.refers("mode")) return error_at(Code::unsupported, {}, "the mode is not known");
  const std::string_view mode = raising.text("mode", "bilinear");
  if (mode == "bilinear") raising.set("mode", std::string("linear"));
  if (mode == "bicubic") raising.set("mode", std::string("cubic"));
  return {};
}

}  // namespace

std::span<const Descriptor> grid_sample_descriptors() {
  static const Descriptor all[] = {{.name = "GridSample",
                                    .domain = "",
                                    .since = {16, 20, 22},
                                    .infer = infer_grid_sample,
                                    .run = run,
                                    .required = 2,
                                    .raise = {{20, raise_to_20}},
                                    .traits = computes()}};
  return all;
}

}  // namespace anybit::ops
