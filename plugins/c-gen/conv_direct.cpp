// Integer convolution from its definition: one function for all convolutions of the same types.
#include "integer_conv.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// sizes: batch, groups, channels and outputs of a group; then input, output, kernel, stride, dilation and
// padding before, for each of three axes.
constexpr std::string_view kConv =
    R"(static void $name(const $X *restrict x, const $W *restrict w, $Y *restrict y, const int32_t *sizes, int32_t x_zero,
    const int32_t *w_zero, const int32_t *bias, const float *factor, int32_t low, int32_t high, int32_t zero) {
  const int32_t *d = sizes + 4, *h = sizes + 10, *v = sizes + 16;
  const int32_t outputs = sizes[1] * sizes[3], plane = d[0] * h[0] * v[0];
  for (int32_t n = 0; n < sizes[0]; ++n) {
    for (int32_t o = 0; o < outputs; ++o) {
      const $X *group = x + (n * sizes[1] + o / sizes[3]) * sizes[2] * plane;
      for (int32_t o0 = 0; o0 < d[1]; ++o0)
      for (int32_t o1 = 0; o1 < h[1]; ++o1)
      for (int32_t o2 = 0; o2 < v[1]; ++o2) {
        const $W *weight = w + o * sizes[2] * d[2] * h[2] * v[2];
        $A sum = 0;
        for (int32_t c = 0; c < sizes[2]; ++c)
        for (int32_t k0 = 0; k0 < d[2]; ++k0)
        for (int32_t k1 = 0; k1 < h[2]; ++k1) {
          const int32_t i0 = o0 * d[3] + k0 * d[4] - d[5], i1 = o1 * h[3] + k1 * h[4] - h[5];
          if (i0 >= 0 && i0 < d[0] && i1 >= 0 && i1 < h[0]) {
            const $X *row = group + ((c * d[0] + i0) * h[0] + i1) * v[0];
            for (int32_t k2 = 0; k2 < v[2]; ++k2) {
              const int32_t i2 = o2 * v[3] + k2 * v[4] - v[5];
              if (i2 >= 0 && i2 < v[0]) sum += (row[i2] - x_zero) * (weight[k2] - w_zero[o]);
            }
          }
          weight += v[2];
        }
        *y++ = $done;
      }
    }
  }
})";

}  // namespace

void emit_direct_conv(Node& node, const IntegerConv& conv) {
  const Value &x = node.in(conv.x), &w = node.in(conv.w), &y = node.out();
  const std::string name =
      fmt::format("conv_{}_{}_{}{}", short_name(x), short_name(w), short_name(y), conv.wide ? "_wide" : "");
  if (conv.quantized) need_to_code(node);
  const std::string codes =
      fmt::format("({})to_code((float)(sum + bias[o]) * factor[o], low, high, zero)", y.c());
  node.helper(name, filled(kConv, {{"name", name},
                                   {"X", std::string(x.c())},
                                   {"W", std::string(w.c())},
                                   {"Y", std::string(y.c())},
                                   {"A", conv.wide ? "int64_t" : "int32_t"},
                                   {"done", conv.quantized ? codes
                                                           : "((void)bias, (void)factor, (void)low, "
                                                             "(void)high, (void)zero, (int32_t)sum)"}}));
  std::vector<std::int32_t> sizes;
  for (const std::int64_t one : {conv.batch, conv.groups, conv.channels, conv.outputs})
    sizes.push_back(static_cast<std::int32_t>(one));
  for (const WindowAxis& axis : conv.space) {
    for (const std::int64_t one :
         {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.before})
      sizes.push_back(static_cast<std::int32_t>(one));
  }
  node.line("{}({}, {}, {}, {}, {}, {}, {}, {}, {});", name, node.x(conv.x), node.x(conv.w), node.y(),
            node.int32s(sizes), conv.x_zero, node.int32s(conv.w_zero),
            conv.quantized ? node.int32s(conv.bias) : "(const int32_t *)0",
            conv.quantized ? node.floats(conv.factors) : "(const float *)0",
            conv.quantized ? code_arguments(conv.y_zero, y.info()) : "0, 0, 0");
}

}  // namespace anybit::cgen
