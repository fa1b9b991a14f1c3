// Gemm: alpha · A · B + beta · C, in float32.
#include "node.hpp"

namespace anybit::cgen {
namespace {

void gemm(Node& node) {
  const bool trans_a = node.flag("transA"), trans_b = node.flag("transB");
  if (node.out().type != Element::float32) node.refuse("the type is {}", node.out().info().name);
  const std::int64_t m = node.out().dims[0], n = node.out().dims[1];
  const std::int64_t k = node.in(0).dims[trans_a ? 0 : 1];
  const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  node.loop("i", m);
  node.loop("j", n);
  node.line("float sum = 0;");
  node.loop("k", k);
  node.line("sum += {}[{}] * {}[{}];", node.x(0),
            trans_a ? fmt::format("k * {} + i", m) : fmt::format("i * {} + k", k), node.x(1),
            trans_b ? fmt::format("j * {} + k", k) : fmt::format("k * {} + j", n));
  node.end();
  std::string value = alpha == 1 ? "sum" : fmt::format("{} * sum", literal(alpha));
  if (node.has(2)) {
    const Dims& c = node.in(2).dims;
    const bool rows = c.size() == 2 && c[0] != 1, columns = !c.empty() && c.back() != 1;
    const std::string index =
        fmt::format("{}{}", rows ? fmt::format("i * {}", columns ? n : 1) : "0", columns ? " + j" : "");
    value += fmt::format(" + {}{}[{}]", beta == 1 ? "" : literal(beta) + " * ", node.x(2), index);
  }
  node.line("{}[i * {} + j] = {};", node.y(), n, value);
  node.end();
  node.end();
}

}  // namespace

std::span<const Descriptor> gemm_descriptors() {
  static const Descriptor all[] = {{.op = "Gemm", .emit = gemm}};
  return all;
}

}  // namespace anybit::cgen
