#include "tflite/operator_reader.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/constants.hpp"

namespace anybit::tflite {

OperatorReader::OperatorReader(GraphReader& graph, const wire::Operator& source, std::string_view name)
    : graph_(graph), source_(source), name_(name) {
  if (source.inputs()) inputs_.assign(source.inputs()->begin(), source.inputs()->end());
  if (source.outputs()) outputs_.assign(source.outputs()->begin(), source.outputs()->end());
}

Result<void> OperatorReader::check(std::size_t required, std::size_t outputs) const {
  if (inputs_.size() < required)
    return invalid(fmt::format("it has {} inputs", inputs_.size()),
                   fmt::format("it takes {} or more", required));
  if (outputs_.size() < outputs)
    return invalid(fmt::format("it has {} outputs", outputs_.size()),
                   fmt::format("it has {} or more", outputs));
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i] == -1 && i >= required) continue;
    if (inputs_[i] == -1) return invalid(fmt::format("input {} is left out", i));
    TRY(graph_.check_index(inputs_[i]));
  }
  for (const std::int64_t output : outputs_) TRY(graph_.check_index(output));
  return {};
}

Layout OperatorReader::common_layout() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (has(i) && !constant(i) && layout(i) == Layout::channels_first) return Layout::channels_first;
  }
  return Layout::as_stored;
}

Result<std::int64_t> OperatorReader::axis(std::size_t i, std::int64_t axis, Layout layout) const {
  const std::int64_t rank = in(i).rank();
  if (!in(i).has_rank) return unsupported(fmt::format("the rank of input {} is unknown", i));
  const std::int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive < 0 || positive >= rank) {
    return invalid(fmt::format("input {} has {} dimensions, and no dimension {}", i, rank, axis));
  }
  if (layout == Layout::as_stored || positive == 0) return positive;
  return positive == rank - 1 ? 1 : positive + 1;
}

Result<Dims> OperatorReader::integers(std::size_t i) {
  if (!constant(i)) {
    const bool empty = has(i) && std::ranges::count(in(i).dims, 0) > 0;
    if (empty) return Dims{};
    return unsupported(fmt::format("input {} has to be a constant", i));
  }
  return integers_of(graph_.file(), in(i));
}

Result<std::string> OperatorReader::indices(std::size_t i) {
  if (constant(i)) return graph_.integers(TRY(integers(i)));
  std::string made = TRY(value(i));
  if (in(i).type != graph::ElementType::int64)
    made =
        emit("Cast", {made}, {graph::attribute("to", static_cast<std::int64_t>(graph::ElementType::int64))});
  return made;
}

Result<void> OperatorReader::fuse(std::string& value, wire::ActivationFunctionType activation) {
  using wire::ActivationFunctionType;
  switch (activation) {
    case ActivationFunctionType::NONE:
      return {};
    case ActivationFunctionType::RELU:
      value = emit("Relu", {value});
      return {};
    case ActivationFunctionType::RELU6:
      value = emit("Clip", {value, graph_.number(0), graph_.number(6)});
      return {};
    case ActivationFunctionType::RELU_N1_TO_1:
      value = emit("Clip", {value, graph_.number(-1), graph_.number(1)});
      return {};
    case ActivationFunctionType::TANH:
      value = emit("Tanh", {value});
      return {};
    default:
      return unsupported(
          fmt::format("its fused activation {} is not supported", static_cast<int>(activation)));
  }
}

Result<void> OperatorReader::define_activated(std::string value, wire::ActivationFunctionType activation,
                                              Layout layout) {
  TRY(fuse(value, activation));
  return define(std::move(value), layout);
}

Error OperatorReader::unsupported(std::string message, std::string hint) const {
  return error_at(Code::unsupported, {}, std::move(message), std::move(hint));
}

Error OperatorReader::invalid(std::string message, std::string hint) const {
  return invalid_model({}, std::move(message), std::move(hint));
}

}  // namespace anybit::tflite
