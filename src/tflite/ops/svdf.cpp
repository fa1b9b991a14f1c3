// SVDF: a layer of rank-1 filters over time, whose state holds the last features (Nakkiran et al.,
// Interspeech 2015).
#include "base/try.hpp"
#include "tflite/state.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

constexpr std::size_t kFeatures = 1, kTime = 2, kBias = 3, kState = 4;

// The state moves by one step, the new features come last, and each filter sums its row over time.
Result<void> read_svdf(OperatorReader& here) {
  const auto& options = here.options<wire::SVDFOptions>();
  const Dims& time = here.in(kTime).dims;  // [filters, steps]
  if (time.size() != 2 || time[0] < 1 || time[1] < 1 || options.rank() < 1 || time[0] % options.rank() != 0)
    return here.invalid("the sizes of its filters do not fit its rank");
  GraphReader& graph = here.graph();
  const std::string x = TRY(here.value(0)), weights = TRY(here.value(kFeatures));
  const std::string steps = TRY(here.value(kTime)), before = TRY(state_before(here, kState));
  const std::string features = here.emit("Gemm", {x, weights}, {attribute("transB", std::int64_t{1})});
  const std::string last = here.emit("Unsqueeze", {features, graph.integers({2})});
  const std::string rows = here.emit("Reshape", {before, graph.integers({-1, time[0], time[1]})});
  const std::string moved =
      here.emit("Slice", {rows, graph.integers({1}), graph.integers({time[1]}), graph.integers({2})});
  const std::string state = here.emit("Concat", {moved, last}, {attribute("axis", std::int64_t{2})});
  const std::string filtered = here.emit("ReduceSum", {here.emit("Mul", {state, steps}), graph.integers({2})},
                                         {attribute("keepdims", std::int64_t{0})});
  const std::string units =
      here.emit("Reshape", {filtered, graph.integers({-1, time[0] / options.rank(), options.rank()})});
  std::string y =
      here.emit("ReduceSum", {units, graph.integers({2})}, {attribute("keepdims", std::int64_t{0})});
  if (here.has(kBias)) {
    const std::string bias = TRY(graph.bias(here.input(kBias), here.input(kState), here.input(kTime)));
    y = here.emit("Add", {y, bias});
  }
  TRY(here.define_activated(y, options.fused_activation_function()));
  return leave_state(here, kState, here.emit("Reshape", {state, graph.integers({-1, time[0] * time[1]})}));
}

}  // namespace

std::span<const Descriptor> svdf_descriptors() {
  static const Descriptor all[] = {
      {.name = "SVDF", .code = wire::BuiltinOperator::SVDF, .inputs = 3, .read = read_svdf}};
  return all;
}

}  // namespace anybit::tflite
