// BATCH_MATMUL: ONNX's MatMul; `adj_x` and `adj_y` transpose the last two dimensions.
#include <numeric>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

Result<std::string> operand(OperatorReader& here, std::size_t i, bool transposed) {
  const std::int64_t rank = here.in(i).rank();
  if (rank < 2) return here.invalid(fmt::format("input {} has {} dimensions", i, rank), "it takes 2 or more");
  if (!transposed) return here.value(i);
  Dims order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return here.graph().rearranged(here.input(i), here.in(i).dims, order);
}

Result<void> read_batch_matmul(OperatorReader& here) {
  const auto& options = here.options<wire::BatchMatMulOptions>();
  const std::string a = TRY(operand(here, 0, options.adj_x()));
  const std::string b = TRY(operand(here, 1, options.adj_y()));
  return here.define(here.emit("MatMul", {a, b}));
}

}  // namespace

std::span<const Descriptor> batch_matmul_descriptors() {
  static const Descriptor all[] = {{.name = "BATCH_MATMUL",
                                    .code = wire::BuiltinOperator::BATCH_MATMUL,
                                    .inputs = 2,
                                    .read = read_batch_matmul}};
  return all;
}

}  // namespace anybit::tflite
