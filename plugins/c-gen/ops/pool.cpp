// Pooling over windows, and global pooling.
#include "numbers.hpp"
#include "window.hpp"

namespace anybit::cgen {
namespace {

// Loops over outputs and the elements of each window: `x` is the element, `at` its index in the plane.
struct Pool {
  Node& node;
  Window window;
  std::int64_t maps, input, output;
  std::string out_place = "0";

  Pool(Node& of, bool global) : node(of) {
    const Value &x = node.in(0), &y = node.out();
    Dims kernel(x.dims.begin() + 2, x.dims.end());
    if (!global) kernel = node.integers("kernel_shape").value_or(Dims());
    if (kernel.size() + 2 != x.rank())
      node.refuse("the input has {} dimensions, the kernel {}", x.rank(), kernel.size());
    if (global) {
      for (const std::int64_t size : kernel) window.push_back({.input = size, .kernel = size});
    } else {
      window = window_of(node, x, y, kernel);
    }
    maps = x.dims[0] * x.dims[1];
    input = x.product(2, x.rank());
    output = y.product(2, y.rank());
  }

  void open_outputs() {
    node.loop("m", maps);
    for (std::size_t i = 0; i < window.size(); ++i) {
      node.loop(fmt::format("o{}", i), window[i].output);
      out_place = fmt::format("({}) * {} + o{}", out_place, window[i].output, i);
    }
  }
  void open_window() {
    std::string place = "0";
    for (std::size_t i = 0; i < window.size(); ++i) {
      node.loop(fmt::format("k{}", i), window[i].kernel);
      node.line("const int32_t p{} = {};", i,
                place_in(window[i], fmt::format("o{}", i), fmt::format("k{}", i)));
      const std::string out = outside(window[i], fmt::format("p{}", i));
      if (!out.empty()) node.line("if ({}) continue;", out);
      place = fmt::format("({}) * {} + p{}", place, window[i].input, i);
    }
    node.line("const int32_t at = {};", place);
    node.line("const {} x = {};", computed(node.in(0)),
              load(node, node.in(0), node.x(0), fmt::format("m * {} + at", input)));
  }
  void close_window() {
    for (std::size_t i = 0; i < window.size(); ++i) node.end();
  }
  void close_outputs(const std::string& result) {
    node.line("{}", store(node, node.out(), node.y(), place(), result));
    for (std::size_t i = 0; i <= window.size(); ++i) node.end();
  }
  std::string place() const { return fmt::format("m * {} + {}", output, out_place); }
};

void emit_max(Node& node, bool global) {
  Pool pool(node, global);
  pool.open_outputs();
  node.line("{} best = {};", computed(node.in(0)), lowest(node.in(0)));
  const bool indexed = node.has_out(1);
  if (indexed) node.line("int32_t where = -1;");
  pool.open_window();
  if (indexed) {
    std::string at = "at";
    if (node.flag("storage_order")) {
      at = "0";
      for (std::size_t i = pool.window.size(); i-- > 0;)
        at = fmt::format("({}) * {} + p{}", at, pool.window[i].input, i);
    }
    node.open("if (where < 0 || x > best)");
    node.line("best = x;");
    node.line("where = {};", at);
    node.close();
  } else {
    const bool has_nan = node.in(0).info().kind != Kind::integer;
    node.line("if (x > best{}) best = x;", has_nan ? " || x != x" : "");
  }
  pool.close_window();
  if (indexed) node.line("{}[{}] = m * {} + where;", node.y(1), pool.place(), pool.input);
  pool.close_outputs("best");
}

// With count_include_pad, elements beyond the padding (ceil_mode) still do not count.
void emit_average(Node& node, bool global) {
  Pool pool(node, global);
  const bool include = node.flag("count_include_pad");
  const Value& in = node.in(0);
  pool.open_outputs();
  node.line("{} s = 0;", computed(in));
  std::int64_t all = 1;
  bool even = true;
  for (const WindowAxis& axis : pool.window) {
    all *= axis.kernel;
    const bool inside = axis.inside_from() == 0 && axis.inside_to() == axis.output;
    const bool padded = (axis.output - 1) * axis.stride + axis.dilation * (axis.kernel - 1) - axis.before <
                        axis.input + axis.after;
    even = even && (include ? padded : inside);
  }
  if (!even) node.line("int32_t count = {};", include ? 1 : 0);
  pool.open_window();
  node.line("s += x;");
  if (!even && !include) node.line("++count;");
  pool.close_window();
  for (std::size_t i = 0; !even && include && i < pool.window.size(); ++i) {
    const WindowAxis& axis = pool.window[i];
    node.open("");
    node.line("int32_t inside = 0;");
    node.line("for (int32_t k = 0; k < {}; ++k) inside += {} < {};", axis.kernel,
              place_in(axis, fmt::format("o{}", i), "k"), axis.input + axis.after);
    node.line("count *= inside;");
    node.close();
  }
  pool.close_outputs(even ? "s / " + number(in, static_cast<double>(all))
                          : fmt::format("s / ({})count", computed(in)));
}

void emit_lp(Node& node, bool global) {
  Pool pool(node, global);
  const Value& in = node.in(0);
  const std::int64_t p = node.integer("p", 2);
  pool.open_outputs();
  node.line("{} s = 0;", computed(in));
  pool.open_window();
  const std::string power = literal(static_cast<std::int64_t>(p));
  node.line("s += {};", p == 1   ? typed("fabs$f(x)", in)
                        : p == 2 ? "x * x"
                                 : typed("pow$f(fabs$f(x), $p)", in, {{"p", power}}));
  pool.close_window();
  pool.close_outputs(p == 1   ? "s"
                     : p == 2 ? typed("sqrt$f(s)", in)
                              : typed("pow$f(s, 1.0$f / $p)", in, {{"p", power}}));
}

template <void (*kEmit)(Node&, bool), bool kGlobal>
void emit(Node& node) {
  kEmit(node, kGlobal);
}

}  // namespace

std::span<const Descriptor> pool_descriptors() {
  static constexpr Descriptor all[] = {
      {"AveragePool", "", emit<emit_average, false>}, {"GlobalAveragePool", "", emit<emit_average, true>},
      {"GlobalLpPool", "", emit<emit_lp, true>},      {"GlobalMaxPool", "", emit<emit_max, true>},
      {"LpPool", "", emit<emit_lp, false>},           {"MaxPool", "", emit<emit_max, false>},
  };
  return all;
}

}  // namespace anybit::cgen
