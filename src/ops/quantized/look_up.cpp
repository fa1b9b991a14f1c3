// LookUp of ai.anybit: replaces each quantized value by its entry in a table, of 256 entries for 8 bits and
// 65,536 for 16 bits; entries have 8 bits or, for 16-bit inputs, 8 or 16. Fusion turns activations between Q
// and DQ into it.
#include "kernels/elementwise/look_up.hpp"
#include "graph/node.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// A scalar that was combined with a tensor of one element becomes a vector.
bool becomes_vector(const Attributes& node, std::size_t rank) {
  return rank == 0 && node.integer("rank", 0) > 0;
}

Result<Values> infer(const Call& call) {
  auto shape = call.in(0).shape;
  if (shape && becomes_vector(call, shape->size())) shape->emplace_back(1);
  return outputs_of(call, tensor(call.in(1).type, shape));
}

template <class Code, class Entry>
void look_up(const Frame& frame, const Array& x, const Array& table, Array& out) {
  const auto* from = x.data<Code>();
  const auto* entries = table.data<Entry>();
  auto* to = out.mutable_data<Entry>();
  parallel(frame, x.stored(), sizeof(Code) == 1 ? 0.15 : 1, [&](std::int64_t begin, std::int64_t end) {
    if constexpr (sizeof(Code) == 1) {
      kernels::look_up(from + begin, entries, to + begin, static_cast<std::size_t>(end - begin));
    } else {
      for (std::int64_t i = begin; i < end; ++i) to[i] = entries[from[i]];
    }
  });
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& table = frame.in(1);
  const std::size_t bytes = element_bytes(x.type()), entry = element_bytes(table.type());
  if (bytes != 1 && bytes != 2) return wrong_type(frame, 0);
  const std::int64_t entries = std::int64_t{1} << (8 * bytes);
  if (table.count() != entries || entry > bytes)
    return wrong(fmt::format("the table is {}", to_string(table)),
                 fmt::format("{} elements of {} bits", entries, 8 * bytes));
  Dims dims = x.dims();
  if (becomes_vector(frame, dims.size())) dims.insert(0, 1);
  // In place, smaller elements would overwrite input that is still to be read.
  Array* out = entry == bytes ? TRY(frame.out_over(0, 0, table.type(), dims))
                              : TRY(frame.out(0, table.type(), dims, x.layout()));
  if (bytes == 1) {
    look_up<std::uint8_t, std::uint8_t>(frame, x, table, *out);
  } else if (entry == 1) {
    look_up<std::uint16_t, std::uint8_t>(frame, x, table, *out);
  } else {
    look_up<std::uint16_t, std::uint16_t>(frame, x, table, *out);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> look_up_descriptors() {
  static const Descriptor all[] = {{.name = "LookUp",
                                    .domain = graph::kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .required = 2,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
