// Direct integer convolution: plain loops.
#include <algorithm>

#include "integer_conv.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// sizes: batch, groups, input and output channels per group; then input, output, kernel, stride, dilation and
// leading padding for each of three axes ($d, $h, $v).
constexpr std::string_view kBody = R"(  for (int32_t n = 0; n < $batch; ++n) {
    for (int32_t o = 0; o < $groups * $outputs; ++o) {
      const $X *group = $x + (n * $groups + o / $outputs) * $channels * $d0 * $h0 * $v0;
      for (int32_t o0 = 0; o0 < $d1; ++o0)
      for (int32_t o1 = 0; o1 < $h1; ++o1)
      for (int32_t o2 = 0; o2 < $v1; ++o2) {
        const int32_t first0 = o0 * $d3 - $d5, first1 = o1 * $h3 - $h5, first2 = o2 * $v3 - $v5;
        const $W *weight = $w + o * ($channels * $d2 * $h2 * $v2);
        $A sum = 0;
        for (int32_t k0 = 0; k0 < $d2; ++k0)
        for (int32_t k1 = 0; k1 < $h2; ++k1)
        for (int32_t k2 = 0; k2 < $v2; ++k2, ++weight) {
          const int32_t i0 = first0 + k0 * $d4, i1 = first1 + k1 * $h4, i2 = first2 + k2 * $v4;
          if (i0 < 0 || i0 >= $d0 || i1 < 0 || i1 >= $h0 || i2 < 0 || i2 >= $v0) continue;
          const $X *point = group + (i0 * $h0 + i1) * $v0 + i2;
          for (int32_t c = 0; c < $channels; ++c)
            sum += ($A)(point[c * ($d0 * $h0 * $v0)] - $zero_x) * (weight[c * ($d2 * $h2 * $v2)] - $zero_w);
        }
        $y[(((n * $groups * $outputs + o) * $d1 + o0) * $h1 + o1) * $v1 + o2] = $done;
      }
    }
  })";

constexpr std::string_view kFunction =
    R"(ALONE static void $name(const $X *restrict x, const $W *restrict w, $Y *restrict y, const int32_t *sizes,
    int32_t x_zero, const int32_t *w_zero, const int32_t *bias, const float *factor, int32_t low, int32_t high,
    int32_t zero) {
$locals$body
})";

constexpr std::string_view kSizes[] = {"batch", "groups", "channels", "outputs"};

std::vector<std::int32_t> sizes_of(const IntegerConv& conv) {
  std::vector<std::int32_t> sizes;
  for (const std::int64_t one : {conv.batch, conv.groups, conv.channels, conv.outputs})
    sizes.push_back(static_cast<std::int32_t>(one));
  for (const WindowAxis& axis : conv.space) {
    for (const std::int64_t one :
         {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.before})
      sizes.push_back(static_cast<std::int32_t>(one));
  }
  return sizes;
}

std::string size_name(std::size_t i) {
  return i < 4 ? std::string(kSizes[i]) : fmt::format("{}{}", "dhv"[(i - 4) / 6], (i - 4) % 6);
}

// The sizes by name: literals, or variables.
Names named_sizes(const std::vector<std::int32_t>& sizes, bool numbers) {
  Names names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = size_name(i);
    names.push_back({name, numbers ? fmt::format("{}", sizes[i]) : name});
  }
  return names;
}

std::string types(const Node& node, const IntegerConv& conv) {
  return fmt::format("{}_{}_{}{}", short_name(node.in(conv.x)), short_name(node.in(conv.w)),
                     short_name(node.out()), conv.wide ? "_wide" : "");
}

Names common_names(const Node& node, const IntegerConv& conv) {
  return {{"X", std::string(node.in(conv.x).c())},
          {"W", std::string(node.in(conv.w).c())},
          {"Y", std::string(node.out().c())},
          {"A", conv.wide ? "int64_t" : "int32_t"}};
}

void emit_function(Node& node, const IntegerConv& conv) {
  const Value& y = node.out();
  const std::string name = "conv_" + types(node, conv);
  Names names = common_names(node, conv);
  for (auto& one : named_sizes(sizes_of(conv), false)) names.push_back(std::move(one));
  names.insert(names.end(),
               {{"zero_x", "x_zero"}, {"zero_w", "w_zero[o]"}, {"x", "x"}, {"w", "w"}, {"y", "y"}});
  names.insert(names.begin(),
               {"done", conv.quantized ? fmt::format("({})to_code((float)(sum + bias[o]) * factor[o], "
                                                     "low, high, zero)",
                                                     y.c())
                                       : "((void)bias, (void)factor, (void)low, (void)high, (void)zero, "
                                         "(int32_t)sum)"});
  const std::string body = filled(kBody, names);
  std::string locals;  // copies that stores to y cannot alias
  for (std::size_t i = 0; i < sizes_of(conv).size(); ++i)
    locals += fmt::format("  const int32_t {} = sizes[{}];\n", size_name(i), i);
  names.insert(names.begin(), {{"name", name}, {"body", body}, {"locals", locals}});
  node.helper(name, filled(kFunction, names));
  node.line("{}({}, {}, {}, {}, {}, {}, {}, {}, {});", name, node.x(conv.x), node.x(conv.w), node.y(),
            node.int32s(sizes_of(conv)), conv.x_zero, node.int32s(conv.w_zero),
            conv.quantized ? node.int32s(conv.bias) : "(const int32_t *)0",
            conv.quantized ? node.floats(conv.factors) : "(const float *)0",
            conv.quantized ? code_arguments(conv.y_zero, y.info()) : "0, 0, 0");
}

bool all_zero(const std::vector<std::int32_t>& numbers) {
  return std::ranges::all_of(numbers, [](std::int32_t one) { return one == 0; });
}

void emit_here(Node& node, const IntegerConv& conv) {
  const Value& y = node.out();
  Names names = common_names(node, conv);
  for (auto& one : named_sizes(sizes_of(conv), true)) names.push_back(std::move(one));
  std::string done = "(int32_t)sum";
  if (conv.quantized)
    done = to_code(
        node, fmt::format("(float)(sum + {}[o]) * {}[o]", node.int32s(conv.bias), node.floats(conv.factors)),
        conv.y_zero, y.info());
  names.insert(names.begin(), {"done", done});
  names.insert(names.end(), {{"zero_x", fmt::format("({})", conv.x_zero)},
                             {"zero_w", all_zero(conv.w_zero) ? "0" : node.int32s(conv.w_zero) + "[o]"},
                             {"x", node.x(conv.x)},
                             {"w", node.x(conv.w)},
                             {"y", node.y()}});
  node.line("{}", filled(kBody, names));
}

}  // namespace

// For compact code all convolutions share a function; otherwise each has its sizes as literals.
void emit_direct_conv(Node& node, const IntegerConv& conv) {
  if (conv.quantized) need_to_code(node);
  if (node.quick()) return emit_function(node, conv);
  emit_here(node, conv);
}

}  // namespace anybit::cgen
