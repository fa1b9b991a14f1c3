#include "tflite/state.hpp"

#include <cstring>

#include "base/checked.hpp"
#include "base/try.hpp"

namespace anybit::tflite {
namespace {

// The zeros of a type: its zero point in every element.
Result<Bytes> zeros(OperatorReader& here, const TensorInfo& info) {
  const graph::ElementTypeInfo* type = graph::find(info.type);
  const auto count = element_count(info.dims);
  const auto size =
      type && type->bits % 8 == 0 && count ? checked_mul<std::int64_t>(*count, type->bits / 8) : std::nullopt;
  if (!size) return here.unsupported("the type or a size of its state is unknown");
  TRY(here.graph().file().take_bytes(*size));
  std::string bytes(static_cast<std::size_t>(*size), '\0');
  if (!info.quantized()) return Bytes::own(std::move(bytes));
  const std::int64_t zero = info.quantization->zero_points.front();
  const auto width = static_cast<std::size_t>(type->bits / 8);
  for (std::size_t at = 0; at < bytes.size(); at += width) std::memcpy(bytes.data() + at, &zero, width);
  return Bytes::own(std::move(bytes));
}

}  // namespace

Result<std::string> state_before(OperatorReader& here, std::size_t i) {
  GraphReader& graph = here.graph();
  const std::int64_t tensor = here.input(i);
  if (!here.in(i).variable) return here.value(i);
  if (!graph.variables().available)
    return here.unsupported("variables inside of IF and WHILE are not supported");
  graph::Tensor first;
  graph::ValueInfo input;
  input.name = first.name = graph::Text(graph.unique_name(tensor));
  input.type = graph.type_of(tensor);
  first.element = static_cast<std::int32_t>(here.in(i).type);
  first.dims = here.in(i).dims;
  first.data = TRY(zeros(here, here.in(i)));
  TRY(graph.define_stored(tensor, input.name.str()));
  graph.graph().initializers.push_back(std::move(first));
  graph.graph().inputs.push_back(std::move(input));
  return here.value(i);
}

Result<void> leave_state(OperatorReader& here, std::size_t i, const std::string& value) {
  if (!here.in(i).variable) return {};
  const std::string stored = TRY(here.graph().quantized_as(here.input(i), value));
  here.graph().variables().states.push_back({here.graph().unique_name(here.input(i)), stored, here.input(i)});
  return {};
}

}  // namespace anybit::tflite
