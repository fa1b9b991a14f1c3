// TRANSPOSE, REVERSE_SEQUENCE. A transpose into channels first of a value that has that layout is no node.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

Result<void> read_transpose(OperatorReader& here) {
  Dims order = TRY(here.integers(1));
  if (order.size() != here.in(0).dims.size())
    return here.invalid(
        fmt::format("its permutation has {} entries for {} dimensions", order.size(), here.in(0).rank()));
  for (std::int64_t& axis : order) axis = TRY(here.axis(0, axis));
  const std::int64_t rank = here.in(0).rank();
  const bool to_first = rank >= 3 && order == to_channels_first(rank);
  if (to_first && !here.constant(0) && here.layout(0) == Layout::channels_first)
    return here.define(TRY(here.value(0, Layout::channels_first)));
  // Its result is a value in channels last whose channels first is the input.
  if (rank >= 3 && order == to_channels_last(rank))
    return here.define(TRY(here.value(0)), Layout::channels_first);
  return here.define(here.emit("Transpose", {TRY(here.value(0))}, {attribute("perm", order)}));
}

Result<void> read_reverse_sequence(OperatorReader& here) {
  const auto& options = here.options<wire::ReverseSequenceOptions>();
  const std::int64_t time = TRY(here.axis(0, options.seq_dim())),
                     batch = TRY(here.axis(0, options.batch_dim()));
  if (time + batch != 1)
    return here.unsupported(fmt::format("it reverses dimension {} by dimension {}", time, batch));
  std::string lengths = TRY(here.value(1));
  if (here.in(1).type != graph::ElementType::int64)
    lengths =
        here.emit("Cast", {lengths}, {attribute("to", static_cast<std::int64_t>(graph::ElementType::int64))});
  return here.define(here.emit("ReverseSequence", {TRY(here.value(0)), lengths},
                               {attribute("time_axis", time), attribute("batch_axis", batch)}));
}

}  // namespace

std::span<const Descriptor> transpose_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "TRANSPOSE", .code = BuiltinOperator::TRANSPOSE, .inputs = 2, .read = read_transpose},
      {.name = "REVERSE_SEQUENCE",
       .code = BuiltinOperator::REVERSE_SEQUENCE,
       .inputs = 2,
       .read = read_reverse_sequence},
  };
  return all;
}

}  // namespace anybit::tflite
