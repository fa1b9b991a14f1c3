// Reductions over axes: a table row per operator with its initial value, step and final expression.
#include <algorithm>

#include "nest.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// `s` is the accumulator, of type $A: $T, or for sums of integers $U, which wraps. $n elements are reduced.
struct Reduction {
  std::string_view op, first, step, last = "s";
  std::string_view integer_step = step;  // for integers; empty: unsupported
  bool wraps = true;                     // integers: computed in $U
};

constexpr Reduction kReductions[] = {
    {"ReduceL1", "0", "s += fabs$f(x)", "s", "s += ($A)(x < 0 ? 0 - ($U)x : ($U)x)"},
    {"ReduceL2", "0", "s += x * x", "sqrt$f(s)", ""},
    {"ReduceLogSum", "0", "s += x", "log$f(s)", ""},
    {"ReduceMax", "$low", "if (x > s || x != x) s = x", "s", "if (x > s) s = x", false},
    {"ReduceMean", "0", "s += x", "s / $n", "s = ($A)((uint64_t)s + (uint64_t)x)", false},
    {"ReduceMin", "$high", "if (x < s || x != x) s = x", "s", "if (x < s) s = x", false},
    {"ReduceProd", "1", "s *= x", "s", "s *= ($A)x"},
    {"ReduceSum", "0", "s += x", "s", "s += ($A)x"},
    {"ReduceSumSquare", "0", "s += x * x", "s", "s += ($A)x * ($A)x"},
};

// The kept and the reduced axes of the input.
struct Split {
  Dims kept, reduced;
  Walk kept_walk, reduced_walk;
};

Split split_of(const Node& node) {
  const Value& in = node.in(0);
  std::optional<Dims> axes = node.integers("axes");
  if (node.has(1)) axes = node.integers_in(1, "the axes");
  std::vector<bool> is_reduced(in.rank(), false);
  if (axes && !axes->empty()) {
    for (const std::int64_t axis : *axes) is_reduced[node.axis(axis, in.rank())] = true;
  } else if (!node.flag("noop_with_empty_axes")) {
    is_reduced.assign(in.rank(), true);
  }
  Split split;
  for (std::size_t i = 0; i < in.rank(); ++i) {
    (is_reduced[i] ? split.reduced : split.kept).push_back(in.dims[i]);
    (is_reduced[i] ? split.reduced_walk : split.kept_walk).strides.push_back(in.stride(i));
  }
  return split;
}

struct Loops {
  Nest outer, inner;
  std::int64_t count;  // reduced elements
};

Loops loops_of(const Node& node) {
  const Split split = split_of(node);
  std::int64_t count = 1;
  for (const std::int64_t size : split.reduced) count *= size;
  return {{split.kept, {{strides_of(split.kept)}, split.kept_walk}},
          {split.reduced, {split.reduced_walk}, "j"},
          count};
}

std::string element(Node& node, const Loops& loops) {
  return load(node, node.in(0), node.x(0), loops.outer.at(1) + " + " + loops.inner.at(0));
}

void emit_reduction(Node& node) {
  const Value& in = node.in(0);
  const auto* row = std::ranges::find(kReductions, node.op(), &Reduction::op);
  const bool real = is_real(in);
  if (!real && row->integer_step.empty()) node.refuse("unsupported input type {}", in.info().name);
  const Loops loops = loops_of(node);
  const bool integer_mean = !real && row->op == "ReduceMean";  // 64-bit sums
  std::string type(!real && row->wraps ? wrapping(in) : computed(in));
  if (integer_mean) type = is_unsigned(in) ? "uint64_t" : "int64_t";
  std::string_view step = real ? row->step : row->integer_step, last = row->last;
  if (integer_mean) last = loops.count > 0 ? "s / ($A)$n" : "0";
  if (!real && row->op == "ReduceL1" && is_unsigned(in)) step = "s += ($A)x";
  const auto text = [&](std::string_view what) {
    return typed(
        what, in,
        {{"low", lowest(in)},
         {"high", largest(in)},
         {"n", integer_mean ? fmt::format("{}", loops.count) : number(in, static_cast<double>(loops.count))},
         {"A", type}});
  };
  loops.outer.open(node);
  node.line("{} s = {};", type, text(row->first));
  loops.inner.open(node);
  node.line("const {} x = {};", computed(in), element(node, loops));
  node.line("{};", text(step));
  loops.inner.close(node);
  node.line("{}", store(node, node.out(), node.y(), loops.outer.at(0), text(last)));
  loops.outer.close(node);
}

// Subtracts the maximum first, so that no exponential overflows.
void emit_log_sum_exp(Node& node) {
  const Value& in = node.in(0);
  if (!is_real(in)) node.refuse("unsupported input type {}", in.info().name);
  const Loops loops = loops_of(node);
  loops.outer.open(node);
  node.line("{} most = -INFINITY, s = 0;", computed(in));
  loops.inner.open(node);
  node.line("const {} x = {};", computed(in), element(node, loops));
  node.line("if (x > most) most = x;");
  loops.inner.close(node);
  node.line("{}", typed("if (fabs$f(most) == INFINITY) most = 0;", in));
  loops.inner.open(node);
  node.line("s += {};", typed("exp$f($x - most)", in, {{"x", element(node, loops)}}));
  loops.inner.close(node);
  node.line("{}", store(node, node.out(), node.y(), loops.outer.at(0), typed("log$f(s) + most", in)));
  loops.outer.close(node);
}

std::vector<Descriptor> all_descriptors() {
  std::vector<Descriptor> all = {{"ReduceLogSumExp", "", emit_log_sum_exp}};
  for (const Reduction& row : kReductions) all.push_back({row.op, "", emit_reduction});
  return all;
}

}  // namespace

std::span<const Descriptor> reduce_descriptors() {
  static const std::vector<Descriptor> all = all_descriptors();
  return all;
}

}  // namespace anybit::cgen
