// LookUp, anybit's own: each 8-bit code becomes the entry of a table of 256. What activations between
// quantized values are turned into.
#include "kernels/look_up.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// A number that meets a tensor of one element becomes such a tensor.
bool becomes_vector(const Attributes& node, std::size_t rank) {
  return rank == 0 && node.integer("rank", 0) > 0;
}

Result<Values> infer(const Call& call) {
  auto shape = call.in(0).shape;
  if (shape && becomes_vector(call, shape->size())) shape->emplace_back(1);
  return outputs_of(call, tensor(call.in(1).type, shape));
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& table = frame.in(1);
  if (element_bytes(x.type()) != 1) return wrong_type(frame, 0);
  if (table.count() != 256 || element_bytes(table.type()) != 1)
    return wrong(fmt::format("the table is {}", to_string(table)), "256 elements of 8 bits");
  Dims dims = x.dims();
  if (becomes_vector(frame, dims.size())) dims.insert(0, 1);
  Array* out = TRY(frame.out_over(0, 0, table.type(), dims));
  const auto* from = x.data<std::uint8_t>();
  const auto* entries = table.data<std::uint8_t>();
  auto* to = out->mutable_data<std::uint8_t>();
  parallel(frame, x.stored(), 0.15, [&](std::int64_t begin, std::int64_t end) {
    kernels::look_up(from + begin, entries, to + begin, static_cast<std::size_t>(end - begin));
  });
  return {};
}

}  // namespace

std::span<const Descriptor> look_up_descriptors() {
  static const Descriptor all[] = {{.name = "LookUp",
                                    .domain = "ai.anybit",
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 2,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
