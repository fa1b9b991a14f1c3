// GridSample samples an image at the coordinates of a grid; AffineGrid computes such a grid from matrices.
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// Neighbours of a coordinate on one axis. Modes: 0 nearest, 1 linear, 2 cubic; padding: 0 zeros, 1 border, 2
// reflection. An index of -1 is outside of the image.
constexpr std::string_view kReflected = R"(static double grid_reflected(double x, double low, double high) {
  const double range = high - low;
  double away;
  if (!(range > 0)) return low;
  away = fmod(fabs(x - low), 2 * range);
  return low + (away > range ? 2 * range - away : away);
})";

constexpr std::string_view kInside =
    R"(static int32_t grid_inside(int32_t at, int32_t size, int padding, int align) {
  if (at >= 0 && at < size) return at;
  if (padding == 0) return -1;
  if (padding == 2) at = (int32_t)grid_reflected(at, align ? 0 : -0.5, size - (align ? 1 : 0.5));
  return at < 0 ? 0 : at >= size ? size - 1 : at;
})";

constexpr std::string_view kNeighbours =
    R"(static void grid_neighbours(double normal, int32_t size, int mode, int padding, int align, int32_t *place,
                            double *weight) {
  const double low = align ? 0 : -0.5, high = size - (align ? 1 : 0.5), a = -0.75;
  double x = align ? (normal + 1) / 2 * (size - 1) : ((normal + 1) * size - 1) / 2, r;
  int32_t floored;
  x = x > -1e9 ? (x < 1e9 ? x : 1e9) : -1e9;
  if (mode == 0) x = rint(x);
  if (x < low || x > high) {
    if (padding == 1 && mode != 2) x = x < 0 ? 0 : size - 1;
    if (padding == 2) x = grid_reflected(x, low, high);
  }
  floored = (int32_t)floor(x);
  r = x - floored;
  if (mode == 0) {
    place[0] = grid_inside((int32_t)rint(x), size, padding, align);
    weight[0] = 1;
    return;
  }
  for (int32_t k = 0; k < 2 * mode; ++k) place[k] = grid_inside(floored + k - (mode == 2), size, padding, align);
  weight[0] = 1 - r;
  weight[1] = r;
  if (mode == 1) return;
  weight[0] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
  weight[1] = ((a + 2) * r - (a + 3)) * r * r + 1;
  weight[2] = ((a + 2) * (1 - r) - (a + 3)) * (1 - r) * (1 - r) + 1;
  weight[3] = ((a * (2 - r) - 5 * a) * (2 - r) + 8 * a) * (2 - r) - 4 * a;
})";

void emit_grid_sample(Node& node) {
  const Value &x = node.in(0), &grid = node.in(1), &y = node.out();
  const std::string mode = node.text("mode", "linear"), padding = node.text("padding_mode", "zeros");
  const int kind = mode == "nearest" ? 0 : mode.ends_with("linear") ? 1 : 2;
  const int beyond = padding == "zeros" ? 0 : padding == "border" ? 1 : 2, taps = kind == 0 ? 1 : 2 * kind;
  const std::size_t space = x.rank() - 2;
  const std::int64_t points = y.product(2, y.rank()), plane = x.product(2, x.rank());
  node.helper("grid_reflected", kReflected);
  node.helper("grid_inside", kInside);
  node.helper("grid_neighbours", kNeighbours);
  node.loop("n", x.dims[0]);
  node.loop("p", points);
  node.line("int32_t place[{}][4];", space);
  node.line("double weight[{}][4];", space);
  // The grid lists coordinates from the innermost axis outwards.
  for (std::size_t i = 0; i < space; ++i)
    node.line(
        "grid_neighbours({}, {}, {}, {}, {}, place[{}], weight[{}]);",
        load(node, grid, node.x(1), fmt::format("(n * {} + p) * {} + {}", points, space, space - 1 - i)),
        x.dims[i + 2], kind, beyond, int{node.flag("align_corners")}, i, i);
  node.loop("c", x.dims[1]);
  node.line("double s = 0;");
  std::string at = "0", weight;
  for (std::size_t i = 0; i < space; ++i) {
    node.loop(fmt::format("k{}", i), taps);
    node.line("if (place[{0}][k{0}] < 0) continue;", i);
    at = fmt::format("({}) * {} + place[{}][k{}]", at, x.dims[i + 2], i, i);
    weight += fmt::format("weight[{0}][k{0}] * ", i);
  }
  node.line("s += {}(double){};", weight,
            load(node, x, node.x(0), fmt::format("(n * {} + c) * {} + {}", x.dims[1], plane, at)));
  for (std::size_t i = 0; i < space; ++i) node.end();
  node.line("{}", store(node, y, node.y(), fmt::format("(n * {} + c) * {} + p", x.dims[1], points),
                        typed("($T)s", y)));
  for (int i = 0; i < 3; ++i) node.end();
}

void emit_affine_grid(Node& node) {
  const Value &theta = node.in(0), &y = node.out();
  const std::size_t space = y.rank() - 2;
  const bool align = node.flag("align_corners");
  node.loop("n", y.dims[0]);
  std::string point = "n";
  for (std::size_t i = 0; i < space; ++i) {
    const std::int64_t size = y.dims[i + 1];
    node.loop(fmt::format("i{}", i), size);
    point = fmt::format("({}) * {} + i{}", point, size, i);
    const std::string middle = align ? (size > 1 ? fmt::format("2.0$f * i{} / {} - 1", i, size - 1) : "-1")
                                     : fmt::format("(2.0$f * i{} + 1) / {} - 1", i, size);
    node.line("const {} p{} = {};", computed(theta), i, typed(middle, theta));
  }
  for (std::size_t r = 0; r < space; ++r) {
    const auto element = [&](std::size_t c) {
      return load(node, theta, node.x(0),
                  fmt::format("n * {} + {}", space * (space + 1), r * (space + 1) + c));
    };
    std::string sum = element(space);
    for (std::size_t c = 0; c < space; ++c) sum += fmt::format(" + {} * p{}", element(c), space - 1 - c);
    node.line("{}", store(node, y, node.y(), fmt::format("({}) * {} + {}", point, space, r), sum));
  }
  for (std::size_t i = 0; i <= space; ++i) node.end();
}

}  // namespace

std::span<const Descriptor> grid_descriptors() {
  static constexpr Descriptor all[] = {{"AffineGrid", "", emit_affine_grid},
                                       {"GridSample", "", emit_grid_sample}};
  return all;
}

}  // namespace anybit::cgen
