// ONNX Runtime's MatMulNBits: matrix multiplication with 2-, 4- or 8-bit weights that have scales per block
// of a column. Weights stay packed; one column at a time is decoded.
#include "numbers.hpp"
#include "packed_tensor.hpp"

namespace anybit::cgen {
namespace {

struct CodeLayout {
  std::int64_t k, n, block, bits;
  std::int64_t blocks() const { return (k + block - 1) / block; }
  std::int64_t column_bytes() const { return blocks() * block * bits / 8; }
  std::int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
  std::string code(std::string_view bytes, std::string_view at, std::string_view i) const {
    return fmt::format("({0}[{1} + ({2} * {3} >> 3)] >> ({2} * {3} & 7) & {4})", bytes, at, i, bits,
                       (1 << bits) - 1);
  }
};

std::string zero_of(Node& node, const CodeLayout& layout) {
  if (!node.has(3)) return fmt::format("{}", 1 << (layout.bits - 1));
  const Value& zeros = node.in(3);
  if (zeros.type != Element::uint8)
    return load(node, zeros, node.x(3), fmt::format("j * {} + g", layout.blocks()));
  return layout.code(node.x(3), fmt::format("j * {}", layout.zero_bytes()), "g");
}

void matmul_nbits(Node& node) {
  const Value& a = node.in(0);
  const CodeLayout layout{node.integer("K", 0), node.integer("N", 0), node.integer("block_size", 0),
                          node.integer("bits", 4)};
  const bool fits = layout.k > 0 && layout.n > 0 && layout.block > 0 &&
                    (layout.bits == 2 || layout.bits == 4 || layout.bits == 8);
  if (!fits || a.type != Element::float32) node.refuse("{} with {}-bit weights", a.info().name, layout.bits);
  need_dot(node);
  const std::string line = node.scratch("float", layout.k), x = node.x(0), y = node.y(), codes = node.x(1);
  node.loop("j", layout.n);
  node.loop("k", layout.k);
  node.line("const int32_t g = {};", node.has(4) ? node.x(4) + "[k]" : fmt::format("k / {}", layout.block));
  node.line("{}[k] = ((float){} - (float){}) * {};", line,
            layout.code(codes, fmt::format("j * {}", layout.column_bytes()), "k"), zero_of(node, layout),
            load(node, node.in(2), node.x(2), fmt::format("j * {} + g", layout.blocks())));
  node.end();
  const std::string bias = node.has(5) ? " + " + load(node, node.in(5), node.x(5), "j") : "";
  node.line("for (int32_t i = 0; i < {}; ++i) {}[i * {} + j] = dot({} + i * {}, {}, {}){};",
            a.count() / layout.k, y, layout.n, x, layout.k, line, layout.k, bias);
  node.end();
}

}  // namespace

std::span<const Descriptor> matmul_nbits_descriptors() {
  static const Descriptor all[] = {{.op = "MatMulNBits", .domain = "com.microsoft", .emit = matmul_nbits}};
  return all;
}

}  // namespace anybit::cgen
