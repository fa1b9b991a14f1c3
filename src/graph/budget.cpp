#include "graph/budget.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "graph/index.hpp"

namespace anybit::graph {
namespace {

// The largest growth by decoding: from 1-bit values to float32. And each weight takes part in few
// multiplications before a model runs.
constexpr std::int64_t kBytesPerByte = 32, kElementsPerByte = 256;

std::int64_t bytes_of(const std::vector<Node>& nodes);

std::int64_t bytes_of(const Graph& graph) {
  std::int64_t sum = bytes_of(graph.nodes);
  for (const Tensor& one : graph.initializers) sum += static_cast<std::int64_t>(one.data.size());
  return sum;
}

std::int64_t bytes_of(const std::vector<Node>& nodes) {
  std::int64_t sum = 0;
  for (const Node& node : nodes) {
    for (const Attribute& one : node.attributes) {
      if (const auto* tensor = std::get_if<Tensor>(&one.value))
        sum += static_cast<std::int64_t>(tensor->data.size());
    }
    each_graph(node, [&](const Graph& inner) { sum += bytes_of(inner); });
  }
  return sum;
}

std::int64_t with(std::int64_t limit, std::int64_t bytes, std::int64_t times) {
  const auto more = checked_mul(bytes, times);
  return more ? checked_add(limit, *more).value_or(INT64_MAX) : INT64_MAX;
}

}  // namespace

Budget::Budget(const Model& model, const Limits& limits) : limits_(limits), nodes_(limits.work_nodes) {
  std::int64_t own = model.graph ? bytes_of(*model.graph) : 0;
  for (const Function& function : model.functions) own += bytes_of(function.nodes);
  bytes_ = with(limits.work_bytes, own, kBytesPerByte);
  elements_ = with(limits.work_elements, own, kElementsPerByte);
}

void Budget::leave(const std::string& place) {
  if (left_alone_++ == 0) first_left_alone_ = place;
}

std::string Budget::remark() const {
  if (left_alone_ == 0) return {};
  return fmt::format(
      "{}{} left as written: more would pass the limits of {} bytes, {} elements and {} nodes for work "
      "before "
      "the model runs; --max-work-bytes, --max-work-elements and --max-work-nodes raise them",
      first_left_alone_, left_alone_ == 1 ? " is" : fmt::format(" and {} more are", left_alone_ - 1),
      limits_.work_bytes, limits_.work_elements, limits_.work_nodes);
}

Error too_many_nodes(std::int64_t limit) {
  return error_at(Code::limit_exceeded, {}, fmt::format("its functions expand to more than {} nodes", limit),
                  "a higher --max-work-nodes, if the model is what you expect");
}

}  // namespace anybit::graph
